"""How the entries of each source are audited: what the object at `where` is, and which door it goes through.

Everything here is called in the process that audits, and may run with the certgrad of another checkout: what is used of
it is public, or as old as the corpus.
"""

from __future__ import annotations

import gc
import importlib
import inspect
import re
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import metadata
from types import SimpleNamespace
from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp
import msgspec

import certgrad
from benchmarks.corpus.entries import CORPUS, Entry, Record
from benchmarks.corpus.traps import traps_of
from certgrad._audit import audit, audit_op
from certgrad.language import tree as t
from certgrad.language.arithmetic import UnfitError
from certgrad.language.coding import encode
from certgrad.obligations.certificate import PROOFS, RANKS
from certgrad.report.findings import INFERRED

REASON = 300
"""Characters of a reason that are kept."""
_OF_SHAPES = re.compile(
    r'(?:(.*); )?its shapes are inferred \("([^"]*)"[^"]*?\), '
    r"as nothing declares them; certgrad.declare does(?:; (.*))?",
    re.S,
)


def audited(entry: Entry) -> Record:
    """What comes of the entry. Never raises: a rule can do anything while it is traced."""
    start = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = SOURCES[entry.source](entry)
    except Exception as error:
        found = {"verdict": f"raised {type(error).__name__}", "reason": str(error)}
    finally:
        gc.enable()  # some rules switch it off
    found["reason"] = " ".join(str(found.get("reason", "")).split())[:REASON]
    return Record(id=entry.id, seconds=round(time.process_time() - start, 2), **found)


def warm() -> None:
    """Load what the first audit of a process loads, so that no entry's seconds are those of that."""
    rule = jax.custom_vjp(lambda x: jnp.sin(x) * x)
    rule.defvjp(lambda x: (jnp.sin(x) * x, x), lambda x, g: (g * (jnp.cos(x) * x + jnp.sin(x)),))
    certgrad.check(rule, "n -> n")


def _module(entry: Entry) -> tuple[Any, str]:
    name, _, attribute = entry.where.partition(":")
    return importlib.import_module(name), attribute


# --- one rule or op


def _library(entry: Entry) -> dict[str, Any]:
    return of_certificate(audit_op(entry.where.rpartition(":")[2]))


def _registered(entry: Entry) -> dict[str, Any]:
    module, name = _module(entry)
    return of_certificate(audit(module.rules.get(name)))


def _trap(entry: Entry) -> dict[str, Any]:
    module, name = _module(entry)
    trap = traps_of(module)[name]
    certificate = audit(trap.wrong if entry.expected == "wrong" else trap.right)
    found = of_certificate(certificate)
    if entry.expected == "wrong" and trap.under:
        texts = {h.text for claim in certificate.claims for h in claim.hypotheses}
        found["excluded"] = set(trap.under) <= texts
    return found


def _pair(entry: Entry) -> dict[str, Any]:
    module, name = _module(entry)
    pair = next(one for one in module.PAIRS if one.name == name)
    rule = pair.make()[("right", "wrong").index(entry.id.rpartition("/")[2])]
    return of_report(certgrad.check(rule, pair.signature, name=pair.name, **pair.options))


def _attack(entry: Entry) -> dict[str, Any]:
    from tests.attacks import doors

    module, name = _module(entry)
    attack = next(one for one in _attacks(module) if one.name == name)
    with _kept(certgrad, "check") as reports:
        outcome = doors.by_check(attack)
    proved = str(outcome.verdict).startswith("proved")
    return of_report(reports[-1]) | {"excluded": proved and not outcome.is_wrong_for(attack)}


def _attacks(module: Any) -> list[Any]:
    return [*getattr(module, "ATTACKS", ()), *getattr(module, "ATTACKS_ON_DEVICES", ())]


def _by_name(entry: Entry) -> dict[str, Any]:
    """A rule as `certgrad audit` finds it, with the declaration that it carries, or that the survey has of it."""
    from certgrad.rules.finding.find import find

    target, _, name = entry.where.partition(":")
    path = CORPUS.parent / target
    rules = find(str(path) if path.suffix == ".py" else target).rules
    found = next((rule for rule in rules if rule.name.partition(":")[2] == name), None)
    if found is None:
        return {"verdict": "raised LookupError", "reason": f"{target} has no rule {name}"}
    return _of_found(entry, found, _declared(entry))


