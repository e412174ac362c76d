"""`ModelRef`: which model, and how it is loaded."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, field_validator, model_validator

from bakeoff.core.registry import near_matches

Scheme = Literal["hf", "file", "fake", "baseline", "endpoint"]
Accelerator = Literal["auto", "cpu", "cuda", "mps"]
TorchDtype = Literal["auto", "float32", "float16", "bfloat16"]
DeviceMap = Literal["none", "auto", "balanced", "sequential"]
EngineName = Literal["auto", "transformers", "ctranslate2", "openvino", "llamacpp", "vllm"]

_REPO = re.compile(r"^[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?$")


class LoadOptions(BaseModel):
    """How a model is loaded; every field may stand in a model entry of a spec."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    revision: str | None = Field(None, description="Branch, tag or commit on the Hub.")
    accelerator: Accelerator = Field("auto", description="Device; auto takes cuda, mps, then cpu.")
    torch_dtype: TorchDtype = Field(
        "auto",
        description="Precision of the weights; auto is float32 on a CPU and the checkpoint's own "
        "on an accelerator.",
    )
    device_map: DeviceMap = Field("none", description="Spread one model over several devices.")
    max_memory: dict[str, str] | None = Field(
        None, description="Most memory a device may give, for example {cpu: 8GiB, '0': 20GiB}."
    )
    use_fast: StrictBool = Field(
        True, description="The tokenizer in Rust rather than the one in Python."
    )
    trust_remote_code: StrictBool = Field(
        False, description="Run Python code that comes with the checkpoint."
    )
    load_in_4bit: StrictBool = Field(False, description="Quantise to 4 bits on loading.")
    load_in_8bit: StrictBool = Field(False, description="Quantise to 8 bits on loading.")
    adapter: str | tuple[str, ...] | None = Field(
        None, description="PEFT weights laid over the model; of several, the changes are added up."
    )
    engine: EngineName = Field("auto", description="What runs the model.")
    compute_type: str | None = Field(None, description="Arithmetic of the ctranslate2 engine.")
    tokenizer: str | None = Field(None, description="Another tokenizer than the model's own.")
    served_model: str | None = Field(None, description="The name an endpoint knows the model by.")
    gguf_file: str | None = Field(None, description="Which GGUF file of a folder or repository.")

    @field_validator("adapter")
    @classmethod
    def _one_adapter_is_no_list(cls, value: str | tuple[str, ...] | None) -> Any:
        if not isinstance(value, tuple):
            return value
        if not value:
            raise ValueError("adapter is an empty list: name PEFT weights, or leave it out")
        if len(set(value)) < len(value):
            raise ValueError(f"adapter names the same weights twice: {', '.join(value)}")
        return value[0] if len(value) == 1 else value

    @model_validator(mode="after")
    def _quantise_once(self) -> LoadOptions:
        if self.load_in_4bit and self.load_in_8bit:
            raise ValueError("load_in_4bit and load_in_8bit exclude each other: keep one of them")
        return self

    @property
    def adapters(self) -> tuple[str, ...]:
        """All of `adapter`, in order."""
        return (self.adapter,) if isinstance(self.adapter, str) else self.adapter or ()

    @property
    def quantisation(self) -> Literal["4bit", "8bit"] | None:
        """What the weights become on loading, or None: they stay as they are."""
        return "4bit" if self.load_in_4bit else "8bit" if self.load_in_8bit else None


class ModelRef(LoadOptions):
    """A parsed model reference.

    Attributes:
        scheme: where the model comes from.
        name: repository, absolute path, or the name after `fake://` and `baseline://`.
        endpoint: base URL of a served model, else None.
    """

    scheme: Scheme
    name: str
    endpoint: str | None = None

    @classmethod
    def parse(cls, text: str, *, base: Path | None = None, **options: Any) -> ModelRef:
        """Read a reference as people write it.

        Args:
            text: `hf://org/name[@revision]`, a folder or GGUF file, `fake://NAME`,
                `baseline://NAME`.
            base: folder against which relative paths are taken; default: the working directory.
            options: fields of `LoadOptions`.

        Raises:
            ValueError: the text is none of these; the message says what to write.
        """
        scheme, name, revision = _split(text.strip(), base)
        said = options.get("revision")
        if revision and said and said != revision:
            raise ValueError(
                f"{text!r} names revision {revision!r} and `revision:` says {said!r}: keep one"
            )
        if revision:
            options["revision"] = revision
        return cls(scheme=scheme, name=name, **options)

    @property
    def uri(self) -> str:
        """The reference as one string, without options other than the revision."""
        if self.scheme == "hf":
            return f"hf://{self.name}" + (f"@{self.revision}" if self.revision else "")
        if self.scheme == "endpoint":
            return f"{self.endpoint}#{self.served_model or self.name}"
        return f"{self.scheme}://{self.name}"

    @property
    def path(self) -> Path:
        """The folder or file of a local model."""
        return Path(self.name)

    @property
    def short_name(self) -> str:
        """The last part of the name, for labels."""
        stem = self.name.rstrip("/").rsplit("/", 1)[-1]
        return stem.removesuffix(".gguf") if self.scheme == "file" else stem


def _split(text: str, base: Path | None) -> tuple[Scheme, str, str | None]:
    """Scheme, name and revision of a reference."""
    scheme, sep, rest = text.partition("://")
    if not sep:
        return _local(text, base)
    if scheme == "hf":
        return _hub(text, rest)
    if scheme == "file":
        return "file", str(Path(rest)), None
    if scheme in ("fake", "baseline"):
        if not rest:
            raise ValueError(f"{text!r} lacks a name: write {scheme}://NAME")
        return ("fake" if scheme == "fake" else "baseline"), rest, None
    if scheme in ("http", "https"):
        raise ValueError(
            f"{text!r} is an address: write it under `endpoint:` and the served name under `model:`"
        )
    near = near_matches(scheme, ["hf", "file", "fake", "baseline"])
    hint = f"; did you mean {near[0]}://?" if near else ""
    raise ValueError(
        f"{text!r} has the unknown scheme {scheme!r}: write hf://org/name, a local folder, "
        f"fake://NAME or baseline://NAME{hint}"
    )


def _hub(text: str, rest: str) -> tuple[Scheme, str, str | None]:
    if rest.startswith("datasets/"):
        raise ValueError(
            f"{text!r} is a data set, not a model: write it under `dataset:`; "
            "a model is hf://org/name"
        )
    name, at, revision = rest.partition("@")
    if at and not revision:
        raise ValueError(f"{text!r} ends with '@': write the revision behind it, or drop it")
    if not _REPO.match(name) or name.endswith((".git", ".")) or ".." in name or "--" in name:
        raise ValueError(f"{text!r} is no repository on the Hub: write hf://org/name[@revision]")
    return "hf", name, revision or None


def _local(text: str, base: Path | None) -> tuple[Scheme, str, str | None]:
    if not text:
        raise ValueError("the model reference is empty: write hf://org/name or a local folder")
    path = Path(text).expanduser()
    absolute = path if path.is_absolute() else (base or Path.cwd()) / path
    looks_local = text.startswith((".", "/", "~")) or text.endswith(".gguf") or absolute.exists()
    if not looks_local and _REPO.match(text):
        raise ValueError(f"{text!r}: no such folder; for the Hub write 'hf://{text}'")
    return "file", str(absolute.resolve()), None
