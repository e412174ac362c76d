"""Text from tokens: pieces add up, no half characters, no part of a stop string."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bakeoff.engines.text.detokenize import Pieces, StopSearch, cut

pytestmark = pytest.mark.torch
BYTE = 1000
TEXTS = st.text(alphabet="ab c,.né東🎁'", max_size=30)


def byte_level(ids):
    """Like byte-level BPE: one token a byte, broken ones shown as U+FFFD."""
    return bytes(ids).decode(errors="replace")


def byte_fallback(ids):
    """Like SentencePiece: characters are tokens, rare ones a run of bytes, all or none shown."""
    out, run = [], []
    for token in [*ids, None]:
        if token is not None and token >= BYTE:
            run.append(token - BYTE)
            continue
        try:
            out.append(bytes(run).decode())
        except UnicodeDecodeError:
            out.append("\ufffd" * len(run))
        run = []
        if token is not None:
            out.append(chr(token))
    return "".join(out)


def fallback_ids(text):
    return [
        token
        for char in text
        for token in ([ord(char)] if ord(char) < 300 else [BYTE + b for b in char.encode()])
    ]


def cleaned(ids):
    """Like a tokenizer that cleans up blanks."""
    text = bytes(ids).decode(errors="replace")
    for old, new in ((" .", "."), (" ,", ","), (" '", "'"), (" n't", "n't")):
        text = text.replace(old, new)
    return text


WAYS = {
    "byte-level": (byte_level, lambda text: list(text.encode()), {}),
    "byte-fallback": (byte_fallback, fallback_ids, {"is_byte": lambda token: token >= BYTE}),
    "cleaning": (cleaned, lambda text: list(text.encode()), {"cleans": True}),
}


def play(way, ids, stops):
    """The pieces as they would be shown, and the whole text."""
    decode, _, options = WAYS[way]
    pieces = Pieces(decode, stops, **options)
    search = StopSearch(decode, stops) if stops else None
    shown = []
    for end in range(1, len(ids) + 1):
        if search is not None and search.found(ids[:end]):
            ids = ids[:end]
            break
        if end < len(ids):
            shown.append(pieces.more(ids[:end]))
    whole, stopped = cut(decode(ids), stops)
    shown.append(pieces.rest(whole))
    return shown, whole, stopped


@pytest.mark.parametrize("way", WAYS)
@given(text=TEXTS, stops=st.lists(st.text(alphabet="ab c,né", min_size=1, max_size=4), max_size=3))
def test_pieces_add_up_and_hide_stops(way, text, stops):
    ids = WAYS[way][1](text)
    shown, whole, stopped = play(way, ids, tuple(stops))
    assert "".join(shown) == whole
    assert not any("\ufffd" in piece for piece in shown)
    full = WAYS[way][0](ids)
    ends = [full.find(stop) + len(stop) for stop in stops if stop in full]
    if way != "cleaning":  # there a blank may vanish after the stop was seen
        first = full[: min(ends)] if ends else full  # the stop that is complete first decides
        places = [first.find(stop) for stop in stops if stop in first]
        assert whole == (first[: min(places)] if places else full)
        assert stopped is bool(ends)
    assert not any(stop in whole for stop in stops)


@pytest.mark.parametrize("way", WAYS)
@given(text=TEXTS)
def test_text_that_cannot_change_is_shown_at_once(way, text):
    shown, _, _ = play(way, WAYS[way][1](text), ())
    late = len(shown[-1]) if shown else 0
    assert late <= (1 if way == "byte-level" else 30)


def test_a_near_miss_is_released():
    decode, encode, _ = WAYS["byte-level"]
    pieces = Pieces(decode, ("DEFGHIJ",))
    text = "ABCDEFX"
    shown = [pieces.more(encode(text)[:end]) for end in range(1, len(text) + 1)]
    assert shown == ["A", "B", "C", "", "", "", "DEFX"]
    pending = Pieces(decode, ("DEFGHIJ",))
    assert pending.more(encode("ABCDE")) == "ABC"
    assert pending.rest("ABCDE") == "DE"


def test_a_stop_is_found_once_only_the_tail_is_new():
    search = StopSearch(byte_level, ("END",))
    ids = list(b"x" * 500 + b"EN")
    assert not search.found(ids)
    assert search.found([*ids, ord("D")])
