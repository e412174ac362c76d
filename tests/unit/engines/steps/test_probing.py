"""Which decoder-only models the loop takes: small random ones of many families."""

from __future__ import annotations

import pytest

from tests.unit.engines.steps.walking import Kept, row, text

transformers = pytest.importorskip("transformers")
import torch  # noqa: E402

from bakeoff.core.outputs import Completion  # noqa: E402
from bakeoff.engines.batch.careful import Memory  # noqa: E402
from bakeoff.engines.batch.rows import Control  # noqa: E402
from bakeoff.engines.steps.pace import Pace  # noqa: E402
from bakeoff.engines.steps.prefixes import Prefixes  # noqa: E402
from bakeoff.engines.steps.scheduler import Parts, Scheduler  # noqa: E402
from bakeoff.engines.steps.sequence import Seq  # noqa: E402
from bakeoff.engines.transformers.loading import Loaded  # noqa: E402
from bakeoff.engines.transformers.stepping.building import step_model  # noqa: E402
from bakeoff.engines.transformers.stepping.choosing import Chooser  # noqa: E402
from bakeoff.engines.transformers.stepping.columns import part_bytes  # noqa: E402

pytestmark = pytest.mark.torch
SIZES = {
    "vocab_size": 120,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 64,
    "max_position_embeddings": 128,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
TAKEN = (
    "stablelm",
    "starcoder2",
    "gemma",
    "gemma2",
    "olmo2",
    "granite",
    "cohere",
    "phi",
    "gpt_neo",
)
NOT_TAKEN = ("bloom", "mamba", "bart")
"""No `position_ids`; no keys and values; a decoder of an encoder-decoder by itself."""


def small(family: str):
    if family == "gpt_neo":
        config = transformers.GPTNeoConfig(
            **{key: SIZES[key] for key in ("vocab_size", "hidden_size", "max_position_embeddings")},
            num_layers=2,
            num_heads=4,
            attention_types=[[["global", "local"], 1]],
            window_size=8,
        )
    elif family == "bart":
        config = transformers.BartConfig(
            vocab_size=120,
            d_model=32,
            decoder_layers=2,
            decoder_attention_heads=4,
            decoder_ffn_dim=64,
            is_decoder=True,
            is_encoder_decoder=False,
        )
    else:
        config = transformers.AutoConfig.for_model(family, **SIZES)
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    for parameter in model.parameters():
        parameter.data.mul_(3.0 if parameter.dim() > 1 else 1.0)
    return model


def driven(model):
    found = Loaded(model, None, "cpu", "float32", ())
    return step_model(found, 0, Prefixes(0, part_bytes))


def written(model, lengths, rows=8):
    steps = driven(model)
    chooser = Chooser(None, str, guides=None)  # none of the rows has a grammar
    parts = Parts(steps, chooser, Memory(lambda error: False, lambda: None), lambda ids: str(ids))
    scheduler = Scheduler(parts, Pace(rows, 10_000))
    sinks = {}
    for name, length in lengths.items():
        sinks[name] = Kept()
        one = row(name, 12, length, end_ids=frozenset())
        scheduler.add(Seq.of(one, Control(), sinks[name], parts.decode))
        scheduler.turn()
    while scheduler.turn():
        pass
    assert all(isinstance(sink.made[0], Completion) for sink in sinks.values()), sinks
    return {name: text(sink) for name, sink in sinks.items()}


@pytest.mark.parametrize("family", TAKEN)
def test_rows_of_taken_families_are_the_same_in_company(family):
    model = small(family)
    assert driven(model) is not None
    lengths = {"a": 30, "b": 3, "c": 12}
    together = written(model, lengths)
    for name, length in lengths.items():
        assert written(model, {name: length})[name] == together[name]


@pytest.mark.parametrize("family", NOT_TAKEN)
def test_models_that_cannot_share_a_pass_are_left_to_generate(family):
    assert driven(small(family)) is None


def test_a_model_that_ignores_the_positions_of_its_rows_is_found_out():
    model = small("gpt_neo")
    assert driven(model) is not None
    inner = model.forward

    def forward(input_ids=None, attention_mask=None, position_ids=None, cache=None, **more):
        width = attention_mask.shape[1]
        same = torch.arange(width - input_ids.shape[1], width)[None].expand_as(input_ids)
        return inner(
            input_ids=input_ids,
            attention_mask=attention_mask,
            position_ids=same,
            cache=cache,
            **more,
        )

    model.forward = forward
    assert driven(model) is None
