"""Writes docs/architectures.md: what works on which engine, tried on the models of tests/zoo.

It takes some minutes; `--check` compares no results, only whether the page has a row for each
model.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # makes `tests` importable when run as a script

from bakeoff.core.errors import BakeoffError  # noqa: E402
from bakeoff.core.outputs import Completion, Likelihood  # noqa: E402
from bakeoff.core.ports import Engine  # noqa: E402
from bakeoff.core.requests import (  # noqa: E402
    GenerateRequest,
    GenerationParams,
    Message,
    Messages,
    ScoreRequest,
    Source,
)
from bakeoff.engines import ENGINES  # noqa: E402
from bakeoff.engines.needs import Needs  # noqa: E402
from bakeoff.engines.route import route  # noqa: E402
from tests.contract.targets import Target, collect, run, texts  # noqa: E402
from tests.zoo import CHATS, GENERATING, TRANSLATORS, data_lists, expected, zoo_inputs  # noqa: E402

PAGE = ROOT / "docs" / "architectures.md"
COLUMNS = (
    "architecture",
    "model",
    "engine",
    "greedy",
    "beams",
    "likelihood",
    "sampling",
    "chat template",
    "languages",
)
OWN = ("fake", "baseline")
"""Engines that run no checkpoint."""
PLAIN = GenerationParams(temperature=0.0, num_beams=1)
RULE = ("---",) * len(COLUMNS)
NONE = "–"
LONG = 110
GREEDY: tuple[dict[str, Any], ...] = (
    {},
    {"repetition_penalty": 1.3},
    {"no_repeat_ngram_size": 3, "min_new_tokens": 20},
)
BEAMS: tuple[dict[str, Any], ...] = (
    {"num_beams": 4, "early_stopping": True},
    {"num_beams": 4, "early_stopping": True, "length_penalty": 2.0, "no_repeat_ngram_size": 3},
    {"num_beams": 3, "length_penalty": 0.6},
)
TEMPLATE = """\
# Architectures

What works for which architecture on which engine. This page is written by
`python scripts/architectures_doc.py`, which runs each generating model of `tests/zoo` (small
models, trained, with the configuration and tokenizer classes of published checkpoints) on each
engine that is installed and compares it with plain transformers: one request alone, in float32.
It was written with {versions}.

- **greedy**, **beams**: texts that are token for token those of `generate`, of {rows} rows of
  different lengths computed together. Settings in turn: {greedy}; beams: {beams}. What an engine
  leaves out by itself is run by transformers; a number before `refused` counts it. So is what was
  found to differ, unless the engine is named. A tie, where the two best tokens lie less than 1e-4
  apart, is named.
- **likelihood**: log-probabilities of given continuations within 1e-4.
- **sampling**: with a seed, a text is the same alone and beside others.
- **chat template**: whether the model has one of its own, and whether an answer to a system
  prompt obeys it; a template without a system role gets it before the user's first turn.
- **languages**: how many of the directions between English and German are answered in the right
  words; *prefix* and *pair* models are told, or know, by other means.

