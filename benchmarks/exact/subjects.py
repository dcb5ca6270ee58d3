"""How entries of the corpus are checked by `certgrad.exact`: with the shapes that the audit takes, and its hypotheses.

What is found of an entry is a record of the corpus: the verdict and the level are those of `certgrad.exact`.
"""

from __future__ import annotations

import importlib
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any
from unittest import mock

import msgspec

from benchmarks.corpus.entries import CORPUS, Entry, Record, records
from benchmarks.corpus.traps import traps_of
from certgrad import exact
from certgrad.errors import CertgradError
from certgrad.language.coding import decode
from certgrad.obligations.certificate import PROOFS

REASON = 300


class NoRuleError(Exception):
    """The entry is no rule that is checked here. The message says why."""


@cache
def recorded() -> Mapping[str, Record]:
    return records()


def checked(entry: Entry) -> Record:
    """What comes of the entry. Never raises: a rule can do anything while it is traced."""
    start = time.process_time()
    seconds, found = 0.0, {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = SOURCES[entry.source](entry)
        seconds = result.seconds
        found = {
            "verdict": result.verdict,
            "reason": result.reason,
            "scope": [exact.level(result).partition(":")[0], *([result.limited] if result.limited else [])],
            "limits": [] if result.bound is None else [str(result.bound)],
            "sizes": [{k: v for k, v in one.items() if v > 0} for one in result.sizes],
        }
        if result.difference is not None and not result.reason:
            one = result.difference
            found["reason"] = f"{one.claim} {one.where}: {one.left} and {one.right}"
    except (CertgradError, NoRuleError) as error:
        found = {"verdict": "outside", "reason": str(error)}
    except Exception as error:
        found = {"verdict": f"raised {type(error).__name__}", "reason": str(error)}
    found["reason"] = " ".join(str(found["reason"]).split())[:REASON]
    return Record(id=entry.id, seconds=round(seconds or time.process_time() - start, 3), **found)


def _asked(entry: Entry) -> dict[str, Any]:
    """What a proof of the entry is about: its hypotheses, and all sizes of a program that an audit heard."""
    record = recorded().get(entry.id)
    if entry.expected == "wrong" or record is None or record.verdict not in PROOFS:
        return {}
    hypotheses = [decode(msgspec.json.encode(tree)) for tree in record.hypotheses or ()]
    return {"hypotheses": hypotheses, "one_program": True}


def _moving(entry: Entry, rule: Any, options: Mapping[str, Any], signature: Any) -> Sequence[str] | None:
    """The arguments that the claim is about: those without a gradient are not."""
    record = recorded().get(entry.id)
    given = options.get("differentiable")
    if given is not None or record is None or not record.without_gradient:
        return given
    from certgrad.exact._rule import Rule

    own = Rule(rule, signature, dict(options.get("static") or {}), None, (), "")
    return [n for n, s in zip(own.arg_names, own.cases[0].signature.inputs, strict=True)
            if s.dtype == "float" and n not in record.without_gradient]  # fmt: skip


def _rule(entry: Entry, rule: Any, signature: Any, options: Mapping[str, Any]) -> exact.Result:
    if options.get("surrogate") or options.get("approximates") is not None:
        raise NoRuleError("its derivative is meant to be that of another function")
    asked = {k: options[k] for k in ("static", "domain") if options.get(k)}
    moving = _moving(entry, rule, options, signature)
    return exact.check(rule, signature, differentiable=moving, name=entry.id, **asked, **_asked(entry))


def _op(entry: Entry, op: Any) -> exact.Result:
    return exact.check(op, **_asked(entry))


def _module(entry: Entry) -> tuple[Any, str]:
    name, _, attribute = entry.where.partition(":")
    return importlib.import_module(name), attribute


def _library(entry: Entry) -> exact.Result:
    from certgrad.ops import registry

    return _op(entry, registry.get(entry.where.rpartition(":")[2]))


def _registered(entry: Entry) -> exact.Result:
    module, name = _module(entry)
    return _op(entry, module.rules.get(name))


def _trap(entry: Entry) -> exact.Result:
    module, name = _module(entry)
    trap = traps_of(module)[name]
    return _op(entry, trap.wrong if entry.expected == "wrong" else trap.right)


def _pair(entry: Entry) -> exact.Result:
    module, name = _module(entry)
    pair = next(one for one in module.PAIRS if one.name == name)
    rule = pair.make()[("right", "wrong").index(entry.id.rpartition("/")[2])]
    return _rule(entry, rule, pair.signature, pair.options)


def _by_name(entry: Entry) -> exact.Result:
    """A rule as `certgrad audit` finds it, at the shapes that it carries, or that are inferred."""
    from certgrad._subject import is_op
    from certgrad.rules.finding.find import find
    from certgrad.rules.judging.by_name import declarations_of

    target, _, name = entry.where.partition(":")
    path = CORPUS.parent / target
    rules = find(str(path) if path.suffix == ".py" else target).rules
    found = next((rule for rule in rules if rule.name.partition(":")[2] == name), None)
    if found is None:
        raise NoRuleError(f"{target} has no rule {name}")
    if is_op(found.rule):
        return _op(entry, found.rule)
    record = recorded().get(entry.id)
    if record is not None and record.inferred:
        return _rule(entry, found.rule, record.inferred, {})
    (declared, *_) = declarations_of(found, {})
    options = {**declared.options, "static": {**declared.static}}
    return _rule(entry, found.rule, declared.signature, options)


def _test(entry: Entry) -> exact.Result:
    """What an expression in a module is: a rule at the signature that the row gives it, or an op, which has its own."""
    name, _, expression = entry.where.partition(":")
    found = eval(expression, vars(importlib.import_module(name)))
    if not entry.signature:
        return _op(entry, found)
    return _rule(entry, found, entry.signature, {**entry.options, "domain": entry.domain})


def _attack(entry: Entry) -> exact.Result:
    module, name = _module(entry)
    every = [*getattr(module, "ATTACKS", ()), *getattr(module, "ATTACKS_ON_DEVICES", ())]
    attack = next(one for one in every if one.name == name)
    return _rule(entry, attack.rule(), attack.signature, {**attack.declared, "domain": attack.domain})


def _undeclared(entry: Entry) -> exact.Result:
    with mock.patch("certgrad.rules.declared.declaration._ATTRIBUTE", "__not_declared__"):
        return _by_name(entry)


SOURCES: dict[str, Callable[[Entry], exact.Result]] = {
    "attacks": _attack,
    "cases": _by_name,
    "examples": _by_name,
    "library": _library,
    "ordinary": _by_name,
    "pairs": _pair,
    "published": _undeclared,
    "tests": _test,
    "traps": _trap,
    "wrong_ops": _registered,
}
"""By the first part of an id; graphs and parts of libraries are no rules."""
