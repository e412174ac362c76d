"""Layer 5: the command line, one file a command."""
