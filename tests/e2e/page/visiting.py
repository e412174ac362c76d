"""A visit to a page, and everything that the page did which it should not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Visit:
    """A page and everything that it did which it should not."""

    page: Any
    address: str
    requests: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def open(self, state: str = "") -> Any:
        self.page.goto("about:blank")
        self.page.goto(f"{self.address}#{state}" if state else self.address)
        self.page.locator("html[data-ready=true]").wait_for()
        return self.page

    def check(self) -> None:
        outside = [r for r in self.requests if not r.startswith((self.address, "about:", "data:,"))]
        assert outside == []
        assert self.problems == []
