"""Pictures of a report: `python scripts/screenshot.py RUN/report.html OUT.png [--dark] ...`."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

try:
    from playwright.sync_api import sync_playwright
except ModuleNotFoundError:
    sys.exit("pictures need playwright: pip install playwright (`make test` installs it in .venv)")

ARGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]


def main() -> int:
    """Takes one picture with the Chromium on PATH."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--width", type=int, default=1280)
    parser.add_argument("--height", type=int, default=900)
    parser.add_argument("--full", action="store_true", help="the whole page, not one screen")
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--scale", type=float, default=1.0, help="device pixels per CSS pixel")
    parser.add_argument("--state", default="", help="what stands behind # in the address")
    parser.add_argument("--scroll-to", default="", help="CSS selector to bring to the top")
    given = parser.parse_args()
    chromium = shutil.which("chromium")
    if chromium is None:
        print("no chromium on PATH: install it, for example `apt-get install chromium`")
        return 2
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGS)
        context = browser.new_context(
            viewport={"width": given.width, "height": given.height},
            device_scale_factor=given.scale,
            color_scheme="dark" if given.dark else "light",
            reduced_motion="reduce",
        )
        page = context.new_page()
        address = given.page.resolve().as_uri()
        page.goto(f"{address}#{given.state}" if given.state else address)
        page.locator("html[data-ready=true]").wait_for()
        if given.scroll_to:
            page.locator(given.scroll_to).first.evaluate("e => e.scrollIntoView()")
        page.screenshot(path=str(given.out), full_page=given.full)
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
