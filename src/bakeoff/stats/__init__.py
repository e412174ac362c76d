"""Intervals, paired tests and the verdict: pure functions over numpy arrays."""
