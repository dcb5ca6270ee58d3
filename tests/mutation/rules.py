"""Mutants of rules in code: `python -m tests.mutation.rules classes --lines FILE`, a source or several.

Each result is a line of the file; a run that was stopped goes on where it was when it is started again. What ends the
process is a line too, after which another process goes on.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from pathlib import Path

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
BY_HAND = (signal.SIGTERM, signal.SIGKILL, signal.SIGINT)


def main() -> int:
    from tests.mutation._lines import Lines
    from tests.mutation._sources import SOURCES

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="+", choices=SOURCES)
    parser.add_argument("--lines", type=Path, required=True, help="the file of results")
    parser.add_argument("--wanted", type=int, default=30, help="mutants that break a law, of each rule")
    parser.add_argument("--seconds", type=float, default=60.0, help="of the processor, for the mutants of one rule")
    parser.add_argument("--rule", default="", help="only rules with this in their names")
    parser.add_argument("--change", action="append", default=[], help="of this kind of change alone, or of several")
    parser.add_argument(
        "--again", action="append", help="ask once more of the mutants with this outcome, and no others"
    )
    parser.add_argument("--any-code", action="store_true", help="what other code was asked is not asked again")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        _work(options)
        return 0
    while True:
        done = subprocess.run([sys.executable, "-m", "tests.mutation.rules", *sys.argv[1:], "--worker"], check=False)
        if done.returncode >= 0 or -done.returncode in BY_HAND:
            return done.returncode
        if not Lines(options.lines).ended(f"it ended the process by {signal.Signals(-done.returncode).name}"):
            return 1


def _work(options: argparse.Namespace) -> None:
    from tests.mutation._lines import Lines
    from tests.mutation._runs import again, run_all
    from tests.mutation._sources import drawn

    lines = Lines(options.lines, options.any_code)
    for source in options.sources:
        subjects = [one for one in drawn(source) if options.rule in one.name]
        if options.again:
            again(subjects, lines, options.again)
        else:
            run_all(subjects, lines, options.wanted, options.seconds, options.change)


if __name__ == "__main__":
    sys.exit(main())