def _undeclared(entry: Entry) -> dict[str, Any]:
    """An object by its name. A declaration beside it is not seen; annotations are code, and stay."""
    from certgrad.rules.finding.find import find

    target, _, name = entry.where.partition(":")
    (found,) = find(f"{CORPUS.parent / target if target.endswith('.py') else target}:{name}").rules
    with mock.patch("certgrad.rules.declared.declaration._ATTRIBUTE", "__not_declared__"):
        return _of_found(entry, found, {})


def _of_found(entry: Entry, found: Any, declared: Mapping[str, Any]) -> dict[str, Any]:
    from certgrad.rules.judging.by_name import examined

    made: Any = examined(found, declared)
    result, report = made if isinstance(made, tuple) else (made, made.report)  # an older checkout makes one object
    if report is None:
        return {"verdict": "not audited", "reason": "; ".join(remark.text for remark in result.remarks)}
    excluded = entry.expected == "wrong" and _excluded(found.rule, report)
    return of_report(report) | {"excluded": excluded} | _inferred(result)


def _inferred(result: Any) -> dict[str, str]:
    """The shapes that were inferred, and what is said of other choices of ranks."""
    texts = (remark.text for remark in result.remarks if remark.code == INFERRED)
    match = next(filter(None, map(_OF_SHAPES.match, texts)), None)
    return {"inferred": match[2], "choices": match[1] or match[3] or ""} if match else {}


def _excluded(rule: Any, report: Any) -> bool:
    """Whether the claim is not about the arguments that the rule's module gives as an example: they have other shapes,
    or a hypothesis is false there."""
    from certgrad.rules.subject.layers import plain_function, unwrapped

    plain = plain_function(unwrapped(rule))
    example = getattr(plain, "__globals__", {}).get("example")
    if example is None or not str(report.verdict).startswith("proved"):
        return False
    names = {name: k for k, name in enumerate(inspect.signature(plain).parameters)}
    trees = [h.tree for claim in report.claims for h in claim.hypotheses]
    return excludes(report.certificate.signature[0], trees, names, example)


def excludes(signature: str, trees: Iterable[Any], names: Mapping[str, int], example: Callable[[], Any]) -> bool:
    """Whether a claim at this signature, under these hypotheses, is not about the example."""
    from tests.attacks import doors

    point: Any = SimpleNamespace(wrong_at=example, signature=signature)
    try:
        doors.sizes_of(point, example())
    except UnfitError:
        return True
    return any(doors.is_false(tree, names, point) for tree in trees)


def _declared(entry: Entry) -> Mapping[str, Any]:
    """What the survey has of the rule, and of those of its package: they say which approximations it calls."""
    if entry.source != "survey":
        return {}
    table = importlib.import_module("benchmarks.wild.declared").DECLARED
    package = entry.where.partition(":")[0].partition(".")[0]
    of_package = {name: said for name, said in table.items() if name.startswith(f"{package}.")}
    return {name: [said() if callable(said) else said] for name, said in of_package.items()}


def _rule(entry: Entry) -> dict[str, Any]:
    """What an expression in a module is: a rule at the signature that the row gives it, or an op, which has its own."""
    name, _, expression = entry.where.partition(":")
    found = eval(expression, vars(importlib.import_module(name)))
    if not entry.signature:
        return of_certificate(audit(found))
    return of_report(certgrad.check(found, entry.signature, domain=entry.domain, **entry.options))


def of_report(report: Any) -> dict[str, Any]:
    found = of_certificate(report.certificate)
    left_out = sorted({f"not at {text.partition(':')[0]}" for text in report.left_out})
    limits = [*found["limits"], *report.limits, *left_out]
    causes = {a.name: a.cause for a in report.arguments if a.cause} if report.verdict == "refuted" else {}
    return found | {"verdict": str(report.verdict), "limits": limits, "causes": causes}


