"""Outputs that must not change by themselves."""
