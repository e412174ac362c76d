"""Model references: what parses, and how each wrong one is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from bakeoff.core.modelref import ModelRef


@pytest.mark.parametrize(
    ("text", "scheme", "name", "revision"),
    [
        ("hf://facebook/bart-large-cnn", "hf", "facebook/bart-large-cnn", None),
        ("hf://gpt2@v2", "hf", "gpt2", "v2"),
        ("hf://a/b@refs/pr/3", "hf", "a/b", "refs/pr/3"),
        ("fake://echo?delay=1", "fake", "echo?delay=1", None),
        ("baseline://column/my answer", "baseline", "column/my answer", None),
        ("file:///models/x", "file", "/models/x", None),
    ],
)
def test_parses(text: str, scheme: str, name: str, revision: str | None) -> None:
    ref = ModelRef.parse(text)
    assert (ref.scheme, ref.name, ref.revision) == (scheme, name, revision)


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("hf://datasets/org/name", {}, "is a data set"),
        ("hf://org/name@v1", {"revision": "v2"}, "keep one"),
        ("hf://org/name@", {}, "ends with '@'"),
        ("hf://a/b/c", {}, "no repository"),
        ("hf://../etc", {}, "no repository"),
        ("bassline://copy", {}, "did you mean baseline://"),
        ("http://host:8000/v1", {}, "under `endpoint:`"),
        ("facebook/bart", {}, "write 'hf://facebook/bart'"),
        ("fake://", {}, "lacks a name"),
        ("", {}, "is empty"),
        ("fake://echo", {"load_in_4bit": True, "load_in_8bit": True}, "exclude each other"),
        ("fake://echo", {"torch_dtype": "float31"}, "float32"),
        ("fake://echo", {"accelerator": "gpu"}, "cuda"),
    ],
)
def test_refuses(text: str, options: dict[str, object], said: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=said):
        ModelRef.parse(text, base=tmp_path, **options)


def test_relative_paths_start_from_the_base(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    assert ModelRef.parse("m", base=tmp_path).path == tmp_path / "m"
    assert ModelRef.parse("./x.gguf", base=tmp_path).short_name == "x"


def test_same_revision_twice_is_fine() -> None:
    assert ModelRef.parse("hf://a/b@v1", revision="v1").uri == "hf://a/b@v1"