def of_certificate(certificate: Any) -> dict[str, Any]:
    """What a record holds of a certificate of one rule."""
    cases = [case for claim in certificate.claims for case in claim.cases]
    closed = certificate.verdict in (*PROOFS, "refuted")
    reasons = (*(claim.contradicted for claim in certificate.claims), *(case.reason for case in cases))
    return {
        "verdict": str(certificate.verdict),
        "hypotheses": _trees(h.tree for claim in certificate.claims for h in claim.hypotheses),
        "scope": sorted({case.scope for case in cases}),
        "limits": sorted({case.scope.partition(RANKS)[2] for case in cases if RANKS in case.scope}),
        "laws": sorted(certificate.rules_used),
        "without_gradient": list(certificate.without_gradient or ()),
        "sizes": list(certificate.sizes or ()),
        "reason": "" if closed else next(filter(None, reasons), ""),
    }


# --- graphs


def _model(entry: Entry) -> dict[str, Any]:
    """A model at numbers; those of `examples` in float64, those of libraries in their own dtypes."""
    import equinox as eqx

    module, name = _module(entry)
    wide = entry.source == "models"
    fn, args = (
        getattr(module, name)()
        if wide
        else importlib.import_module("benchmarks.library_models._model").MODELS[name].make()
    )
    with jax.enable_x64(wide or jax.config.read("jax_enable_x64")):
        if wide and not any(isinstance(x, jax.ShapeDtypeStruct) for x in jax.tree.leaves(args)):
            args = jax.tree.map(lambda x: x.astype(jnp.float64) if eqx.is_inexact_array(x) else x, args)
        return of_graph(certgrad.certify(certgrad.trace(fn, *args, name=name)))


def _part(entry: Entry) -> dict[str, Any]:
    """A part of a library, at the most general shapes at which it is proved."""
    from benchmarks.libraries import _certify

    module, name = _module(entry)
    with _kept(_certify, "certification") as certified:
        row = _certify.certified(module.PARTS.get(name), 60)
    found = [one.certificate for one in certified if str(one.certificate.verdict) == row["verdict"]]
    verdict = {"verdict": row["verdict"], "reason": row["why"], "version": _version(entry)}
    return of_graph(found[-1]) | verdict | {"scope": [row["for"]]} if found else verdict


def _version(entry: Entry) -> str:
    (distribution, *_) = metadata.packages_distributions()[entry.needs]
    return metadata.version(distribution)


def of_graph(certificate: Any) -> dict[str, Any]:
    """What a record holds of a certificate of a graph. Arrays in hypotheses have the names that the user sees."""
    return {
        "verdict": str(certificate.verdict),
        "hypotheses": _trees(_renamed(h.tree, h.of) for h in certificate.hypotheses),
        "limits": list(certificate.dimensions),
        "laws": sorted({lemma.name for lemma in certificate.lemmas}),
        "reason": "; ".join(certificate.findings[:2]),
        "asks": list(dict.fromkeys([*(h.text for h in certificate.hypotheses), *certificate.dimensions])),
    }


def _renamed(node: Any, names: Mapping[str, str]) -> Any:
    node = t.mapped(node, lambda inner: _renamed(inner, names))
    if isinstance(node, t.Array | t.Entry):
        return msgspec.structs.replace(node, name=names.get(node.name, node.name))
    if isinstance(node, t.Axis):
        return msgspec.structs.replace(node, array=names.get(node.array, node.array))
    return node


def _trees(statements: Iterator[Any]) -> list[Any]:
    texts = sorted({encode(statement) for statement in statements})
    return [msgspec.json.decode(text) for text in texts]


@contextmanager
def _kept(module: Any, name: str) -> Iterator[list[Any]]:
    """What a function of a module returns meanwhile."""
    function, out = getattr(module, name), []

    def keeping(*args: Any, **options: Any) -> Any:
        out.append(function(*args, **options))
        return out[-1]

    with mock.patch.object(module, name, keeping):
        yield out


SOURCES: dict[str, Callable[[Entry], dict[str, Any]]] = {
    "attacks": _attack,
    "cases": _by_name,
    "examples": _by_name,
    "libraries": _part,
    "library": _library,
    "library_models": _model,
    "models": _model,
    "ordinary": _by_name,
    "pairs": _pair,
    "published": _undeclared,
    "survey": _by_name,
    "tests": _rule,
    "traps": _trap,
    "wrong_ops": _registered,
}
"""By the first part of an id."""
