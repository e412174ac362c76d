"""`hf://datasets/org/name` through the `datasets` library (extra `hub-data`)."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

from bakeoff.core.errors import BadDataset, DependencyMissing
from bakeoff.core.registry import near_matches
from bakeoff.core.rows import Notice
from bakeoff.core.specs import DatasetSpec
from bakeoff.datasets.arrow import BATCH, check_types, records
from bakeoff.datasets.header import check_columns
from bakeoff.datasets.table import Record, Table

T = TypeVar("T")

_ADDRESS = re.compile(r"hf://datasets/(?P<name>[\w.-]+(?:/[\w.-]+)?)(?:@(?P<revision>[^@\s]+))?/?")
_MODEL = re.compile(r"hf://(?!datasets/)([\w.-]+(?:/[\w.-]+)?)")


class _Wanted(NamedTuple):
    """Arguments that every call of the library gets."""

    label: str
    name: str
    revision: str | None

    @property
    def options(self) -> dict[str, Any]:
        return {"revision": self.revision, "token": os.environ.get("HF_TOKEN") or None}


def open_hub(spec: DatasetSpec) -> Table:
    """A table from one split of a data set on the Hub; the Hub's cache keeps the files.

    Raises:
        DependencyMissing: the `datasets` library is not installed.
        BadDataset: the address is wrong, there is no such data set, configuration or split,
            several and none is named, or the Hub cannot be reached.
    """
    wanted = _address(spec)
    if importlib.util.find_spec("datasets") is None:
        raise DependencyMissing(f"{spec.path} (data sets of the Hub)", "hub-data")
    config = _config(wanted, spec.config)
    split = _split(wanted, config, spec.split)
    data = _load(wanted, config, split)
    schema = data.data.schema
    columns = tuple(schema.names)
    notices = check_columns(columns, wanted.label)
    check_types(schema, wanted.label)
    if not len(data):
        raise BadDataset("there are no rows in it", file=wanted.label)
    chosen = f"configuration {config!r}, split {split!r}"
    return Table(
        name=wanted.name,
        file=wanted.label,
        columns=columns,
        read=lambda: _rows(data),
        notices=(Notice("hub-data", f"{wanted.name}: {chosen}"), *notices),
    )


def _address(spec: DatasetSpec) -> _Wanted:
    found = _ADDRESS.fullmatch(spec.path)
    if found is None:
        model = _MODEL.match(spec.path)
        hint = f" (hf://{model[1]} names a model)" if model else ""
        raise BadDataset(
            f"a data set of the Hub is written hf://datasets/org/name{hint}", file=spec.path
        )
    revision = found["revision"]
    if revision and spec.revision and revision != spec.revision:
        raise BadDataset(
            f"the address says @{revision} and revision: says {spec.revision}: keep one of them",
            file=spec.path,
        )
    return _Wanted(spec.path, found["name"], revision or spec.revision)


def _config(wanted: _Wanted, config: str | None) -> str:
    import datasets

    names = _asked(wanted, lambda: datasets.get_dataset_config_names(wanted.name, **wanted.options))
    if config is None and (len(names) == 1 or "default" in names):
        return "default" if "default" in names else str(names[0])
    return _one_of("config", config, names, wanted)


def _split(wanted: _Wanted, config: str, split: str | None) -> str:
    import datasets

    names = _asked(
        wanted, lambda: datasets.get_dataset_split_names(wanted.name, config, **wanted.options)
    )
    if split is None and len(names) == 1:
        return str(names[0])
    return _one_of("split", split, names, wanted)


def _one_of(option: str, value: str | None, names: list[str], wanted: _Wanted) -> str:
    listed = ", ".join(names[:30]) + (", ..." if len(names) > 30 else "")
    if value is None:
        raise BadDataset(f"write {option}: with one of {listed}", file=wanted.label)
    if value not in names:
        near = near_matches(value, names)
        hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
        raise BadDataset(
            f"there is no {option} {value!r}: {hint}There are {listed}", file=wanted.label
        )
    return value


def _load(wanted: _Wanted, config: str, split: str) -> Any:
    import datasets

    datasets.disable_progress_bars()
    return _asked(
        wanted,
        lambda: datasets.load_dataset(wanted.name, config, split=split, **wanted.options),
    )


def _asked(wanted: _Wanted, call: Callable[[], T]) -> T:
    """The library raises its own classes, the Hub's and the network's; the first line says why."""
    try:
        return call()
    except Exception as error:
        raise BadDataset(_reason(wanted, error), file=wanted.label) from error


def _reason(wanted: _Wanted, error: Exception) -> str:
    kinds = {kind.__name__ for kind in type(error).__mro__}
    said = (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
    if kinds & {"DatasetNotFoundError", "RepositoryNotFoundError", "GatedRepoError"}:
        at = f" at revision {wanted.revision!r}" if wanted.revision else ""
        return (
            f"the Hub does not give it{at}: {said} (a private or gated data set needs the "
            "environment variable HF_TOKEN and access granted on its page)"
        )
    if kinds & {"ConnectionError", "OfflineModeIsEnabled", "ConnectError", "TimeoutException"}:
        return f"the Hub cannot be reached and it is not in the cache: {said}"
    return f"the `datasets` library could not load it: {said}"


def _rows(data: Any) -> Iterator[Record]:
    for batch in data.with_format("arrow").iter(batch_size=BATCH):
        yield from records(batch)
