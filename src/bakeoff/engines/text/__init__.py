"""What every engine that computes does with text: prompts to token ids, token ids to text."""
