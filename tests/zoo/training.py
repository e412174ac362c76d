"""Train one zoo model: batches, the loop, and the measured accuracy."""

from __future__ import annotations

import itertools
import math
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from tests.zoo.examples import Example

Collate = Callable[[list[Example], PreTrainedTokenizerBase], dict[str, torch.Tensor]]
Draw = Callable[[random.Random, bool], Example]
Loss = Callable[[PreTrainedModel, dict[str, Any]], torch.Tensor]
Grade = Callable[[PreTrainedModel, PreTrainedTokenizerBase, list[Example]], float]
POOL = 16  # batches drawn together and sorted by length, so that little padding is computed


def own_loss(model: PreTrainedModel, batch: dict[str, Any]) -> torch.Tensor:
    """Return the loss that the model itself computes from the labels in the batch."""
    loss: torch.Tensor = model(**batch).loss
    return loss


@dataclass(frozen=True)
class Recipe:
    """How one model is made; accuracy is `grade` on held-out examples.

    Each of `stages` says up to which of the `steps` examples come from an easier source; `half`
    rounds the trained weights to float16, in which they are stored.
    """

    name: str
    task: str
    tokenizer: Callable[[], PreTrainedTokenizerBase]
    model: Callable[[PreTrainedTokenizerBase], PreTrainedModel]
    draw: Draw
    collate: Collate
    grade: Grade
    steps: int
    loss: Loss = own_loss
    batch: int = 64
    lr: float = 3e-3
    stages: tuple[tuple[int, Draw], ...] = ()
    seed: int = 1
    graded: int = 200
    half: bool = False


def batches(recipe: Recipe, tokenizer: PreTrainedTokenizerBase) -> Iterator[dict[str, Any]]:
    """Yield training batches for ever, of similar lengths within a batch."""
    rng = random.Random(f"{recipe.name}-train-{recipe.seed}")
    for round_ in itertools.count():
        draw = next((d for end, d in recipe.stages if round_ * POOL < end), recipe.draw)
        pool = [draw(rng, False) for _ in range(POOL * recipe.batch)]
        pool.sort(key=lambda example: len(example.source) + len(example.target))
        starts = list(range(0, len(pool), recipe.batch))
        rng.shuffle(starts)
        for start in starts:
            yield recipe.collate(pool[start : start + recipe.batch], tokenizer)


def held_out(recipe: Recipe, n: int) -> list[Example]:
    """Return `n` examples that training never sees."""
    rng = random.Random(f"{recipe.name}-test-{recipe.seed}")
    return [recipe.draw(rng, True) for _ in range(n)]


def _rate(step: int, steps: int) -> float:
    """Warm up over 5 % of the steps, then fall to 1 % along half a cosine."""
    warm = max(1, steps // 20)
    if step < warm:
        return (step + 1) / warm
    return 0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * (step - warm) / (steps - warm)))


def _groups(model: PreTrainedModel, lr: float) -> list[dict[str, Any]]:
    """Split the parameters by pace.

    T5's position biases must grow large, so they move faster; its queries start small, since
    its attention is not scaled, so they move slower.
    """
    paces: dict[float, list[torch.nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        pace = (
            10.0
            if "relative_attention_bias" in name
            else 0.2
            if name.endswith(".q.weight")
            else 1.0
        )
        paces.setdefault(pace, []).append(parameter)
    return [{"params": params, "lr": pace * lr} for pace, params in paces.items()]


def train(
    recipe: Recipe, say: Callable[[str], None]
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase, float]:
    """Train `recipe` from its seed; return model, tokenizer and the seconds it took."""
    random.seed(recipe.seed)
    torch.manual_seed(recipe.seed)
    tokenizer = recipe.tokenizer()
    model = recipe.model(tokenizer)
    say(f"{recipe.name}: {sum(p.numel() for p in model.parameters()):,} parameters")
    model.train()
    optimizer = torch.optim.AdamW(_groups(model, recipe.lr), betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: _rate(s, recipe.steps))
    start, stream = time.monotonic(), batches(recipe, tokenizer)
    for step in range(recipe.steps):
        loss = recipe.loss(model, next(stream))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        if step % 100 == 99:
            spent = time.monotonic() - start
            say(f"{recipe.name}: step {step + 1} loss {loss.item():.4f} {spent:.0f} s")
        if step % 500 == 499:
            model.eval()
            score = recipe.grade(model, tokenizer, held_out(recipe, 40))
            say(f"{recipe.name}: step {step + 1} accuracy {score:.3f}")
            model.train()
    return model.eval(), tokenizer, time.monotonic() - start
