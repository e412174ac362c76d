"""The test hub against the real huggingface_hub: revisions, access, listings, refusals."""

import hashlib
from pathlib import Path

import pytest
from huggingface_hub import (
    auth_check,
    constants,
    dataset_info,
    get_paths_info,
    hf_hub_download,
    list_models,
    list_repo_files,
    list_repo_refs,
    list_repo_tree,
    model_info,
    snapshot_download,
    whoami,
)
from huggingface_hub.errors import (
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from tests.hub import NO_ACCESS_TOKEN, VALID_TOKEN, Hub

REPO = "facebook/bart-large-cnn"


# -- revisions


def test_branch_tag_and_commit_reach_their_files(
    hub_in_process: Hub, checkpoint: Path, other_checkpoint: Path
) -> None:
    hub = hub_in_process
    hub.add_model(
        REPO, checkpoint, revisions={"next/try": other_checkpoint}, tags={"v1": checkpoint}
    )
    first, second = hub.commit(REPO), hub.commit(REPO, "next/try")
    assert first == hub.commit(REPO, "v1") != second
    wanted = {"main": checkpoint, "v1": checkpoint, first: checkpoint}
    wanted |= {"next/try": other_checkpoint, second: other_checkpoint}
    for revision, folder in wanted.items():
        path = Path(hf_hub_download(REPO, "model.safetensors", revision=revision))
        assert path.read_bytes() == (folder / "model.safetensors").read_bytes()
        assert path.parent.name == hub.commit(REPO, revision)
    assert model_info(REPO, revision="next/try").sha == second
    refs = list_repo_refs(REPO)
    assert {branch.name: branch.target_commit for branch in refs.branches} == {
        "main": first,
        "next/try": second,
    }
    assert [tag.ref for tag in refs.tags] == ["refs/tags/v1"]


def test_a_commit_follows_from_the_content(checkpoint: Path, other_checkpoint: Path) -> None:
    with Hub() as one, Hub() as two:
        for hub in (one, two):
            hub.add_model(REPO, checkpoint)
        assert one.commit(REPO) == two.commit(REPO)
        two.add_model(REPO, other_checkpoint)
        assert one.commit(REPO) != two.commit(REPO)
        assert len(one.commit(REPO)) == 40


def test_snapshot_and_listing(hub_in_process: Hub, other_checkpoint: Path) -> None:
    hub_in_process.add_model("gpt2", other_checkpoint)  # an id without an organisation
    folder = Path(snapshot_download("gpt2"))
    files = {p.relative_to(other_checkpoint) for p in other_checkpoint.rglob("*") if p.is_file()}
    assert {p.relative_to(folder) for p in folder.rglob("*") if p.is_file()} == files
    assert set(list_repo_files("gpt2")) == {file.as_posix() for file in files}
    assert {entry.path for entry in list_repo_tree("gpt2")} >= {"extra", "config.json"}
    assert [entry.path for entry in list_repo_tree("gpt2", "extra")] == ["extra/noise.bin"]
    (noise,) = get_paths_info("gpt2", ["extra/noise.bin", "absent"], expand=True)
    assert noise.lfs.sha256 == hashlib.sha256((folder / noise.path).read_bytes()).hexdigest()
    assert model_info("gpt2", files_metadata=True).siblings[1].size == noise.size
    assert not any("xet" in request.path for request in hub_in_process.requests)


# -- who may read what


@pytest.mark.parametrize("without_token", [403, 401])
def test_gated(hub_in_process: Hub, checkpoint: Path, without_token: int) -> None:
    hub_in_process.catalog.gated_without_token = without_token
    hub_in_process.add_model(REPO, checkpoint, gated=True)
    for token, status in ((False, without_token), (NO_ACCESS_TOKEN, 403)):
        with pytest.raises(GatedRepoError) as caught:
            hf_hub_download(REPO, "config.json", token=token)
        assert caught.value.response.status_code == status
        assert model_info(REPO, token=token).gated == "auto"
    assert hf_hub_download(REPO, "config.json", token=VALID_TOKEN)
    assert hub_in_process.requests[-1].authorization == f"Bearer {VALID_TOKEN}"


def test_gate_and_token_checks(hub_in_process: Hub, checkpoint: Path) -> None:
    hub_in_process.add_model(REPO, checkpoint, gated=True)
    auth_check(REPO, token=VALID_TOKEN)
    with pytest.raises(GatedRepoError):
        auth_check(REPO, token=NO_ACCESS_TOKEN)
    assert whoami(VALID_TOKEN)["name"] == "tester"
    hub_in_process.add_token("hf_mine", access=True)
    assert hf_hub_download(REPO, "config.json", token="hf_mine")


def test_a_bad_token_is_refused_even_for_public_files(
    hub_in_process: Hub, checkpoint: Path
) -> None:
    hub_in_process.add_model(REPO, checkpoint)
    with pytest.raises(HfHubHTTPError, match="Invalid credentials") as caught:
        hf_hub_download(REPO, "config.json", token="hf_bad")
    assert caught.value.response.status_code == 401
    assert not isinstance(caught.value, RepositoryNotFoundError)


@pytest.mark.parametrize(("token", "status"), [(False, 401), (NO_ACCESS_TOKEN, 404)])
def test_private_looks_like_absent(
    hub_in_process: Hub, checkpoint: Path, token: str | bool, status: int
) -> None:
    hub_in_process.add_model("me/secret", checkpoint, private=True)
    for repo_id in ("me/secret", "me/absent"):
        for ask in (model_info, snapshot_download):
            with pytest.raises(RepositoryNotFoundError) as caught:
                ask(repo_id, token=token)
            assert caught.value.response.status_code == status
    assert model_info("me/secret", token=VALID_TOKEN).private


# -- what is not there


def test_missing_file_and_revision(hub_in_process: Hub, checkpoint: Path) -> None:
    hub_in_process.add_model(REPO, checkpoint, missing=("tokenizer.json",))
    with pytest.raises(EntryNotFoundError):
        hf_hub_download(REPO, "tokenizer.json")
    assert "tokenizer.json" not in list_repo_files(REPO)
    remembered = hub_in_process.home / "hub" / "models--facebook--bart-large-cnn" / ".no_exist"
    assert (remembered / hub_in_process.commit(REPO) / "tokenizer.json").exists()
    with pytest.raises(RevisionNotFoundError):
        hf_hub_download(REPO, "config.json", revision="v9")
    with pytest.raises(RevisionNotFoundError):
        model_info(REPO, revision="0" * 40)


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("bart-large", ["facebook/bart-large-cnn", "facebook/bart-large-xsum"]),
        ("BART cnn", ["facebook/bart-large-cnn"]),
        ("facebok", []),
        (None, ["facebook/bart-large-cnn", "facebook/bart-large-xsum", "google-t5/t5-base"]),
    ],
)
def test_search(
    hub_in_process: Hub, checkpoint: Path, search: str | None, found: list[str]
) -> None:
    for repo_id in ("google-t5/t5-base", "facebook/bart-large-xsum", REPO):
        hub_in_process.add_model(repo_id, checkpoint)
    hub_in_process.add_model("facebook/bart-large-secret", checkpoint, private=True)
    hub_in_process.add_dataset("facebook/bart-large-data", checkpoint)
    assert [model.id for model in list_models(search=search)] == found
    assert [model.id for model in list_models(search=search, limit=1)] == found[:1]


