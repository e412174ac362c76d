"""`hf://` end to end: revision, token and code reach configuration, tokenizer and weights alike."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import transformers

from bakeoff.core.errors import (
    BakeoffError,
    HubUnreachable,
    ModelAccessDenied,
    ModelLoadFailed,
    ModelNotFound,
    UnsupportedOption,
)
from bakeoff.core.modelref import ModelRef
from bakeoff.engines import describe
from bakeoff.engines.options import EngineOptions
from bakeoff.engines.transformers.loading import Loaded, load_model
from tests.hub import NO_ACCESS_TOKEN, VALID_TOKEN, Hub, RemoteCode
from tests.unit.engines.loading.tiny_gguf import write_gguf
from tests.zoo import zoo_inputs, zoo_path

pytestmark = pytest.mark.torch
BART, T5 = "facebook/bart-large-cnn", "google-t5/t5-base"
KINDS = {"config.json", "tokenizer.json", "model.safetensors"}


def load(text: str, hints: tuple[str, ...] = (), **options: object) -> Loaded:
    return load_model(describe(ModelRef.parse(text, **options), hints), EngineOptions(threads=2))


def answer(model: Any, tokenizer: Any, text: str) -> str:
    batch = tokenizer(text, return_tensors="pt")
    limit = {"max_new_tokens": 24, "max_length": None}
    return str(tokenizer.decode(model.generate(**batch, do_sample=False, **limit)[0]))


def answers_like(loaded: Loaded, zoo: str) -> bool:
    """Whether a loaded model writes what the zoo's model of that name writes."""
    folder = zoo_path(zoo)
    plain = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    texts = zoo_inputs(zoo, 2)
    wanted = [answer(plain, tokenizer, text) for text in texts]
    return [answer(loaded.model, loaded.tokenizer, text) for text in texts] == wanted


def got(hub: Hub, repo: str) -> list[tuple[str, str, str | None]]:
    """File, revision and token of each request for a file that a model is made of."""
    return [(f.file, f.revision, f.token) for f in hub.fetches(repo) if f.status < 400]


@pytest.mark.parametrize(("repo", "zoo"), [(BART, "bart"), (T5, "t5")])
def test_real_names_load_and_answer(hub_in_process: Hub, repo: str, zoo: str) -> None:
    hub_in_process.add_model(repo, zoo_path(zoo))
    facts = describe(ModelRef.parse(f"hf://{repo}"))
    commit = hub_in_process.commit(repo)
    assert facts.ref.revision == commit
    assert facts.identity == f"hf:{repo}@{commit}"
    fetched = {file for file, _, _ in got(hub_in_process, repo)}
    assert "config.json" in fetched and "model.safetensors" not in fetched
    assert answers_like(load(f"hf://{repo}"), zoo)


def test_task_settings_of_a_hub_checkpoint_are_applied_and_said(hub_in_process: Hub) -> None:
    hub_in_process.add_model(T5, zoo_path("t5"))
    facts = describe(ModelRef.parse(f"hf://{T5}"), ("translation_en_to_de", "translation"))
    assert facts.prefix == "translate English to German: "
    assert (facts.defaults.num_beams, facts.defaults.max_new_tokens) == (2, 127)
    assert facts.origins["num_beams"] == "task_specific_params.translation_en_to_de"
    assert [n.code for n in facts.notices] == ["task-specific-params"]


def test_two_revisions_answer_differently(hub_in_process: Hub) -> None:
    hub_in_process.add_model(
        T5, zoo_path("t5"), revisions={"dates": zoo_path("dates-t5")}, tags={"v1": zoo_path("t5")}
    )
    assert answers_like(load(f"hf://{T5}@dates"), "dates-t5")
    assert answers_like(load(f"hf://{T5}", revision="v1"), "t5")
    for _, revision, _ in got(hub_in_process, T5):
        assert revision in (hub_in_process.commit(T5), hub_in_process.commit(T5, "dates"))


