"""Every command block of README.md and docs/ runs, from the built wheel in an empty folder."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.project.pages import BadPage, BlockFailed, Runner, blocks, matches, session
from tests.unit.project.tree import ROOT

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *ROOT.glob("CONTRIBUTING.md")])
SCRIPTS = Path(sys.executable).parent
"""Where `python` is, which a shell need not have."""
TIMEOUT = 280  # seconds a command; the test's own limit is a little longer


@pytest.mark.timeout(900)
@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_page_does_what_it_says(
    page: Path, scripts: Path, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    runner = Runner(tmp_path, scripts, TIMEOUT)
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.skip is not None:
            record_property("not run", f"{page.name}, line {block.line}: {block.skip}")
        runner.run(block)


def test_marks_are_read() -> None:
    (first, second, third) = blocks(
        "# A `<!-- run -->`\n<!-- run: file=a.csv -->\n\n```csv\na,b\n```\n\nText.\n\n"
        "  <!-- run: exit=2 --> <!-- expect: error: no -->\n  ```bash\n  bakeoff x\n  ```\n"
        "~~~json\n```\n~~~\n"
    )
    assert (first.file, first.text, first.line) == ("a.csv", "a,b\n", 4)
    assert (second.exit, second.expect, second.text) == (2, ["error: no"], "bakeoff x\n")
    assert (third.language, third.text, third.expect) == ("json", "```\n", [])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("```sh\nls\n```", "write bash"),
        ("<!-- run: skip=too-slow -->\n```bash\nls\n```", "the reasons are"),
        ("<!-- run: skipp=installs -->\n```bash\nls\n```", "an option is one of"),
        ("<!-- run: file=a -->\nText.\n```bash\nls\n```", "before no code block"),
        ("```bash\nls\n```\n<!-- run -->", "before no code block"),
        ("<!-- run -->\n```yaml\na: 1\n```", "is not run"),
        ("<!-- run: file=../a -->\n```csv\na\n```", "outside"),
        ("```console\nls\n```", "begins with"),
    ],
)
def test_a_wrong_mark_is_refused(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(BadPage, match=said):
        for block in blocks(text):
            Runner(tmp_path, tmp_path, 10).run(block)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("```bash\nfalse\n```", "exit status 1, not 0"),
        ("```bash\nfalse | true\ntrue\n```", "exit status 1"),
        ("<!-- run: exit=3 -->\n```bash\nexit 2\n```", "exit status 2, not 3"),
        ("<!-- expect: b -->\n```bash\necho a\n```", "lacks 'b'"),
        ("```console\n$ echo a\nb\n```", "the page shows"),
        ("```console\n$ false\n$ true\n```", "exit status 1"),
        ("```python\nraise SystemExit(4)\n```", "exit status 4"),
    ],
)
def test_a_page_that_lies_is_found(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(BlockFailed, match=said):
        for block in blocks(text):
            Runner(tmp_path, SCRIPTS, 30).run(block)


def test_blocks_share_a_folder(tmp_path: Path) -> None:
    text = (
        "<!-- run: file=in/a.txt -->\n```text\nhello\n```\n"
        "```console\n$ cat in/a.txt \\\n>   && echo done 12 s\nhello\ndone ... s\n```\n"
        "<!-- expect: hello -->\n```python\nprint(open('in/a.txt').read())\n```\n"
        "<!-- run: skip=needs-gpu -->\n```bash\nfalse\n```\n"
    )
    for block in blocks(text):
        Runner(tmp_path, SCRIPTS, 30).run(block)


def test_output_is_compared_with_gaps() -> None:
    assert session("$ a\nx\n$ b \\\n> c\n\ny\n") == [("a", "x"), ("b \\\nc", "y")]
    assert matches("a ... c\n...\nlast", "a b c\n1\n2\nlast\n")
    assert matches("a  \nb", "a\nb   ")
    assert not matches("a", "a\nb")
