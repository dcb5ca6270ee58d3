"""Runs every suite plain and recorded and writes `reports/suites.md`, which rests on `reports/suites.json`.

With names, those suites alone; the rest is as it was last found. The tests of packages that do not install them are
run in checkouts: folders with the names of the packages, in the folder that `--sources` names.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.suites._report import rendered
from benchmarks.suites._run import surveyed
from benchmarks.suites._suites import SUITES

REPORTS = Path(__file__).resolve().parents[2] / "reports"
RESULTS, PAGE = REPORTS / "suites.json", REPORTS / "suites.md"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.suites", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"Of {', '.join(SUITES)}.")
    parser.add_argument("--sources", type=Path, default=Path("sources"), help="The folder with the checkouts.")
    parser.add_argument("--render", action="store_true", help="Write the page from the results as they are.")
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in SUITES]
    if unknown:
        parser.error(f"There is no suite {', '.join(unknown)}.")
    results: dict[str, Any] = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    for name in [] if given.render else given.names or SUITES:
        suite = SUITES[name]
        if not (suite.shipped or suite.script or (given.sources / suite.package).is_dir()):
            print(f"{name}: left out, as {given.sources / suite.package} is no folder", flush=True)
            continue
        row = results[name] = surveyed(suite, given.sources.resolve())
        print(f"{name}: {row['summary']}; changed: {'; '.join(row['changed']) or 'nothing'}", flush=True)
        ordered = {name: results[name] for name in SUITES if name in results}
        RESULTS.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", "utf-8")
    PAGE.write_text(rendered({name: results[name] for name in SUITES if name in results}), "utf-8")


if __name__ == "__main__":
    main()
