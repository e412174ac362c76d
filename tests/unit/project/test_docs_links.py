"""Links inside README.md, docs/ and the other pages lead to a file that is there."""

import re
from pathlib import Path

import pytest

from tests.unit.project.tree import ROOT

PAGES = sorted(
    path
    for place in ("*.md", "docs/**/*.md", "design/**/*.md", "examples/**/*.md")
    for path in ROOT.glob(place)
)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def _headings(path: Path) -> set[str]:
    found = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in found}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        path = page.parent / name if name else page
        if not path.exists() or (anchor and anchor not in _headings(path)):
            broken.append(target)
    assert broken == []
