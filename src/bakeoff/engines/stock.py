"""How much lies in a checkpoint's weight files: from headers, else from sizes; nothing is read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff.core.errors import OutOfMemory
from bakeoff.engines.gguf import Header
from bakeoff.engines.headers import FLOATS, Tensor, read_headers
from bakeoff.engines.machine import available_memory
from bakeoff.engines.precision import quantised_with

DTYPE_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2, "float64": 8}
_KEPT_WHOLE = re.compile(
    r"embed|wte|wpe|shared|lm_head|embd|position|relative_attention_bias|token_type"
    r"|DenseReluDense\.wo"
)
"""Matrices that are not quantised: tables of vectors, the last layer, and in T5 the layer that
the library keeps in float32."""
_LAYER = re.compile(r"^(.*?\.\d+)\.")
_GGUF_NAME = re.compile(r"(?<![A-Za-z0-9])(I?Q[1-8]|BF16|F16|F32)(?![0-9])", re.IGNORECASE)
_GGUF_BITS = {
    "Q2": 2.6, "Q3": 3.4, "Q4": 4.5, "Q5": 5.5, "Q6": 6.6, "Q8": 8.5, "IQ1": 1.6, "IQ2": 2.1,
    "IQ3": 3.1, "IQ4": 4.3, "F16": 16, "BF16": 16, "F32": 32,
}  # fmt: skip
"""Bits of a weight by the name of the file, the fewest that llama.cpp has under that name."""


@dataclass(frozen=True, slots=True)
class Stock:
    """What lies in the files.

    Attributes:
        matrices: numbers in linear layers, which can be quantised.
        others: all other numbers of a floating-point kind.
        packed: bytes of values that are quantised already and stay as they are.
        itemsize: bytes of one stored number, the mean over all.
        block: numbers of the largest layer, or of the largest table where that is larger.
        safe: whether the files are safetensors, of which parts can be read where they lie.
    """

    matrices: int = 0
    others: int = 0
    packed: int = 0
    itemsize: float = 4.0
    block: int = 0
    safe: bool = True

    @property
    def numbers(self) -> int:
        """Everything of a floating-point kind."""
        return self.matrices + self.others


def stock_of(
    folder: Path, files: Iterable[str], sizes: Mapping[str, int], config: Mapping[str, Any]
) -> Stock | None:
    """What a checkpoint holds, or None: neither headers nor sizes are at hand.

    Args:
        folder: where its files lie, as far as they do.
        files: names of the weight files, index included.
        sizes: bytes of those that do not lie there.
        config: its `config.json`.

    Raises:
        ModelLoadFailed: a file that lies there is damaged.
    """
    weights = [name for name in files if not name.endswith(".json")]
    safe = all(name.endswith(".safetensors") for name in weights)
    headers = read_headers(folder, weights) if safe else None
    if headers is not None:
        return _from_headers(headers)
    found = {name: _size(folder, name, sizes) for name in weights}
    if not found or None in found.values():
        return None
    return _from_sizes(sum(size or 0 for size in found.values()), config, safe)


def stock_of_gguf(header: Header) -> Stock:
    """The same of a GGUF file once it is dequantised."""
    block = header.parameters // max(1, int(_of(header, "block_count") or 1))
    return Stock(others=header.parameters, block=block)


def check_gguf_download(uri: str, name: str, size: int) -> None:
    """Whether a GGUF file on the Hub can fit once it is dequantised, as far as its name says.

    Raises:
        OutOfMemory: it cannot; both numbers are named, and nothing was fetched.
    """
    found = _GGUF_NAME.search(name)
    bits = _GGUF_BITS.get(found[1].upper(), 32) if found else 32
    needed, free = size * 32 / bits, available_memory()
    if needed > free:
        raise OutOfMemory(
            f"{uri}: {name} has {size / 1e9:.1f} GB and takes about {needed / 1e9:.1f} GB of "
            f"memory once it is dequantised to float32, and {free / 1e9:.1f} GB are free: take a "
            "smaller model, or serve the file with llama.cpp and name it by `endpoint:`"
        )


def gguf_shape(header: Header) -> dict[str, int]:
    """What `cache_bytes_per_token` asks, under the names of a `config.json`."""
    names = {
        "num_hidden_layers": "block_count",
        "hidden_size": "embedding_length",
        "num_attention_heads": "attention.head_count",
        "num_key_value_heads": "attention.head_count_kv",
        "head_dim": "attention.key_length",
    }
    found = {name: _of(header, key) for name, key in names.items()}
    return {name: value for name, value in found.items() if isinstance(value, int)}


def cache_bytes_per_token(config: Mapping[str, Any], itemsize: float) -> int:
    """Keys and values of one token in all layers; a guess where a config names things oddly.

    Args:
        config: `config.json`, or a configuration of the library as a dict.
        itemsize: bytes of one number.
    """
    inner = config.get("text_config") or config.get("decoder")
    shape = inner if isinstance(inner, Mapping) else config
    hidden = number(shape, "hidden_size", "d_model", "n_embd") or 1024
    heads = number(
        shape, "decoder_attention_heads", "num_attention_heads", "num_heads", "n_head"
    ) or 16  # fmt: skip
    key_heads = number(shape, "num_key_value_heads") or heads
    width = number(shape, "head_dim", "d_kv") or hidden // heads
    layers = number(
        shape, "decoder_layers", "num_decoder_layers", "num_hidden_layers", "num_layers", "n_layer"
    ) or 24  # fmt: skip
    cross = 2 if config.get("is_encoder_decoder") else 1
    return int(2 * cross * layers * key_heads * width * itemsize)


def number(values: Mapping[str, Any], *names: str) -> int | None:
    """The first of these that is a positive whole number."""
    found = (values.get(name) for name in names)
    return next((value for value in found if isinstance(value, int) and value > 0), None)


def _of(header: Header, key: str) -> Any:
    return header.metadata.get(f"{header.architecture}.{key}")


def _size(folder: Path, name: str, sizes: Mapping[str, int]) -> int | None:
    path = folder / name
    return int(path.stat().st_size) if path.is_file() else sizes.get(name)


def _from_headers(headers: Mapping[str, Tensor]) -> Stock:
    floats = {name: tensor for name, tensor in headers.items() if tensor.dtype in FLOATS}
    matrices = sum(t.count for n, t in floats.items() if _is_matrix(n, t))
    numbers = sum(tensor.count for tensor in floats.values())
    stored = sum(tensor.bytes for tensor in floats.values())
    return Stock(
        matrices=matrices,
        others=numbers - matrices,
        packed=sum(tensor.bytes for tensor in headers.values()) - stored,
        itemsize=stored / numbers if numbers else 4.0,
        block=_largest(headers),
    )


def _is_matrix(name: str, tensor: Tensor) -> bool:
    whole = len(tensor.shape) == 2 and name.endswith("weight")
    return whole and not _KEPT_WHOLE.search(name)


def _largest(headers: Mapping[str, Tensor]) -> int:
    layers: dict[str, int] = {}
    for name, tensor in headers.items():
        match = _LAYER.match(name)
        key = match[1] if match else name
        layers[key] = layers.get(key, 0) + tensor.count
    return max(layers.values(), default=0)


def _from_sizes(size: int, config: Mapping[str, Any], safe: bool) -> Stock:
    if quantised_with(config):
        return Stock(packed=size, safe=safe)
    inner = config.get("text_config")
    shape = inner if isinstance(inner, Mapping) else config
    said = str(config.get("dtype") or config.get("torch_dtype") or shape.get("dtype") or "float32")
    itemsize = DTYPE_BYTES.get(said.removeprefix("torch."), 4)
    numbers = size // itemsize
    table = (number(shape, "vocab_size") or 0) * (number(shape, "hidden_size", "d_model") or 0)
    tables = min(numbers, table * (1 if config.get("tie_word_embeddings", True) else 2))
    layers = number(shape, "num_hidden_layers", "decoder_layers", "num_layers", "n_layer") or 1
    return Stock(
        matrices=numbers - tables,
        others=tables,
        itemsize=itemsize,
        block=max(table, (numbers - tables) // layers),
        safe=safe,
    )
