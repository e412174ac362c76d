"""`describe_checkpoint`: what a model is, from its small files alone, without torch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from bakeoff.core.errors import HubUnreachable, ModelLoadFailed, ModelNotFound, UnsupportedOption
from bakeoff.core.modelfacts import Capabilities, ChatFacts, LanguagePair, ModelFacts
from bakeoff.core.modelref import ModelRef
from bakeoff.core.registry import near_matches
from bakeoff.core.rows import Notice
from bakeoff.engines import hub
from bakeoff.engines.adapters import check_no_adapter_inside, with_adapters
from bakeoff.engines.checkpoint import (
    CODE_FILES,
    SMALL_FILES,
    Checkpoint,
    local_files,
    read_checkpoint,
    small_files,
    weight_files,
)
from bakeoff.engines.checks import check_not_quantised_twice, check_options
from bakeoff.engines.dated import dated
from bakeoff.engines.decoding import Defaults, further_settings, read_defaults
from bakeoff.engines.gguf import describe_gguf
from bakeoff.engines.heads import Kind, context_length, kind_of, labels_of
from bakeoff.engines.identity import file_identity, folder_identity, hub_identity, with_part
from bakeoff.engines.pairs import made_for
from bakeoff.engines.pooling import read_pooling, read_prompt
from bakeoff.engines.precision import numerics, resolved_dtype
from bakeoff.engines.remotecode import check_trust, foreign_repositories
from bakeoff.engines.stock import check_gguf_download
from bakeoff.engines.text.rendering import tried_out


@dataclass(frozen=True)
class Source:
    """A checkpoint that was found.

    Attributes:
        ref: the reference, its revision pinned.
        folder: where the small files lie.
        files: all paths, weights included.
        repo: the repository, or None for a local folder.
    """

    ref: ModelRef
    folder: Path
    files: tuple[str, ...]
    repo: hub.HubRepo | None = None


def describe_checkpoint(ref: ModelRef, hints: tuple[str, ...]) -> ModelFacts:
    """What a Hub or local model is. Reads configuration and tokenizer files alone.

    Raises:
        ModelError: the model does not exist, may not be read, or is incomplete.
        UnsupportedOption: an option or an architecture that is not supported.
        DependencyMissing: an option needs an optional part.
    """
    check_options(ref)
    source = find(ref.model_copy(update={"torch_dtype": resolved_dtype(ref)}))
    gguf = _gguf_name(source)
    if gguf is not None:
        facts = describe_gguf(
            source.ref.model_copy(update={"gguf_file": gguf}), _file(source, gguf)
        )
    else:
        facts = _describe(source, hints)
    return _with_parts(facts, source)


def find(ref: ModelRef) -> Source:
    """A checkpoint's small files and the names of all the others.

    Raises:
        ModelError: as for `describe_checkpoint`.
    """
    if ref.scheme == "hf":
        wanted = SMALL_FILES + (CODE_FILES if ref.trust_remote_code else ())
        repo, folder = hub.open_repo(ref.name, ref.revision, wanted)
        pinned = ref.model_copy(update={"revision": repo.commit})
        return Source(pinned, folder, repo.files, repo)
    path = ref.path
    if path.is_dir():
        return Source(ref, path, local_files(path))
    if path.is_file() and path.suffix == ".gguf":
        return Source(ref, path.parent, (path.name,))
    if path.exists():
        raise ModelLoadFailed(f"{path} is neither a folder nor a .gguf file: name the folder")
    near = near_matches(path.name, [p.name for p in path.parent.glob("*")])
    hint = f"; did you mean {' or '.join(str(path.with_name(n)) for n in near)}?" if near else ""
    raise ModelNotFound(f"{path} does not exist{hint}")


def check_unchanged(facts: ModelFacts, source: Source) -> None:
    """Whether a local model's files are still those that were described; asked once it is loaded.

    Rows and conversions are kept under the described content: other content must not go there.

    Raises:
        ModelLoadFailed: somebody wrote to them in between.
    """
    said = facts.identity.partition("+")[0]
    if source.repo is not None or not said.startswith("sha256:"):
        return
    gguf = facts.ref.gguf_file
    found = file_identity(source.folder / gguf) if gguf else _identity(source, weights_of(source))
    if found != said:
        raise ModelLoadFailed(
            f"the files of {facts.ref.uri} changed while the model was waiting to be loaded: "
            "run it again once nothing writes to them"
        )


def weights_of(source: Source) -> tuple[str, ...]:
    """Names of the weight files, index included; none is fetched.

    Raises:
        ModelLoadFailed: there are none, or the index names a file that is not there.
        HubUnreachable: only a part of the repository is cached, and the Hub cannot be reached.
    """
    cached = source.repo is not None and source.repo.cached
    try:
        weights = weight_files(source.ref.uri, source.folder, source.files)
    except ModelLoadFailed as error:
        if not cached:
            raise
        raise HubUnreachable(
            f"{source.ref.uri}: its weights are not in the cache and the Hub cannot be reached: "
            "go online once, or name a local folder"
        ) from error
    lost = [file for file in weights if file not in source.files]
    if lost and not cached:
        raise ModelLoadFailed(f"{source.ref.uri} lacks {', '.join(lost)}, which its index names")
    return weights


def tokenizer_ref(ref: ModelRef) -> ModelRef | None:
    """The tokenizer named in place of the model's own."""
    return None if ref.tokenizer is None else _part_ref(ref.tokenizer, "tokenizer")


