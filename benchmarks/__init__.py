"""Speeds that bakeoff promises: `python -m benchmarks [NAME ...]`, ratios within one process."""
