"""Vocabularies for the tokenizer classes that published checkpoints use."""

from __future__ import annotations

import json
import math
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import sentencepiece
from tokenizers import Tokenizer, models, pre_tokenizers
from tokenizers.trainers import BpeTrainer

from tests.zoo import data_lists, tokens

SPACE = "▁"
RARE = -18.0
"""Score of a single character: below that of any word of the corpus."""


def whole_corpus() -> list[str]:
    """The lists' corpus with the characters that byte-level tokenizers spell in bytes.

    A vocabulary without bytes must know every character, as those of published models do.
    """
    items = list(data_lists.DESCRIPTIONS.values())
    return [*data_lists.corpus(), *(text for item in items for text in item.values())]


def byte_level(texts: Iterable[str], size: int, specials: list[str]) -> tuple[dict[str, int], list]:
    """Vocabulary and merges of byte-level BPE, in which unknown characters are spelled in bytes."""
    return _parts(tokens.byte_bpe(texts, size, specials).backend_tokenizer)


def merged(
    texts: Iterable[str], size: int, specials: list[str], falls_back: bool = True
) -> tuple[dict[str, int], list]:
    """Vocabulary and merges of BPE over words that begin with `▁`, as SentencePiece writes them.

    `falls_back` adds a token for each byte, in which unknown characters are spelled.
    """
    reserved = [*specials, *(f"<0x{byte:02X}>" for byte in range(256) if falls_back)]
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=falls_back))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement=SPACE)
    trainer = BpeTrainer(
        vocab_size=size,
        special_tokens=reserved,
        initial_alphabet=["\n"] if falls_back else tokens.PRINTABLE,
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return _parts(tokenizer)


def unigram(texts: Iterable[str], specials: list[str]) -> list[tuple[str, float]]:
    """Whole words, each with its share of the corpus, and every character alone."""
    texts = list(texts)
    counts = Counter(word for text in texts for word in text.split())
    total = sum(counts.values())
    words = [(SPACE + word, math.log(count / total)) for word, count in sorted(counts.items())]
    letters = sorted({*tokens.PRINTABLE, *(char for word in counts for char in word)})
    singles = [SPACE, *letters]
    return [
        *((special, 0.0) for special in specials),
        *words,
        *((single, RARE) for single in singles if single not in specials),
    ]


def sentence_piece(texts: Iterable[str], size: int, name: str) -> tuple[Path, list[str]]:
    """Train a SentencePiece model in a new folder; return its file and its pieces."""
    folder = Path(tempfile.mkdtemp())
    lines = [*texts, " ".join(tokens.PRINTABLE)]
    (folder / "texts").write_text("\n".join(lines), encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "texts"),
        model_prefix=str(folder / "trained"),
        model_type="bpe",
        vocab_size=size,
        character_coverage=1.0,
        normalization_rule_name="identity",
        hard_vocab_limit=False,
        minloglevel=2,
    )
    path = (folder / "trained.model").rename(folder / name)
    processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return path, [processor.id_to_piece(i) for i in range(processor.get_piece_size())]


def _parts(tokenizer: Tokenizer) -> tuple[dict[str, int], list]:
    model = json.loads(tokenizer.to_str())["model"]
    return model["vocab"], [tuple(merge) for merge in model["merges"]]
