"""`Chart`: a checkpoint's configuration, tokenizer and headers, as the library reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
import transformers

from bakeoff.core.errors import BakeoffError, ModelLoadFailed
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.rows import Notice
from bakeoff.engines.checkpoint import Checkpoint, local_files, read_checkpoint
from bakeoff.engines.facts import find, tokenizer_ref
from bakeoff.engines.headers import Tensor, read_headers
from bakeoff.engines.identity import part_of
from bakeoff.engines.text.chat import ChatRules, rules_of
from bakeoff.engines.text.special import Special
from bakeoff.engines.text.tokenizers import load_tokenizer
from bakeoff.engines.transformers.quiet import quiet

_CLASSES = {"causal": "AutoModelForCausalLM", "seq2seq": "AutoModelForSeq2SeqLM"}


@dataclass(frozen=True)
class Chart:
    """What can be known of a checkpoint without its weights.

    Attributes:
        facts: what bakeoff makes of it.
        checkpoint: its small files as they are written.
        tensors: weights by name, or None where no safetensors file is on this machine.
        config: the library's configuration object.
        tokenizer: the library's tokenizer.
    """

    facts: ModelFacts
    checkpoint: Checkpoint
    tensors: Mapping[str, Tensor] | None
    config: Any
    tokenizer: Any

    @property
    def generates(self) -> bool:
        """Whether it writes text."""
        return self.facts.capabilities.kind != "encoder"

    @property
    def chats(self) -> bool:
        """Whether it has a chat template that renders a user's turn."""
        return self.generates and bool(self.tokenizer.chat_template) and not self.rules.error

    @property
    def text_config(self) -> Any:
        """The part of the configuration that the language model is built from."""
        return self.config.get_text_config()

    @property
    def said(self) -> Mapping[str, Any]:
        """The same part of `config.json`, as written."""
        whole = self.checkpoint.config
        inner = whole.get("text_config")
        return {**whole, **inner} if isinstance(inner, dict) else whole

    @property
    def rows(self) -> int:
        """Token ids that the model has an embedding for."""
        return int(self.skeleton.get_input_embeddings().num_embeddings)

    @cached_property
    def skeleton(self) -> Any:
        """The model without numbers: its modules, names and shapes."""
        kind = self.facts.capabilities.kind
        loader = getattr(transformers, _CLASSES.get(kind, "AutoModel"))
        with quiet([]), torch.device("meta"):
            return loader.from_config(self.config, **_remote(self.facts))

    @cached_property
    def special(self) -> Special:
        """Its special tokens, as bakeoff's engines find them."""
        said = SimpleNamespace(**(self.checkpoint.generation or {}))
        return Special.of(self.text_config, said, self.tokenizer, self.rows)

    @cached_property
    def rules(self) -> ChatRules:
        """What bakeoff does to a conversation so that the chat template takes it."""
        return rules_of(self.tokenizer)

    def names(self, ids: list[int] | frozenset[int]) -> str:
        """Token ids with their spelling, for people."""
        return ", ".join(f"{one} {self.tokenizer.convert_ids_to_tokens(one)}" for one in ids)


def read_chart(facts: ModelFacts, folder: Path | None = None) -> tuple[Chart, list[Notice]]:
    """Read a Hub or local checkpoint, and what the library warns about meanwhile.

    Args:
        facts: of the model.
        folder: where its files lie, weights included; None: where its small files are.

    Raises:
        ModelLoadFailed: configuration or tokenizer cannot be read; the file or cause is named.
    """
    ref = facts.ref
    place = folder or find(ref).folder
    named = tokenizer_ref(ref)
    tokens = find(named).folder if named else place
    files = local_files(place)
    checkpoint = read_checkpoint(ref.uri, place, files, tokens)
    notices: list[Notice] = []
    remote = _remote(facts)
    try:
        with quiet(notices):
            config = transformers.AutoConfig.from_pretrained(str(place), **remote)
            tokenizer = load_tokenizer(ref, tokens, remote)
    except BakeoffError:
        raise
    except Exception as error:  # whatever the library, or a checkpoint's own code, raises
        said = " ".join(str(error).split())
        raise ModelLoadFailed(f"{ref.uri}: configuration or tokenizer: {said}") from error
    return Chart(facts, checkpoint, read_headers(place, files), config, tokenizer), notices


def _remote(facts: ModelFacts) -> dict[str, Any]:
    found: dict[str, Any] = {"trust_remote_code": facts.ref.trust_remote_code}
    code = part_of(facts.identity, "code")
    return {**found, "code_revision": code.rpartition("@")[2]} if code else found
