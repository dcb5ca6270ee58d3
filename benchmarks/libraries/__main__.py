"""Certifies every part of every library and writes `reports/libraries.md`, which rests on `reports/libraries.json`.

With `--only`, one library; with names, the parts whose names contain one of them. The rest is as it was last found.
Packages that certgrad does not need: flax, equinox, dm-haiku, optax, distrax, numpyro.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.libraries._report import rendered
from benchmarks.libraries._run import LIBRARIES, SECONDS, library, surveyed, work

REPORTS = Path(__file__).resolve().parents[2] / "reports"
RESULTS, PAGE = REPORTS / "libraries.json", REPORTS / "libraries.md"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.libraries", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help="Only parts with one of these in their names.")
    parser.add_argument("--only", choices=LIBRARIES, metavar="LIBRARY", help=f"One of {', '.join(LIBRARIES)}.")
    parser.add_argument("--names", action="store_true", help="List the parts, and certify none.")
    parser.add_argument("--render", action="store_true", help="Write the page from the results as they are.")
    parser.add_argument("--seconds", type=int, default=SECONDS, help="The limit for one part, of processor time.")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    chosen = [given.only] if given.only else [*LIBRARIES]
    if given.worker:
        work(given.only, given.worker, given.seconds, given.parts)
        return
    if given.names:
        print("\n".join(f"{name}  {part}" for name in chosen for part in library(name).public()))
        return
    results: dict[str, Any] = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    for name in [] if given.render else chosen:
        found = surveyed(name, given.parts, given.seconds)
        if given.parts and name in results:
            again = {row["part"]: row for row in found["parts"]}
            kept = {row["part"]: row for row in results[name]["parts"]}
            found["parts"] = [(kept | again)[part] for part in library(name).public() if part in kept | again]
        results[name] = found
        ordered = {name: results[name] for name in LIBRARIES if name in results}
        RESULTS.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", "utf-8")
    PAGE.write_text(rendered({name: results[name] for name in LIBRARIES if name in results}), "utf-8")


if __name__ == "__main__":
    main()
