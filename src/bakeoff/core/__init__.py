"""Layer 0: the shared nouns and rules; imports nothing internal above it."""
