"""PEFT weights under names of their own: a model beside the model itself."""

from __future__ import annotations

import json

import pytest

from bakeoff.cli.servemodels import Loading, Named, entries_of, is_named
from bakeoff.core.errors import InvalidRequest
from bakeoff.engines.options import EngineOptions
from tests.serving.serverthread import Server
from tests.support import part
from tests.zoo import zoo_inputs, zoo_path

pytestmark = pytest.mark.torch
FAST = Loading(values={"engine": "transformers"}, engine=EngineOptions(threads=1), sized=True)


@pytest.fixture(scope="module")
def lora(tmp_path_factory):
    part("peft")
    from tests.unit.engines.loading.lora import save_lora

    folder = save_lora(tmp_path_factory.mktemp("lora") / "weights", "llama")
    config = json.loads((folder / "adapter_config.json").read_text())
    config["base_model_name_or_path"] = "someone/llama"
    (folder / "adapter_config.json").write_text(json.dumps(config))
    return str(folder)


def test_it_is_a_model_of_its_own(lora):
    named = Named(names=("tuned-too=tuned",), adapters=(f"tuned={lora}",))
    plain, tuned = entries_of([str(zoo_path("llama"))], named, FAST)
    assert (plain.name, tuned.name, tuned.aliases) == ("llama", "tuned", ("tuned-too",))
    assert tuned.facts.identity != plain.facts.identity
    assert min(plain.bytes, tuned.bytes) > 0
    server = Server([plain, tuned])
    try:
        body = {"prompt": zoo_inputs("llama", 1)[0], "max_tokens": 20, "temperature": 0}
        texts = {
            name: server.post("/v1/completions", body | {"model": name}).json()["choices"][0]
            for name in ("llama", "tuned", "tuned-too")
        }
        assert texts["tuned"] == texts["tuned-too"]
        assert texts["tuned"]["text"] != texts["llama"]["text"]
        assert server.desk.models.states() == {"llama": "loaded", "tuned": "loaded"}
    finally:
        server.close()


def test_of_several_models_it_goes_over_its_base(lora):
    models = [str(zoo_path("qwen2")), str(zoo_path("llama"))]
    entries = entries_of(models, Named(adapters=(f"tuned={lora}",)), FAST)
    assert [entry.facts.architecture for entry in entries] == [
        "Qwen2ForCausalLM", "LlamaForCausalLM", "LlamaForCausalLM",
    ]  # fmt: skip
    with pytest.raises(InvalidRequest, match="named by it as its base"):
        entries_of([str(zoo_path("qwen2")), str(zoo_path("mistral"))],
                   Named(adapters=(f"tuned={lora}",)), FAST)  # fmt: skip


@pytest.mark.parametrize(
    ("said", "named"),
    [("a=b", True), ("a=hf://x/y", True), ("./a=b", False), ("hf://a/b=c", False), ("=b", False),
     ("a=", False), ("folder", False)],
)  # fmt: skip
def test_a_name_is_told_from_a_path(said, named):
    assert is_named(said) == named


@pytest.mark.parametrize(
    ("named", "said"),
    [
        (Named(pinned=("nix",)), "--pin 'nix'"),
        (Named(names=("a=nix",)), "--name 'a=nix'"),
        (Named(names=("=fake://echo",)), "--name"),
    ],
)
def test_names_of_models_that_are_not_there_are_refused(named, said):
    with pytest.raises(InvalidRequest, match=said):
        entries_of(["fake://echo"], named, FAST)


def test_pins_and_names_are_said_by_name_or_reference():
    models = ["fake://echo", "fake://upper"]
    named = Named(names=("a=fake://upper",), pinned=("fake://upper", "echo"))
    entries = entries_of(models, named, FAST)
    assert [(one.pinned, one.aliases) for one in entries] == [(True, ()), (True, ("a",))]
