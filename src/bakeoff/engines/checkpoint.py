"""The small files of a checkpoint, read without torch: configuration, tokenizer, file names."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bakeoff.core.errors import ModelLoadFailed
from bakeoff.engines.languagecodes import LanguageCodes, language_codes
from bakeoff.engines.templates import TemplateFiles, read_templates

SMALL_FILES = (
    "*.json", "vocab*", "merges*", "*.model", "*.spm", "*.bpe", "*.tiktoken", "*.jinja",
)  # fmt: skip
"""What describes a checkpoint: configuration and tokenizer, wherever they lie."""
CODE_FILES = ("*.py",)
_NOT_NEEDED = ("trainer_state.json", "training_args.json", "onnx/*", "openvino/*", "*.onnx*")
SAFETENSORS, PICKLE = "model.safetensors", "pytorch_model.bin"
OTHER_FORMATS = (".h5", ".msgpack", ".onnx", ".ot", ".ckpt", ".pth", ".pt", ".npz")

FIM_TOKENS = (
    ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"),
    ("<fim_prefix>", "<fim_suffix>", "<fim_middle>"),
    ("<fim-prefix>", "<fim-suffix>", "<fim-middle>"),
    ("▁<PRE>", "▁<SUF>", "▁<MID>"),
    ("<|fim_begin|>", "<|fim_hole|>", "<|fim_end|>"),
    ("<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"),
    ("[PREFIX]", "[SUFFIX]"),
)
"""Fill-in-the-middle tokens: Qwen and Refact, StarCoder, SantaCoder, CodeLlama, Yi, DeepSeek,
Codestral."""


@dataclass(frozen=True)
class Checkpoint:
    """What the small files of a checkpoint say.

    Attributes:
        name: for messages.
        folder: where the small files lie.
        files: all paths in the folder or repository, weights included.
        config: `config.json`.
        generation: `generation_config.json`, or None where there is none.
        tokenizer: `tokenizer_config.json`.
        added_tokens: tokens outside the learnt vocabulary.
        templates: how the tokenizer renders conversations.
        languages: those that the tokenizer has tokens for.
        special: named special tokens, `bos_token` -> `<s>`.
        embedding: modules of sentence-transformers, in order; empty for other models.
        max_seq_length: where a sentence-transformers model cuts its input, or None.
    """

    name: str
    folder: Path
    files: tuple[str, ...]
    config: Mapping[str, Any]
    generation: Mapping[str, Any] | None = None
    tokenizer: Mapping[str, Any] = field(default_factory=dict)
    added_tokens: frozenset[str] = frozenset()
    templates: TemplateFiles = field(default_factory=TemplateFiles)
    languages: LanguageCodes = field(default_factory=LanguageCodes)
    special: Mapping[str, str] = field(default_factory=dict)
    embedding: tuple[Mapping[str, Any], ...] = ()
    max_seq_length: int | None = None

    @property
    def chat_template(self) -> str:
        """The chat template that is used; empty where there is none."""
        return self.templates.text

    @property
    def fim_tokens(self) -> bool:
        """Whether the tokenizer has one of the known sets of fill-in-the-middle tokens."""
        return any(self.added_tokens.issuperset(known) for known in FIM_TOKENS)


def read_checkpoint(
    name: str, folder: Path, files: tuple[str, ...], tokenizer_folder: Path | None = None
) -> Checkpoint:
    """Read the small files of a checkpoint, the tokenizer's from another folder where said.

    Raises:
        ModelLoadFailed: `config.json` is absent, or a file is not JSON; the file is named.
    """
    config = read_json(name, folder / "config.json")
    if config is None:
        raise ModelLoadFailed(_no_config(name, files))
    tokens = tokenizer_folder or folder
    tokenizer = read_json(name, tokens / "tokenizer_config.json") or {}
    whole = read_json(name, tokens / "tokenizer.json") or {}
    named = read_json(name, tokens / "special_tokens_map.json") or {}
    added = _added_tokens(name, tokens, (tokenizer, named), whole)
    vocabulary = _vocabulary(name, tokens, whole)
    older = read_json(name, tokens / "chat_template.json") or {}
    return Checkpoint(
        name=name,
        folder=folder,
        files=files,
        config=config,
        generation=read_json(name, folder / "generation_config.json"),
        tokenizer=tokenizer,
        added_tokens=added,
        templates=read_templates(tokens, tokenizer, older),
        languages=language_codes(added, vocabulary, tokenizer, config),
        special=_special(named, tokenizer),
        embedding=tuple(read_json(name, folder / "modules.json", list) or ()),
        max_seq_length=(read_json(name, folder / "sentence_bert_config.json") or {}).get(
            "max_seq_length"
        ),
    )


def read_json(name: str, path: Path, kind: type = dict) -> Any:
    """A JSON file of the expected kind, or None where there is none.

    Raises:
        ModelLoadFailed: it is not such a file.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ModelLoadFailed(f"{name}: {path.name} cannot be read as JSON: {error}") from error
    if not isinstance(value, kind):
        raise ModelLoadFailed(f"{name}: {path.name} holds a {type(value).__name__}, not the usual")
    return value


