"""A made-up run that looks like a real one: five models, many scripts, all kinds of trouble."""

from __future__ import annotations

import random
from typing import Any

from bakeoff.core.report import (
    ComparedAnswer,
    ComparedRow,
    DataSummary,
    LatencySummary,
    MetricSummary,
    ModelSummary,
    Report,
    Score,
    Warning,
)

MODELS = ("bart-large-cnn", "t5-small-int8", "smol", "smol-short-prompt", "lead-3")

ENGLISH = (
    (
        "Mira: Are you on the platform yet? I can't see you.\nTomas: Which platform? I'm at 4, "
        "under the clock.\nMira: They changed it. It leaves from 9 now, in six minutes.\nTomas: "
        "Running. Hold a door if you can.\nMira: I'm in coach 12, by the window.",
        "Tomas waits at platform 4, but the train now leaves from platform 9. Mira tells him to "
        "run; she sits in coach 12.",
        "Mira warns Tomas that their train leaves from platform 9 in six minutes.",
    ),
    (
        "Ada: The oven says E5 again.\nJo: Did you clean the sensor?\nAda: Twice. It beeps, then "
        "it shuts off after ten minutes.\nJo: I'll bring the spare one tonight, it takes five "
        "minutes to change.\nAda: You are a hero. I'll make soup instead.",
        "Ada's oven shows E5 and shuts off after ten minutes. Jo brings a spare sensor tonight.",
        "Jo will change the sensor of Ada's oven this evening; Ada makes soup meanwhile.",
    ),
    (
        "Sam: Could we move the review to Thursday?\nLena: Thursday is full. Friday at nine?\n"
        "Sam: Nine is early, but fine. I'll send the draft on Wednesday evening.\nLena: Please put "
        "the open questions on the first page.",
        "Sam and Lena move the review to Friday at nine. Sam sends the draft on Wednesday evening.",
        "The review is now on Friday at nine, and the draft comes on Wednesday.",
    ),
)
OTHERS = (
    (
        "سارة: هل وصلت الطلبية؟\nخالد: نعم، لكن ينقصها صندوقان من أصل 12.\n"
        "سارة: سأتصل بالمورد الآن وأطلب تعويضا.\nخالد: قولي لهم إننا نحتاجها قبل الأحد.",
        "وصلت الطلبية ناقصة صندوقين من 12، وستتصل سارة بالمورد لطلب تعويض قبل الأحد.",
        "الطلبية ناقصة وسارة تتصل بالمورد.",
    ),
    (
        "नेहा: क्या तुमने टिकट ले लिए?\nअमित: हाँ, शनिवार की सुबह की ट्रेन है, 7:40 पर।\n"
        "नेहा: बढ़िया, मैं नाश्ता साथ लाऊँगी।\nअमित: और कैमरा मत भूलना।",
        "अमित ने शनिवार सुबह 7:40 की ट्रेन के टिकट ले लिए हैं और नेहा नाश्ता लाएगी।",
        "दोनों शनिवार की सुबह ट्रेन से जाएँगे।",
    ),
    (
        "小林：会议改到下午三点了吗？\n陈：对，因为客户的飞机晚点两个小时。\n小林：那我先把报告改完，三点前发给你。",
        "由于客户的飞机晚点，会议改到下午三点，小林会在三点前把报告发给陈。",
        "会议改到下午三点。",
    ),
    (
        "由美：明日の鍵はどこで受け取ればいい？\n健：一階のポストに入れておくよ。番号は4182。\n由美：ありがとう、十時ごろ行くね。",
        "健は一階のポストに鍵を入れておき、由美は明日の十時ごろ受け取りに行く。",
        "由美は明日十時ごろ鍵を受け取る。",
    ),
    (
        "มานี: พรุ่งนี้ฝนจะตกไหม\nปิติ: ข่าวบอกว่าตกทั้งวัน เอาร่มไปด้วยนะ\nมานี: งั้นเราเลื่อนไปวันเสาร์ดีกว่า",
        "พรุ่งนี้ฝนจะตกทั้งวัน มานีกับปิติจึงเลื่อนไปวันเสาร์",
        "ทั้งสองเลื่อนนัดไปวันเสาร์",
    ),
)
LOOP = "The train leaves from platform 9 and " * 24


def sample_rows(count: int = 84, seed: int = 3) -> list[ComparedRow]:
    """Dialogues in six scripts with answers of five models."""
    draw = random.Random(seed)
    return [_row(number, draw) for number in range(count)]


