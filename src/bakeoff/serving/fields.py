"""Fields under the names of one wire format, where the rules are those of another's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from bakeoff.core.errors import InvalidRequest, UnsupportedOption


@contextmanager
def called(names: Mapping[str, str]) -> Iterator[None]:
    """Let what is refused inside speak of the fields by other names.

    Args:
        names: the name inside -> the name that the client used.
    """
    try:
        yield
    except InvalidRequest as problem:
        said = names.get(problem.field)
        if said is None:
            raise
        message = problem.message.replace(problem.field, said, 1)
        raise InvalidRequest(message, field=said) from problem
    except UnsupportedOption as problem:
        said = names.get(problem.option)
        if said is None:
            raise
        message = problem.message.replace(problem.option, said, 1)
        raise UnsupportedOption(message, option=said) from problem
