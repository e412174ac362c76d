"""Models of the transformers library, driven step by step over their `forward`."""
