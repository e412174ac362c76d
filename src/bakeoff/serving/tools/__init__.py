"""Calls of tools: read out of what models write, in the form that their chat template has."""
