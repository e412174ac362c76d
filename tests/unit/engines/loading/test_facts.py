"""`describe_checkpoint`: kinds, heads, windows, templates and options, from small files alone."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

import pytest

from bakeoff.core.errors import (
    BakeoffError,
    DependencyMissing,
    ModelLoadFailed,
    ModelNotFound,
    UnsupportedOption,
)
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.modelref import ModelRef
from bakeoff.engines import describe
from bakeoff.engines.dated import on_its_day
from tests.zoo import zoo_path

Make = Callable[..., Path]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Write a checkpoint's small files; the weights are an empty file."""

    def write(config: dict[str, Any], **files: Any) -> Path:
        folder = tmp_path / "model"
        folder.mkdir(exist_ok=True)
        (folder / "model.safetensors").write_bytes(b"")
        (folder / "config.json").write_text(json.dumps(config))
        for name, value in files.items():
            path = folder / name.replace("__", ".").replace("_slash_", "/")
            path.parent.mkdir(exist_ok=True)
            path.write_text(value if isinstance(value, str) else json.dumps(value))
        return folder

    return write


def facts_of(folder: Path, **options: Any) -> ModelFacts:
    return describe(ModelRef.parse(str(folder), **options))


LABELS = {"id2label": {"0": "contradiction", "1": "neutral", "2": "entailment"}}


@pytest.mark.parametrize(
    ("config", "kind", "heads"),
    [
        ({"architectures": ["LlamaForCausalLM"]}, "causal", set()),
        ({"architectures": ["GPT2LMHeadModel"]}, "causal", set()),
        ({"architectures": ["Gemma3ForConditionalGeneration"], "model_type": "gemma3"},
         "causal", set()),
        ({"architectures": ["T5WithLMHeadModel"], "is_encoder_decoder": True}, "seq2seq", set()),
        ({"architectures": ["BartModel"], "is_encoder_decoder": True}, "seq2seq", set()),
        ({"architectures": ["MarianMTModel"], "is_encoder_decoder": True}, "seq2seq", set()),
        ({"architectures": ["BertForQuestionAnswering"]}, "encoder", {"answer-span"}),
        ({"architectures": ["BertForSequenceClassification"]}, "encoder", {"classify"}),
        ({"architectures": ["BartForSequenceClassification"], "is_encoder_decoder": True, **LABELS},
         "encoder", {"classify", "pair-classify"}),
        ({"architectures": ["BertForMaskedLM"]}, "encoder", {"embed"}),
        ({"architectures": ["MPNetModel"]}, "encoder", {"embed"}),
        ({"auto_map": {"AutoModel": "x.X", "AutoModelForCausalLM": "x.Y"}, "model_type": "llama"},
         "causal", set()),
    ],
)  # fmt: skip
def test_kind_and_heads(make: Make, config: dict[str, Any], kind: str, heads: set[str]) -> None:
    can = facts_of(make(config)).capabilities
    assert (can.kind, set(can.heads)) == (kind, heads)
    assert can.likelihood == (kind != "encoder")
    assert can.embeddings == ("embed" in heads)


@pytest.mark.parametrize(
    "config",
    [
        {"architectures": ["BertForTokenClassification"]},
        {"architectures": ["BertForMultipleChoice"]},
        {"architectures": ["WhisperForConditionalGeneration"], "is_encoder_decoder": True,
         "num_mel_bins": 80},
        {"architectures": ["LlavaForConditionalGeneration"], "vision_config": {}},
        {"architectures": ["ViTModel"], "image_size": 224},
    ],
)  # fmt: skip
def test_what_bakeoff_cannot_run_is_refused_by_name(make: Make, config: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedOption, match="bakeoff runs text generation") as caught:
        facts_of(make(config))
    assert config["architectures"][0] in str(caught.value)


