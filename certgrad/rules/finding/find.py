"""Finding derivative rules: in a module, in all modules of a package, in a file, or one object by name."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any

from certgrad._subject import is_op
from certgrad.errors import UsageError
from certgrad.rules.declared.declaration import Declaration
from certgrad.rules.subject.layers import (
    incomplete,
    kind_of_rule,
    place_of,
    plain_function,
    unwrapped,
    unwrapped_safely,
)

from .modules import Begin, Loaded, load
from .named_objects import MOST_OBJECTS, TooManyError, named_objects
from .nested import makers_in
from .reexports import imported, offered

_CONTAINERS = (dict, list, tuple)


@dataclass(frozen=True)
class FoundRule:
    """A rule, or a place that could not be searched: then `problem` says why."""

    name: str
    rule: Any = None
    problem: str = ""
    where: str = ""
    file: str = ""


@dataclass(frozen=True)
class Findings:
    """The rules of a target, with the names that the target stands for.

    These are the names of its modules and of the rules that its modules offer from elsewhere, or that of its object.
    """

    rules: tuple[FoundRule, ...]
    names: tuple[str, ...]
    files: tuple[str, ...] = ()
    """The files of its modules."""
    passed_over: tuple[str, ...] = ()
    """The files that were not imported, such as tests."""


def find(target: str, skip: Collection[str] = (), begin: Begin = lambda name, target: None) -> Findings:
    """Return the rules that a target names: `module`, `package`, `path/to/file.py` or `module:object`.

    Each rule is listed once, at the module that defines it. That may be another module of the same distribution, if the
    target offers the rule to its users (`from ._src.act import relu as relu`). A module of a package that fails to
    import is reported as a problem; modules in `skip` are left out, and `begin` is called before each import.

    Raises:
        UsageError: the target itself does not import, or names nothing.
    """
    path, _, attribute = target.partition(":")
    loaded = load(path, skip, begin)
    if attribute:
        name = f"{loaded[0].name}:{attribute}"
        return Findings((_rule_of_target(target, loaded, attribute, name),), (name,))
    return _all_in(loaded)


def _rule_of_target(target: str, loaded: Sequence[Loaded], attribute: str, name: str) -> FoundRule:
    """Return the object of a target, by its attributes or by the name of a rule that was found in its module.

    Raises UsageError if there is no such object, or it is not callable.
    """
    value: Any = loaded[0].module
    for part in attribute.split("."):
        if not hasattr(value, part):
            named_rules = [rule for rule in _all_in(loaded).rules if rule.name == name]
            if named_rules:
                return named_rules[0]
            near = get_close_matches(part, [n for n in dir(value) if not n.startswith("__")], n=1)
            meant = f" Did you mean '{near[0]}'?" if near else ""
            raise UsageError(f"'{target}': {target.partition(':')[0]} has no attribute '{attribute}'.{meant}")
        value = getattr(value, part)
    if not callable(value):
        raise UsageError(f"'{target}' is no function: it is of type {type(value).__name__}.")
    return _found_rule(name, value)


def _all_in(loaded: Sequence[Loaded]) -> Findings:
    """Return the rules of the loaded modules, each once, and places that could not be searched as problems."""
    seen: set[int] = set()
    out = [_unimported(item) for item in loaded if item.problem]
    modules = [item.module for item in loaded if item.module is not None]
    # First the rules of functions that a module defines itself; then those made by a function of another module, which
    # belong to the module that holds them.
    for owned in (True, False):
        for module in modules:
            out += _in_module(module, seen, owned)
    for module in modules:
        out += _made_unseen(module, out)
    elsewhere = [item for module in modules for item in _reexported(module, modules, seen)]
    out += elsewhere
    whole = [item for item in loaded if not item.passed_over]
    top = [item.name for item in whole if not any(item.name.startswith(f"{package.name}.") for package in whole)]
    names = (*top, *(item.name for item in elsewhere))
    files = tuple(file for module in modules if (file := getattr(module, "__file__", None)))
    passed_over = tuple(item.file for item in loaded if item.passed_over)
    return Findings(tuple(sorted(_told_apart(out), key=lambda f: f.name)), names, files, passed_over)


def _told_apart(found: Sequence[FoundRule]) -> Iterator[FoundRule]:
    """Yield one rule for each name; if several rules have a name (members of a set, say), a problem in their place."""
    counts = Counter(rule.name for rule in found)
    problem = "rules have this name, and nothing tells them apart in every run: keep them in a list or a dict"
    for name, rule in {rule.name: rule for rule in found}.items():
        yield rule if counts[name] == 1 else replace(rule, rule=None, problem=f"{counts[name]} {problem}")


def _unimported(one: Loaded) -> FoundRule:
    where = f"{Path(one.file).name}:{one.line}" if one.file else ""
    return FoundRule(one.name, problem=one.problem, where=where, file=one.file)


def _made_unseen(module: ModuleType, found: Sequence[FoundRule]) -> Iterator[FoundRule]:
    """Yield problems for places where the text of a module makes a rule that is not among those `found`.

    Such a place is a function that makes a rule at each call and is not declared, or a statement whose rule no name
    leads to.
    """
    name, file = module.__name__, getattr(module, "__file__", None) or ""
    names = {rule_found.name for rule_found in found}
    own_rules = {
        rule_found.name: rule_found.rule
        for rule_found in found
        if rule_found.rule is not None and (rule_found.name.startswith(f"{name}:") or _home_of(rule_found.rule) == name)
    }
    for maker in makers_in(module, {rule_name.removeprefix(f"{name}:"): rule for rule_name, rule in own_rules.items()}):
        full = f"{name}:{maker.name}"
        if full not in names:
            yield FoundRule(full, problem=maker.reason, where=f"{Path(file).name}:{maker.line}", file=file)


def _home_of(rule: Any) -> str:
    return str(getattr(plain_function(unwrapped(rule)), "__module__", ""))


def rules_of_module(module: ModuleType, seen: set[int]) -> list[FoundRule]:
    """Return the complete rules that a module defines, without those in `seen`, and add them there.

    `seen` has the ids of rules.
    """
    return [one for one in _in_module(module, seen, owned=True) if not one.problem]


def _in_module(module: ModuleType, seen: set[int], owned: bool) -> Iterator[FoundRule]:
    variables = {
        name: value
        for name, value in sorted(vars(module).items(), key=_by_own_name)
        if not (name.startswith("__") and type(value) in _CONTAINERS) and (owned or not imported(module, name))
    }
    yield from _rules_in(module, variables, seen, owned)


def _rules_in(module: ModuleType, variables: Mapping[str, Any], seen: set[int], owned: bool) -> Iterator[FoundRule]:
    """Yield the rules that variables of a module hold, at any depth; a problem if there are too many objects."""
    try:
        for name, value in named_objects(module.__name__, variables):
            yield from _rule_of(module, name, value, seen, owned)
    except TooManyError:
        if not owned:  # the first pass reported it
            return
        name = f"{module.__name__}:<objects after the first {MOST_OBJECTS:,}>"
        problem = (
            f"its variables lead to more than {MOST_OBJECTS:,} objects, and the others were not searched for rules"
        )
        file = getattr(module, "__file__", None) or ""
        yield FoundRule(name, problem=problem, where=f"{Path(file).name}:1", file=file)


def _rule_of(module: ModuleType, name: str, value: Any, seen: set[int], owned: bool) -> Iterator[FoundRule]:
    """Yield the value if it is a rule that belongs to the module, and add it to `seen`; nothing otherwise.

    `owned` asks for rules of functions that the module defines itself, or else for those that another module's
    function made.
    """
    try:
        custom = unwrapped(value)
        kind = kind_of_rule(custom)
    except Exception:  # an object may answer any question about its attributes with an error
        return
    declared = isinstance(getattr(value, "__certgrad__", None), Declaration)
    kind = kind or ("op" if is_op(value) else "declared" if declared else "")
    if not kind or id(custom) in seen:
        return
    home = getattr(plain_function(custom), "__module__", None) or module.__name__
    # A rule with a name in the module of its function is defined there, and only imported here.
    if owned != (home == module.__name__) or (not owned and name_in(home, custom)):
        return
    seen.add(id(custom))
    yield _found_rule(f"{module.__name__}:{name}", value, incomplete(custom))


def name_in(module: str, custom: Any) -> str:
    """Return the name of a variable of a module that holds a rule; "" if there is none."""
    for name, value in sorted(vars(sys.modules[module]).items(), key=_by_own_name) if module in sys.modules else ():
        if unwrapped_safely(value) is custom:
            return name
    return ""


def _reexported(module: ModuleType, loaded: Sequence[ModuleType], seen: set[int]) -> Iterator[FoundRule]:
    """Yield the rules and classes that a module offers from modules of its distribution outside of the target."""
    for name, value, home in offered(module, [one.__name__ for one in loaded]):
        if isinstance(value, type):
            yield from _rules_in(sys.modules[home], {value.__qualname__: value}, seen, owned=True)
            continue
        if (custom := unwrapped_safely(value)) is not None:
            yield from _rules_in(sys.modules[home], {name_in(home, custom) or name: value}, seen, owned=True)


def _by_own_name(item: tuple[str, Any]) -> tuple[bool, bool]:
    """Return a sort key of a variable: those with the name of their object first, then aliases, then containers."""
    name, value = item
    return type(value) in _CONTAINERS, name != getattr(value, "__name__", name)


def _found_rule(name: str, value: Any, problem: str = "") -> FoundRule:
    file, line = place_of(plain_function(unwrapped(value)))
    return FoundRule(name, value, problem, f"{Path(file).name}:{line}", file)
