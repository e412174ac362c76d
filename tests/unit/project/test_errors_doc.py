"""Error codes, exception classes, the drawn tree and docs/errors.md agree."""

import re
import subprocess
import sys

from bakeoff.core import errors
from bakeoff.core.codes import CODES, ExitCode
from tests.unit.project.tree import ROOT

PAGE = ROOT / "docs" / "errors.md"


def _classes() -> dict[str, type[errors.BakeoffError]]:
    return {
        name: value
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.BakeoffError)
    }


def test_the_page_is_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "errors_doc.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_class_has_a_known_code_and_every_code_is_used() -> None:
    codes = {known.code for known in _classes().values()}
    assert codes == set(CODES)


def test_every_class_and_status_stands_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [name for name in _classes() if f"| `{name}` |" not in text] == []
    assert [code for code in ExitCode if f"| {code.value} | {code.name} |" not in text] == []


def test_the_drawn_tree_is_the_tree() -> None:
    drawn: dict[str, str] = {}
    above = ["BakeoffError"]
    for line in (errors.__doc__ or "").splitlines():
        found = re.match(r"([│ ]*)[├└]── (\w+)", line)
        if found:
            depth = 1 + len(found[1]) // 4
            drawn[found[2]] = above[depth - 1]
            above[depth:] = [found[2]]
    real = {name: known.__bases__[0].__name__ for name, known in _classes().items()}
    del real["BakeoffError"]
    assert drawn == real