ENCODER = {"architectures": ["BertModel"]}
BART = {"architectures": ["BartForConditionalGeneration"], "is_encoder_decoder": True}
T5 = {
    "architectures": ["T5ForConditionalGeneration"],
    "is_encoder_decoder": True,
    "relative_attention_num_buckets": 32,
}
CAUSAL = {"architectures": ["LlamaForCausalLM"]}


@pytest.mark.parametrize(
    ("config", "tokenizer", "window"),
    [
        ({**CAUSAL, "max_position_embeddings": 2048}, {}, 2048),
        ({**CAUSAL, "n_positions": 1024}, {}, 1024),
        ({**CAUSAL, "text_config": {"max_position_embeddings": 8192}}, {}, 8192),
        (CAUSAL, {}, None),
        ({**BART, "max_position_embeddings": 1024}, {"model_max_length": 512}, 1024),
        ({**BART, "max_encoder_position_embeddings": 16384, "max_decoder_position_embeddings": 9},
         {}, 16384),
        ({**T5, "n_positions": 512}, {"model_max_length": 256}, 256),
        ({**T5, "n_positions": 512}, {"model_max_length": int(1e30)}, 512),
        (T5, {}, None),
        ({**ENCODER, "model_type": "bert", "max_position_embeddings": 512}, {}, 512),
        ({**ENCODER, "model_type": "roberta", "max_position_embeddings": 514, "pad_token_id": 1},
         {}, 512),
        ({**ENCODER, "model_type": "mpnet", "max_position_embeddings": 514, "pad_token_id": 1,
          "relative_attention_num_buckets": 32}, {}, 512),
    ],
)  # fmt: skip
def test_window(
    make: Make, config: dict[str, Any], tokenizer: dict[str, Any], window: int | None
) -> None:
    folder = make(config, tokenizer_config__json=tokenizer)
    assert facts_of(folder).capabilities.context_length == window


@pytest.mark.parametrize(
    ("files", "has"),
    [
        ({}, False),
        ({"tokenizer_config__json": {"chat_template": "x"}}, True),
        ({"chat_template__jinja": "x"}, True),
        ({"chat_template__json": {"chat_template": "x"}}, True),
        ({"tokenizer_config__json": {"chat_template": [{"name": "default", "template": "x"}]}},
         True),
        ({"tokenizer_config__json": {"chat_template": [{"name": "rag", "template": "x"}]}}, False),
    ],
)  # fmt: skip
def test_chat_template(make: Make, files: dict[str, Any], has: bool) -> None:
    assert facts_of(make(CAUSAL, **files)).capabilities.chat_template is has


def test_tokens_for_languages_and_for_the_middle(make: Make) -> None:
    fim = [{"content": t} for t in ("<fim_prefix>", "<fim_suffix>", "<fim_middle>")]
    assert facts_of(make(CAUSAL, tokenizer__json={"added_tokens": fim})).capabilities.fim_tokens
    special = {"additional_special_tokens": ["en_XX", "de_DE", "eng_Latn", "__fr__", "<x>"]}
    can = facts_of(make(BART, special_tokens_map__json=special)).capabilities
    assert can.language_codes == ("de_DE", "en_XX", "eng_Latn", "fr")
    assert not can.targets_only
    marian = {"vocab__json": {">>fra<<": 1, "a": 2}, "source__spm": ""}
    can = facts_of(make(BART, special_tokens_map__json={}, **marian)).capabilities
    assert can.language_codes == ("fra",) and can.targets_only
    assert facts_of(make(CAUSAL, **marian)).capabilities.language_codes == ()


def test_labels_in_the_order_of_the_outputs(make: Make) -> None:
    config = {"architectures": ["BertForSequenceClassification"], **LABELS}
    assert facts_of(make(config)).capabilities.labels == ("contradiction", "neutral", "entailment")


