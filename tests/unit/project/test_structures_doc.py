"""docs/structures.md lists every module, and every path that it names is there."""

import re
import subprocess
import sys

from tests.unit.project.tree import ROOT, SOURCE

PAGE = ROOT / "docs" / "structures.md"


def test_the_list_of_modules_is_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "structures_doc.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_file_named_is_there() -> None:
    named = set(re.findall(r"`([a-z_/]+(?:\.py|/))`", PAGE.read_text(encoding="utf-8")))
    assert "jobs/run.py" in named
    missing = [name for name in named if not (SOURCE / name).exists() | (ROOT / name).exists()]
    assert missing == []
