"""A local server that speaks the Hugging Face Hub's routes, so `hf://` is tested without a network.

    with Hub() as hub:
        hub.add_model("facebook/bart-large-cnn", folder, revisions={"v2": other}, gated=True)
        subprocess.run([...], env=hub.env(HF_TOKEN=VALID_TOKEN))
        assert {fetch.token for fetch in hub.fetches("facebook/bart-large-cnn")} == {VALID_TOKEN}

The clients (huggingface_hub, transformers, datasets) run unmodified. They read HF_ENDPOINT, HF_HOME
and HF_HUB_OFFLINE while they are imported, therefore:

- a subprocess gets `hub.env()`: always right, the only way for `datasets` and for offline mode;
- the fixture `hub_in_process` points the clients of the test's own process at the hub
  (huggingface_hub and transformers, not datasets).

Fixtures `hub` and `hub_in_process` live in tests/hub/fixtures.py; a conftest imports them.
"""

from tests.hub.catalog import NO_ACCESS_TOKEN, VALID_TOKEN
from tests.hub.fixtures import hub, hub_in_process
from tests.hub.repos import RemoteCode, RepoOptions
from tests.hub.server import Fetch, Request
from tests.hub.service import Hub

__all__ = [
    "NO_ACCESS_TOKEN",
    "VALID_TOKEN",
    "Fetch",
    "Hub",
    "RemoteCode",
    "RepoOptions",
    "Request",
    "hub",
    "hub_in_process",
]
