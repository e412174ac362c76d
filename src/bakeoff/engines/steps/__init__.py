"""The token-level decode loop: rows join and leave the batch at any step. Loads no torch."""
