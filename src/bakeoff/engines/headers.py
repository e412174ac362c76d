"""Headers of safetensors files: names, precisions and shapes of the weights, none of them read."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path

from bakeoff.core.errors import ModelLoadFailed

_LONGEST = 100 << 20
"""The format's own limit on a header."""
BYTES = {
    "F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1,
    "U16": 2, "U32": 4, "U64": 8, "BOOL": 1, "F8_E4M3": 1, "F8_E5M2": 1, "F8_E8M0": 1,
}  # fmt: skip
FLOATS = frozenset({"F64", "F32", "F16", "BF16"})
"""Precisions that the library turns into the one that is asked for; others are packed values."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor in a file.

    Attributes:
        dtype: as the format spells it: `F32`, `F16`, `BF16`, ...
        shape: sizes.
    """

    dtype: str
    shape: tuple[int, ...]

    @property
    def count(self) -> int:
        """How many numbers it holds."""
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        """What it takes in the file."""
        return self.count * BYTES.get(self.dtype, 4)


def read_headers(folder: Path, files: Iterable[str]) -> Mapping[str, Tensor] | None:
    """Name -> tensor over all safetensors files, or None: the weights are of another format.

    Raises:
        ModelLoadFailed: a file is not what its name says, or ends too early.
    """
    names = [file for file in files if file.endswith(".safetensors")]
    if not names or not all((folder / name).is_file() for name in names):
        return None
    found: dict[str, Tensor] = {}
    for name in names:
        found.update(_header(folder / name))
    return found


def _header(path: Path) -> dict[str, Tensor]:
    try:
        size = path.stat().st_size
        with path.open("rb") as stream:
            (length,) = struct.unpack("<Q", stream.read(8))
            if not 2 <= length <= min(_LONGEST, size):
                raise ValueError(f"its header has {length} bytes")
            said = json.loads(stream.read(length))
        entries = {name: entry for name, entry in said.items() if name != "__metadata__"}
        end = 8 + length + max((entry["data_offsets"][1] for entry in entries.values()), default=0)
        if end > size:
            raise ValueError(f"it has {size} bytes where its header speaks of {end}")
        return {
            name: Tensor(str(entry["dtype"]), tuple(map(int, entry["shape"])))
            for name, entry in entries.items()
        }
    except (struct.error, ValueError, LookupError, TypeError, AttributeError, OSError) as error:
        raise ModelLoadFailed(
            f"{path} cannot be loaded, since it cannot be read as safetensors: {error}"
        ) from error
