"""What the Hub's client raises, translated once into errors of bakeoff.

The token never gets into a message: none holds a header, and none repeats the client's words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from huggingface_hub import HfApi, constants, get_token
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RemoteEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from bakeoff.core.errors import (
    BakeoffError,
    HubUnreachable,
    ModelAccessDenied,
    ModelLoadFailed,
    ModelNotFound,
)
from bakeoff.core.registry import near_matches

_LISTED = 50
_HttpError: type[Exception] = HfHubHTTPError.__bases__[0]
"""The HTTP library's own base class, whichever library the client uses."""


def is_outage(error: Exception) -> bool:
    """Whether the Hub cannot be asked at all, so that the cache has to do."""
    if isinstance(error, HfHubHTTPError):
        return _status(error) >= 500 or _status(error) == 429
    return isinstance(error, (_HttpError, OfflineModeIsEnabled, ConnectionError))


def _status(error: HfHubHTTPError) -> int:
    response = getattr(error, "response", None)
    return int(getattr(response, "status_code", 0) or 0)


@contextmanager
def translated(name: str, revision: str | None, files: Iterable[str] = ()) -> Iterator[None]:
    """Turn what the client raises into a `ModelError`.

    Args:
        name: repository.
        revision: as it was asked for.
        files: what was being downloaded.
    """
    _check_token()
    try:
        yield
    except BakeoffError:
        raise
    except Exception as error:
        known = _known(name, revision, error) or _broken_off(name, tuple(files), error)
        if known is None:
            raise
        raise known from error


def _check_token() -> None:
    """A token with a blank or a foreign letter is a slip of the hand, which no header can hold."""
    token = get_token()
    if token is not None and not re.fullmatch(r"[!-~]+", token):
        raise ModelAccessDenied(
            "HF_TOKEN (or the token file of the Hub's client) holds a character that no token "
            "has: set it anew, without blanks and quotes"
        )


def _known(name: str, revision: str | None, error: Exception) -> BakeoffError | None:
    if isinstance(error, GatedRepoError):
        return _gated(name)
    if isinstance(error, RevisionNotFoundError):
        return _no_revision(name, revision)
    if isinstance(error, RepositoryNotFoundError):
        return _no_repository(name)
    if isinstance(error, HFValidationError):
        return ModelNotFound(f"{name!r} is no repository on the Hub: write hf://org/name")
    if isinstance(error, RemoteEntryNotFoundError):
        return ModelLoadFailed(f"hf://{name}: the repository lacks a file that it lists")
    if isinstance(error, HfHubHTTPError) and _status(error) in (401, 403):
        return _denied(name, _status(error))
    return None


def _broken_off(name: str, files: tuple[str, ...], error: Exception) -> BakeoffError | None:
    """No connection, or none any more; `files` were being downloaded."""
    what = f" ({', '.join(files[:5])}{', ...' if len(files) > 5 else ''})" if files else ""
    if isinstance(error, (OfflineModeIsEnabled, LocalEntryNotFoundError)):
        offline = "HF_HUB_OFFLINE is set" if constants.HF_HUB_OFFLINE else "the Hub does not answer"
        return HubUnreachable(
            f"hf://{name}{what} is not in the cache and {offline}: go online once, or name a "
            "local folder"
        )
    if isinstance(error, HfHubHTTPError):
        return HubUnreachable(f"hf://{name}{what}: the Hub answers {_status(error)}; try again")
    if isinstance(error, (_HttpError, OSError, RuntimeError)):
        cause = type(error).__name__
        kept = "; what has arrived is kept, the next try goes on from there" if files else ""
        return HubUnreachable(
            f"hf://{name}{what} cannot be fetched from {_endpoint()} ({cause}){kept}"
        )
    return None


def _endpoint() -> str:
    """The Hub's address, without a password that may stand in it."""
    scheme, _, rest = constants.ENDPOINT.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"


def _gated(name: str) -> ModelAccessDenied:
    page = f"{_endpoint()}/{name}"
    if get_token() is None:
        return ModelAccessDenied(
            f"hf://{name} is gated: accept its terms at {page} and set HF_TOKEN to a token of "
            "that account"
        )
    return ModelAccessDenied(
        f"hf://{name} is gated and the account of the token in HF_TOKEN has no access: accept "
        f"its terms at {page}"
    )


def _denied(name: str, status: int) -> ModelAccessDenied:
    if get_token() is None:
        return ModelAccessDenied(
            f"hf://{name}: the Hub answers {status}: set HF_TOKEN to a token that may read it"
        )
    return ModelAccessDenied(
        f"hf://{name}: the Hub answers {status}: the token in HF_TOKEN is not valid or may not "
        "read it; set another, or unset it for public models"
    )


def _no_revision(name: str, revision: str | None) -> ModelNotFound:
    names: list[str] = []
    with suppress(*_best_effort()):  # the answer is the same without suggestions
        refs = HfApi().list_repo_refs(name, token=get_token())
        names = [ref.name for ref in (*refs.branches, *refs.tags)]
    near = near_matches(revision or "", names)
    hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    listed = f"it has {', '.join(sorted(names)[:_LISTED])}" if names else "name another one"
    return ModelNotFound(f"hf://{name} has no revision {revision!r}: {hint}{listed}")


def _no_repository(name: str) -> ModelNotFound:
    near = _similar(name)
    hint = f"did you mean {' or '.join(f'hf://{n}' for n in near)}? " if near else ""
    private = "" if get_token() else "; a private one needs HF_TOKEN"
    return ModelNotFound(f"hf://{name} does not exist{private}: {hint}check the name")


def _similar(name: str) -> list[str]:
    """Names that the Hub's search finds for parts of a name; it does not guess spellings."""
    organisation, _, rest = name.rpartition("/")
    words = sorted(rest.replace("_", "-").replace(".", "-").split("-"), key=len, reverse=True)
    queries = [{"search": rest}, {"search": words[0]}]
    if organisation:
        queries.insert(1, {"author": organisation})
    found: dict[str, None] = {}
    for query in queries:
        with suppress(*_best_effort()):
            models = HfApi().list_models(**query, limit=_LISTED, token=get_token())
            found.update(dict.fromkeys(model.id for model in models))
        near = near_matches(name, list(found))
        if near:
            return near
    return []


def _best_effort() -> tuple[type[Exception], ...]:
    return (_HttpError, OSError, ValueError)
