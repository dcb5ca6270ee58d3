"""What a rule returns at the points its theorem excludes: computed from the rule, beside JAX's and PyTorch's choice.

The rule's value comes from the terms of its traced VJP, restricted to the point. JAX's comes from JAX's derivative of
the function that the op names as its like; PyTorch's is data in the op's declaration.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from certgrad._subject import Subject
from certgrad.errors import CertgradError
from certgrad.obligations import wording
from certgrad.obligations.assume.conditions import Atomic
from certgrad.obligations.assume.decided import decide_predicates
from certgrad.obligations.assume.fact import Fact
from certgrad.obligations.certificate import Convention
from certgrad.obligations.floats import Setting, run
from certgrad.obligations.generality.traces import Traces
from certgrad.obligations.meaning.domain import read_domain
from certgrad.obligations.meaning.semantics import UnprovedError
from certgrad.obligations.prove.problem import Problem, build, posed
from certgrad.obligations.terms.polynomials import ONE, Atom, Poly
from certgrad.obligations.terms.power import UndefinedTermError
from certgrad.obligations.terms.rewriting import Rewriter, eliminated
from certgrad.obligations.tracing.jax_internals import trace, wide_floats


def conventions(traces: Traces) -> list[Convention]:
    """One entry for each point that the op's declaration names."""
    op = traces.op
    if not op.convention:
        return []
    problem = _scalar_problem(traces)
    gradients = _gradients_of_like(op)
    return [
        Convention(
            point=point,
            rule=_value_at(problem, point, op, promised),
            jax=_jax_value(op, point, gradients),
            torch=op.torch_at.get(point, ""),
        )
        for point, promised in op.convention.items()
    ]


def _scalar_problem(traces: Traces) -> Problem | None:
    """The rules at the smallest shapes of the first case: scalars where the signature allows."""
    op = traces.op
    instance = min(traces.families[0].prove, key=lambda i: sum(len(s) for s in i.inputs))
    try:
        trace = traces.at(instance)
        return build(posed(op, trace.shapes, trace.programs))
    except (CertgradError, UnprovedError, ArithmeticError):
        return None


def _conditions_of(point: str, names: Mapping[str, tuple], where: str) -> list[Atomic]:
    """The relations of a point such as `x = 0` or `x = y = 0`."""
    text = (
        point
        if "==" in point
        else point.replace("<=", "≤").replace(">=", "≥").replace("=", "==").replace("≤", "<=").replace("≥", ">=")
    )
    return [c.alternatives[0] for c in read_domain((text,), names, where)]


def _value_at(problem: Problem | None, point: str, op: Subject, promised: str) -> str:
    """Return what the VJP gives at a point such as `x = 0` for a seed of 1, as text.

    It is what the declaration promises, where the op was not interpreted, and where no real number is the value.
    """
    if problem is None:
        return promised
    names: dict[str, tuple] = {n: t.shape for n, t in zip(problem.names, problem.inputs, strict=True)}
    names |= dict.fromkeys(op.params, ())
    atoms = _conditions_of(point, names, f"the convention of '{op.name}'")
    facts = problem.facts.extended(Fact(a.poly, a.signs, universal=False) for a in atoms if a.signs is not None)
    seeds = {t.body.atom() for t in problem.seeds}

    def at_one(a: Atom) -> Poly | None:
        return ONE if a in seeds else None

    promises = [p.strip() for p in promised.split(",")]
    texts: list[str] = []
    for cotangent in problem.vjp:
        try:
            value = decide_predicates(Rewriter(replace=at_one)(cotangent.body), facts)
            for a in atoms:
                if a.relation == "= 0":
                    value = eliminated(value, a.poly)
            value = decide_predicates(value, facts)
            is_number = value.constant() is not None
            text = wording.present.show(value)
        except UndefinedTermError:
            is_number, text = False, "undefined"
        # Where it is no real number, floats return what the declaration promises, and a test compares it.
        promise = promises[len(texts) % len(promises)]
        texts.append(promise if not is_number and promise in ("inf", "-inf", "nan") else text)
    return ", ".join(texts)


def _jax_value(op: Subject, point: str, gradients: dict[tuple[Fraction, ...], str]) -> str:
    """The gradient of the function that the op names as its like, at the point; empty where there is none."""
    near, further = (sample(op, point, distance) for distance in (1, 2))
    if near is None or further is None:
        return ""
    here, there = gradients.get(tuple(near), ""), gradients.get(tuple(further), "")
    if here == there:
        return here
    moved = [k for k, (a, b) in enumerate(zip(near, further, strict=True)) if a != b]
    at, away = (", ".join(f"{op.arg_names[k]} = {values[k]}" for k in moved) for values in (near, further))
    return f"{here} at {at}; {there} at {away}"


def _gradients_of_like(op: Subject) -> dict[tuple[Fraction, ...], str]:
    """The gradients of the op's like at all points of its conventions. Empty if it has none."""
    function = _resolve(op.like)
    samples = (sample(op, point, distance) for point in op.convention for distance in (1, 2))
    points = list(dict.fromkeys(tuple(v) for v in samples if v is not None))
    if not points or function is None or any(s.dtype != "float" for s in op.cases[0].signature.inputs):
        return {}
    try:
        with wide_floats():
            columns = [np.asarray([float(v) for v in column]) for column in zip(*points, strict=True)]
            found = gradients(function, columns)
    except Exception:  # whatever the other function raises, there is no value to show
        return {}
    return {p: ", ".join(f"{float(g[k]):g}" for g in found) for k, p in enumerate(points)}


def gradients(function: Callable[..., Any], columns: Sequence[np.ndarray]) -> Sequence[Any]:
    """JAX's gradient of a function of scalars at the points whose coordinates the columns give.

    The program that JAX's differentiation gives is evaluated by numpy, and not compiled.
    """
    gradient = jax.grad(lambda *a: jnp.sum(function(*a)), argnums=tuple(range(len(columns))))
    program = trace(gradient, [jax.ShapeDtypeStruct((), c.dtype) for c in columns])
    found = [run(program, [*map(np.asarray, point)], Setting()) for point in zip(*columns, strict=True)]
    return [np.asarray(values) for values in zip(*found, strict=True)]


def sample(op: Subject, point: str, distance: int = 1) -> list[Fraction] | None:
    """A point that satisfies the text: equal names share a value, a strict inequality is met at the distance."""
    values = {n: Fraction(1) for n in op.arg_names}
    defaults = {p: Fraction(str(op.defaults[p])) for p in op.params if isinstance(op.defaults.get(p), (int, float))}
    for symbol, shift in (("<=", 0), (">=", 0), ("<", -distance), (">", distance), ("=", 0)):
        if symbol in point:
            *left, right = (part.strip() for part in point.split(symbol))
            try:
                target = defaults[right] if right in defaults else values[right] if right in values else Fraction(right)
            except (ValueError, ZeroDivisionError):
                return None
            for name in left:
                if name not in values:
                    return None
                values[name] = target + shift
            return list(values.values())
    return None


def _resolve(path: str | None) -> Any:
    if not path:
        return None
    parts = path.split(".")
    for k in range(len(parts) - 1, 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:k]))
        except ImportError:
            continue
        for name in parts[k:]:
            found = getattr(found, name, None)
        return found
    return None
