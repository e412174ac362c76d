"""Tokenizers of the zoo; each turns any Unicode text into tokens and back."""

from __future__ import annotations

from collections.abc import Iterable

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from tokenizers.trainers import BpeTrainer, WordPieceTrainer
from transformers import BertTokenizer, PreTrainedTokenizerFast

PRINTABLE = [chr(code) for code in range(33, 127)]


def _byte_level(specials: list[str]) -> Tokenizer:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = {token: i for i, token in enumerate([*specials, *alphabet])}
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(specials)
    return tokenizer


def _frame(tokenizer: Tokenizer, single: str, specials: Iterable[str]) -> None:
    ids = [(token, tokenizer.token_to_id(token)) for token in specials]
    tokenizer.post_processor = processors.Sequence(
        [
            processors.ByteLevel(trim_offsets=False),
            processors.TemplateProcessing(single=single, special_tokens=ids),
        ]
    )


def characters() -> PreTrainedTokenizerFast:
    """One token a byte, hence one a character in ASCII; T5's special tokens and framing."""
    tokenizer = _byte_level(["<pad>", "</s>", "<unk>"])
    _frame(tokenizer, "$A </s>", ["</s>"])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        model_max_length=128,
        clean_up_tokenization_spaces=False,
    )


def byte_bpe(
    texts: Iterable[str], size: int, specials: list[str], frame: str = ""
) -> PreTrainedTokenizerFast:
    """Byte-level BPE of `size` entries over `texts`; `frame` is the template around one text.

    Characters that `texts` lacks are spelled in bytes, so one character can span tokens.
    """
    tokenizer = _byte_level(specials)
    trainer = BpeTrainer(
        vocab_size=size,
        special_tokens=specials,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    if frame:
        _frame(tokenizer, frame, [token for token in specials if token in frame.split()])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, clean_up_tokenization_spaces=False, model_max_length=256
    )


def word_piece(texts: Iterable[str], size: int, longest: int) -> BertTokenizer:
    """Uncased word pieces over `texts`; every printable ASCII character is a piece of its own."""
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = WordPieceTrainer(
        vocab_size=size,
        special_tokens=specials,
        initial_alphabet=PRINTABLE,
        show_progress=False,
    )
    # Runs of one letter repeated put each letter into the vocabulary inside a word, too.
    letters = [letter * 3 for letter in "abcdefghijklmnopqrstuvwxyz0123456789"]
    tokenizer.train_from_iterator([*texts, *letters], trainer)
    pieces = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().__getitem__)
    return BertTokenizer(
        vocab={piece: i for i, piece in enumerate(pieces)},
        do_lower_case=True,
        model_max_length=longest,
    )


def paired_pieces(texts: Iterable[str], size: int, longest: int) -> PreTrainedTokenizerFast:
    """The same word pieces for ModernBERT, which has no segments."""
    tokenizer = word_piece(texts, size, longest).backend_tokenizer
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=longest,
        model_input_names=["input_ids", "attention_mask"],
        clean_up_tokenization_spaces=False,
    )
