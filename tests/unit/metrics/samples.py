"""Inputs that several metric tests share."""

from __future__ import annotations

import random

from bakeoff.core.ports import MetricInput

LATIN = "the quick brown fox jumps over a lazy dog while it rains in the old town".split()

IDENTICAL = {
    "hindi": "यह वाक्य हिन्दी में लिखा गया है और इसमें कई शब्द हैं",
    "arabic": "هذه الجملة مكتوبة باللغة العربية وفيها كلمات كثيرة",
    "chinese": "今天天气很好我们去公园散步",
    "japanese": "今日はとても天気がいいので公園を散歩しましょう",
    "greek": "Αυτή η πρόταση είναι γραμμένη στα ελληνικά",
    "russian": "Это предложение написано по-русски и в нём много слов",
    "nepali": "यो वाक्य नेपाली भाषामा लेखिएको हो",
    "thai": "วันนี้อากาศดีมากเราไปเดินเล่นกัน",
    "english": "This sentence is written in plain English words",
}

# Normal, empty, blank, a form feed as reference, both empty.
ODD_ROWS = [
    ("the cat sat on the mat", ("the cat sat on a mat",)),
    ("", ("the cat sat on the mat",)),
    ("   ", ("the cat sat on the mat",)),
    ("the cat sat on the mat", ("\f",)),
    ("", ("",)),
]


def inputs(pairs: list[tuple[str, tuple[str, ...]]]) -> list[MetricInput]:
    return [
        MetricInput(str(at), 0, text, references) for at, (text, references) in enumerate(pairs)
    ]


def random_text(rng: random.Random, words: list[str], lines: bool = False) -> str:
    text = " ".join(rng.choices(words, k=rng.randint(1, 25)))
    if lines:
        return "".join("\n" if c == " " and rng.random() < 0.15 else c for c in text)
    return text
