"""A checkpoint becomes files of OpenVINO, and they are compared with it before they are published.

The exporter runs in its private environment. The model is loaded here first, by the transformers
engine with all its checks, and let go of before the exporter loads it again.
"""

from __future__ import annotations

import gc
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from bakeoff.core.errors import ModelLoadFailed, UnsupportedOption
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.engines.checkpoint import local_files, small_files
from bakeoff.engines.decoding import KEPT
from bakeoff.engines.environments import last_lines, run
from bakeoff.engines.facts import find
from bakeoff.engines.openvino.agreement import Probe
from bakeoff.engines.openvino.converted import MODEL, SOURCE, TOKENIZER, Kept
from bakeoff.engines.openvino.tools import COMMAND, exporter
from bakeoff.engines.options import EngineOptions
from bakeoff.engines.transformers import conversion as gguf
from bakeoff.engines.transformers.files import locate
from bakeoff.engines.transformers.loading import load_model
from bakeoff.engines.transformers.quiet import quiet

EXPORTER = Path(__file__).with_name("exporter.py")


def convert(facts: ModelFacts, folder: Path) -> None:
    """Fill an entry of the cache; blocks.

    Raises:
        ModelLoadFailed: the exporter failed, or what came out gives other numbers than the model.
        UnsupportedOption: the exporter is not installed.
        ModelError: the model cannot be loaded.
    """
    python = exporter()
    if python is None:
        raise UnsupportedOption(
            f"the openvino engine needs the tools that export a model, once: {COMMAND}",
            option="engine",
        )
    files = locate(facts, gguf.convert, find(facts.ref))
    try:
        kept, probe = _looked_at(facts)
        gc.collect()  # the model goes before the exporter loads it: memory for one of them
        _export(python, files.model, folder / MODEL)
        probe.compare(folder / MODEL)
        _copy(files.model, folder / SOURCE)
        if files.tokenizer != files.model:
            _copy(files.tokenizer, folder / TOKENIZER)
        kept.write(folder)
    finally:
        if files.lease is not None:
            files.lease.release()


def _export(python: Path, source: Path, target: Path) -> None:
    done = run([str(python), "-I", str(EXPORTER), str(source), str(target)])
    if done.code != 0:
        said = last_lines(done.said).rpartition(" | ")[2]
        raise ModelLoadFailed(
            f"it cannot be exported for openvino (status {done.code}: {said}): write "
            "`engine: transformers`"
        )


def _looked_at(facts: ModelFacts) -> tuple[Kept, Probe]:
    """What the engine keeps beside the export, and what to compare it with."""
    named = {"torch_dtype": "float32", "accelerator": "cpu", "engine": "transformers"}
    ref = facts.ref.model_copy(update=named)
    loaded = load_model(replace(facts, ref=ref), EngineOptions())
    with quiet([]), torch.inference_mode():
        probe = Probe.of(loaded.model)
    return Kept(int(loaded.model.get_input_embeddings().num_embeddings), _said(loaded.model)), probe


def _said(model: Any) -> dict[str, Any]:
    found = model.generation_config.to_dict()
    return {name: found[name] for name in sorted(KEPT) if found.get(name) is not None}


def _copy(source: Path, target: Path) -> None:
    for name in small_files(local_files(source), code=False):
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, path)
