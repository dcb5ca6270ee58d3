"""What a rule returns at the points that its theorem excludes, beside what JAX and PyTorch return there.

The rule's value comes from the terms of its traced VJP, restricted to the point. JAX's comes from JAX's derivative of
the function that the op names as its counterpart (`like`); PyTorch's is data in the op's declaration.
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
    """Return one convention for each point that the op's declaration names."""
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
    """Return the rules as terms at the smallest shapes of the first case, scalars where the signature allows them.

    None if the rules cannot be traced or read there.
    """
    op = traces.op
    instance = min(traces.families[0].prove, key=lambda i: sum(len(s) for s in i.inputs))
    try:
        trace = traces.at(instance)
        return build(posed(op, trace.shapes, trace.programs))
    except (CertgradError, UnprovedError, ArithmeticError):
        return None


def _conditions_of(point: str, names: Mapping[str, tuple], where: str) -> list[Atomic]:
    """Return the relations that a point such as `x = 0` or `x = y = 0` states; `where` is for messages."""
    # A point writes `=` where the parser of domains reads `==`; `<=` and `>=` stay as they are.
    text = (
        point
        if "==" in point
        else point.replace("<=", "≤").replace(">=", "≥").replace("=", "==").replace("≤", "<=").replace("≥", ">=")
    )
    return [c.alternatives[0] for c in read_domain((text,), names, where)]


def _value_at(problem: Problem | None, point: str, op: Subject, promised: str) -> str:
    """Return what the VJP gives at a point such as `x = 0` for a seed of 1, as text, one value for each cotangent.

    The value is computed from the term of the cotangent: the seed is set to 1, predicates are decided by the point's
    relations, and variables are eliminated by its equations. If there are no terms, or if the value is no number and
    the declaration promises an infinity or nan, the text is what it promises (`promised`).
    """
    if problem is None:
        return promised
    names: dict[str, tuple] = {n: t.shape for n, t in zip(problem.names, problem.inputs, strict=True)}
    names |= dict.fromkeys(op.params, ())
    relations = _conditions_of(point, names, f"the convention of '{op.name}'")
    facts = problem.facts.extended(Fact(a.poly, a.signs, universal=False) for a in relations if a.signs is not None)
    seeds = {t.body.atom() for t in problem.seeds}

    def at_one(a: Atom) -> Poly | None:
        return ONE if a in seeds else None

    promises = [p.strip() for p in promised.split(",")]
    texts: list[str] = []
    for cotangent in problem.vjp:
        try:
            value = decide_predicates(Rewriter(replace=at_one)(cotangent.body), facts)
            for a in relations:
                if a.relation == "= 0":
                    value = eliminated(value, a.poly)
            value = decide_predicates(value, facts)  # eliminating variables may have left others to decide
            is_number = value.constant() is not None
            text = wording.present.show(value)
        except UndefinedTermError:
            is_number, text = False, "undefined"
        # A value that is no real number is what floats return: a test compares it with the promise.
        promise = promises[len(texts) % len(promises)]
        texts.append(promise if not is_number and promise in ("inf", "-inf", "nan") else text)
    return ", ".join(texts)


def _jax_value(op: Subject, point: str, gradients: dict[tuple[Fraction, ...], str]) -> str:
    """Return the gradient of the op's counterpart in JAX at the point, as text; "" if it has none.

    A point given by inequalities (`x < 0`) is looked at in two places; if these differ, the text has both.
    """
    near, further = (sample(op, point, distance) for distance in (1, 2))
    if near is None or further is None:
        return ""
    near_value, further_value = gradients.get(tuple(near), ""), gradients.get(tuple(further), "")
    if near_value == further_value:
        return near_value
    moved = [k for k, (a, b) in enumerate(zip(near, further, strict=True)) if a != b]
    near_text, further_text = (
        ", ".join(f"{op.arg_names[k]} = {values[k]}" for k in moved) for values in (near, further)
    )
    return f"{near_value} at {near_text}; {further_value} at {further_text}"


def _gradients_of_like(op: Subject) -> dict[tuple[Fraction, ...], str]:
    """Return the gradients of the op's counterpart in JAX at the points of its conventions; empty if it has none."""
    function = _resolve(op.like)
    samples = (sample(op, point, distance) for point in op.convention for distance in (1, 2))
    points = list(dict.fromkeys(tuple(v) for v in samples if v is not None))
    if not points or function is None or any(s.dtype != "float" for s in op.cases[0].signature.inputs):
        return {}
    try:
        with wide_floats():
            columns = [np.asarray([float(v) for v in column]) for column in zip(*points, strict=True)]
            by_argument = gradients(function, columns)
    except Exception:  # whatever the other function raises, there is no value to show
        return {}
    return {p: ", ".join(f"{float(g[k]):g}" for g in by_argument) for k, p in enumerate(points)}


def gradients(function: Callable[..., Any], columns: Sequence[np.ndarray]) -> Sequence[Any]:
    """Return JAX's gradient of a function of scalars, one array an argument, at the points that the columns give.

    The program that JAX's differentiation gives is evaluated by numpy, and not compiled.
    """
    gradient = jax.grad(lambda *a: jnp.sum(function(*a)), argnums=tuple(range(len(columns))))
    program = trace(gradient, [jax.ShapeDtypeStruct((), c.dtype) for c in columns])
    by_point = [run(program, [*map(np.asarray, point)], Setting()) for point in zip(*columns, strict=True)]
    return [np.asarray(values) for values in zip(*by_point, strict=True)]


def sample(op: Subject, point: str, distance: int = 1) -> list[Fraction] | None:
    """Return a value for each argument at a point that satisfies the text; None if the text is no such condition.

    `x = y = 0` gives x and y the value 0, and `x < 1` gives x the value 1 − `distance`; all other arguments are 1. The
    right side is a number, an argument, or a parameter with its default.
    """
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
    """Return the object at a dotted path, such as `jax.nn.relu`; None if there is no such module."""
    if not path:
        return None
    parts = path.split(".")
    for k in range(len(parts) - 1, 0, -1):
        try:
            target: Any = importlib.import_module(".".join(parts[:k]))
        except ImportError:
            continue
        for name in parts[k:]:
            target = getattr(target, name, None)
        return target
    return None