{lines}
"""


@dataclass(frozen=True)
class Line:
    """One row of the table."""

    architecture: str
    model: str
    engine: str
    greedy: str = NONE
    beams: str = NONE
    likelihood: str = NONE
    sampling: str = NONE
    chat: str = NONE
    languages: str = NONE


@dataclass(frozen=True)
class Trial:
    """A model of the zoo that is open on an engine, and the reference beside it."""

    target: Target
    engine: Engine
    plain: Any

    def requests(self, settings: Sequence[dict[str, Any]]) -> list[GenerateRequest]:
        """Two rows for each of the settings, a short and a long one."""
        inputs = sorted(self.target.inputs(24), key=len)
        rows = [text for pair in zip(inputs, reversed(inputs), strict=True) for text in pair]
        return [
            self.target.ask(rows[2 * at + side], f"{at}-{side}", max_new_tokens=48, **own)
            for at, own in enumerate(settings)
            for side in (0, 1)
        ]

    def same(self, settings: Sequence[dict[str, Any]]) -> str:
        """How many texts are those of plain transformers."""
        from tests.contract.reference import Ties

        asked = self.requests(settings)
        taken = [request for request in asked if not self.engine.unsupported(request)]
        ties, equal = Ties(), 0
        for request, made in zip(taken, run(self.engine.generate(taken)), strict=True):
            try:
                assert isinstance(made, Completion), made
                ties.compare(self.plain, request, made)
                equal += 1
            except AssertionError:
                continue
        refused = len(asked) - len(taken)
        parts = [f"{equal} of {len(taken)}"] if taken else []
        parts += [f"{refused} refused"] if refused else []
        parts += [f"{len(ties.ties)} by a tie"] if ties.ties else []
        return ", ".join(parts)

    def likelihood(self) -> str:
        """Whether log-probabilities are those of plain transformers."""
        if not self.engine.capabilities.likelihood:
            return "no"
        inputs, ending = self.target.inputs(3), " 1 ring of glass"
        asked = [
            ScoreRequest(f"{at}", self.target.plain(one), ending) for at, one in enumerate(inputs)
        ]
        outcomes = {outcome.id: outcome for outcome in run(collect(self.engine.score(asked)))}
        for request, text in zip(asked, inputs, strict=True):
            made = outcomes[request.id]
            if not isinstance(made, Likelihood):
                return "no"
            read = GenerateRequest(request.id, self.target.plain(text))
            context = self.plain.inputs(read)["input_ids"][0].tolist()
            wanted = self.plain.likelihood(request.context, context, list(made.token_ids))
            if max(abs(a - b) for a, b in zip(made.logprobs, wanted, strict=True)) > 1e-4:
                return "differs"
        return "equal"

    def sampling(self) -> str:
        """Whether a seed settles the text."""
        settings = [{"temperature": 1.5, "seed": seed} for seed in range(3)]
        asked = self.requests(settings)
        if self.engine.unsupported(asked[0]):
            return "refused"
        together = texts(self.engine, asked)
        alone = [texts(self.engine, [request])[0] for request in asked]
        return "the same" if together == alone else "differs"

    def chat(self) -> str:
        """Whether a system prompt reaches the model."""
        if self.target.name not in CHATS:
            return "none"
        rule = "Answer in German."
        inputs = zoo_inputs(self.target.name, 3, seed=5)
        prompts = [Messages((Message("system", rule), Message("user", text))) for text in inputs]
        right = [expected(self.target.name, text, rule) for text in inputs]
        place = "" if self.target.facts().chat.system else ", before the user's turn"
        obeyed = self.right(prompts, right)
        return f"own; system prompt obeyed {obeyed} of {len(right)}{place}"

    def languages(self) -> str:
        """How many directions are right."""
        name = self.target.name
        tags = TRANSLATORS.get(name)
        if tags is None:
            facts = self.target.facts()
            pair = getattr(facts, "pair", None)
            return f"pair {pair.source}-{pair.target}" if pair else self.prefix()
        (text,) = zoo_inputs(name, 1, seed=5)
        sides = [(said, wanted) for said in data_lists.LANGUAGES for wanted in data_lists.LANGUAGES]
        written = {"en": text, "de": data_lists.in_german(text)}
        prompts = [Source(written[said], tags[said], tags[wanted]) for said, wanted in sides]
        right = [expected(name, text, language=wanted) for _, wanted in sides]
        return f"{self.right(prompts, right)} of {len(right)}"

    def prefix(self) -> str:
        """Whether the checkpoint names prefixes for its tasks."""
        return "prefix" if self.target.name == "t5" else NONE

    def right(self, prompts: Sequence[Any], answers: Sequence[str]) -> int:
        """How many answers are right."""
        params = GenerationParams(max_new_tokens=LONG)
        asked = [GenerateRequest(f"{at}", prompt, params) for at, prompt in enumerate(prompts)]
        found = texts(self.engine, asked)
        return sum(text.strip() == wanted for text, wanted in zip(found, answers, strict=True))


def engines() -> list[str]:
    """Engines that run checkpoints and whose library is installed."""
    found = [name for name in ENGINES.names() if name not in OWN]
    return [name for name in found if importlib.util.find_spec(name)]


def line(name: str, engine: str, reference: Callable[[str], Any]) -> Line:
    """Try everything on one model and engine."""
    target = Target(name, engine)
    facts = Target(name).facts()
    first = Line(facts.architecture, name, engine)
    try:
        route(target.facts(), Needs(params=PLAIN))  # what the engine refuses without loading it
        opened = target.open()
    except BakeoffError as error:
        return Line(*astuple(first)[:3], greedy=f"does not run it: {_reason(error, target)}")
    trial = Trial(target, opened, reference(name))
    try:
        return Line(
            *astuple(first)[:3],
            greedy=trial.same(GREEDY),
            beams=trial.same(BEAMS),
            likelihood=trial.likelihood(),
            sampling=trial.sampling(),
            chat=trial.chat(),
            languages=trial.languages(),
        )
    finally:
        run(opened.close())


def _reason(error: BakeoffError, target: Target) -> str:
    """Why not, without what a user should write instead, and without places on this machine."""
    said = error.message.removeprefix(f"the {target.engine} engine does not run this: ")
    uri = target.facts().ref.uri
    return (
        said.replace(f"{uri} ", "").replace(uri, target.name).partition("; ")[0].split(": write")[0]
    )


def page() -> str:
    """Try everything; the whole page."""
    import torch
    import transformers

    from tests.contract.reference import Reference

    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    warnings.filterwarnings("ignore", "Unfeasible length|Recommended: pip install")
    lines = []
    for name in sorted(GENERATING, key=lambda name: Target(name).facts().architecture.lower()):
        for engine in engines():
            lines.append(line(name, engine, lambda name: Reference(Target(name))))
            print(*astuple(lines[-1]), sep=" | ", file=sys.stderr, flush=True)
    versions = [f"{lib} {importlib.metadata.version(lib)}" for lib in dict.fromkeys(libraries())]
    return TEMPLATE.format(
        versions=", ".join(versions),
        rows=2 * len(GREEDY),
        greedy=_said(GREEDY),
        beams=_said(BEAMS),
        lines="\n".join(_row(cells) for cells in [COLUMNS, RULE, *map(_cells, lines)]),
    )


def libraries() -> list[str]:
    """What the results depend on."""
    return ["transformers", "torch", "tokenizers", *engines()]


def _said(settings: Sequence[dict[str, Any]]) -> str:
    told = [", ".join(f"{name} {value}" for name, value in own.items()) for own in settings]
    return "; ".join(f"`{one}`" if one else "none" for one in told)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cells(one: Line) -> list[str]:
    return [
        f"`{cell}`" if at < 3 else cell.replace("|", "\\|") for at, cell in enumerate(astuple(one))
    ]


def missing(text: str) -> list[str]:
    """Models without a row for transformers, and rows for models that are not there."""
    rows = set(re.findall(r"^\| `\w+` \| `([\w-]+)` \| `(\w+)` \|", text, re.MULTILINE))
    wanted = {(name, "transformers") for name in GENERATING}
    strange = {name for name, _ in rows} - set(GENERATING)
    return sorted({name for name, _ in wanted - rows} | strange)


def main() -> int:
    """Write the page, or look for rows; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if a model has no row")
    if not parser.parse_args().check:
        PAGE.write_text(page(), encoding="utf-8")
        return 0
    found = missing(PAGE.read_text(encoding="utf-8") if PAGE.exists() else "")
    if found:
        print(f"docs/architectures.md does not fit the zoo: {', '.join(found)}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
