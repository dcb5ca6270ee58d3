"""Finding derivative rules: in a module, in all modules of a package, in a file, or one object by name."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from certgrad.errors import UsageError

from ._layers import incomplete, kind_of_rule, place_of, plain_function, unwrapped


@dataclass(frozen=True)
class Found:
    """A rule, or a place that could not be looked at: then `problem` says why."""

    name: str
    rule: Any = None
    problem: str = ""
    where: str = ""


def find(target: str) -> list[Found]:
    """The rules that a target names: `module`, `package`, `path/to/file.py` or `module:object`.

    Each rule once, at the module that defines it. A module of a package that does not import is reported as a problem.

    Raises:
        UsageError: the target itself does not import, or names nothing.
    """
    path, _, attribute = target.partition(":")
    module = _load(path)
    if attribute:
        found: Any = module
        for part in attribute.split("."):
            if not hasattr(found, part):
                raise UsageError(f"'{target}': {path} has no attribute '{attribute}'.")
            found = getattr(found, part)
        return [Found(f"{module.__name__}:{attribute}", found, where=_where(found))]
    modules = [Found(module.__name__, module), *_submodules(module)]
    seen: set[int] = set()
    out: list[Found] = []
    for one in modules:
        out += [one] if one.problem else list(_in_module(one.rule, seen))
    return sorted(out, key=lambda f: f.name)


def _load(path: str) -> ModuleType:
    file = Path(path)
    if path.endswith(".py") or file.is_file():
        if not file.is_file():
            raise UsageError(f"There is no file '{path}'.")
        name = file.stem
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        sys.path.insert(0, str(file.resolve().parent))
        _run(lambda: spec.loader.exec_module(module), path)
        return module
    if file.is_dir():
        sys.path.insert(0, str(file.resolve().parent))
        path = file.resolve().name
    sys.path.insert(0, ".")
    loaded: list[ModuleType] = []
    _run(lambda: loaded.append(importlib.import_module(path)), path)
    return loaded[0]


def _run(load: Any, target: str) -> None:
    try:
        load()
    except ModuleNotFoundError as error:
        hint = "Give a module, a package, a file or module:object." if error.name == target else "Install it first."
        raise UsageError(f"Cannot import '{target}': {error}. {hint}") from None
    except Exception as error:
        raise UsageError(f"Cannot import '{target}': {type(error).__name__}: {error}") from None


def _submodules(module: ModuleType) -> Iterator[Found]:
    for info in pkgutil.walk_packages(
        getattr(module, "__path__", []), f"{module.__name__}.", onerror=lambda name: None
    ):
        if any(part.startswith("test") for part in info.name.split(".")):
            continue
        try:
            yield Found(info.name, importlib.import_module(info.name))
        except BaseException as error:  # an import may call sys.exit; one broken module must not end the run
            if isinstance(error, KeyboardInterrupt):
                raise
            yield Found(info.name, problem=f"does not import: {type(error).__name__}: {error}")


def _in_module(module: ModuleType, seen: set[int]) -> Iterator[Found]:
    for name, value in sorted(vars(module).items(), key=_by_own_name):
        yield from _rules_in(module, name, value, seen)
        if isinstance(value, type) and value.__module__ == module.__name__:
            for inner, member in sorted(vars(value).items()):
                held = member.__func__ if isinstance(member, (staticmethod, classmethod)) else member
                yield from _rules_in(module, f"{name}.{inner}", held, seen)


def _by_own_name(item: tuple[str, Any]) -> tuple[bool, str]:
    """An object is known by the name that it was defined with, before any alias."""
    name, value = item
    return name != getattr(value, "__name__", name), name


def _rules_in(module: ModuleType, name: str, value: Any, seen: set[int]) -> Iterator[Found]:
    try:
        custom = unwrapped(value)
        kind = kind_of_rule(custom)
    except Exception:  # an object may answer any question about its attributes with an error
        return
    if not kind or id(custom) in seen:
        return
    plain = plain_function(custom)
    if (getattr(plain, "__module__", None) or module.__name__) != module.__name__:
        return
    seen.add(id(custom))
    full = f"{module.__name__}:{name}"
    lacks = incomplete(custom)
    if kind == "flax.nnx.custom_vjp":
        lacks = f"{kind} is not audited yet"
    yield Found(full, value, problem=lacks, where=_where(value))


def _where(value: Any) -> str:
    file, line = place_of(plain_function(unwrapped(value)))
    return f"{Path(file).name}:{line}"
