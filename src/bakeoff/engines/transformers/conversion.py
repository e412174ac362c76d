"""A GGUF file becomes a folder in the format of transformers, dequantised."""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch
import transformers

from bakeoff.core.errors import ModelLoadFailed, OutOfMemory
from bakeoff.engines.footprint import GGUF_WORK, size
from bakeoff.engines.gguf import read_header
from bakeoff.engines.machine import available_memory
from bakeoff.engines.transformers.quiet import quiet


def convert(file: Path, folder: Path) -> None:
    """Read a GGUF file with transformers and save it as float32, tokenizer included.

    The library marks a model from GGUF as quantised and then refuses to save it, although its
    weights are plain float32 by then: the marks are taken off.

    Raises:
        OutOfMemory: the dequantised weights do not fit; both numbers are named.
        ModelLoadFailed: the library cannot read this file, or the disk is full.
    """
    header = read_header(file)
    _check_room(file, header.float32_bytes, folder)
    name = "AutoModelForSeq2SeqLM" if header.architecture == "t5" else "AutoModelForCausalLM"
    try:
        with quiet([]), _no_bar(), torch.no_grad():
            source = {"pretrained_model_name_or_path": str(file.parent), "gguf_file": file.name}
            model = getattr(transformers, name).from_pretrained(**source, dtype=torch.float32)
            tokenizer = transformers.AutoTokenizer.from_pretrained(**source)
            _unmark(model)
            model.save_pretrained(folder)
            tokenizer.save_pretrained(folder)
    except MemoryError as error:
        raise OutOfMemory(f"{file} does not fit into memory while it is dequantised") from error
    except Exception as error:  # whatever the library says about this file
        raise ModelLoadFailed(f"{file} cannot be converted from GGUF: {error}") from error


@contextmanager
def _no_bar() -> Iterator[None]:
    """The library's reader draws its progress with tqdm itself, past its own switch."""
    reader: Any = importlib.import_module("transformers.modeling_gguf_pytorch_utils")
    drawn = reader.tqdm
    reader.tqdm = partial(drawn, disable=True)
    try:
        yield
    finally:
        reader.tqdm = drawn


def _unmark(model: transformers.PreTrainedModel) -> None:
    for holder, mark in (
        (model.config, "quantization_config"),
        (model, "is_quantized"),
        (model, "quantization_method"),
    ):
        if mark in vars(holder):
            delattr(holder, mark)
    model.hf_quantizer = None


def _check_room(file: Path, needed: int, folder: Path) -> None:
    memory, taken = available_memory(), needed * (1 + GGUF_WORK)
    if taken > memory:
        raise OutOfMemory(
            f"{file.name} takes {size(taken)} of memory once dequantised to float32 and "
            f"{size(memory)} are free: free some, or serve the file with llama.cpp and name it by "
            "`endpoint:`"
        )
    disk = shutil.disk_usage(folder).free
    if needed > disk:
        raise ModelLoadFailed(
            f"{file.name} takes {size(needed)} on disk once dequantised and {size(disk)} are "
            "free: run `bakeoff cache prune`, or set BAKEOFF_HOME"
        )
