"""`Diagnosis`, format 1: what the doctor says. The types are the format of `--json`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from bakeoff.core.canonical import dumps

FORMAT = 1
Level = Literal["ok", "warning", "problem"]
LEVELS: tuple[Level, ...] = ("ok", "warning", "problem")
"""From healthy to ill."""
Prompts = Literal["short", "mixed"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        code: stable, kebab-case; of a fault it is a name in `faults.FAULTS`.
        level: `ok`, `warning` (it may answer wrongly, or others may run it wrongly), or `problem`
            (it answers wrongly or not at all).
        what: the thing looked at, a few words.
        value: what was found, one line.
        advice: what to do, and what bakeoff itself does about it; empty where all is well.
        data: the same for machines, a JSON value; None where `value` says all.
    """

    code: str
    level: Level
    what: str
    value: str
    advice: str = ""
    data: Any = None


@dataclass(frozen=True, slots=True)
class RouteTaken:
    """Which engine `auto` takes for one kind of request.

    Attributes:
        request: `greedy`, `sampled`, `beams`, `likelihood`, `streaming` or `prediction`.
        engine: its name, or None where no engine takes it.
        why: one sentence.
    """

    request: str
    engine: str | None
    why: str


@dataclass(frozen=True, slots=True)
class Agreement:
    """How an engine's answers compare with plain transformers, alone and in a batch.

    Attributes:
        compared: texts, continuations or predictions compared; each counts alone and in a batch.
        equal: how many were equal; of texts, every token.
        ties: texts that part where the reference's two best logits lie closer than rounding.
        tokens: tokens compared.
        worst: largest difference of a log-probability or probability, or None for texts.
        parted: where the first unequal one parts, in words; empty where there is none.
    """

    compared: int
    equal: int
    ties: int = 0
    tokens: int = 0
    worst: float | None = None
    parted: str = ""

    @property
    def holds(self) -> bool:
        """Whether nothing differs but ties."""
        return self.equal + self.ties == self.compared


@dataclass(frozen=True, slots=True)
class Speed:
    """New tokens a second, reading the prompts included.

    Attributes:
        prompts: `short`, or `mixed`: every other prompt is about ten times as long.
        batch: how many requests are under way at once.
        tokens_per_s: new tokens a second over all of them.
        tokens: new tokens counted.
        seconds: time that they took.
    """

    prompts: Prompts
    batch: int
    tokens_per_s: float
    tokens: int
    seconds: float


@dataclass(frozen=True, slots=True)
class EngineExam:
    """What one engine makes of the model.

    Attributes:
        name: a name in `ENGINES`.
        able: whether it can run the model here.
        why: why not, or what it says when it is named.
        version, device, dtype: as it runs; empty where it was not opened.
        load_s: seconds to load, or None.
        greedy: greedy texts against plain transformers, or None where they were not compared.
        likelihood: log-probabilities of continuations, likewise.
        prediction: an encoder's answers in a batch against the same alone.
        speeds: what was measured.
    """

    name: str
    able: bool
    why: str
    version: str = ""
    device: str = ""
    dtype: str = ""
    load_s: float | None = None
    greedy: Agreement | None = None
    likelihood: Agreement | None = None
    prediction: Agreement | None = None
    speeds: tuple[Speed, ...] = ()


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Everything that was found.

    Attributes:
        model: the reference, its revision pinned.
        identity: repository and commit, or a hash of the files.
        status: the worst level of all findings.
        loaded: whether the weights were loaded; without them only configuration, tokenizer and
            headers were looked at.
        findings: in the order in which they are shown.
        routes: which engine `auto` takes for which kind of request.
        engines: what each engine makes of the model.
        versions: library -> version.
        format: version of this layout.
    """

    model: str
    identity: str
    status: Level
    loaded: bool
    findings: tuple[Finding, ...]
    routes: tuple[RouteTaken, ...] = ()
    engines: tuple[EngineExam, ...] = ()
    versions: dict[str, str] = field(default_factory=dict)
    format: int = FORMAT

    def to_json(self) -> str:
        """One line of strict JSON."""
        return dumps(asdict(self))

    def codes(self, level: Level) -> list[str]:
        """Codes of the findings of one level, in order."""
        return [one.code for one in self.findings if one.level == level]


def worst(findings: Iterable[Finding]) -> Level:
    """The worst level among findings; `ok` where there is none."""
    return max((one.level for one in findings), key=LEVELS.index, default="ok")


def replaced(before: Iterable[Finding], after: Iterable[Finding]) -> list[Finding]:
    """What was found later takes the place of what was found earlier under the same code."""
    newer: dict[str, list[Finding]] = {}
    for one in after:
        newer.setdefault(one.code, []).append(one)
    kept: list[Finding] = []
    for one in before:
        kept += newer.pop(one.code) if one.code in newer else [one]
    return kept + [one for group in newer.values() for one in group]