@pytest.mark.parametrize(
    ("modules", "refused"),
    [
        (["Transformer", "Pooling", "Normalize"], None),
        (["Transformer", "Pooling", "Dense"], "'Dense'"),
        (["Transformer", "MaxPooling"], "'MaxPooling'"),
    ],
)
def test_sentence_transformers_modules(make: Make, modules: list[str], refused: str | None) -> None:
    listed = [
        {"idx": i, "path": "1_Pooling" if name == "Pooling" else "", "type": f"s.models.{name}"}
        for i, name in enumerate(modules)
    ]
    folder = make(
        {**CAUSAL, "max_position_embeddings": 512},
        modules__json=listed,
        sentence_bert_config__json={"max_seq_length": 128},
        **{"1_Pooling_slash_config__json": {"pooling_mode_lasttoken": True}},
    )
    if refused:
        with pytest.raises(UnsupportedOption, match=refused):
            facts_of(folder)
    else:
        can = facts_of(folder).capabilities
        assert (can.kind, can.context_length, can.embeddings) == ("encoder", 128, True)


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"compute_type": "int8", "engine": "transformers"}, UnsupportedOption, "torch_dtype"),
        ({"compute_type": "int3"}, UnsupportedOption, "processor has .*float32.*int8"),
        ({"served_model": "x"}, UnsupportedOption, "endpoint"),
        ({"revision": "main"}, UnsupportedOption, "is local"),
        ({"max_memory": {"cpu": "8GiB"}}, UnsupportedOption, "device_map"),
        ({"device_map": "auto", "max_memory": {"cpu": "lots"}}, UnsupportedOption, "8GiB"),
        ({"device_map": "auto", "max_memory": {"gpu": "8GiB"}}, UnsupportedOption, "'gpu'"),
        ({"device_map": "auto", "accelerator": "cpu"}, UnsupportedOption, "keep one"),
        ({"engine": "vllm"}, UnsupportedOption, "endpoint"),
        ({"tokenizer": "org/name"}, UnsupportedOption, "hf://org/name"),
        ({"gguf_file": "a.bin"}, UnsupportedOption, r"\.gguf"),
        ({"gguf_file": "a.gguf"}, ModelNotFound, "no gguf_file"),
        ({"load_in_4bit": True}, DependencyMissing, r"bakeoff\[quant\]"),
        ({"load_in_8bit": True}, DependencyMissing, r"bakeoff\[quant\]"),
        ({"adapter": "./x"}, DependencyMissing, r"bakeoff\[adapters\]"),
    ],
)
def test_options_are_refused_before_anything_is_loaded(
    make: Make,
    options: dict[str, Any],
    error: type[BakeoffError],
    says: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bakeoff.engines.checks._installed", lambda module: False)
    with pytest.raises(error, match=says):
        facts_of(make(CAUSAL), **options)


def test_what_is_not_there_is_named(tmp_path: Path, make: Make) -> None:
    folder = make(CAUSAL)
    with pytest.raises(ModelNotFound, match=f"did you mean {folder}"):
        facts_of(tmp_path / "modle")
    (folder / "notes.txt").write_text("x")
    with pytest.raises(ModelLoadFailed, match="neither a folder nor"):
        facts_of(folder / "notes.txt")
    (folder / "config.json").write_text("{")
    with pytest.raises(ModelLoadFailed, match=r"config\.json cannot be read"):
        facts_of(folder)
    (folder / "config.json").unlink()
    (folder / "adapter_config.json").write_text("{}")
    with pytest.raises(ModelLoadFailed, match="under `adapter:`"):
        facts_of(folder)
    (folder / "adapter_config.json").unlink()
    for name in ("a.gguf", "b.gguf"):
        (folder / name).write_bytes(b"")
    with pytest.raises(ModelLoadFailed, match=r"one of a\.gguf, b\.gguf"):
        facts_of(folder)


def test_weights_in_another_format_are_named(make: Make) -> None:
    folder = make(CAUSAL)
    (folder / "model.safetensors").rename(folder / "tf_model.h5")
    with pytest.raises(ModelLoadFailed, match=r"it has tf_model\.h5"):
        facts_of(folder)


def test_unknown_model_type_with_its_own_code_needs_trust(make: Make) -> None:
    config = {"auto_map": {"AutoModelForCausalLM": "ours.Model"}, "model_type": "ours"}
    folder = make(config, ours__py="")
    with pytest.raises(UnsupportedOption, match="trust_remote_code: true"):
        facts_of(folder)
    trusted = facts_of(folder, trust_remote_code=True)
    assert [n.code for n in trusted.notices] == ["remote-code"]
    (folder / "ours.py").write_text("changed = 1")
    assert facts_of(folder, trust_remote_code=True).identity != trusted.identity


def test_own_code_is_part_of_what_a_known_model_is(make: Make) -> None:
    folder = make({**CAUSAL, "model_type": "llama", "auto_map": {"AutoModelForCausalLM": "o.M"}})
    assert facts_of(folder).identity != facts_of(folder, trust_remote_code=True).identity
    plain = make({**CAUSAL, "model_type": "llama"})
    assert facts_of(plain).identity == facts_of(plain, trust_remote_code=True).identity


@pytest.mark.parametrize(
    ("options", "torch", "found"),
    [
        ({"accelerator": "cpu"}, "2.9.1", "float32"),
        ({"accelerator": "cpu", "torch_dtype": "bfloat16"}, "2.9.1", "bfloat16"),
        ({}, "2.9.1+cpu", "float32"),
        ({}, "2.9.1", "auto"),
        ({}, "2.9.1+cu128", "auto"),
        ({"accelerator": "cuda"}, "2.9.1+cpu", "auto"),
    ],
)
def test_precision_is_resolved_where_it_is_known(
    make: Make, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], torch: str, found: str
) -> None:
    monkeypatch.setattr("bakeoff.engines.precision.importlib.metadata.version", lambda _: torch)
    monkeypatch.setattr("bakeoff.engines.precision.sys.platform", "linux")
    assert facts_of(make(CAUSAL), **options).ref.torch_dtype == found


