"""Layer 1: what is kept, and where."""
