"""`Reading`: what turns the requests of one generative model into rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.rows import Notice
from bakeoff.engines.dated import on_its_day
from bakeoff.engines.text.continuations import ScoreReader
from bakeoff.engines.text.intake import Intake
from bakeoff.engines.text.languages import Languages
from bakeoff.engines.text.prompts import PromptReader
from bakeoff.engines.text.special import Special


@dataclass(frozen=True)
class Reading:
    """A model's tokenizer and everything that is known about its tokens.

    Attributes:
        special: tokens with a meaning.
        reader: prompts -> token ids.
        intake: requests -> rows.
        score_reader: score requests -> rows.
        notices: what the report should say.
    """

    special: Special
    reader: PromptReader
    intake: Intake
    score_reader: ScoreReader
    notices: tuple[Notice, ...]

    @classmethod
    def of(
        cls,
        facts: ModelFacts,
        config: Any,
        said: Any,
        tokenizer: Any,
        size: int,
        stop_loops: int | None = None,
    ) -> Reading:
        """Put it together.

        Args:
            facts: of the model.
            config: its configuration.
            said: its generation configuration: token ids with a meaning.
            tokenizer: its tokenizer; its chat template is fixed to the day of `facts`.
            size: how many token ids the model takes.
            stop_loops: see `EngineOptions`.
        """
        tokenizer.chat_template = on_its_day(tokenizer.chat_template, facts)
        special = Special.of(config, said, tokenizer, size)
        continues = facts.capabilities.kind == "causal"
        reader = PromptReader(tokenizer, special, Languages.of(tokenizer), size, continues)
        intake = Intake(facts, config, special, reader, stop_loops)
        return cls(
            special=special,
            reader=reader,
            intake=intake,
            score_reader=ScoreReader(reader, intake.window, intake.encodes, intake.written),
            # `describe` tried the template out as well; what it said stands in the report already
            notices=tuple(one for one in reader.chat.notices if one not in facts.notices),
        )
