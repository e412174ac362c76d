"""Languages reach the model as its authors meant: the same ids and texts as plain transformers."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
import torch
import transformers

from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.modelref import ModelRef
from bakeoff.core.outputs import Completion, Likelihood
from bakeoff.core.ports import Engine
from bakeoff.core.requests import GenerateRequest, GenerationParams, ScoreRequest, Source
from bakeoff.core.rows import TaskRow
from bakeoff.core.specs import TaskSpec
from bakeoff.engines import describe, open_engine
from bakeoff.engines.options import EngineOptions
from bakeoff.tasks import build_task
from tests.unit.engines.languages import translators
from tests.unit.engines.languages.translators import FAMILIES, SENTENCE, save, save_marian
from tests.zoo import zoo_path

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses"),
]
NEW = 8
T = TypeVar("T")


@pytest.fixture(scope="module")
def family(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a family's checkpoint, written once."""
    made: dict[str, Path] = {}

    def folder(name: str) -> Path:
        if name not in made:
            made[name] = save(tmp_path_factory.mktemp(name), FAMILIES[name])
        return made[name]

    return folder


def facts_of(folder: Path, hints: tuple[str, ...] = ()) -> ModelFacts:
    return describe(ModelRef.parse(str(folder)), hints)


def opened(facts: ModelFacts, work: Callable[[Engine], Awaitable[T]]) -> T:
    """What work on an engine gives."""

    async def run() -> T:
        engine = await open_engine("transformers", facts, EngineOptions(threads=1))
        try:
            return await work(engine)
        finally:
            await engine.close()

    return asyncio.run(run())


def written(facts: ModelFacts, *prompts: Source) -> list[Completion]:
    """What the engine makes of prompts, all in one call."""
    params = GenerationParams(max_new_tokens=NEW)
    requests = [GenerateRequest(str(n), one, params) for n, one in enumerate(prompts)]
    found = opened(facts, lambda engine: engine.generate(requests))
    made = [one for one in found if isinstance(one, Completion)]
    assert len(made) == len(found), found
    return made


def scored(facts: ModelFacts, context: Source, continuation: str) -> Likelihood:
    """The likelihood of a continuation."""

    async def work(engine: Engine) -> Any:
        return [one async for one in engine.score([ScoreRequest("1", context, continuation)])]

    (made,) = opened(facts, work)
    assert isinstance(made, Likelihood), made
    return made


def asked(facts: ModelFacts, source: str | None, target: str | None) -> Source:
    """The row of a translation as this model reads it, after every check."""
    spec = TaskSpec(kind="translation", source_language=source, target_language=target)
    task = build_task(spec)
    task.check(facts)
    (prompt,) = task.ask(TaskRow(0, "1", source=SENTENCE), facts, None)
    assert isinstance(prompt, Source)
    return prompt