@pytest.mark.parametrize("name", ["chat_template__jinja", "tokenizer_config__json"])
def test_a_template_that_reads_the_clock_is_pinned_to_a_day(
    make: Make, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    class Clock:
        day = datetime(2026, 1, 2, 23, 59, tzinfo=UTC)

        @classmethod
        def now(cls, zone: tzinfo) -> datetime:
            return cls.day.astimezone(zone)

    monkeypatch.setattr("bakeoff.engines.dated.datetime", Clock)
    template = "{{ strftime_now('%d %b %Y') }} {{ messages }}"
    folder = make(CAUSAL, **{name: {"chat_template": template} if "json" in name else template})
    first = facts_of(folder)
    assert [n.code for n in first.notices] == ["dated-chat-template"]
    assert "2026-01-02" in first.notices[0].text
    assert on_its_day(template, first) == "{{ '02 Jan 2026' }} {{ messages }}"
    assert facts_of(folder).identity == first.identity
    Clock.day += timedelta(minutes=2)
    assert facts_of(folder).identity != first.identity
    assert on_its_day(template, facts_of(make(CAUSAL, **{name: "{}"}))) == template


def test_identity_follows_contents_not_names_of_places(make: Make, tmp_path: Path) -> None:
    folder = make(CAUSAL, README__md="read me", tokenizer__json={})
    first = facts_of(folder).identity
    moved = folder.rename(tmp_path / "elsewhere")
    (moved / "README.md").write_text("another")
    assert facts_of(moved).identity == first
    for name in ("model.safetensors", "tokenizer.json"):
        before = facts_of(moved).identity
        (moved / name).write_text('{"changed": 1}')
        assert facts_of(moved).identity != before


def test_describing_imports_no_heavy_library() -> None:
    script = (
        "import sys\nfrom bakeoff.core.modelref import ModelRef\n"
        "from bakeoff.engines import describe\n"
        f"describe(ModelRef.parse({str(zoo_path('bart'))!r}))\n"
        "heavy = {'torch', 'transformers', 'gguf', 'scipy', 'pandas'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
