"""`[tool.certgrad]` in the nearest pyproject.toml: what to audit, what to leave out, and the shapes of rules.

[tool.certgrad]
targets = ["mypkg"]
ignore = ["CG204"]
strict = true
baseline = "certgrad-baseline.json"
timeout = 120
import-timeout = 30

[tool.certgrad.per-file-ignores]
"mypkg/legacy/*.py" = ["CG102"]

[tool.certgrad.signatures]
"mypkg.losses:fused" = "n d, n:int -> n"
"mypkg.layers:clip" = { signature = "*s -> *s", static = { c = 1.0 }, surrogate = "clips the gradient" }
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from certgrad.errors import UsageError
from certgrad.obligations.terms.budget import AUDIT_SECONDS, CLOCK_FACTOR
from certgrad.report.findings import ALL_CODES, REMARKS, STRICT, Strictness
from certgrad.rules.declared.declaration import Declaration
from certgrad.rules.declared.statics import from_table

from .baseline import DEFAULT

_KEYS = (
    "targets select ignore per-file-ignores strict fail-on baseline recorded timeout import-timeout jobs conformance "
    "order format output cache-dir signatures"
).split()
_OPTIONS = ("signature", "static", "differentiable", "domain", "surrogate", "approximates", "sizes", "order")
FAILING = ("refuted", "unproved", "surrogate")
RECORDED = "certgrad-recorded.toml"
"""The file that `certgrad run --save` is expected to write, beside pyproject.toml."""


@dataclass(frozen=True)
class Budget:
    """Seconds that each step of the audit of a target may take."""

    starting: float = 180
    """For the start of a process, up to its first event."""
    importing: float = 60
    """For one import."""
    auditing: float = AUDIT_SECONDS
    """Processor seconds after which the audit of a rule ends itself."""

    @property
    def waiting(self) -> float:
        """Seconds of the clock after which the process of an audit that does not end itself is stopped."""
        return CLOCK_FACTOR * self.auditing


@dataclass(frozen=True)
class Configuration:
    """The configuration of a project. `file` is "" if there is no [tool.certgrad] for it."""

    targets: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    strict: Strictness = False
    fail_on: tuple[str, ...] = ()
    baseline: str = ""
    signatures: Mapping[str, Declaration] = field(default_factory=dict)
    recorded: Mapping[str, tuple[Declaration, ...]] = field(default_factory=dict)
    """The declarations that `certgrad run --save` wrote: several for a rule that was called in several ways."""
    recorded_name: str = ""
    timeout: float = Budget.auditing
    """Seconds for the audit of one rule."""
    import_timeout: float = Budget.importing
    """Seconds for one import."""
    jobs: int | None = None
    """The number of processes; None for as many as are useful."""
    conformance: bool = True
    order: int = 1
    """2 to audit the derivative of each rule as well."""
    format: str = "text"
    output: tuple[str, ...] = ()
    """Reports to write, each FORMAT=PATH; paths are from `folder`."""
    cache_dir: str = ""
    given: frozenset[str] = frozenset()
    """The keys that the file has."""
    file: str = ""
    folder: Path = field(default_factory=Path.cwd)

    def wants(self, code: str, file: str) -> bool:
        """Return whether findings with a code count for the rules of a file."""
        is_remark = code in REMARKS  # `select` is about obligations alone
        selected = is_remark or not self.select or code.startswith(self.select)
        return selected and not code.startswith((*self.ignore, *self.ignored_in(file)))

    def ignored_in(self, file: str) -> tuple[str, ...]:
        """Return the codes, or prefixes of codes, that are left out for the rules of a file."""
        return tuple(c for glob, codes in self.per_file_ignores.items() if self._matches(glob, file) for c in codes)

    def _matches(self, glob: str, file: str) -> bool:
        """Return whether a pattern matches a file's name, or its path from `folder`; `!p` is the opposite of p."""
        if glob.startswith("!"):
            return not self._matches(glob[1:], file)
        path = Path(file)
        if not file:
            return False
        from_folder = path.relative_to(self.folder).as_posix() if path.is_relative_to(self.folder) else path.as_posix()
        return fnmatch(path.name, glob) or fnmatch(from_folder, glob)

    @property
    def declarations(self) -> Mapping[str, tuple[Declaration, ...]]:
        """The declarations of rules by name: those under `signatures`, and recorded ones of other rules."""
        return {**self.recorded, **{name: (declared,) for name, declared in self.signatures.items()}}

    @property
    def baseline_file(self) -> Path:
        """The file that `certgrad baseline` writes."""
        return self.folder / (self.baseline or DEFAULT)

    @property
    def cache_folder(self) -> Path:
        """The folder of the cache unless a flag names one: by the environment, by `cache-dir`, or in the root."""
        by_environment = os.environ.get("CERTGRAD_CACHE_DIR")
        if by_environment:
            return Path.cwd() / by_environment
        return self.folder / self.cache_dir if self.cache_dir else self.root / ".certgrad_cache"

    @property
    def root(self) -> Path:
        """The project's root: the folder of the file with [tool.certgrad], else of the repository, else `folder`.

        `folder` is then that of the nearest pyproject.toml, or the one from which the search began.
        """
        if self.file:
            return self.folder
        return next((f for f in (self.folder, *self.folder.parents) if (f / ".git").exists()), self.folder)

    @property
    def recorded_file(self) -> Path:
        """The file that `certgrad run --save` is expected to write."""
        return self.folder / (self.recorded_name or RECORDED)

    @property
    def has_baseline(self) -> bool:
        """Whether there is a baseline file, or the configuration names one."""
        return bool(self.baseline) or self.baseline_file.exists()


