"""Checkpoints to examine, and short ways to ask about them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from bakeoff.core.modelref import ModelRef
from bakeoff.engines import describe
from bakeoff.engines.doctor.chart import Chart, read_chart
from bakeoff.engines.doctor.diagnosis import Diagnosis, Finding
from bakeoff.engines.doctor.examine import DoctorOptions, diagnose
from bakeoff.engines.doctor.plain import Plain
from bakeoff.engines.options import EngineOptions
from tests.zoo import zoo_path

ENGINE = EngineOptions(threads=1)
FILES = DoctorOptions(load=False)
QUICK = DoctorOptions(speed=False, engine=ENGINE)


def copied(name: str, folder: Path) -> Path:
    """A copy of a model of the zoo that may be changed."""
    return Path(shutil.copytree(zoo_path(name), folder / name))


def edited(path: Path, file: str = "config.json", **changes: Any) -> Path:
    """The checkpoint with keys of a JSON file set; Ellipsis removes a key."""
    value = {**json.loads((path / file).read_text("utf-8")), **changes}
    text = json.dumps({k: v for k, v in value.items() if v is not ...})
    (path / file).write_text(text, "utf-8")
    return path


def templated(path: Path, template: str) -> Path:
    """The checkpoint with another chat template."""
    (path / "chat_template.jinja").write_text(template, "utf-8")
    return path


def examined(path: Path | str, options: DoctorOptions = FILES) -> Diagnosis:
    """What the doctor says of a model; without options: of its files alone."""
    return diagnose(ModelRef.parse(str(path)), options)


def found(diagnosis: Diagnosis, code: str) -> Finding:
    """The only finding of a code."""
    (one,) = [one for one in diagnosis.findings if one.code == code]
    return one


def faults(diagnosis: Diagnosis) -> set[str]:
    """Codes of everything that is not well."""
    return {one.code for one in diagnosis.findings if one.level != "ok"}


def chart_of(path: Path) -> Chart:
    """The checkpoint's files as the library reads them."""
    return read_chart(describe(ModelRef.parse(str(path))))[0]


def plain_of(path: Path) -> Plain:
    """The model as transformers alone loads it."""
    return Plain.load(chart_of(path), ENGINE)