def adapter_refs(ref: ModelRef) -> tuple[ModelRef, ...]:
    """The PEFT weights laid over the model, in order."""
    return tuple(_part_ref(text, "adapter") for text in ref.adapters)


def _part_ref(text: str, option: str) -> ModelRef:
    try:
        found = ModelRef.parse(text)
    except ValueError as error:
        raise UnsupportedOption(f"{option}: {error}", option=option) from error
    if found.scheme not in ("hf", "file"):
        raise UnsupportedOption(
            f"{option} is {text!r}: write hf://org/name or a local folder", option=option
        )
    return found


def _describe(source: Source, hints: tuple[str, ...]) -> ModelFacts:
    ref = source.ref
    tokenizer = tokenizer_ref(ref)
    tokens = find(tokenizer).folder if tokenizer else None
    checkpoint = read_checkpoint(ref.uri, source.folder, source.files, tokens)
    check_trust(checkpoint, ref.trust_remote_code)
    check_not_quantised_twice(ref, checkpoint.config)
    check_no_adapter_inside(ref.uri, source.files)
    kind = kind_of(checkpoint)
    weights = weights_of(source)
    found = read_defaults(checkpoint, kind.kind, hints)
    embeds = "embed" in kind.heads
    if embeds:
        read_pooling(ref.uri, source.folder)
    capabilities = _capabilities(checkpoint, kind)
    template = checkpoint.chat_template if capabilities.chat_template else ""
    rules = tried_out(template, checkpoint.special)
    facts = ModelFacts(
        ref=ref,
        identity=_identity(source, weights),
        capabilities=capabilities,
        architecture=kind.architecture,
        family=str(checkpoint.config.get("model_type") or ""),
        defaults=found.params,
        settings=further_settings(checkpoint) if kind.kind != "encoder" else (),
        origins=found.origins,
        prefix=read_prompt(ref.uri, source.folder) if embeds else found.prefix,
        numerics=numerics(ref, checkpoint.config),
        pair=_pair(checkpoint, kind, source, found),
        chat=ChatFacts(rules.system, rules.error, rules.tools),
        notices=(*_notices(checkpoint, ref, found), *rules.notices),
    )
    return dated(facts, checkpoint.chat_template)


def _capabilities(checkpoint: Checkpoint, kind: Kind) -> Capabilities:
    generates = kind.kind != "encoder"
    return Capabilities(
        kind=kind.kind,
        heads=kind.heads,
        context_length=context_length(checkpoint, kind),
        chat_template=generates and bool(checkpoint.chat_template),
        likelihood=generates,
        embeddings="embed" in kind.heads,
        fim_tokens=generates and checkpoint.fim_tokens,
        labels=labels_of(checkpoint.config) if "classify" in kind.heads else (),
        language_codes=checkpoint.languages.codes if kind.kind == "seq2seq" else (),
        targets_only=kind.kind == "seq2seq" and checkpoint.languages.targets_only,
    )