def nearest(start: Path) -> Configuration:
    """Return the configuration of the first pyproject.toml in the folder or above.

    Raises:
        UsageError: the file does not parse, or has an unknown key or a value of a wrong type.
    """
    for folder in (start, *start.parents):
        file = folder / "pyproject.toml"
        if file.is_file():
            return _read_configuration(file)
    return Configuration(folder=start, recorded=_recorded(start / RECORDED))


def _read_configuration(file: Path) -> Configuration:
    """Return the configuration in a file, the default one if it has no [tool.certgrad].

    Raises UsageError for a file that does not parse, an unknown key or a value of a wrong type.
    """
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {}).get("certgrad")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise UsageError(f"Cannot read '{file}': {error}.") from None
    if table is None:
        return Configuration(folder=file.parent, recorded=_recorded(file.parent / RECORDED))
    if not isinstance(table, dict):
        raise UsageError(f"[tool.certgrad] in '{file}' is no table.")
    _check_keys(table, _KEYS, f"[tool.certgrad] in '{file}'")
    signatures = _table(table, "signatures", file)
    baseline = table.get("baseline", "")
    if not isinstance(baseline, str) or ("baseline" in table and not baseline.strip()):
        raise UsageError(f"'baseline' of [tool.certgrad] in '{file}' is no name of a file.")
    recorded = table.get("recorded", "")
    if not isinstance(recorded, str) or ("recorded" in table and not (file.parent / recorded).is_file()):
        raise UsageError(f"'recorded' of [tool.certgrad] in '{file}' names no file; `certgrad run --save` writes one.")
    ignores = {
        glob: _codes(codes, f"'{glob}' of [tool.certgrad.per-file-ignores] in '{file}'")
        for glob, codes in _table(table, "per-file-ignores", file).items()
    }
    return Configuration(
        targets=_texts(table.get("targets", []), _key("targets", file)),
        select=_codes(table.get("select", []), _key("select", file)),
        ignore=_codes(table.get("ignore", []), _key("ignore", file)),
        per_file_ignores=ignores,
        strict=_strict(table, file),
        fail_on=_failing(_texts(table.get("fail-on", []), _key("fail-on", file)), file),
        baseline=baseline,
        signatures={name: declaration_from(name, value, file) for name, value in signatures.items()},
        recorded=_recorded(file.parent / (recorded or RECORDED)),
        recorded_name=recorded,
        timeout=_seconds(table, "timeout", Budget.auditing, file),
        import_timeout=_seconds(table, "import-timeout", Budget.importing, file),
        jobs=_jobs(table, file),
        conformance=_truth(table, "conformance", True, file),
        order=_order(table, _key("order", file)),
        format=_name(table, "format", "text", file),
        output=_texts(table.get("output", []), _key("output", file)),
        cache_dir=_name(table, "cache-dir", "", file),
        given=frozenset(table),
        file=str(file),
        folder=file.parent,
    )


def _order(table: Mapping[str, Any], what: str) -> int:
    value = table.get("order", 1)
    if type(value) is not int or value not in (1, 2):
        raise UsageError(f"{what} is {value!r}, and not 1 or 2.")
    return value


def _truth(table: Mapping[str, Any], key: str, usual: bool, file: Path) -> bool:
    value = table.get(key, usual)
    if not isinstance(value, bool):
        raise UsageError(f"{_key(key, file)} is neither true nor false.")
    return value


def _strict(table: Mapping[str, Any], file: Path) -> Strictness:
    if not isinstance(table.get("strict"), list):
        return _truth(table, "strict", False, file)
    value = _texts(table["strict"], _key("strict", file))
    unknown = next((x for x in value if x not in STRICT), None)
    if unknown is not None:
        raise UsageError(
            f"{_key('strict', file)} has '{unknown}'; a list knows {', '.join(STRICT)}, and true means all."
        )
    return value


