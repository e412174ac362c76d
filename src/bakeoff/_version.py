"""The version, kept apart so that building a wheel imports nothing else."""

__version__ = "0.1.0.dev0"
