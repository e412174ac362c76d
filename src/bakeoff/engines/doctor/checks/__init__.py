"""Checks: each looks at one thing and yields what it finds."""
