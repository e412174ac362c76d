"""Tiny translation checkpoints with the real tokenizer classes; random weights."""

from __future__ import annotations

import json
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sentencepiece
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

WORDS = "the old harbour lies beyond seven grey hills and nobody sings there any more".split()
SENTENCE = "the old harbour and seven hills"
_PIECES = ["▁", *string.ascii_lowercase, *[f"▁{word}" for word in WORDS]]
_SIZES = {
    "d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2,
    "decoder_attention_heads": 2, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32,
    "max_position_embeddings": 64, "init_std": 0.6,
}  # fmt: skip


def _vocabulary(*special: str, pieces: Sequence[str] = _PIECES) -> dict[str, int]:
    return {piece: at for at, piece in enumerate(dict.fromkeys([*special, *pieces]))}


def _scored(vocabulary: dict[str, int]) -> list[tuple[str, float]]:
    return [(piece, -float(len(vocabulary)) / (1 + len(piece))) for piece in vocabulary]


def _sentencepiece(folder: Path, name: str) -> str:
    target = folder / name
    with target.open("wb") as written:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter([" ".join(WORDS)] * 20),
            model_writer=written,
            vocab_size=60,
            hard_vocab_limit=False,
            minloglevel=2,
        )
    return str(target)


def _pieces(model: str) -> list[str]:
    loaded = sentencepiece.SentencePieceProcessor(model_file=model)
    return [loaded.id_to_piece(at) for at in range(3, loaded.get_piece_size())]


def _written(folder: Path, vocabulary: dict[str, int]) -> str:
    path = folder / "vocab.json"
    path.write_text(json.dumps(vocabulary), encoding="utf-8")
    return str(path)


def _mbart(folder: Path) -> Any:
    return transformers.MBartTokenizer(vocab=_scored(_vocabulary("<s>", "<pad>", "</s>", "<unk>")))


def _mbart50(folder: Path) -> Any:
    vocabulary = _vocabulary("<s>", "<pad>", "</s>", "<unk>")
    return transformers.MBart50Tokenizer(vocab=_scored(vocabulary))


def _nllb(folder: Path) -> Any:
    vocabulary = _vocabulary("<s>", "<pad>", "</s>", "<unk>")
    return transformers.NllbTokenizer(vocab=vocabulary, merges=[])


def _m2m100(folder: Path) -> Any:
    spm = _sentencepiece(folder, "sentencepiece.bpe.model")
    vocabulary = _vocabulary("<s>", "<pad>", "</s>", "<unk>", pieces=_pieces(spm))
    return transformers.M2M100Tokenizer(_written(folder, vocabulary), spm)


def marian_tokenizer(folder: Path, marks: tuple[str, ...], **said: Any) -> Any:
    """A Marian tokenizer with these marks in its vocabulary."""
    spm = _sentencepiece(folder, "source.spm")
    shown = [f">>{mark}<<" for mark in marks]
    vocabulary = _vocabulary("</s>", "<unk>", *shown, pieces=[*_pieces(spm), "<pad>"])
    return transformers.MarianTokenizer(spm, spm, _written(folder, vocabulary), **said)


def _madlad(folder: Path) -> Any:
    marks = tuple(f"<2{code}>" for code in ("en", "de", "pt", "zh_Hant"))
    made = Tokenizer(models.Unigram(_scored(_vocabulary("<pad>", "</s>", "<unk>")), unk_id=2))
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    made.add_tokens(list(marks))
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )


def _bart_like(name: str, **more: Any) -> Callable[[int], Any]:
    def build(size: int) -> Any:
        config = getattr(transformers, f"{name}Config")
        said = {**_SIZES, "vocab_size": size, "pad_token_id": 1, "eos_token_id": 2, **more}
        made = f"{name}MTModel" if name == "Marian" else f"{name}ForConditionalGeneration"
        return getattr(transformers, made)(config(**said))

    return build


def _t5(size: int) -> Any:
    config = transformers.T5Config(
        vocab_size=size, d_model=32, d_kv=16, d_ff=32, num_layers=1, num_heads=2,
        decoder_start_token_id=0, initializer_factor=4.0,
    )  # fmt: skip
    return transformers.T5ForConditionalGeneration(config)


@dataclass(frozen=True)
class Family:
    """A tokenizer and a model that belong together.

    Attributes:
        tokenizer: makes the tokenizer; may write files into the folder.
        model: makes the model for a vocabulary of that size.
        source, target: a pair as this tokenizer spells it.
        starts: whether the decoder starts with the target language, rather than writing it first.
        beyond: token ids of the model that the length of its tokenizer does not count.
    """

    tokenizer: Callable[[Path], Any]
    model: Callable[[int], Any]
    source: str = ""
    target: str = ""
    starts: bool = False
    beyond: int = 0


FAMILIES = {
    "mbart": Family(
        _mbart, _bart_like("MBart", decoder_start_token_id=2), "en_XX", "de_DE", starts=True
    ),
    "mbart50": Family(_mbart50, _bart_like("MBart", decoder_start_token_id=2), "en_XX", "de_DE"),
    "m2m100": Family(
        _m2m100, _bart_like("M2M100", decoder_start_token_id=2), "en", "de", beyond=108
    ),
    "nllb": Family(_nllb, _bart_like("M2M100", decoder_start_token_id=2), "eng_Latn", "deu_Latn"),
}
"""Those that are told both languages by tokens."""


def save(folder: Path, family: Family, seed: int = 3) -> Path:
    """Write a checkpoint of a family."""
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(seed)
    tokenizer = family.tokenizer(folder)
    tokenizer.save_pretrained(folder)
    model = family.model(len(tokenizer) + family.beyond)
    model.eval().save_pretrained(folder)
    return folder


def save_marian(folder: Path, marks: tuple[str, ...] = (), **said: Any) -> Path:
    """Write a Marian checkpoint, its tokenizer with these marks and settings."""
    config = {"pad_token_id": 0, "eos_token_id": 0, "decoder_start_token_id": 1}
    family = Family(
        lambda place: marian_tokenizer(place, marks, **said), _bart_like("Marian", **config)
    )
    return save(folder, family)


def save_madlad(folder: Path) -> Path:
    """Write a T5 whose tokenizer has marks like those of MADLAD-400."""
    return save(folder, Family(_madlad, _t5))
