"""Comparing text with a golden file. CERTGRAD_UPDATE_GOLDEN=1 rewrites the files: read the difference then."""

import os
from pathlib import Path

_DIRECTORY = Path(__file__).parent / "golden"


def check(name: str, text: str) -> None:
    """Assert that the text is the golden file's."""
    path = _DIRECTORY / name
    if os.environ.get("CERTGRAD_UPDATE_GOLDEN") == "1":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
