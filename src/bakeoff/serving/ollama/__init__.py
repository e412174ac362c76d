"""The wire format of Ollama."""
