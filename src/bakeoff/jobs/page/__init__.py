"""`report.html`: one self-contained page that shows a run to a person."""

from __future__ import annotations

from bakeoff.jobs.page.choose import PageChoice, choose_rows
from bakeoff.jobs.page.render import PAGE_BYTES, render_page, write_page

__all__ = ["PAGE_BYTES", "PageChoice", "choose_rows", "render_page", "write_page"]