def _row(number: int, draw: random.Random) -> ComparedRow:
    other = number % 4 == 3
    source = OTHERS[(number // 4) % len(OTHERS)] if other else ENGLISH[number % len(ENGLISH)]
    dialogue, *references = source
    if number == 8:
        dialogue = "\n".join([dialogue] * 60)
    return ComparedRow(
        row=f"dialogue-{number + 1:03}",
        group=("travel", "home", "work", "other scripts")[3 if other else number % 3],
        inputs={"source": dialogue},
        references=tuple(references),
        answers=tuple(_answer(model, number, dialogue, references, draw) for model in MODELS),
    )


def _answer(
    model: str, number: int, dialogue: str, references: list[str], draw: random.Random
) -> ComparedAnswer:
    trouble = _trouble(model, number)
    if "error" in trouble:
        return ComparedAnswer(model=model, ok=False, error=trouble["error"])
    text = trouble.pop("text", None)
    if text is None:
        text = _said(model, dialogue, references, draw)
    skill = {"bart-large-cnn": 0.44, "t5-small-int8": 0.36, "smol": 0.31, "lead-3": 0.24}
    score = max(0.0, min(1.0, draw.gauss(skill.get(model, 0.27), 0.13))) if text.strip() else 0.0
    if text == references[0]:
        score = 1.0
    return ComparedAnswer(
        model=model,
        ok=True,
        text=text,
        finish=trouble.pop("finish", "stop"),
        completion_tokens=max(1, len(text) // 4),
        seconds=draw.uniform(0.2, 1.4),
        scores={"rougeL": score, "rouge1": min(1.0, score * 1.25), "chrf": 100 * score * 0.9},
        **trouble,
    )


def _trouble(model: str, number: int) -> dict[str, Any]:
    table: dict[tuple[str, int], dict[str, Any]] = {
        ("smol", 8): {"error": "prompt_too_long: the prompt has 9,412 tokens, the window 8,192"},
        ("smol-short-prompt", 8): {
            "error": "prompt_too_long: the prompt has 9,380 tokens, the window 8,192"
        },
        ("t5-small-int8", 8): {"cut": 3120},
        ("bart-large-cnn", 8): {"cut": 2388},
        ("smol", 12): {"text": LOOP, "looped": True, "finish": "length"},
        ("smol", 30): {"text": "", "empty": True},
        ("smol-short-prompt", 17): {"finish": "length"},
        ("smol-short-prompt", 40): {"error": "engine_failed: RuntimeError: probability is NaN"},
    }
    return dict(table.get((model, number), {}))


def _said(model: str, dialogue: str, references: list[str], draw: random.Random) -> str:
    if model == "lead-3":
        return " ".join(dialogue.split("\n")[:3])
    if model == "bart-large-cnn":
        return references[0] if draw.random() < 0.3 else _changed(references[0], draw)
    if model == "t5-small-int8":
        return references[1]
    last = dialogue.split("\n")[-1]
    return f"{references[1]} {last}" if model == "smol" else last


def _changed(text: str, draw: random.Random) -> str:
    words = text.split(" ")
    if len(words) < 4:
        place = draw.randrange(2, len(text) - 3)
        return text[:place] + text[place + 2 :]
    words[draw.randrange(len(words))] = "later"
    del words[draw.randrange(len(words))]
    return " ".join(words)


def sample_report(rows: int = 84) -> Report:
    """The report of `sample_rows`."""
    values = {
        "bart-large-cnn": 0.441,
        "t5-small-int8": 0.418,
        "smol": 0.302,
        "smol-short-prompt": 0.271,
        "lead-3": 0.236,
    }
    return Report(
        name="dialogues",
        created="2025-03-14T09:26:53Z",
        status="partial",
        data=DataSummary(
            name="dialogues.csv",
            hash="5f0c1e" * 10 + "9a7b",
            rows=rows,
            columns=("id", "topic", "dialogue", "summary1", "summary2"),
            roles={"source": "dialogue", "reference": ["summary1", "summary2"], "group": "topic"},
            with_reference=rows,
            groups=4,
        ),
        task="summarization",
        spec_hash="c0ffee" * 10 + "1234",
        models=_models(rows),
        metrics=_metrics(),
        scores={model: _scores(value, rows) for model, value in values.items()},
        ranking=tuple(values),
        ranked_by="rougeL",
        warnings=(
            Warning(code="role-guessed", text="column 'topic' was taken as the group"),
            Warning(code="looped", text="smol: 1 of 84 answers fell into a loop", rows=1),
        ),
        versions={"bakeoff": "0.1.0", "transformers": "5.5.1", "torch": "2.9.0+cpu"},
    )


def _metrics() -> dict[str, MetricSummary]:
    rouge = "rouge-score 0.1.2, use_stemmer=True, tokenizer=default"
    return {
        **{
            name: MetricSummary(metric="rouge", signature=f"{name}; {rouge}")
            for name in ("rouge1", "rouge2", "rougeL", "rougeLsum")
        },
        "chrf": MetricSummary(
            metric="chrf", scale=100.0, kind="corpus", signature="chrF2|nc:6|nw:0|v:2.5"
        ),
        "meteor": MetricSummary(metric="meteor"),
        "ter": MetricSummary(metric="ter", scale=None, better="lower", kind="corpus"),
        "length": MetricSummary(metric="length", scale=None, better=None, unit="words"),
    }


def _scores(value: float, rows: int) -> dict[str, Score]:
    method = "percentile bootstrap over rows, 2,000 resamples, seed 0"

    def around(middle: float, half: float) -> Score:
        return Score(
            value=middle, low=middle - half, high=middle + half * 0.9, method=method, n=rows
        )

    failed = 2 if value < 0.3 else 0
    return {
        "rouge1": around(value * 1.24, 0.034),
        "rouge2": around(value * 0.55, 0.028),
        "rougeL": around(value, 0.029).model_copy(update={"n": rows - failed, "failed": failed}),
        "rougeLsum": around(value * 1.1, 0.03),
        "chrf": around(value * 93, 2.9),
        "meteor": around(value * 0.93, 0.031),
        "ter": around(140 - 120 * value, 6.5),
        "length": around(18 + 20 * (0.5 - value), 2.1),
    }


def _models(rows: int) -> dict[str, ModelSummary]:
    speed = {
        "bart-large-cnn": (62.4, 1.21, 2.31, 0.31, 0, 1),
        "t5-small-int8": (412.7, 0.142, 0.263, 0.021, 0, 1),
        "smol": (148.2, 0.41, 1.12, 0.094, 1, 0),
        "smol-short-prompt": (161.9, 0.322, 0.984, 0.062, 2, 0),
    }
    models = {model: _model(model, rows, *figures) for model, figures in speed.items()}
    models["lead-3"] = ModelSummary(
        reference="baseline://lead-3", engine="baseline", rows=rows, done=rows
    )
    return models


def _model(
    model: str, rows: int, speed: float, p50: float, p95: float, first: float, failed: int, cut: int
) -> ModelSummary:
    small = model.startswith("smol")
    reference = {
        "bart-large-cnn": "hf://facebook/bart-large-cnn",
        "t5-small-int8": "hf://google-t5/t5-small",
    }.get(model, "./models/SmolLM2-135M-Instruct.Q8_0.gguf")
    return ModelSummary(
        reference=reference,
        identity="9f1c2a7b" * 5,
        engine="ctranslate2" if model == "t5-small-int8" else "transformers",
        version="4.6.0" if model == "t5-small-int8" else "5.5.1",
        device="cpu",
        dtype="int8_float32" if model == "t5-small-int8" else "float32",
        why="the only engine that takes this file" if small else "proven equal for these settings",
        generation={"max_new_tokens": 64, "num_beams": 1 if small else 4, "temperature": 0.0},
        origins={
            "max_new_tokens": "spec",
            "num_beams": "bakeoff" if small else "checkpoint",
            "temperature": "bakeoff",
        },
        prefix="" if small else "summarize: ",
        rows=rows,
        done=rows - failed,
        reused=0,
        failures=failed,
        failure_codes={"prompt_too_long": 1, "engine_failed": failed - 1}
        if failed > 1
        else {"prompt_too_long": 1}
        if failed
        else {},
        truncated=cut,
        tokens_cut=2754 * cut,
        ran_to_limit=1 if small else 0,
        looped=1 if model == "smol" else 0,
        empty=1 if model == "smol" else 0,
        prompt_tokens=14210,
        completion_tokens=2480,
        tokens_per_s=speed,
        seconds=2480 / speed,
        batch=7.6,
        latency=LatencySummary(rows=19, p50=p50, p95=p95, first_token_p50=first),
    )


SPEC = """\
name: dialogues
dataset: {path: dialogues.csv}
columns: {id: id, source: dialogue, reference: [summary1, summary2], group: topic}
task: {kind: summarization}
generation: {max_new_tokens: 64}
metrics: [rouge, chrf, meteor, ter, length]
models:
  - {id: bart-large-cnn, model: "hf://facebook/bart-large-cnn"}
  - {id: t5-small-int8, model: "hf://google-t5/t5-small", engine: ctranslate2, compute_type: int8}
  - {id: smol, model: ./models/SmolLM2-135M-Instruct.Q8_0.gguf}
  - id: smol-short-prompt
    model: ./models/SmolLM2-135M-Instruct.Q8_0.gguf
    prompt: {template: "Summarise: {{ source }}"}
  - {id: lead-3, model: "baseline://lead-3"}
"""
