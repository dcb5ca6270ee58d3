"""The settings of an audit, each from a flag, the environment, `[tool.certgrad]` or the default."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from certgrad.cli import _output
from certgrad.cli._options import AUTO, DEFAULT_CACHE
from certgrad.errors import UsageError

if TYPE_CHECKING:
    from certgrad.report.findings import Strictness
    from certgrad.rules.project.configuration import Configuration

PREFIX = "CERTGRAD_"
_KEYS = (
    "targets select ignore strict fail_on timeout import_timeout jobs conformance order format output cache_dir".split()
)
"""Settings that a flag, the environment and the file can give."""
_FLAGS = "dask no_cache no_baseline quiet verbose".split()
"""Settings of a single call, which the file cannot give."""
_OTHER = ("CERTGRAD_DEBUG", "CERTGRAD_UPDATE_GOLDEN")


@dataclass(frozen=True)
class Settings:
    """The values, and in `sources` where each is from: `--strict`, `CERTGRAD_STRICT`, the file, or `default`."""

    targets: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    strict: "Strictness" = False
    fail_on: tuple[str, ...] = ()
    timeout: float = 0.0
    import_timeout: float = 0.0
    jobs: int | None = None
    conformance: bool = True
    order: int = 1
    format: str = _output.Format.text
    output: tuple[str, ...] = ()
    cache_dir: Path = DEFAULT_CACHE
    dask: str = ""
    no_cache: bool = False
    no_baseline: bool = False
    quiet: bool = False
    verbose: bool = False
    sources: Mapping[str, str] = field(default_factory=dict)

    @property
    def cache(self) -> Path | None:
        """The folder of the cache, or None without one."""
        return None if self.no_cache else self.cache_dir


def resolve(context: typer.Context, configured: "Configuration") -> Settings:
    """Return the settings of a call: each from its flags, else the environment, else the file, else the default.

    Codes to ignore are added up: those of the call and those of the file. Raises UsageError for an unknown format in
    the file, and for -q beside -v.
    """
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for key in (*_KEYS, *_FLAGS):
        source = _explicit_source(context, key)
        if source:
            values[key], sources[key] = _of_call(context, key), source
        elif _kebab_case(key) in configured.given:
            values[key], sources[key] = _of_file(configured, key), configured.file
        else:
            values[key], sources[key] = _usual(configured, key), "default"
    if sources["ignore"] != "default" and configured.ignore and sources["ignore"] != configured.file:
        values["ignore"] = (*values["ignore"], *configured.ignore)  # a call ignores further codes
        sources["ignore"] += f" and {configured.file}"
    if values["quiet"] and values["verbose"]:
        raise UsageError("--quiet and --verbose contradict each other. Leave one of them out.")
    if sources["format"] == "default":
        values["format"] = _output.usual(verbose=values["verbose"])
        sources["format"] += "" if values["format"] is _output.Format.text else ", as stdout is no terminal"
    return Settings(**values, sources=sources)


def _explicit_source(context: typer.Context, key: str) -> str:
    """Return the flag or the variable that gives a setting; "" if neither does."""
    source = context.get_parameter_source(key)
    name = source.name if source is not None else ""
    if name == "COMMANDLINE":
        return "the command line" if key == "targets" else f"--{_kebab_case(key)}"
    return _variable(key) if name == "ENVIRONMENT" else ""


def _of_call(context: typer.Context, key: str) -> Any:
    """Return a setting that the call or the environment gives, in the type of `Settings`."""
    value = context.params[key]
    if key == "jobs":
        return None if value == AUTO else value
    if key == "strict" and isinstance(value, str):
        return _strict(value)
    if key == "fail_on":
        return tuple(one.value for one in value)
    return tuple(value) if isinstance(value, (list, tuple)) else value


def _strict(text: str) -> tuple[str, ...]:
    """Return the names in `--strict=exact,assumed`. Raises UsageError for an unknown one."""
    from certgrad.report.findings import STRICT

    names = tuple(name.strip() for name in text.split(","))
    if unknown := [name for name in names if name not in STRICT]:
        raise UsageError(f"--strict={unknown[0]} is not known; it knows {', '.join(STRICT)}, and --strict means all.")
    return names


def _of_file(configured: "Configuration", key: str) -> Any:
    """Return a setting of the configuration file; paths are relative to its folder."""
    value = getattr(configured, key)
    if key == "cache_dir":
        return configured.folder / value
    if key == "output":
        return tuple(_from(configured.folder, one) for one in value)
    if key == "format":
        if value not in _output.names():
            formats = ", ".join(_output.names())
            raise UsageError(f"'format' of [tool.certgrad] in '{configured.file}' is '{value}'; it knows {formats}.")
        return _output.parse_format(value)
    return value


def _usual(configured: "Configuration", key: str) -> Any:
    """Return the default of a setting; for times and the cache's folder, the configuration knows it."""
    if key == "cache_dir":
        return configured.cache_folder
    return getattr(configured, key) if key in ("timeout", "import_timeout") else getattr(Settings(), key)


def _from(folder: Path, output: str) -> str:
    name, mark, path = output.partition("=")
    return f"{name}{mark}{folder / path}" if path else output


def _kebab_case(key: str) -> str:
    return key.replace("_", "-")


def _variable(key: str) -> str:
    return f"{PREFIX}{key.upper()}"


def misspelled(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return a note for each environment variable that is close to one of certgrad's and is not one."""
    variables = [*map(_variable, (*_KEYS, *_FLAGS)), *_OTHER]
    notes = []
    for name in environment:
        close = (
            get_close_matches(name, variables, n=1, cutoff=0.8)
            if name.startswith(PREFIX) and name not in variables
            else []
        )
        notes += [f"{name} is no variable that certgrad reads; did you mean {match}?" for match in close]
    return sorted(notes)


def settings_as_toml(settings: Settings, configured: "Configuration") -> str:
    """Return the settings as the text of a table in pyproject.toml, with comments on where each is from."""
    lines = [
        (f"{_kebab_case(key)} = {_toml(_absolute(getattr(settings, key)))}", settings.sources[key]) for key in _KEYS
    ]
    for key, file in (("baseline", configured.baseline_file), ("recorded", configured.recorded_file)):
        if key in configured.given or file.exists():
            source = configured.file if key in configured.given else "default"
            lines.append((f"{key} = {_toml(file)}", source))
    column = min(max(len(text) for text, _ in lines), 60)
    table = ["[tool.certgrad]", *(f"{text:<{column}}  # {source}" for text, source in lines)]
    if configured.per_file_ignores:
        table += ["", f"[tool.certgrad.per-file-ignores]  # {configured.file}"]
        table += [f"{_toml(glob)} = {_toml(codes)}" for glob, codes in configured.per_file_ignores.items()]
    if configured.signatures:
        from certgrad.rules.declared.written import inline

        table += ["", f"[tool.certgrad.signatures]  # {configured.file}"]
        table += [f"{_toml(name)} = {inline(declared)}" for name, declared in configured.signatures.items()]
    flags = [f"# --{_kebab_case(key)}: {settings.sources[key]}" for key in _FLAGS if getattr(settings, key)]
    return "\n".join([*table, *flags]) + "\n"


def _absolute(value: Any) -> Any:
    return value.absolute() if isinstance(value, Path) else value


def _toml(value: Any) -> str:
    """Return a value as TOML writes it."""
    if value is None:
        return '"auto"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(map(_toml, value))}]"
    return f"{value:g}" if isinstance(value, (int, float)) else json.dumps(str(value), ensure_ascii=False)