def _pair(
    checkpoint: Checkpoint, kind: Kind, source: Source, found: Defaults
) -> LanguagePair | None:
    """The pair of a one-pair model, or the one whose settings were taken without being asked."""
    if kind.kind != "seq2seq":
        return None
    name = source.repo.name if source.repo else source.folder.resolve().name
    return made_for(name, checkpoint.config, checkpoint.tokenizer) or found.pair


def _identity(source: Source, weights: tuple[str, ...]) -> str:
    if source.repo is not None:
        return hub_identity(source.repo.name, source.repo.commit)
    small = small_files(source.files, source.ref.trust_remote_code)
    return folder_identity(source.folder, {*weights, *small})


def _notices(checkpoint: Checkpoint, ref: ModelRef, found: Defaults) -> tuple[Notice, ...]:
    notices = list(found.notices)
    if ref.trust_remote_code and "auto_map" in checkpoint.config:
        notices.append(Notice("remote-code", f"Python code that comes with {ref.uri} is run"))
    others = checkpoint.templates.others
    if others and not checkpoint.chat_template:
        named = ", ".join(others)
        text = f"it has chat templates named {named} and none named default: none is used"
        notices.append(Notice("chat-template-not-used", text))
    return tuple(notices)


def _gguf_name(source: Source) -> str | None:
    """The GGUF file that is meant, or None: the checkpoint is in the format of transformers."""
    there = [file for file in source.files if file.endswith(".gguf")]
    said = source.ref.gguf_file
    if said is not None and said not in there:
        listed = ", ".join(sorted(there)) or "none"
        raise ModelNotFound(f"{source.ref.uri} has no gguf_file {said!r}; it has {listed}")
    if said is None and len(there) == 1 and "config.json" not in source.files:
        return there[0]
    return said


def _file(source: Source, name: str) -> Path:
    if source.repo is None:
        return source.folder / name
    size = source.repo.sizes.get(name)
    if size is not None and not (source.folder / name).exists():
        check_gguf_download(source.ref.uri, name, size)
    return hub.fetch(source.repo, [name]) / name


def _with_parts(facts: ModelFacts, source: Source) -> ModelFacts:
    """Pin what is laid over the model, and make it part of the identity."""
    ref, identity = facts.ref, facts.identity
    tokenizer = tokenizer_ref(ref)
    if tokenizer is not None:
        found = find(tokenizer)
        uri = found.ref.uri
        ref = ref.model_copy(update={"tokenizer": uri})
        identity = with_part(identity, "tokenizer", uri if found.repo else _local_part(found))
    if ref.trust_remote_code and source.ref.gguf_file is None:
        identity = _with_code(identity, source)
    laid_over = [find(adapter) for adapter in adapter_refs(ref)]
    return with_adapters(replace(facts, ref=ref, identity=identity), laid_over)


def _local_part(found: Source) -> str:
    weights = [f for f in found.files if f.endswith((".safetensors", ".bin"))]
    files = {*small_files(found.files, code=False), *weights}
    return folder_identity(found.folder, files)


def _with_code(identity: str, source: Source) -> str:
    """A checkpoint's own code may answer otherwise than the library's class for the same weights.

    Code from another repository is pinned to the commit it is at now.
    """
    checkpoint = read_checkpoint(source.ref.uri, source.folder, source.files)
    if "auto_map" in checkpoint.config or "auto_map" in checkpoint.tokenizer:
        identity = with_part(identity, "trust_remote_code", "true")
    foreign = foreign_repositories(checkpoint.config)
    if len(foreign) > 1:
        raise UnsupportedOption(
            f"{source.ref.uri} takes code from {' and '.join(foreign)}: at most one other "
            "repository can be pinned",
            option="trust_remote_code",
        )
    for name in foreign:
        identity = with_part(identity, "code", f"{name}@{hub.resolve(name).commit}")
    return identity