class Plain:
    """The library alone."""

    def __init__(self, folder: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()

    def ids(self, text: str, source: str | None = None) -> list[int]:
        if source is not None:
            self.tokenizer.src_lang = source
        return list(self.tokenizer(text)["input_ids"])

    def token(self, language: str) -> int:
        listed = getattr(self.tokenizer, "lang_code_to_id", {})
        return int(listed.get(language, self.tokenizer.convert_tokens_to_ids(language)))

    def new(self, ids: list[int], **said: Any) -> list[int]:
        with torch.inference_mode():
            out = self.model.generate(
                torch.tensor([ids]), max_new_tokens=NEW, do_sample=False, num_beams=1, **said
            )
        return list(out[0].tolist()[1:])

    def logprobs(self, ids: list[int], begin: list[int], target: list[int]) -> list[float]:
        with torch.inference_mode():
            logits = self.model(
                torch.tensor([ids]), decoder_input_ids=torch.tensor([begin + target[:-1]])
            ).logits[0, len(begin) - 1 :]
        found = torch.log_softmax(logits, -1).gather(1, torch.tensor(target)[:, None])
        return [float(value) for value in found[:, 0]]

    def shown(self, ids: list[int], languages: set[int]) -> str:
        kept = [token for token in ids if token not in languages]
        return str(self.tokenizer.decode(kept, skip_special_tokens=True))


@pytest.mark.parametrize("name", FAMILIES)
def test_the_same_ids_first_token_and_text_as_plain_transformers(
    name: str, family: Callable[[str], Path]
) -> None:
    folder, told = family(name), FAMILIES[name]
    facts, plain = facts_of(folder), Plain(folder)
    prompt = asked(facts, "English", "German")
    assert (prompt.source_language, prompt.target_language) == (told.source, told.target)
    other = Source("seven grey hills", told.target, told.source)
    found, back = written(facts, prompt, other)
    for made, text, source, target in (
        (found, SENTENCE, told.source, told.target),
        (back, "seven grey hills", told.target, told.source),
    ):
        ids, token = plain.ids(text, source), plain.token(target)
        assert plain.token(source) in ids
        assert made.usage.prompt == len(ids)
        start = "decoder_start_token_id" if told.starts else "forced_bos_token_id"
        expected = plain.new(ids, **{start: token})
        assert list(made.token_ids) == expected
        assert (made.token_ids[0] == token) is not told.starts
        codes = {plain.token(code) for code in facts.capabilities.language_codes}
        assert made.text == plain.shown(expected, codes)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_likelihood_is_that_of_the_text_behind_the_language(
    name: str, family: Callable[[str], Path]
) -> None:
    folder, told = family(name), FAMILIES[name]
    plain = Plain(folder)
    made = scored(facts_of(folder), Source(SENTENCE, told.source, told.target), "grey hills")
    target = plain.tokenizer("grey hills", add_special_tokens=False)["input_ids"]
    token = plain.token(told.target)
    begin = [token] if told.starts else [2, token]
    assert list(made.token_ids) == target
    expected = plain.logprobs(plain.ids(SENTENCE, told.source), begin, target)
    assert made.logprobs == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_languages_of_the_files_are_those_of_the_tokenizer(
    name: str, family: Callable[[str], Path]
) -> None:
    plain = Plain(family(name))
    can = facts_of(family(name)).capabilities
    assert not can.targets_only
    ids = {plain.token(code) for code in can.language_codes}
    assert plain.tokenizer.unk_token_id not in ids
    assert len(ids) == len(can.language_codes) > 20
    assert {FAMILIES[name].source, FAMILIES[name].target} <= set(can.language_codes)


def test_a_language_token_of_m2m100_is_in_no_text(family: Callable[[str], Path]) -> None:
    facts = facts_of(family("m2m100"))
    (made,) = written(facts, Source(SENTENCE, "en", "de"))
    assert "__" not in made.text


MARKS = ("deu", "fra", "por", "pob", "cmn_Hans", "cmn_Hant")


def test_marian_is_told_the_target_alone(tmp_path: Path) -> None:
    folder = save_marian(tmp_path / "m", MARKS, source_lang="eng", target_lang="mul")
    facts, plain = facts_of(folder), Plain(folder)
    assert facts.capabilities.language_codes == tuple(sorted(MARKS))
    assert facts.capabilities.targets_only
    prompt = asked(facts, "English", "German")
    assert (prompt.source_language, prompt.target_language) == (None, "deu")
    (made,) = written(facts, prompt)
    ids = plain.ids(f">>deu<< {SENTENCE}")
    assert plain.tokenizer.convert_tokens_to_ids(">>deu<<") == ids[0]
    assert made.usage.prompt == len(ids)
    assert list(made.token_ids) == plain.new(ids)


def test_marian_without_marks_reads_the_text_alone(tmp_path: Path) -> None:
    folder = save_marian(tmp_path / "m", source_lang="en", target_lang="de")
    facts, plain = facts_of(folder), Plain(folder)
    for source, target in (("en", "de"), (None, None)):
        prompt = asked(facts, source, target)
        assert prompt == Source(SENTENCE)
        (made,) = written(facts, prompt)
        assert list(made.token_ids) == plain.new(plain.ids(SENTENCE))


def test_marks_like_those_of_madlad_stand_before_the_text(tmp_path: Path) -> None:
    folder = translators.save_madlad(tmp_path / "m")
    facts, plain = facts_of(folder), Plain(folder)
    assert facts.capabilities.language_codes == ("de", "en", "pt", "zh_Hant")
    prompt = asked(facts, "German", "Traditional Chinese")
    (made,) = written(facts, prompt)
    ids = plain.ids(f"<2zh_Hant> {SENTENCE}")
    assert made.usage.prompt == len(ids)
    assert list(made.token_ids) == plain.new(ids)


def test_a_likelihood_of_marian_is_that_of_its_target_pieces() -> None:
    folder = zoo_path("marian")
    plain, words = Plain(folder), "zwei kleine Katzen"
    target = plain.tokenizer(text_target=words, add_special_tokens=False)["input_ids"]
    assert target != plain.tokenizer(words, add_special_tokens=False)["input_ids"]
    made = scored(facts_of(folder), Source("two small cats"), words)
    assert list(made.token_ids) == target
    begin = [plain.model.config.decoder_start_token_id]
    expected = plain.logprobs(plain.ids("two small cats"), begin, target)
    assert made.logprobs == pytest.approx(expected, abs=1e-4)
