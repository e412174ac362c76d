"""What errors of the Hub say keeps secrets to itself."""

from __future__ import annotations

import pytest
from huggingface_hub import constants

from bakeoff.core.errors import BakeoffError, ModelAccessDenied
from bakeoff.engines.huberrors import translated


def test_the_hubs_address_is_shown_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", "https://user:CANARY@hub.example:1/x")
    with pytest.raises(BakeoffError) as caught, translated("org/name", None):
        raise ConnectionError("no")
    assert "https://hub.example:1/x" in str(caught.value)
    assert "CANARY" not in str(caught.value)


@pytest.mark.parametrize("token", ["hf_é", "hf_a b"])
def test_a_token_that_no_header_can_hold_is_named(
    monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    monkeypatch.setenv("HF_TOKEN", token)
    with pytest.raises(ModelAccessDenied, match="HF_TOKEN") as caught, translated("o/n", None):
        pytest.fail("asked the Hub all the same")
    assert token not in str(caught.value)
