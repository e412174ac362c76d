"""The test hub against transformers and datasets, end to end and unmodified."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from transformers import AutoConfig

from tests.hub import VALID_TOKEN, Hub, RemoteCode

REPO = "facebook/bart-large-cnn"


def result(done: subprocess.CompletedProcess[str]) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


TRANSFORMERS = """
import json, sys, torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
repo, gated, coded, lacking, token = sys.argv[1:]
said = {}
for revision in ("main", "v2"):
    options = {"revision": revision, "token": token}
    config = AutoConfig.from_pretrained(repo, **options)
    tokenizer = AutoTokenizer.from_pretrained(repo, **options)
    model = AutoModelForCausalLM.from_pretrained(repo, config=config, **options)
    batch = tokenizer("a tiny model says", return_tensors="pt")
    said[revision] = model(**batch).logits[0, -1].tolist()
for name, asked, more in (
    ("gated", gated, {}),
    ("lacking", lacking, {}),
    ("unknown", "facebok/bart-large-cnn", {}),
    ("distrusted", coded, {"trust_remote_code": False}),
):
    try:
        AutoModelForCausalLM.from_pretrained(asked, **more)
    except (OSError, ValueError) as error:
        said[name] = str(error)
said["coded"] = type(AutoModelForCausalLM.from_pretrained(coded, trust_remote_code=True)).__name__
print(json.dumps(said))
"""

CUSTOM = """
from transformers import LlamaConfig, LlamaForCausalLM

class CustomConfig(LlamaConfig):
    model_type = "custom"

class Custom(LlamaForCausalLM):
    config_class = CustomConfig
"""
CUSTOM_CODE = RemoteCode(
    {"custom.py": CUSTOM},
    {"AutoConfig": "custom.CustomConfig", "AutoModelForCausalLM": "custom.Custom"},
    model_type="custom",
)


def test_transformers_end_to_end(hub: Hub, checkpoint: Path, other_checkpoint: Path) -> None:
    hub.add_model(REPO, checkpoint, revisions={"v2": other_checkpoint}, gated=True)
    hub.add_model("org/coded", checkpoint, remote_code=CUSTOM_CODE)
    hub.add_model("org/lacking", checkpoint, missing=("model.safetensors",))
    hub.add_model("org/gated", checkpoint, gated=True)
    repos = (REPO, "org/gated", "org/coded", "org/lacking")
    said = result(hub.python(TRANSFORMERS, *repos, VALID_TOKEN, OMP_NUM_THREADS="2"))
    assert len(said["main"]) == 7
    assert said["main"] != said["v2"]
    assert "gated repo" in said["gated"]
    assert "model.safetensors" in said["lacking"]
    assert "not a valid model identifier" in said["unknown"]
    assert "trust_remote_code" in said["distrusted"]
    assert said["coded"] == "Custom"
    fetches = hub.fetches(REPO)
    assert {fetch.token for fetch in fetches} == {VALID_TOKEN}
    commits = {hub.commit(REPO), hub.commit(REPO, "v2")}
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        assert {fetch.revision for fetch in fetches if fetch.file == name} == commits
    agents = {request.user_agent for request in hub.requests}
    assert any(agent is not None and "transformers/" in agent for agent in agents)


CONFIG_CODE = """
from transformers import LlamaConfig

class CustomConfig(LlamaConfig):
    model_type = "custom"
    said = "SAID"
"""


@pytest.mark.parametrize("said", ["one", "two"])
def test_transformers_in_this_process(hub_in_process: Hub, checkpoint: Path, said: str) -> None:
    files = {"custom.py": CONFIG_CODE.replace("SAID", said)}
    code = RemoteCode(files, {"AutoConfig": "custom.CustomConfig"}, model_type="custom")
    hub_in_process.add_model("org/coded", checkpoint, remote_code=code)
    config = AutoConfig.from_pretrained("org/coded", trust_remote_code=True, token=VALID_TOKEN)
    assert config.said == said  # nothing is left of the hub before
    assert {fetch.token for fetch in hub_in_process.fetches("org/coded")} == {VALID_TOKEN}


DATASETS = """
import json, sys
from datasets import load_dataset
said = {}
for repo in sys.argv[1:]:
    said[repo] = load_dataset(repo, token="hf_testtoken").map(lambda row: row)["train"].to_list()
print(json.dumps(said))
"""


def test_datasets_end_to_end(hub: Hub, tmp_path: Path) -> None:
    rows = [{"text": "one", "n": 1}, {"text": "zwei, drei", "n": 2}]
    csv, parquet = tmp_path / "csv", tmp_path / "parquet"
    csv.mkdir()
    (csv / "train.csv").write_text('text,n\none,1\n"zwei, drei",2\n')
    (csv / "README.md").write_text("---\nlicense: mit\n---\n# Rows\n")
    (parquet / "data").mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows), parquet / "data" / "train-00000-of-00001.parquet")
    hub.add_dataset("org/rows", csv)
    hub.add_dataset("org/columns", parquet, gated=True)
    assert result(hub.python(DATASETS, "org/rows", "org/columns")) == {
        "org/rows": rows,
        "org/columns": rows,
    }
