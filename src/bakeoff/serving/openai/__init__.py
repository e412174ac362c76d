"""The wire format of OpenAI: bodies become requests, outcomes become replies and events."""
