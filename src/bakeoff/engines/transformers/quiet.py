"""What the libraries print and warn about while loading becomes notices."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from transformers.utils import logging as library

from bakeoff.core.rows import Notice

CODE = "library-warning"
_LONGEST = 300
_LOGGERS = ("transformers", "huggingface_hub", "accelerate", "bitsandbytes", "peft")
_SAID_BETTER = (
    "Dequantizing the whole model",
    "You are using the default legacy behaviour",
    "Some parameters are on the meta device",
    "The following device_map keys do not match",  # buffers, which have no place of their own
    "Failed to load CPU gemm_4bit_forward",  # a faster kernel that bitsandbytes would download
)
"""Beginnings of messages that bakeoff says itself, or that concern nothing it does."""


_REMINDER = "This is a friendly reminder - the current text generation call has exceeded"
"""The library counts a batch's padding as text; each row is held to the window on its own."""


class _Collector(logging.Handler):
    def __init__(self, found: list[str]) -> None:
        super().__init__(logging.WARNING)
        self._found = found

    def emit(self, record: logging.LogRecord) -> None:
        self._found.append(record.getMessage())


@contextmanager
def quiet(notices: list[Notice]) -> Iterator[None]:
    """Show no progress bar and no log line; warnings are appended to `notices`, each once.

    Loggers and warning filters belong to the whole process: a model that loads in another thread
    meanwhile may have its warnings collected here.
    """
    found: list[str] = []
    bars = library.is_progress_bar_enabled()
    library.disable_progress_bar()
    try:
        with _collecting(found), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
    finally:
        if bars:
            library.enable_progress_bar()
        found.extend(str(warning.message) for warning in caught if _concerns_user(warning))
        notices.extend(Notice(CODE, text) for text in dict.fromkeys(map(_short, found)) if text)


@contextmanager
def unreminded() -> Iterator[None]:
    """While texts are generated: a short row padded beside a long one is not beyond the window."""
    logger = logging.getLogger("transformers.generation.stopping_criteria")
    logger.addFilter(_no_reminder)
    try:
        yield
    finally:
        logger.removeFilter(_no_reminder)


def _no_reminder(record: logging.LogRecord) -> bool:
    return not record.getMessage().startswith(_REMINDER)


@contextmanager
def _collecting(found: list[str]) -> Iterator[None]:
    saved = []
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        saved.append((logger, logger.handlers[:], logger.propagate))
        logger.handlers, logger.propagate = [_Collector(found)], False
    try:
        yield
    finally:
        for logger, handlers, propagate in saved:
            logger.handlers, logger.propagate = handlers, propagate


def _concerns_user(warning: warnings.WarningMessage) -> bool:
    return not issubclass(
        warning.category, (DeprecationWarning, PendingDeprecationWarning, FutureWarning)
    )


def _short(text: str) -> str:
    text = " ".join(text.split())
    if text.startswith(_SAID_BETTER):
        return ""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
