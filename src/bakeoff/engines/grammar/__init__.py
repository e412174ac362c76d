"""Texts that must follow a grammar: which tokens may come next. Loads no torch."""