def test_token_and_commit_reach_every_file(
    hub_in_process: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", VALID_TOKEN)
    hub_in_process.add_model(BART, zoo_path("t5"), revisions={"v2": zoo_path("bart")}, gated=True)
    load(f"hf://{BART}@v2")
    requests = got(hub_in_process, BART)
    assert {file for file, _, _ in requests} >= KINDS
    assert {(r, t) for _, r, t in requests} == {(hub_in_process.commit(BART, "v2"), VALID_TOKEN)}
    tokens = {r.authorization for r in hub_in_process.requests}
    assert tokens == {f"Bearer {VALID_TOKEN}"}


@pytest.mark.parametrize(
    ("token", "says"),
    [
        (None, "set HF_TOKEN"),
        (NO_ACCESS_TOKEN, "has no access"),
        ("hf_made_up", "is not valid"),
    ],
)
def test_gated_without_access_says_what_to_do(
    hub_in_process: Hub, monkeypatch: pytest.MonkeyPatch, token: str | None, says: str
) -> None:
    if token:
        monkeypatch.setenv("HF_TOKEN", token)
    hub_in_process.add_model(BART, zoo_path("bart"), gated=True)
    with pytest.raises(ModelAccessDenied, match=says) as caught:
        describe(ModelRef.parse(f"hf://{BART}"))
    assert (token or "hf_") not in str(caught.value)


@pytest.mark.parametrize(
    ("asked", "near"),
    [
        ("facebok/bart-large-cnn", BART),
        ("facebook/bart-large-cn", BART),
        ("google-t5/t5-bse", T5),
    ],
)
def test_misspelt_name_gets_a_near_match(hub_in_process: Hub, asked: str, near: str) -> None:
    hub_in_process.add_model(BART, zoo_path("bart"))
    hub_in_process.add_model(T5, zoo_path("t5"))
    with pytest.raises(ModelNotFound, match=f"did you mean hf://{near}"):
        describe(ModelRef.parse(f"hf://{asked}"))


def test_unknown_revision_names_those_there_are(hub_in_process: Hub) -> None:
    hub_in_process.add_model(BART, zoo_path("bart"), revisions={"tuned": zoo_path("t5")})
    with pytest.raises(ModelNotFound, match=r"'tunde': did you mean 'tuned'\? it has main, tuned"):
        describe(ModelRef.parse(f"hf://{BART}@tunde"))


@pytest.mark.parametrize(
    ("missing", "says"),
    [("config.json", "no config.json"), ("model.safetensors", "neither model.safetensors nor")],
)
def test_missing_file_is_named(hub_in_process: Hub, missing: str, says: str) -> None:
    hub_in_process.add_model(BART, zoo_path("bart"), missing=[missing])
    with pytest.raises(ModelLoadFailed, match=says):
        describe(ModelRef.parse(f"hf://{BART}"))


def test_missing_shard_is_named(hub_in_process: Hub, tmp_path: Path) -> None:
    folder = shutil.copytree(zoo_path("bart"), tmp_path / "sharded")
    (folder / "model.safetensors").rename(folder / "model-00001-of-00002.safetensors")
    shards = {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}
    index = {"metadata": {}, "weight_map": shards}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    hub_in_process.add_model(BART, folder)
    with pytest.raises(ModelLoadFailed, match="lacks model-00002-of-00002"):
        describe(ModelRef.parse(f"hf://{BART}"))


def test_interrupted_download_is_named_and_goes_on(hub_in_process: Hub) -> None:
    hub_in_process.add_model(T5, zoo_path("t5"), interrupt_after=200_000, interrupt_times=1000)
    with pytest.raises(HubUnreachable, match=r"model\.safetensors"):
        load(f"hf://{T5}")
    hub_in_process.add_model(T5, zoo_path("t5"), interrupt_after=200_000, interrupt_times=1)
    assert answers_like(load(f"hf://{T5}"), "t5")


def test_slow_hub_still_answers(hub_in_process: Hub) -> None:
    hub_in_process.add_model(T5, zoo_path("dates-t5"), slow=4_000_000)
    assert answers_like(load(f"hf://{T5}"), "dates-t5")


@pytest.mark.parametrize("status", [None, 503])
def test_hub_gone_with_a_warm_cache_works_and_with_a_cold_one_says_so(
    hub_in_process: Hub, status: int | None
) -> None:
    hub_in_process.add_model(T5, zoo_path("t5"))
    hub_in_process.add_model(BART, zoo_path("bart"))
    warm = load(f"hf://{T5}")
    describe(ModelRef.parse(f"hf://{BART}"))  # its weights stay where they are
    hub_in_process.go_offline(status)
    again = load(f"hf://{T5}")
    assert again.facts is not None and warm.facts is not None
    assert again.facts.identity == warm.facts.identity
    with pytest.raises(HubUnreachable, match=BART):
        load(f"hf://{BART}")
    with pytest.raises(HubUnreachable, match="org/never"):
        describe(ModelRef.parse("hf://org/never"))


OFFLINE = """
import json, sys
from bakeoff.core.errors import BakeoffError
from bakeoff.core.modelref import ModelRef
from bakeoff.engines import describe
from bakeoff.engines.options import EngineOptions
from bakeoff.engines.transformers.loading import load_model
said = []
for name in sys.argv[1:]:
    try:
        facts = describe(ModelRef.parse(name))
        load_model(facts, EngineOptions(threads=2))
        said.append(facts.identity)
    except BakeoffError as error:
        said.append(f"{error.code}: {error.message}")
print(json.dumps(said))
"""


def test_offline_mode_uses_the_cache(hub: Hub, tmp_path: Path) -> None:
    hub.add_model(T5, zoo_path("t5"))
    first = hub.python(OFFLINE, f"hf://{T5}", BAKEOFF_HOME=str(tmp_path))
    hub.forget_requests()
    done = hub.python(
        OFFLINE, f"hf://{T5}", f"hf://{BART}", BAKEOFF_HOME=str(tmp_path), HF_HUB_OFFLINE="1"
    )
    assert done.returncode == 0, done.stderr
    assert first.stdout and not first.stderr
    warm, cold = json.loads(done.stdout)
    assert [warm] == json.loads(first.stdout)
    assert cold.startswith("hub_unreachable") and "HF_HUB_OFFLINE is set" in cold
    assert hub.requests == []


CODE = RemoteCode(
    files={
        "ours.py": (
            "from transformers import T5Config, T5ForConditionalGeneration\n"
            "class OurConfig(T5Config):\n    model_type = 'ours'\n"
            "class OurModel(T5ForConditionalGeneration):\n    config_class = OurConfig\n"
        )
    },
    auto_map={"AutoConfig": "ours.OurConfig", "AutoModelForSeq2SeqLM": "ours.OurModel"},
    model_type="ours",
)


def test_remote_code_runs_only_when_trusted_and_from_the_pinned_commit(
    hub_in_process: Hub,
) -> None:
    hub_in_process.add_model(
        T5, zoo_path("bart"), revisions={"v2": zoo_path("t5")}, remote_code=CODE
    )
    with pytest.raises(UnsupportedOption, match="trust_remote_code: true"):
        describe(ModelRef.parse(f"hf://{T5}@v2"))
    loaded = load(f"hf://{T5}@v2", trust_remote_code=True)
    assert type(loaded.model).__name__ == "OurModel"
    assert loaded.facts is not None and loaded.facts.notices[0].code == "remote-code"
    assert answers_like(loaded, "t5")
    files = got(hub_in_process, T5)
    assert {"ours.py", "model.safetensors"} <= {file for file, _, _ in files}
    assert {revision for _, revision, _ in files} == {hub_in_process.commit(T5, "v2")}


def test_a_push_between_two_loads_changes_nothing_that_was_pinned(hub_in_process: Hub) -> None:
    hub_in_process.add_model(T5, zoo_path("dates-t5"), tags={"old": zoo_path("dates-t5")})
    facts = describe(ModelRef.parse(f"hf://{T5}"))
    hub_in_process.add_model(T5, zoo_path("t5"), tags={"old": zoo_path("dates-t5")})
    loaded = load_model(facts, EngineOptions(threads=2))
    assert answers_like(loaded, "dates-t5")


def test_another_tokenizer_is_pinned_and_part_of_the_identity(hub_in_process: Hub) -> None:
    hub_in_process.add_model(T5, zoo_path("t5"))
    hub_in_process.add_model("org/tokens", zoo_path("t5"))
    facts = describe(ModelRef.parse(f"hf://{T5}", tokenizer="hf://org/tokens"))
    commit = hub_in_process.commit("org/tokens")
    assert facts.ref.tokenizer == f"hf://org/tokens@{commit}"
    assert facts.identity.endswith(f"+tokenizer:hf://org/tokens@{commit}")
    assert answers_like(load_model(facts, EngineOptions(threads=2)), "t5")


def test_no_error_carries_the_token(hub_in_process: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", VALID_TOKEN)
    hub_in_process.go_offline(500)
    with pytest.raises(BakeoffError) as caught:
        describe(ModelRef.parse(f"hf://{T5}"))
    assert VALID_TOKEN not in str(caught.value)


def test_gguf_file_of_a_repository(
    hub_in_process: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BAKEOFF_HOME", str(tmp_path / "home"))
    (tmp_path / "repo").mkdir()
    local = write_gguf(tmp_path / "repo" / "tiny.gguf")
    write_gguf(tmp_path / "repo" / "other.gguf", extra=1)
    hub_in_process.add_model("org/tiny", tmp_path / "repo")
    facts = describe(ModelRef.parse("hf://org/tiny", gguf_file="tiny.gguf"))
    assert facts.identity == describe(ModelRef.parse(str(local))).identity
    loaded = load_model(facts, EngineOptions(threads=2))
    assert type(loaded.model).__name__ == "LlamaForCausalLM"
    assert "other.gguf" not in {file for file, _, _ in got(hub_in_process, "org/tiny")}
    with pytest.raises(ModelLoadFailed, match=r"gguf_file:` one of other\.gguf, tiny\.gguf"):
        describe(ModelRef.parse("hf://org/tiny"))
