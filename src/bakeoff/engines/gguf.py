"""The header of a GGUF file, and what the model in it is, without torch.

The header's layout is that of the GGUF specification, versions 2 and 3
(ggml, docs/gguf.md): magic, version, number of tensors, number of key-value pairs, the pairs,
then name, dimensions, type and offset of each tensor. It is read here rather than by the `gguf`
package because that makes an object of every token: seconds rather than milliseconds.
"""

from __future__ import annotations

import importlib.metadata
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from bakeoff.core.canonical import digest
from bakeoff.core.errors import ModelLoadFailed, UnsupportedOption
from bakeoff.core.modelfacts import Capabilities, ChatFacts, ModelFacts, ModelKind
from bakeoff.core.modelref import ModelRef
from bakeoff.core.rows import Notice
from bakeoff.engines.checkpoint import FIM_TOKENS
from bakeoff.engines.dated import dated
from bakeoff.engines.identity import file_identity, file_sha256, with_part
from bakeoff.engines.text.chat import ChatRules
from bakeoff.engines.text.rendering import tried_out

KIND = "gguf"
"""Name of the converter in the cache."""
CONVERTER = 1
"""Raised when the conversion gives another result for the same file."""
_SCALARS = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d",
}  # fmt: skip
_STRING, _ARRAY = 8, 9
_MOST_DIMENSIONS = 8
_ENCODERS = ("bert", "nomic-bert", "jina-bert-v2", "t5encoder", "clip")
_FILE_TYPES = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K",
    11: "Q3_K_S", 12: "Q3_K_M", 13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S",
    17: "Q5_K_M", 18: "Q6_K", 32: "BF16",
}  # fmt: skip
"""`general.file_type` as llama.cpp numbers it."""


@dataclass(frozen=True)
class Header:
    """What stands before the weights.

    Attributes:
        metadata: key -> value.
        parameters: number of weights.
    """

    metadata: dict[str, Any]
    parameters: int

    @property
    def architecture(self) -> str:
        """Family, for example `llama`."""
        return str(self.metadata.get("general.architecture", ""))

    @property
    def quantisation(self) -> str:
        """For example `Q4_1`."""
        number = self.metadata.get("general.file_type")
        return _FILE_TYPES.get(number, "quantised") if isinstance(number, int) else "quantised"

    @property
    def float32_bytes(self) -> int:
        """What the weights take once dequantised."""
        return 4 * self.parameters


def read_header(path: Path) -> Header:
    """Read the header of a GGUF file.

    Raises:
        ModelLoadFailed: it is no GGUF file, or it ends within the header.
    """
    try:
        with path.open("rb") as stream:
            return _Reader(stream, path.stat().st_size).header()
    except (struct.error, ValueError, OSError) as error:
        raise ModelLoadFailed(f"{path} cannot be read as GGUF: {error}") from error


def describe_gguf(ref: ModelRef, path: Path) -> ModelFacts:
    """What a GGUF file is, from its header.

    Raises:
        ModelLoadFailed: the file cannot be read.
        UnsupportedOption: it is a kind of model that is not run from GGUF.
    """
    header = read_header(path)
    if not header.architecture or header.architecture in _ENCODERS or _is_split(header):
        what = "one part of a split file" if _is_split(header) else repr(header.architecture)
        raise UnsupportedOption(
            f"{path.name} is {what}: bakeoff runs whole GGUF files of decoder-only and T5 "
            "models; name the original repository instead",
            option="model",
        )
    kind: ModelKind = "seq2seq" if header.architecture == "t5" else "causal"
    window = header.metadata.get(f"{header.architecture}.context_length")
    capabilities = Capabilities(
        kind=kind,
        context_length=window if isinstance(window, int) and window > 0 else None,
        chat_template=bool(_template(header)),
        likelihood=True,
        fim_tokens=_has_fim(header),
    )
    said = (
        f"{path.name} ({header.quantisation}, {path.stat().st_size / 1e6:.0f} MB) is dequantised "
        f"once to {header.float32_bytes / 1e6:.0f} MB of float32 in memory and in the cache"
    )
    identity = with_part(file_identity(path), KIND, str(CONVERTER))
    rules = _rules(header)
    facts = ModelFacts(
        ref=ref,
        identity=identity,
        capabilities=capabilities,
        architecture=header.architecture,
        family=header.architecture,
        chat=ChatFacts(rules.system, rules.error, rules.tools),
        notices=(Notice("gguf-dequantised", said), *rules.notices),
    )
    return dated(facts, _template(header))


