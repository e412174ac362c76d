"""What a described model's files hold, before any of them is read: numbers, and the shape."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff.core.modelref import ModelRef
from bakeoff.engines.checkpoint import read_json
from bakeoff.engines.facts import Source, weights_of
from bakeoff.engines.gguf import read_header
from bakeoff.engines.stock import Stock, gguf_shape, stock_of, stock_of_gguf


@dataclass(frozen=True)
class Contents:
    """What lies in a model's files.

    Attributes:
        stock: numbers by kind, or None where neither headers nor sizes are at hand.
        shape: `config.json`, or what a GGUF file says for it.
        gguf: the GGUF file, where it is one.
    """

    stock: Stock | None
    shape: dict[str, Any]
    gguf: Path | None = None


def contents_of(ref: ModelRef, source: Source) -> Contents:
    """Look at headers, else at sizes.

    Raises:
        ModelError: a weight file is damaged.
    """
    if ref.gguf_file is not None:
        file = source.folder / ref.gguf_file
        header = read_header(file)
        return Contents(stock_of_gguf(header), gguf_shape(header), file)
    config = read_json(ref.uri, source.folder / "config.json") or {}
    sizes = source.repo.sizes if source.repo else {}
    return Contents(stock_of(source.folder, weights_of(source), sizes, config), config)
