"""bakeoff runs, serves and compares language models on your own data."""
