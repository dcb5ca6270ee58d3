"""How large pages of `--output html=PATH` and `certgrad report --html PATH` are, and how long a browser takes to open.

Seconds are of the browser's tasks, the least of three times; without a Chromium they are left out.

Run from anywhere: `python benchmarks/html_report.py PAGE...`
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.report.html import browser as b


def busy(browser: b.Browser) -> float:
    """Seconds of the processor that the page has taken."""
    found = browser.devtools("Performance.getMetrics")["metrics"]
    return next(float(m["value"]) for m in found if m["name"] == "TaskDuration")


def opening(page: Path) -> float:
    """Seconds in a browser of its own."""
    with b.started() as browser:
        browser.devtools("Performance.enable")
        before = busy(browser)
        browser.open(page)
        return busy(browser) - before


def main() -> None:
    pages = [Path(argument).resolve() for argument in sys.argv[1:]]
    for page in pages:
        data = page.read_bytes()
        opens = b.MISSING or f"opens with {min(opening(page) for _ in range(3)):.2f} s of a processor"
        print(f"{page.name}: {len(data) / 1e6:.1f} MB, compressed {len(gzip.compress(data)) / 1e6:.2f} MB, {opens}")


if __name__ == "__main__":
    main()
