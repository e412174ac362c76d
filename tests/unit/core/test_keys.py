"""Generation keys: what changes them, and what does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bakeoff.core.keys import Decoding, ask_payload, key_parts, row_key, seed_for, what_changed
from bakeoff.core.modelfacts import Capabilities, ModelFacts
from bakeoff.core.modelref import ModelRef
from bakeoff.core.requests import GenerationParams, Message, Messages, Source, Text


def facts(**options: object) -> ModelFacts:
    ref = ModelRef.parse("fake://echo", **options)
    return ModelFacts(ref, "fake:echo", Capabilities(kind="causal"))


BASE = Decoding(GenerationParams(max_new_tokens=8, temperature=0.0), "refuse")


@pytest.mark.parametrize(
    ("other", "decoding", "said"),
    [
        (facts(torch_dtype="float16"), BASE, "torch_dtype auto -> float16"),
        (facts(load_in_4bit=True), BASE, "quantisation default -> 4bit"),
        (facts(adapter="lora"), BASE, "adapter default -> lora"),
        (
            facts(),
            Decoding(GenerationParams(max_new_tokens=9, temperature=0.0), "refuse"),
            "generation.max_new_tokens 8 -> 9",
        ),
        (facts(), Decoding(BASE.params, "cut"), "truncate refuse -> cut"),
        (facts(), Decoding(BASE.params, "refuse", epoch=1), "epoch 0 -> 1"),
    ],
)
def test_settings_change_the_key(other: ModelFacts, decoding: Decoding, said: str) -> None:
    old, new = key_parts(facts(), BASE), key_parts(other, decoding)
    assert old.digest != new.digest
    assert what_changed(old.values, new.values) == [said]


def test_prompts_do_not_collide() -> None:
    prompts = [
        Text("ab"),
        Source("ab"),
        Source("a", "b"),
        Messages((Message("user", "ab"),)),
        Messages((Message("user", "a"), Message("user", "b"))),
    ]
    parts = key_parts(facts(), BASE)
    keys = {row_key(parts, ask_payload((p,)), r) for p in prompts for r in range(3)}
    assert len(keys) == 15


def test_device_and_run_name_do_not_change_the_key() -> None:
    assert key_parts(facts(accelerator="cpu"), BASE).digest == key_parts(facts(), BASE).digest


def test_seeds_differ_by_row_and_repeat_but_not_by_place() -> None:
    params = GenerationParams(temperature=1.0, seed=3)
    seeds = [seed_for(params, [row], repeat).seed for row in ("a", "b") for repeat in (0, 1)]
    assert len(set(seeds)) == 4
    assert seed_for(params, ["a"], 0).seed == seeds[0]
    greedy = GenerationParams(temperature=0.0, seed=3)
    assert seed_for(greedy, ["a"], 1) is greedy


def test_what_is_laid_over_a_model_counts_by_content() -> None:
    def laid(place: str, content: str) -> dict[str, object]:
        found = facts(adapter=place)
        found = replace(found, identity=f"{found.identity}+adapter:sha256:{content}")
        return key_parts(found, BASE).values

    assert laid("/here", "aa") == laid("/there", "aa")
    assert what_changed(laid("/here", "aa"), laid("/here", "bb")) == [
        "model adapter:sha256:aa -> adapter:sha256:bb"
    ]
