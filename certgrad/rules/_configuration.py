"""`[tool.certgrad]` in the nearest pyproject.toml: what to audit, and the shapes of rules that do not say them.

[tool.certgrad]
targets = ["mypkg"]
ignore = ["CG103"]

[tool.certgrad.signatures]
"mypkg.losses:fused" = "n d, n:int -> n"
"mypkg.layers:clip" = { signature = "*s -> *s", static = { c = 1.0 }, surrogate = "clips the gradient" }
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from certgrad.errors import UsageError

from ._declaration import Declaration

_KEYS = ("targets", "select", "ignore", "signatures")
_OPTIONS = ("signature", "static", "differentiable", "domain", "surrogate")


@dataclass(frozen=True)
class Configuration:
    """What a project says. `file` is empty where there is no configuration."""

    targets: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    signatures: Mapping[str, Declaration] = field(default_factory=dict)
    file: str = ""


def nearest(start: Path) -> Configuration:
    """The configuration of the first pyproject.toml in the folder or above.

    Raises:
        UsageError: it does not parse, or says something that certgrad does not know.
    """
    for folder in (start, *start.parents):
        file = folder / "pyproject.toml"
        if file.is_file():
            return _read(file)
    return Configuration()


def _read(file: Path) -> Configuration:
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {}).get("certgrad")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise UsageError(f"Cannot read '{file}': {error}.") from None
    if table is None:
        return Configuration()
    unknown = [key for key in table if key not in _KEYS]
    if unknown:
        raise UsageError(f"[tool.certgrad] in '{file}' has '{unknown[0]}'; it knows {', '.join(_KEYS)}.")
    signatures = table.get("signatures", {})
    if not isinstance(signatures, dict):
        raise UsageError(f"[tool.certgrad.signatures] in '{file}' is no table.")
    return Configuration(
        targets=_texts(table, "targets", file),
        select=_texts(table, "select", file),
        ignore=_texts(table, "ignore", file),
        signatures={name: _declared(name, value, file) for name, value in signatures.items()},
        file=str(file),
    )


def _texts(table: Mapping[str, Any], key: str, file: Path) -> tuple[str, ...]:
    found = table.get(key, [])
    if not isinstance(found, list) or not all(isinstance(x, str) for x in found):
        raise UsageError(f"'{key}' of [tool.certgrad] in '{file}' is no list of texts.")
    return tuple(found)


def _declared(name: str, value: Any, file: Path) -> Declaration:
    options = {"signature": value} if isinstance(value, str) else value
    if not isinstance(options, dict) or not isinstance(options.get("signature"), str):
        raise UsageError(f"The signature of '{name}' in '{file}' is no text, and no table with one.")
    unknown = [key for key in options if key not in _OPTIONS]
    if unknown:
        raise UsageError(f"The signature of '{name}' in '{file}' has '{unknown[0]}'; it knows {', '.join(_OPTIONS)}.")
    return Declaration(**options, origin="configured")
