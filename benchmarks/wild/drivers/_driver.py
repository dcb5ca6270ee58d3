"""What the drivers share: each call runs, whatever another one does."""

from __future__ import annotations

import sys
from collections.abc import Callable


def each(*calls: Callable[[], object]) -> None:
    """Make the calls. One that fails is named, and ends nothing."""
    failed = 0
    for call in calls:
        try:
            call()
        except Exception as error:
            failed += 1
            text = str(error).strip()
            print(f"{call.__name__}: {type(error).__name__}: {text.splitlines()[0] if text else ''}", file=sys.stderr)
    if failed == len(calls):
        sys.exit(1)
