"""Weights in 4 or 8 bits, by bitsandbytes.

Checked with bitsandbytes 0.50.2 on CPUs with and without AVX512-BF16; on CUDA the code has not
been run.
"""

from __future__ import annotations

import logging
from typing import Any

import torch
import transformers

from bakeoff.core.modelref import ModelRef
from bakeoff.core.rows import Notice
from bakeoff.engines.options import EngineOptions
from bakeoff.engines.transformers.devices import Placement

_CAST = "MatMul8bitLt: inputs will be cast"
_PACKED_ROWS = 32
"""The kernel for AVX512-BF16 takes output features in groups of this many."""
_ALONE = (
    "8-bit arithmetic looks for outliers over a whole batch, so that a text would hang on the rows "
    "beside it: rows are computed one at a time (--max-batch N: N together, faster)"
)
_TOGETHER = (
    "8-bit arithmetic looks for outliers over a whole batch: with --max-batch above 1 a text hangs "
    "a little on the rows beside it"
)


def arguments(ref: ModelRef, placement: Placement, config: Any) -> dict[str, Any]:
    """What `from_pretrained` needs so that it quantises; nothing where the reference asks none.

    Args:
        ref: the model.
        placement: where it goes.
        config: its `PretrainedConfig`.
    """
    if ref.quantisation is None:
        return {}
    dtype = placement.arguments["dtype"]
    if dtype == "auto":
        dtype = getattr(config, "dtype", None) or torch.float32
    quantisation = transformers.BitsAndBytesConfig(
        load_in_4bit=ref.load_in_4bit,
        load_in_8bit=ref.load_in_8bit,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_compute_dtype=dtype,
    )
    whole = {} if placement.spread else {"device_map": {"": placement.device}}
    return {"quantization_config": quantisation, **whole}


def quantised(model: Any) -> str | None:
    """How a loaded model's weights are quantised, for example `bnb-4bit`, or None."""
    for bits in (4, 8):
        if getattr(model, f"is_loaded_in_{bits}bit", False):
            return f"bnb-{bits}bit"
    said = getattr(model.config, "quantization_config", None)
    if said is None:
        return None
    values = said if isinstance(said, dict) else said.to_dict()
    method = getattr(values.get("quant_method"), "value", values.get("quant_method"))
    return f"{method}-{values['bits']}bit" if values.get("bits") else str(method)


def settle(model: Any, options: EngineOptions, notices: list[Notice]) -> bool:
    """Make a quantised model ready to run; whether its rows are to be computed one at a time.

    LLM.int8() computes every column of the input that holds an outlier *in any row of the batch*
    in full precision: known since 2022 (bitsandbytes issue 28, transformers issue 22269).
    """
    name = quantised(model)
    if name == "bnb-4bit":
        _leave_unpacked(model)
    if name != "bnb-8bit":
        return False
    logging.getLogger("bitsandbytes.autograd._functions").addFilter(_no_cast)
    alone = options.max_batch is None
    notices.append(Notice("8bit-batches", _ALONE if alone else _TOGETHER))
    return alone


def _leave_unpacked(model: Any) -> None:
    """Layers that the packed arithmetic of AVX512-BF16 cannot take use the plain one.

    On such a CPU bitsandbytes repacks each layer on first use, and fails where the blocks of the
    quantisation do not divide a row, or its own do not divide the rows.
    """
    for module in model.modules():
        if getattr(module, "support_avx512bf16_for_cpu", False):
            ragged = module.in_features % module.weight.blocksize
            module.support_avx512bf16_for_cpu = not (ragged or module.out_features % _PACKED_ROWS)


def _no_cast(record: logging.LogRecord) -> bool:
    """The library says on every call that its input becomes float16: that is how it works."""
    return not record.getMessage().startswith(_CAST)
