"""The diagnostics of an editor, from the SARIF log of an audit: each finding at its line, as the language server
protocol has them (https://microsoft.github.io/language-server-protocol/specifications/lsp/3.17/specification).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import msgspec

SOURCE = "certgrad"
_SEVERITIES = {"error": 1, "warning": 2, "note": 3, "none": 4}
_ESCAPED = re.compile(r"\\(\[[^][]*\]\()")
"""What SARIF would read as a link, and an editor would show with its backslash."""
LINE_END = 2**31 - 1
"""Past the end of every line: an editor takes that for the end."""


def of_log(log: bytes, base: Path) -> dict[str, list[dict[str, Any]]]:
    """Of a SARIF log, the diagnostics of each file, by its URI. `base` is what names of files are relative to.

    What a baseline covers is left out, and what is at no known line is at the first. Raises ValueError for what is no
    log.
    """
    try:
        found: dict[str, list[dict[str, Any]]] = {}
        for run in msgspec.json.decode(log)["runs"]:
            for result in run["results"]:
                if result.get("suppressions"):
                    continue
                for location in result["locations"]:
                    if "physicalLocation" in location:
                        uri, line = _place(location["physicalLocation"], base)
                        found.setdefault(uri, []).append(_diagnostic(result, line))
    except (msgspec.MsgspecError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"this is no SARIF log: {error}") from error
    return found


def _place(location: Mapping[str, Any], base: Path) -> tuple[str, int]:
    """The URI of the file, and the line, counted from 0."""
    artifact = location["artifactLocation"]
    line = location.get("region", {}).get("startLine", 1) - 1
    inside = "uriBaseId" in artifact
    return (base / unquote(artifact["uri"])).as_uri() if inside else artifact["uri"], line


def _diagnostic(result: Mapping[str, Any], line: int) -> dict[str, Any]:
    return {
        "range": {"start": {"line": line, "character": 0}, "end": {"line": line, "character": LINE_END}},
        "severity": _SEVERITIES[result["level"]],
        "code": result["ruleId"],
        "source": SOURCE,
        "message": _ESCAPED.sub(r"\1", result["message"]["text"]),
    }
