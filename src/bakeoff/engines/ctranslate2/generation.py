"""One batch of rows becomes texts, by the library's `translate_batch` or `generate_batch`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bakeoff.engines.batch.rows import Control, Row
from bakeoff.engines.ctranslate2.loading import Loaded
from bakeoff.engines.ctranslate2.watch import Watch
from bakeoff.engines.text.finishing import Finisher, Made, Written
from bakeoff.engines.text.following import OnTokens
from bakeoff.engines.text.special import Special


def kin(row: Row) -> tuple[object, ...]:
    """Rows of one batch have the same: what the library takes once a call.

    A row's own limits, stop strings and deadline are looked after token by token; beams cannot be.
    """
    one = row.decoding
    rules = (one.repetition_penalty, one.no_repeat_ngram_size, row.end_ids)
    # the library reads a lone first token in another way than a prompt
    shape = (row.start is None and row.length == 1, one.num_beams)
    if one.num_beams == 1:
        return (*rules, *shape)
    return (*rules, *shape, one.length_penalty, one.n, one.min_new_tokens, one.max_new_tokens)


@dataclass(frozen=True)
class Generator:
    """Runs batches on one model; on the compute thread only.

    A batch is dealt out to the library's workers, row by row in turn, so that each gets rows of
    all lengths in it.
    """

    loaded: Loaded
    special: Special
    _suppressed: list[list[str]] = field(init=False)
    _names: list[str] = field(init=False)

    def __post_init__(self) -> None:
        """Find out what never changes."""
        size = self.loaded.kept.size
        object.__setattr__(self, "_names", [str(token) for token in range(size)])
        object.__setattr__(self, "_suppressed", list(self._never_written()))

    def run(
        self, rows: Sequence[Row], control: Control, show: OnTokens | None = None
    ) -> list[list[Made]]:
        """Generate the texts of a batch whose rows are `kin`.

        Args:
            rows: at least one.
            control: stops greedy rows within one step; beams run to their end.
            show: for a batch of one greedy row: takes all tokens so far after each step.

        Returns:
            For each row its texts (several where it stands for several choices).

        Raises:
            Cancelled, EngineClosed: the caller went away.
            RuntimeError: whatever the library raises; no row has a result then.
        """
        if control.reason is not None:
            raise control.error()
        finisher = Finisher(self.decode, self.special.last, time.perf_counter(), len(rows))
        live = [row for row in rows if self._limit(row) > 0]
        if rows[0].lanes > 1:
            found = dict(zip(live, self._beams(live), strict=True))
            made = {row: finisher.best(row, beams) for row, beams in found.items()}
        else:
            texts = dict(zip(live, self._greedy(live, control, show), strict=True))
            made = {row: finisher.copies(row, text) for row, text in texts.items()}
        return [made.get(row) or finisher.copies(row, self._nothing()) for row in rows]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of token ids, without special tokens."""
        return str(self.loaded.tokenizer.decode(list(ids), skip_special_tokens=True))

    def _nothing(self) -> Written:
        """A text that may hold one token, which the checkpoint forces."""
        return Written([] if self.special.last is None else [self.special.last])

    def _limit(self, row: Row) -> int:
        """Tokens that the library may write: the one that is forced at the limit is not its own."""
        return row.max_new - (self.special.last is not None)

    def _greedy(
        self, rows: Sequence[Row], control: Control, show: OnTokens | None
    ) -> list[Written]:
        """The library takes the least of all minimums.

        A row that then ends too early runs again, beside others of its minimum.
        """
        written = dict(zip(rows, self._together(rows, control, show), strict=True))
        early = [row for row in rows if _early(row, written[row])]
        for least in sorted({row.decoding.min_new_tokens for row in early}):
            again = [row for row in early if row.decoding.min_new_tokens == least]
            written |= zip(again, self._together(again, control, show), strict=True)
        return [written[row] for row in rows]

    def _together(
        self, rows: Sequence[Row], control: Control, show: OnTokens | None
    ) -> list[Written]:
        count = min(self.loaded.workers, len(rows))
        parts = [rows[at::count] for at in range(count)]
        watches = [
            Watch(part, [self._limit(row) for row in part], control, self.decode, show)
            for part in parts
        ]
        _finished(
            [self._begun(part, callback=watch) for part, watch in zip(parts, watches, strict=True)]
        )
        return [
            watches[at % count].written(at // count, self.special.last) for at in range(len(rows))
        ]

    def _beams(self, rows: Sequence[Row]) -> list[list[Written]]:
        if not rows:
            return []
        one = rows[0].decoding
        count = min(self.loaded.workers, len(rows))
        options = {
            "beam_size": one.num_beams,
            "num_hypotheses": one.n,
            "length_penalty": one.length_penalty,
            "patience": 1.0,
        }
        parts = _finished([self._begun(rows[at::count], **options) for at in range(count)])
        return [
            [self._ended(rows[at], ids) for ids in _ids(parts[at % count][at // count])]
            for at in range(len(rows))
        ]

    def _ended(self, row: Row, ids: list[int]) -> Written:
        last = self.special.last
        full = len(ids) >= self._limit(row) and not (ids and ids[-1] in row.end_ids)
        return Written([*ids, last] if full and last is not None else ids)

    def _begun(self, rows: Sequence[Row], **options: Any) -> list[Any]:
        """Hand a batch to the library; the results can be waited for."""
        one, names = rows[0].decoding, self._names
        longest = max(self._limit(row) for row in rows)
        least = min(longest, *(row.decoding.min_new_tokens for row in rows))
        options = {
            "beam_size": 1,
            **options,
            "repetition_penalty": one.repetition_penalty,
            "no_repeat_ngram_size": one.no_repeat_ngram_size,
            "suppress_sequences": self._suppressed or None,
            "end_token": sorted(token for token in rows[0].end_ids if token < len(names)),
            "return_end_token": True,
            "asynchronous": True,
        }
        read = [[names[token] for token in row.ids] for row in rows]
        if rows[0].start is None:
            return list(
                self.loaded.runner.generate_batch(
                    read,
                    include_prompt_in_result=False,
                    max_length=longest,
                    min_length=least,
                    **options,
                )
            )
        return list(
            self.loaded.runner.translate_batch(
                read,
                [self._begin(row) for row in rows],
                max_input_length=0,
                max_decoding_length=longest,
                min_decoding_length=least,
                **options,
            )
        )

    def _begin(self, row: Row) -> list[str]:
        """What a decoder reads before it writes, and the token that it has to write first."""
        start = self.loaded.kept.starts_with
        tokens = [row.start if start is None else start, row.first]
        return [self._names[token] for token in tokens if token is not None]

    def _never_written(self) -> list[list[str]]:
        """What the checkpoint forbids; an end of the text stays allowed, as in transformers."""
        said, size = self.loaded.kept.said, self.loaded.kept.size
        ends = [[end] for end in self.special.end]
        words = [list(ids) for ids in said.get("bad_words_ids") or () if list(ids) not in ends]
        words += [[token] for token in said.get("suppress_tokens") or ()]
        return [[str(token) for token in ids] for ids in words if all(one < size for one in ids)]


def _early(row: Row, text: Written) -> bool:
    """Whether an end token came before the row's own minimum."""
    ended = bool(text.ids) and text.ids[-1] in row.end_ids and len(text.ids) < row.max_new
    return ended and len(text.ids) <= row.decoding.min_new_tokens


def _ids(result: Any) -> list[list[int]]:
    """The texts of a result, best first."""
    if hasattr(result, "sequences_ids"):
        return [list(ids) for ids in result.sequences_ids]
    return [[int(token) for token in tokens] for tokens in result.hypotheses]


def _finished(parts: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """The results of all parts; where one fails, the others are waited for all the same."""
    found: list[list[Any]] = []
    failure: Exception | None = None
    for part in parts:
        results = []
        for pending in part:
            try:
                results.append(pending.result())
            except Exception as error:  # raised below, once nothing runs any more
                failure = failure or error
        found.append(results)
    if failure is not None:
        raise failure
    return found
