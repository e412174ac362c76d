"""A checkpoint becomes a ctranslate2 model, and is compared with it before it is published.

The library's own converter does the work. Three things are done otherwise:

- The model is loaded by the transformers engine, with all its checks, in float32.
- The vocabulary is the ids themselves as text. ctranslate2 takes tokens as strings; with those of
  a tokenizer, two ids may share one, or the tokenizer and the weights may differ in size.
- The decoder's start token is given with each row, since a language may take its place.
"""

from __future__ import annotations

import gc
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from ctranslate2.converters.transformers import TransformersConverter

from bakeoff.core.errors import BakeoffError, ModelLoadFailed
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.engines.checkpoint import local_files, small_files
from bakeoff.engines.ctranslate2.agreement import Probe
from bakeoff.engines.ctranslate2.converted import MODEL, SOURCE, TOKENIZER, Kept, arithmetic
from bakeoff.engines.ctranslate2.room import out_of_memory, ran_out
from bakeoff.engines.ctranslate2.spellings import spell
from bakeoff.engines.decoding import KEPT
from bakeoff.engines.facts import find
from bakeoff.engines.options import EngineOptions
from bakeoff.engines.transformers import conversion as gguf
from bakeoff.engines.transformers.files import ModelFiles, locate
from bakeoff.engines.transformers.loading import Loaded, load_model
from bakeoff.engines.transformers.quiet import quiet


def convert(facts: ModelFacts, folder: Path) -> None:
    """Fill an entry of the cache.

    Raises:
        ModelLoadFailed: the library cannot convert the model, or what came out gives other
            numbers than the model it was made from.
        OutOfMemory: model and conversion do not fit into memory together.
        ModelError: the model cannot be loaded.
    """
    files = locate(facts, gguf.convert, find(facts.ref))
    try:
        _fill(facts, files, folder)
    except BakeoffError:
        raise
    except Exception as error:  # whatever the converter says about this model
        if out_of_memory(error):
            raise ran_out(facts) from error
        raise ModelLoadFailed(
            f"{facts.ref.uri} cannot be converted for ctranslate2 ({type(error).__name__}: "
            f"{error}): write `engine: transformers`"
        ) from error
    finally:
        if files.lease is not None:
            files.lease.release()


def _fill(facts: ModelFacts, files: ModelFiles, folder: Path) -> None:
    kept, probe = _written(facts, files, folder)
    gc.collect()  # the model itself goes before its conversion is loaded: memory for one of them
    _copy(files.model, folder / SOURCE)
    if files.tokenizer != files.model:
        _copy(files.tokenizer, folder / TOKENIZER)
    kept.write(folder)
    probe.compare(folder / MODEL, arithmetic(facts), kept.starts_with)


def _written(facts: ModelFacts, files: ModelFiles, folder: Path) -> tuple[Kept, Probe]:
    """What the library loads, in `folder`; what the engine keeps beside it, and what to compare."""
    ref = facts.ref.model_copy(
        update={"torch_dtype": "float32", "accelerator": "cpu", "engine": "transformers"}
    )
    loaded = load_model(replace(facts, ref=ref), EngineOptions())
    with quiet([]), torch.inference_mode():
        probe = Probe.of(loaded.model)  # before the converter takes the model apart
    said = _said(loaded.model)
    converter = _Converter(files.model, loaded)
    with quiet([]):
        converter.convert(str(folder / MODEL), quantization=arithmetic(facts))
    return Kept(converter.size, said, converter.starts_with), probe


def _said(model: Any) -> dict[str, Any]:
    found = model.generation_config.to_dict()
    return {name: found[name] for name in sorted(KEPT) if found.get(name) is not None}


def _copy(source: Path, target: Path) -> None:
    for name in small_files(local_files(source), code=False):
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, path)


class _Names:
    """Stands in for a tokenizer: every token is called by its id."""

    def __init__(self, size: int, end: int | None, pad: int | None) -> None:
        self.unk_token_id = 0
        self.bos_token = self.unk_token = "0"
        self.eos_token = str(end or 0)
        self.pad_token = str(pad or 0)
        self.special_tokens_map: dict[str, Any] = {}
        self.num_madeup_words = 0
        self._size = size

    def get_vocab(self) -> dict[str, int]:
        return {str(token): token for token in range(self._size)}

    def convert_ids_to_tokens(self, token: int | None) -> str:
        return str(token or 0)


class _Converter(TransformersConverter):  # type: ignore[misc]  # untyped
    """The library's converter, fed with what is loaded already.

    Attributes:
        size: token ids of the converted model.
        starts_with: see `Kept.starts_with`.
    """

    def __init__(self, folder: Path, loaded: Loaded) -> None:
        super().__init__(str(folder))
        self.size = 0
        self.starts_with: int | None = None
        self._loaded = loaded

    def load_model(self, *_: Any, **__: Any) -> Any:
        """The model that is loaded, spelled as the converter reads it."""
        spell(self._loaded.model)
        return self._loaded.model

    def load_tokenizer(self, *_: Any, **__: Any) -> _Names:
        """The stand-in."""
        model = self._loaded.model
        ends = model.generation_config.eos_token_id
        end = ends[0] if isinstance(ends, list) else ends
        size = model.get_input_embeddings().num_embeddings
        return _Names(size, end, self._loaded.tokenizer.pad_token_id)

    def _load(self) -> Any:
        spec = super()._load()
        if hasattr(spec, "get_vocabulary_size"):
            self.size = int(spec.get_vocabulary_size())
            spec.register_vocabulary([str(token) for token in range(self.size)])
            return spec
        sizes = spec.get_source_vocabulary_size(), spec.get_target_vocabulary_size()
        numbers = [one[0] if isinstance(one, list) else one for one in sizes]
        self.size = int(min(numbers))
        for side, count in zip(("source", "target"), numbers, strict=True):
            # the loaders register one of their own; some of them drop or add tokens at its end
            spec._vocabularies[side] = [[str(token) for token in range(count)]]
        if getattr(spec.decoder, "start_from_zero_embedding", False):
            self.starts_with = int(spec.config.eos_token)
        spec.config.decoder_start_token = None
        return spec
