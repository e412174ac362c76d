"""The wire format of Hugging Face's text-generation-inference."""
