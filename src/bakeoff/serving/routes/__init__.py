"""The routes of the data plane, a file for each wire format."""