def conversion_key(path: Path) -> str:
    """Cache key of the conversion: content of the file, and what converts it."""
    version = importlib.metadata.version("transformers")
    return digest([file_sha256(path), "transformers", version, "float32", CONVERTER])


def _is_split(header: Header) -> bool:
    return int(header.metadata.get("split.count", 1)) > 1


def _template(header: Header) -> str:
    keys = ("tokenizer.chat_template", "tokenizer.chat_template.default")
    return "\n".join(str(found) for key in keys if (found := header.metadata.get(key)))


def _rules(header: Header) -> ChatRules:
    """What the chat template needs done to a conversation."""
    template = header.metadata.get("tokenizer.chat_template") or ""
    tokens, special = header.metadata.get("tokenizer.ggml.tokens", ()), {}
    for name in ("bos", "eos"):
        number = header.metadata.get(f"tokenizer.ggml.{name}_token_id")
        if isinstance(number, int) and number < len(tokens):
            special[f"{name}_token"] = str(tokens[number])
    return tried_out(str(template), special)


def _has_fim(header: Header) -> bool:
    tokens = set(header.metadata.get("tokenizer.ggml.tokens", ()))
    return any(tokens.issuperset(known) for known in FIM_TOKENS)


class _Reader:
    """Walks through the header once."""

    def __init__(self, stream: BinaryIO, size: int) -> None:
        self._stream = stream
        self._size = size

    def header(self) -> Header:
        if self._take(4) != b"GGUF":
            raise ValueError("it does not begin with GGUF")
        version = self._number("I")
        if version not in (2, 3):
            raise ValueError(f"its version is {version}; 2 and 3 are known")
        tensors, pairs = self._number("Q"), self._number("Q")
        metadata = {self._string(): self._value(self._number("I")) for _ in range(pairs)}
        return Header(metadata, sum(self._tensor_sizes(tensors)))

    def _tensor_sizes(self, count: int) -> Iterator[int]:
        for _ in range(count):
            self._string()
            size, dimensions = 1, self._number("I")
            if dimensions > _MOST_DIMENSIONS:
                raise ValueError(f"a tensor has {dimensions} dimensions")
            for _ in range(dimensions):
                size *= self._number("Q")
            self._take(12)  # type and offset
            yield size

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._string()
        if kind == _ARRAY:
            return self._array(self._number("I"), self._number("Q"))
        if kind not in _SCALARS:
            raise ValueError(f"a value has the unknown type {kind}")
        return self._number(_SCALARS[kind])

    def _array(self, kind: int, count: int) -> Any:
        if kind in _SCALARS:
            layout = f"<{count}{_SCALARS[kind]}"
            return struct.unpack(layout, self._take(struct.calcsize(layout)))
        if count > self._size:
            raise ValueError(f"an array has {count} elements")
        return tuple(self._value(kind) for _ in range(count))

    def _number(self, layout: str) -> Any:
        layout = "<" + layout
        return struct.unpack(layout, self._take(struct.calcsize(layout)))[0]

    def _string(self) -> str:
        return self._take(self._number("Q")).decode("utf-8", "replace")

    def _take(self, count: int) -> bytes:
        if count > self._size:
            raise ValueError("a length is beyond the end of the file")
        data = self._stream.read(count)
        if len(data) < count:
            raise ValueError("it ends within its header")
        return data
