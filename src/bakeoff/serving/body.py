"""`Body`: what all request bodies share: fields that are ignored, and fields that are refused."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, model_validator

from bakeoff.core.errors import UnsupportedOption

NEVER: tuple[Any, ...] = (None,)
"""No value but null is harmless."""
NOT_SET: tuple[Any, ...] = (None, False)
"""Neither null nor false changes anything."""
EMPTY: tuple[Any, ...] = (None, [], {}, "")
"""Nothing is in it."""


class Body(BaseModel):
    """A JSON body. Unknown fields are kept apart, so that they can be named.

    Attributes:
        refused: fields that change the meaning and cannot be honoured -> values that are harmless.
    """

    model_config = ConfigDict(
        extra="allow", frozen=True, allow_inf_nan=False, protected_namespaces=()
    )
    refused: ClassVar[dict[str, Any]] = {}

    @model_validator(mode="before")
    @classmethod
    def _texts_are_whole(cls, data: Any) -> Any:
        """JSON can hold half of a character, a lone surrogate; no tokenizer and no reply can."""
        if isinstance(data, dict):
            for name, value in data.items():
                texts = value if isinstance(value, list) else [value, name]
                if not all(_whole(text) for text in texts if isinstance(text, str)):
                    raise ValueError(f"{name} holds half of a character (a lone surrogate)")
        return data

    def refuse(self) -> None:
        """Refuse what cannot be honoured.

        Raises:
            UnsupportedOption: the first such field, by name.
        """
        for name, value in (self.model_extra or {}).items():
            harmless = self.refused.get(name)
            if harmless is not None and not any(_same(value, one) for one in harmless):
                raise UnsupportedOption(
                    f"{name} is not supported by this server: leave it out", option=name
                )

    def ignored(self) -> tuple[str, ...]:
        """Fields that were sent and mean nothing here."""
        extra = self.model_extra or {}
        return tuple(
            name for name, value in extra.items() if value is not None and name not in self.refused
        )


def _whole(text: str) -> bool:
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def _same(value: Any, harmless: Any) -> bool:
    """Equal, where true is not 1."""
    return type(value) is type(harmless) and bool(value == harmless)
