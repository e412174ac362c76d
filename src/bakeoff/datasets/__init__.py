"""Data sets: files, folders, streams and the Hub become rows with named columns."""

from bakeoff.datasets.opening import FORMATS, open_dataset
from bakeoff.datasets.selection import FileDataset

__all__ = ["FORMATS", "FileDataset", "open_dataset"]