def local_files(folder: Path) -> tuple[str, ...]:
    """Paths of a local checkpoint, relative, with sub-folders one level down."""
    found = [path for pattern in ("*", "*/*") for path in folder.glob(pattern)]
    return tuple(sorted(p.relative_to(folder).as_posix() for p in found if p.is_file()))


def small_files(files: Iterable[str], code: bool) -> tuple[str, ...]:
    """Those of the files that describe a checkpoint; with `code` its Python too."""
    patterns = SMALL_FILES + (CODE_FILES if code else ())
    return tuple(
        file
        for file in files
        if any(Path(file).match(p) for p in patterns)
        and not any(Path(file).match(p) for p in _NOT_NEEDED)
    )


def weight_files(name: str, folder: Path, files: Iterable[str]) -> tuple[str, ...]:
    """The files that hold the weights: safetensors before pickles, all shards of an index.

    Raises:
        ModelLoadFailed: there are none that can be read; what is there is named.
    """
    known = set(files)
    for stem in (SAFETENSORS, PICKLE):
        index = f"{stem}.index.json"
        if stem in known:
            return (stem,)
        if index in known:
            shards = (read_json(name, folder / index) or {}).get("weight_map", {})
            return (index, *sorted(set(shards.values())))
    other = sorted(file for file in known if Path(file).suffix in OTHER_FORMATS)
    there = f"it has {', '.join(other[:5])}, which" if other else "it has no weights that"
    raise ModelLoadFailed(
        f"{name} holds neither {SAFETENSORS} nor {PICKLE} (nor an index of shards): {there} "
        "transformers does not load"
    )


def _no_config(name: str, files: tuple[str, ...]) -> str:
    if "adapter_config.json" in files:
        return (
            f"{name} holds PEFT weights alone: name the model they were made for under `model:` "
            "and this one under `adapter:`"
        )
    gguf = sorted(file for file in files if file.endswith(".gguf"))
    if gguf:
        return f"{name} has no config.json: choose with `gguf_file:` one of {', '.join(gguf)}"
    return f"{name} has no config.json: it holds no model in the format of transformers"


def _added_tokens(
    name: str, folder: Path, sources: Iterable[Mapping[str, Any]], whole: Mapping[str, Any]
) -> frozenset[str]:
    found = set(read_json(name, folder / "added_tokens.json") or {})
    found.update(str(token.get("content")) for token in whole.get("added_tokens") or ())
    for source in sources:
        decoder = source.get("added_tokens_decoder") or {}
        listed = source.get("additional_special_tokens") or source.get("extra_special_tokens")
        found.update(_content(token) for token in decoder.values() if isinstance(token, dict))
        found.update(_content(token) for token in (listed if isinstance(listed, list) else ()))
    return frozenset(found)


def _special(*sources: Mapping[str, Any]) -> dict[str, str]:
    """Special tokens by name; a later source wins."""
    found = {
        key: _content(token)
        for source in sources
        for key, token in source.items()
        if key.endswith("_token") and token and isinstance(token, (str, dict))
    }
    return found


def _content(token: Any) -> str:
    return str(token.get("content") if isinstance(token, dict) else token)


def _vocabulary(name: str, folder: Path, whole: Mapping[str, Any]) -> Iterable[str]:
    """Learnt tokens that may be marks for a target language: Marian's, and those of a Unigram."""
    if (folder / "source.spm").is_file():
        found: Mapping[str, Any] = read_json(name, folder / "vocab.json") or {}
        return found
    learnt = (whole.get("model") or {}).get("vocab")
    return (str(entry[0]) for entry in learnt) if isinstance(learnt, list) else ()