# -- data sets and mistakes


def test_dataset_info(hub_in_process: Hub, checkpoint: Path) -> None:
    hub_in_process.add_dataset("org/rows", checkpoint)
    info = dataset_info("org/rows")
    assert (info.sha, info.gated) == (hub_in_process.commit("org/rows", kind="dataset"), False)
    assert hf_hub_download("org/rows", "config.json", repo_type="dataset")
    with pytest.raises(RepositoryNotFoundError):
        model_info("org/rows")


def test_a_repository_without_main_is_refused(checkpoint: Path) -> None:
    with Hub() as hub:
        with pytest.raises(ValueError, match="no 'main' revision"):
            hub.add_model(REPO, revisions={"v1": checkpoint})
        with pytest.raises(ValueError, match=r"no such file anyway"):
            hub.add_model(REPO, checkpoint, missing=("absent.json",))


def test_the_fixture_leaves_the_client_as_it_was(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (constants.ENDPOINT, constants.HF_HUB_CACHE, constants.HF_HUB_OFFLINE)
    monkeypatch.setenv("HF_TOKEN", "hf_of_the_user")
    hub = request.getfixturevalue("hub")
    assert "HF_TOKEN" not in hub.env()
    assert hub.env(HF_TOKEN=VALID_TOKEN)["HF_TOKEN"] == VALID_TOKEN
    assert (constants.ENDPOINT, constants.HF_HUB_CACHE, constants.HF_HUB_OFFLINE) == before
