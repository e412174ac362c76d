"""The command line answers at once, and nothing heavy is loaded before it is needed."""

import subprocess
import sys
import time

import pytest

HEAVY = {
    *("torch", "transformers", "tokenizers", "accelerate", "safetensors", "gguf", "ctranslate2"),
    *("openvino", "openvino_genai"),
    *("sentencepiece", "huggingface_hub", "datasets", "pyarrow", "numpy", "scipy", "pandas"),
    *("fastapi", "starlette", "uvicorn", "prometheus_client"),
    *("sacrebleu", "nltk", "rouge_score", "rouge_score_rs", "bert_score", "langcodes"),
}
TRIES = 5
WITHIN = 0.3  # seconds
WITHIN_BASE = 1.5  # of the time that the libraries below take by themselves
BASE = "import typer, httpx, pydantic"

COMMAND = """
import sys
from bakeoff.cli.main import run
sys.argv = ["bakeoff", *{arguments!r}]
try:
    run()
except SystemExit as ended:
    assert not ended.code, ended.code
"""
SHOW = "\nimport sys; print('LOADED', *sorted({name.split('.')[0] for name in sys.modules}))"


def _loaded(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", code + SHOW], capture_output=True, text=True, check=True
    )
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    "code",
    [
        "import bakeoff",
        "import bakeoff; bakeoff.RunSpec, bakeoff.Report, bakeoff.BakeoffError",
        "import bakeoff.core.ports, bakeoff.core.keys, bakeoff.core.results",
        "import bakeoff.engines, bakeoff.tasks, bakeoff.metrics, bakeoff.datasets",
        *(
            COMMAND.format(arguments=arguments)
            for arguments in (
                *(["--help"], ["--version"], ["schema"], ["schema", "report"]),
                *([name, "--help"] for name in ("run", "init", "infer", "evaluate", "compare")),
                *(
                    [name, "--help"]
                    for name in ("report", "data", "cache", "engines", "doctor", "serve")
                ),
            )
        ),
    ],
)
def test_nothing_heavy_is_loaded(code: str) -> None:
    assert _loaded(code) & HEAVY == set()


def test_the_check_sees_what_is_loaded() -> None:
    assert "numpy" in _loaded("import numpy")


def test_help_answers_at_once() -> None:
    """Best of several, as other processes of the machine only ever add to the time."""
    spent = min(_seconds(COMMAND.format(arguments=["--help"])) for _ in range(TRIES))
    if spent >= WITHIN:
        assert spent < WITHIN_BASE * min(_seconds(BASE) for _ in range(TRIES))


def _seconds(code: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    return time.perf_counter() - start


EARLY = """
import os, signal, sys

class Interrupting:
    def find_spec(self, name, *rest):
        if name == "bakeoff.cli.main":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
import bakeoff.__main__
print("went on")
"""


def test_ctrl_c_during_the_imports_is_one_line() -> None:
    done = subprocess.run([sys.executable, "-c", EARLY], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "interrupted: nothing was begun\n"


def test_an_ignored_ctrl_c_stays_ignored_during_the_imports() -> None:
    ignoring = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n" + EARLY
    done = subprocess.run([sys.executable, "-c", ignoring], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "went on\n")
