"""The checks, by name, in the order in which they are carried out and shown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from bakeoff.core.registry import Registry
from bakeoff.engines.doctor.chart import Chart
from bakeoff.engines.doctor.diagnosis import Finding
from bakeoff.engines.doctor.plain import Plain


class FilesCheck(Protocol):
    """Looks at configuration, tokenizer and headers."""

    def __call__(self, chart: Chart) -> Iterable[Finding]:
        """What is found; nothing where the check does not apply."""


class LoadedCheck(Protocol):
    """Looks at the loaded model; a finding replaces those of the same code before it."""

    def __call__(self, plain: Plain) -> Iterable[Finding]:
        """What is found; nothing where the check does not apply."""


_FILES = {
    "precision": "bakeoff.engines.doctor.checks.precision:check",
    "config-keys": "bakeoff.engines.doctor.checks.config_keys:check",
    "rope": "bakeoff.engines.doctor.checks.rope:check",
    "rope-tables": "bakeoff.engines.doctor.checks.rope_tables:check",
    "vocabulary": "bakeoff.engines.doctor.checks.vocabulary:check",
    "head": "bakeoff.engines.doctor.checks.head:check",
    "decoder-start": "bakeoff.engines.doctor.checks.decoder_start:check",
    "end-of-sequence": "bakeoff.engines.doctor.checks.ends:check",
    "bos": "bakeoff.engines.doctor.checks.bos:check",
    "padding": "bakeoff.engines.doctor.checks.padding:check",
    "chat-template": "bakeoff.engines.doctor.checks.chat_template:check",
    "system-role": "bakeoff.engines.doctor.checks.system_role:check",
    "none-printed": "bakeoff.engines.doctor.checks.none_printed:check",
    "alternation": "bakeoff.engines.doctor.checks.alternation:check",
    "generation-prompt": "bakeoff.engines.doctor.checks.generation_prompt:check",
}
_LOADED = {
    "weights": "bakeoff.engines.doctor.checks.weights:check",
    "overflow": "bakeoff.engines.doctor.checks.overflow:check",
    "rope-tables": "bakeoff.engines.doctor.checks.rope_tables:check_loaded",
    "rope-base": "bakeoff.engines.doctor.checks.rope_measured:check",
    "prompts": "bakeoff.engines.doctor.checks.prompts:check",
    "end-of-sequence": "bakeoff.engines.doctor.checks.ends_measured:check",
    "decoder-start": "bakeoff.engines.doctor.checks.decoder_start_measured:check",
    "decoding": "bakeoff.engines.doctor.checks.decoding:check",
}

FILES: Registry[FilesCheck] = Registry("check", _FILES)
LOADED: Registry[LoadedCheck] = Registry("check", _LOADED)
FILES_ORDER = tuple(_FILES)
LOADED_ORDER = tuple(_LOADED)
