"""Run folders: journals, tables and reports as files."""
