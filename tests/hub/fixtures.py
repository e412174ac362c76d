"""Pytest fixtures: `hub` for tests that start subprocesses, `hub_in_process` for all others."""

import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hub.service import Hub, is_client_setting


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A running hub; HF_ENDPOINT and HF_HOME of this process and its children point at it."""
    # Import what reads the environment before it changes: the change would outlive this test.
    importlib.import_module("huggingface_hub.constants")
    with Hub(tmp_path / "hf-home") as running:
        for name in [name for name in os.environ if is_client_setting(name)]:
            monkeypatch.delenv(name)
        for name, value in running.settings().items():
            monkeypatch.setenv(name, value)
        yield running


@pytest.fixture
def hub_in_process(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """The same hub, and the imported huggingface_hub and transformers talk to it.

    `datasets` is not covered: it copies the endpoint into many places; use a subprocess.
    """
    http = importlib.import_module("huggingface_hub.utils._http")
    http.close_session()  # the shared client would keep connections to an earlier hub
    _point_huggingface_hub(hub, monkeypatch)
    if "transformers" in sys.modules:
        _point_transformers(hub, monkeypatch)
    yield hub
    http.close_session()


def _point_huggingface_hub(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = str(hub.home / "hub")
    constants = {
        "ENDPOINT": hub.url,
        "HUGGINGFACE_CO_URL_TEMPLATE": hub.url + "/{repo_id}/resolve/{revision}/{filename}",
        "HF_HOME": str(hub.home),
        "HF_HUB_CACHE": cache,
        "HUGGINGFACE_HUB_CACHE": cache,
        "HF_ASSETS_CACHE": str(hub.home / "assets"),
        "HF_TOKEN_PATH": str(hub.home / "token"),
        "HF_STORED_TOKENS_PATH": str(hub.home / "stored_tokens"),
        "HF_HUB_OFFLINE": False,
        "HF_HUB_DISABLE_TELEMETRY": True,
    }
    for name, value in constants.items():
        monkeypatch.setattr(f"huggingface_hub.constants.{name}", value)
    # The module-level functions (model_info, list_models, ...) are methods of one shared object.
    monkeypatch.setattr("huggingface_hub.hf_api.api.endpoint", hub.url)


def _point_transformers(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    modules = str(hub.home / "modules")
    for name in ("transformers.utils.hub", "transformers.dynamic_module_utils"):
        monkeypatch.setattr(importlib.import_module(name), "HF_MODULES_CACHE", modules)
    monkeypatch.setattr(sys, "path", list(sys.path))  # remote code appends the folder above
    for name in [name for name in sys.modules if name.split(".")[0] == "transformers_modules"]:
        monkeypatch.delitem(sys.modules, name)