def _name(table: Mapping[str, Any], key: str, usual: str, file: Path) -> str:
    value = table.get(key, usual)
    if not isinstance(value, str) or (key in table and not value.strip()):
        raise UsageError(f"{_key(key, file)} is no text.")
    return value


def _jobs(table: Mapping[str, Any], file: Path) -> int | None:
    value = table.get("jobs", "auto")
    if value == "auto":
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageError(f'{_key("jobs", file)} is neither "auto" nor a number of processes of at least 1.')
    return value


def _seconds(table: Mapping[str, Any], key: str, usual: float, file: Path) -> float:
    value = table.get(key, usual)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
        raise UsageError(f"{_key(key, file)} is no number of seconds above 0.")
    return float(value)


def _recorded(file: Path) -> dict[str, tuple[Declaration, ...]]:
    """Return the declarations in a file of `certgrad run --save`; none if there is no such file."""
    if not file.is_file():
        return {}
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise UsageError(f"Cannot read '{file}': {error}.") from None
    wrong = next((n for n, v in table.items() if not isinstance(v, list)), None)
    if wrong is not None:
        raise UsageError(f"'{wrong}' in '{file}' is no list of declarations; `certgrad run --save` writes them.")
    return {name: tuple(declaration_from(name, entry, file) for entry in entries) for name, entries in table.items()}


def _key(key: str, file: Path) -> str:
    return f"'{key}' of [tool.certgrad] in '{file}'"


def _check_keys(table: Mapping[str, Any], keys: Sequence[str], where: str) -> None:
    unknown = next((key for key in table if key not in keys), None)
    if unknown is not None:
        close = get_close_matches(unknown.replace("_", "-"), keys, n=1)
        hint = f" Did you mean '{close[0]}'?" if close else ""
        raise UsageError(f"{where} has '{unknown}'; it knows {', '.join(keys)}.{hint}")


def _table(table: Mapping[str, Any], key: str, file: Path) -> Mapping[str, Any]:
    value = table.get(key, {})
    if not isinstance(value, dict):
        raise UsageError(f"[tool.certgrad.{key}] in '{file}' is no table.")
    return value


def _texts(found: Any, where: str) -> tuple[str, ...]:
    if not isinstance(found, list) or not all(isinstance(x, str) for x in found):
        raise UsageError(f"{where} is no list of texts.")
    return tuple(found)


def _codes(found: Any, where: str) -> tuple[str, ...]:
    """Return a list of codes, or prefixes of codes, in capitals. Raises UsageError for one that begins no code."""
    codes = tuple(c.strip().upper() for c in _texts(found, where))
    unknown = next((c for c in codes if not c or not any(known.startswith(c) for known in ALL_CODES)), None)
    if unknown is not None:
        raise UsageError(f"{where} has '{unknown}', which begins no code; those are {', '.join(ALL_CODES)}.")
    return codes


def _failing(found: tuple[str, ...], file: Path) -> tuple[str, ...]:
    unknown = next((x for x in found if x not in FAILING), None)
    if unknown is not None:
        raise UsageError(f"{_key('fail-on', file)} has '{unknown}'; it knows {', '.join(FAILING)}.")
    return found


def declaration_from(name: str, value: Any, file: Path) -> Declaration:
    """Return the declaration that an entry of `signatures` is. Raises UsageError for an unknown key or a wrong type."""
    where = f"The signature of '{name}' in '{file}'"
    options = {"signature": value} if isinstance(value, str) else value
    if not isinstance(options, dict) or not isinstance(options.get("signature"), str):
        raise UsageError(f"{where} is no text, and no table with one.")
    _check_keys(options, _OPTIONS, where)
    if not isinstance(options.get("static", {}), dict):
        raise UsageError(f"'static' of {where[0].lower()}{where[1:]} is no table of values.")
    if not isinstance(options.get("surrogate", ""), str):
        raise UsageError(f"'surrogate' of {where[0].lower()}{where[1:]} is no text with the reason.")
    if not isinstance(options.get("approximates", ""), str):
        raise UsageError(f"'approximates' of {where[0].lower()}{where[1:]} is no text such as 'jax.numpy:exp'.")
    for key in ("differentiable", "domain"):
        texts = options.get(key, [])
        if not (isinstance(texts, str) and key == "domain") and key in options:
            _texts(texts, f"'{key}' of {where[0].lower()}{where[1:]}")
    sizes = options.get("sizes", [])
    sizes = [sizes] if isinstance(sizes, dict) else sizes
    if not isinstance(sizes, list) or not all(isinstance(table, dict) for table in sizes):
        raise UsageError(f"'sizes' of {where[0].lower()}{where[1:]} is no table such as {{ n = 128 }} and no list.")
    _order(options, f"'order' of {where[0].lower()}{where[1:]}")
    static = {name: from_table(value) for name, value in options.get("static", {}).items()}
    return Declaration(**{**options, "static": static}, origin="configured")
