"""What every engine that computes does with many requests: rows, batches, and their failures."""
