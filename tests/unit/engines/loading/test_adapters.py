"""PEFT weights over a model: the text of PEFT alone, one or several, or a clear refusal."""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file

from bakeoff.core.errors import DependencyMissing, ModelLoadFailed, ModelNotFound, UnsupportedOption
from bakeoff.core.keys import Decoding, key_parts
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.modelref import ModelRef
from bakeoff.core.requests import GenerationParams
from bakeoff.engines import describe
from tests.support import part
from tests.unit.engines.loading.checkpoints import rewrite, save_encoder
from tests.unit.engines.loading.lora import bare_lora, save_lora
from tests.unit.engines.loading.running import assert_like, made, model_of, opened, texts
from tests.zoo import zoo_path

pytestmark = pytest.mark.torch


def facts(*adapters: Path, name: str = "llama") -> ModelFacts:
    adapter = [str(folder) for folder in adapters]
    return describe(ModelRef.parse(str(zoo_path(name)), adapter=adapter or None))


def digest(found: ModelFacts) -> str:
    return key_parts(found, Decoding(GenerationParams(), "refuse")).digest


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("llama", {}),
        ("llama", {"use_dora": True}),
        ("t5", {}),
        ("bart", {}),
        ("qwen2", {"target_modules": ["embed_tokens", "q_proj"]}),  # shared with the last layer
    ],
)
def test_text_is_that_of_peft_alone(
    name: str, config: dict[str, Any], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    part("peft")
    folder = save_lora(tmp_path / "lora", name, **config)
    capfd.readouterr()
    with opened(zoo_path(name)) as engine:
        without = texts(engine, name)
    with opened(zoo_path(name), adapter=str(folder)) as engine:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = made(engine, name)
        assert [completion.text for completion in found] != without
        assert capfd.readouterr() == ("", "")
        shared = "embed_tokens" in config.get("target_modules", ())
        assert [n.code for n in engine.notices] == ["library-warning"] * shared
        assert engine.info.dtype == "float32"
        assert type(model_of(engine)).__module__.startswith("transformers.")
        assert_like(found, name, bare_lora(name, folder))


def test_in_16_bits_the_weights_stay_as_they_are(tmp_path: Path) -> None:
    """Added to the weights, small changes would be rounded away."""
    part("peft")
    folder = save_lora(tmp_path / "lora", "qwen2")
    found = {}
    for dtype in ("float32", "bfloat16"):
        with opened(zoo_path("qwen2"), adapter=str(folder), torch_dtype=dtype) as engine:
            modules = model_of(engine).modules()
            found[dtype] = any(hasattr(module, "lora_A") for module in modules)
            assert texts(engine, "qwen2")[0]
    assert found == {"float32": False, "bfloat16": True}


def test_several_are_added_up(tmp_path: Path) -> None:
    part("peft")
    one, two = save_lora(tmp_path / "a", "llama"), save_lora(tmp_path / "b", "llama", seed=1)
    found: dict[tuple[Path, ...], list[str]] = {}
    for folders in ((one,), (two,), (one, two)):
        with opened(zoo_path("llama"), adapter=[str(folder) for folder in folders]) as engine:
            completions = made(engine, "llama")
        assert_like(completions, "llama", bare_lora("llama", *folders))
        found[folders] = [completion.text for completion in completions]
    assert len({tuple(several) for several in found.values()}) == 3


def test_over_quantised_weights(tmp_path: Path) -> None:
    part("peft")
    part("bitsandbytes")
    folder = save_lora(tmp_path / "lora", "qwen2")
    with opened(zoo_path("qwen2"), load_in_4bit=True) as engine:
        without = texts(engine, "qwen2")
    with opened(zoo_path("qwen2"), load_in_4bit=True, adapter=str(folder)) as engine:
        assert engine.info.dtype == "bnb-4bit"
        assert texts(engine, "qwen2") != without
        kinds = {type(module).__name__ for module in model_of(engine).modules()}
        assert {"Linear4bit", "LoraLayer", "LoraLinear4bit"} & kinds


def test_over_a_classifier(tmp_path: Path) -> None:
    """Its head is trained whole and lies beside the weights that are added."""
    peft = pytest.importorskip(part("peft"))
    import transformers

    base = save_encoder(tmp_path / "base", "BertForSequenceClassification")
    model = transformers.AutoModelForSequenceClassification.from_pretrained(base)
    config = peft.LoraConfig(target_modules=["query"], task_type="SEQ_CLS")
    peft.get_peft_model(model, config).save_pretrained(tmp_path / "lora")
    with opened(base, adapter=str(tmp_path / "lora")) as engine:
        assert engine.capabilities.heads == {"classify"}
    with pytest.raises(UnsupportedOption, match="made for classifiers"):
        facts(tmp_path / "lora")


def test_each_adapters_content_is_part_of_the_key(tmp_path: Path) -> None:
    part("peft")
    one, two = save_lora(tmp_path / "a", "llama"), save_lora(tmp_path / "b", "llama", seed=1)
    copy = shutil.copytree(one, tmp_path / "copy")
    (copy / "README.md").write_text("words")
    assert facts(one).ref.adapter == f"file://{one}"
    assert facts(one, two).ref.adapter == (f"file://{one}", f"file://{two}")
    assert facts(one).identity == facts(copy).identity
    assert digest(facts(one, two)) == digest(facts(copy, two))
    known = {digest(facts(*them)) for them in ((), (one,), (two,), (one, two), (two, one))}
    assert len(known) == 5
    rewrite(copy / "adapter_config.json", lora_alpha=9)
    assert digest(facts(copy)) != digest(facts(one))


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Describing needs no PEFT."""
    monkeypatch.setattr("bakeoff.engines.checks._installed", lambda module: True)


def write(folder: Path, **config: object) -> Path:
    folder.mkdir()
    said = {"peft_type": "LORA", "task_type": "CAUSAL_LM", **config}
    (folder / "adapter_config.json").write_text(json.dumps(said))
    (folder / "adapter_model.safetensors").write_bytes(b"")
    return folder


@pytest.mark.usefixtures("installed")
def test_what_is_no_adapter_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFound, match="does not exist"):
        facts(tmp_path / "none")
    with pytest.raises(ModelLoadFailed, match=r"whole model: name it under `model:`"):
        facts(zoo_path("qwen2"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelLoadFailed, match=r"for it has no adapter_config\.json"):
        facts(tmp_path / "empty")
    folder = write(tmp_path / "lora")
    (folder / "adapter_model.safetensors").unlink()
    with pytest.raises(ModelLoadFailed, match=r"neither adapter_model\.safetensors nor"):
        facts(folder)


@pytest.mark.usefixtures("installed")
def test_what_does_not_fit_is_refused_before_anything_is_loaded(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedOption, match=r"encoder-decoder models.*LlamaForCausalLM"):
        facts(write(tmp_path / "a", task_type="SEQ_2_SEQ_LM"))
    with pytest.raises(UnsupportedOption, match=r"decoder-only models.*T5For.*\(org/base\)"):
        facts(write(tmp_path / "b", base_model_name_or_path="org/base"), name="t5")
    with pytest.raises(UnsupportedOption, match="kind PREFIX_TUNING"):
        facts(write(tmp_path / "c", peft_type="PREFIX_TUNING"))
    lora, ia3 = write(tmp_path / "d"), write(tmp_path / "e", peft_type="IA3")
    with pytest.raises(UnsupportedOption, match="IA3 and LORA"):
        facts(lora, ia3)
    with pytest.raises(UnsupportedOption, match="modules_to_save"):
        facts(lora, write(tmp_path / "f", modules_to_save=["lm_head"]))


def test_weights_inside_a_models_folder_are_refused(tmp_path: Path) -> None:
    """transformers would lay them over the model unasked, but only where PEFT is installed."""
    folder = shutil.copytree(zoo_path("qwen2"), tmp_path / "both")
    (folder / "adapter_config.json").write_text("{}")
    with pytest.raises(UnsupportedOption, match=r"a model and PEFT weights .* at once"):
        describe(ModelRef.parse(str(folder)))


@pytest.mark.usefixtures("installed")
def test_another_base_is_a_warning(tmp_path: Path) -> None:
    """The name may be that of a copy; whether the weights differ cannot be seen."""
    (notice,) = facts(write(tmp_path / "a", base_model_name_or_path="org/Other-7B")).notices
    assert notice.code == "adapter-base" and "'org/Other-7B'" in notice.text
    assert facts(write(tmp_path / "b", base_model_name_or_path="org/Llama")).notices == ()


def test_weights_for_another_size_are_refused(tmp_path: Path) -> None:
    part("peft")
    folder = save_lora(tmp_path / "lora", "llama")
    path = folder / "adapter_model.safetensors"
    halved = {k: v[:, : v.shape[1] // 2].clone() for k, v in load_file(path).items()}
    save_file(halved, path)
    with (
        pytest.raises(ModelLoadFailed, match=r"adapter file://.*lora does not fit.*size mismatch"),
        opened(zoo_path("llama"), adapter=str(folder)),
    ):
        pass


def test_weights_for_other_layers_are_refused(tmp_path: Path) -> None:
    part("peft")
    folder = save_lora(tmp_path / "lora", "bart", task_type=None)
    with (
        pytest.raises(ModelLoadFailed, match=r"does not fit.*arget modules"),
        opened(zoo_path("t5"), adapter=str(folder)),
    ):
        pass


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda w: {k: v for k, v in w.items() if "layers.0" not in k}, "it lacks model.layers.0"),
        (lambda w: w | {k.replace("layers.0", "layers.9"): v.clone() for k, v in w.items()},
         "the model has no place for model.layers.9"),
    ],
)  # fmt: skip
def test_weights_in_part_are_refused(tmp_path: Path, change, says: str) -> None:
    part("peft")
    folder = save_lora(tmp_path / "lora", "llama")
    path = folder / "adapter_model.safetensors"
    save_file(change(load_file(path)), path)
    with (
        pytest.raises(ModelLoadFailed, match=says.replace(".", r"\.")),
        opened(zoo_path("llama"), adapter=str(folder)),
    ):
        pass


def test_without_peft_the_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bakeoff.engines.checks._installed", lambda module: False)
    with pytest.raises(DependencyMissing, match=r"bakeoff\[adapters\]"):
        facts(Path("/a"), Path("/b"))


@pytest.mark.parametrize(
    ("said", "wrong"), [([], "empty list"), (["./a", "./a"], "the same weights twice")]
)
def test_lists_that_say_nothing_are_refused(said: list[str], wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        ModelRef.parse("fake://echo", adapter=said)


def test_a_list_of_one_is_the_one() -> None:
    assert ModelRef.parse("fake://echo", adapter=["./a"]).adapter == "./a"
    assert ModelRef.parse("fake://echo", adapter=["./a", "./b"]).adapters == ("./a", "./b")
    assert ModelRef.parse("fake://echo").adapters == ()
