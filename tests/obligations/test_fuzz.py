"""Random piecewise programs with JAX's own derivative as their rule: what is proved holds, on kinks and corners too.

The derivative that JAX computes is wrong on many of them (it takes a side, or half of each), so a claim without the
right hypothesis shows at once. Points lie on a lattice that meets the programs' seams.
"""

import itertools
import random
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flint import fmpq

from certgrad.obligations.decide.evaluate import evaluate
from certgrad.obligations.generality.instances import family
from certgrad.obligations.meaning.semantics import UnprovedError
from certgrad.obligations.prove.problem import build, posed, trace_rules
from certgrad.obligations.prove.prove import prove
from certgrad.obligations.prove.satisfiable import _relation_holds
from certgrad.obligations.terms.budget import BudgetError, limited
from certgrad.obligations.terms.functions import UndecidedError
from tests.obligations.traps import declare

LATTICE = [Fraction(k, 2) for k in range(-3, 4)]
CONSTANTS = (1.0, 2.0, -1.0, 0.5)
STEPS = (1e-3, 1e-4, 1e-5)


def leaf(rng):
    kind = rng.choice(["x", "x", "y", "y", "constant"])
    c = rng.choice(CONSTANTS)
    return {"x": lambda x, y: x, "y": lambda x, y: y, "constant": lambda x, y: c + 0 * x}[kind]


JOIN = {
    "add": lambda a, b, c, d: a + b,
    "sub": lambda a, b, c, d: a - b,
    "mul": lambda a, b, c, d: a * b,
    "where": lambda a, b, c, d: jnp.where(a > b, c, d),
    "at least": lambda a, b, c, d: jnp.where(a >= b, c, d),
    "equal": lambda a, b, c, d: jnp.where(a == b, c, d),
    "max": lambda a, b, c, d: jnp.maximum(a, b),
    "min": lambda a, b, c, d: jnp.minimum(a, b),
    "relu": lambda a, b, c, d: jnp.maximum(a, 0.0),
    "relu of a product": lambda a, b, c, d: jnp.maximum(a, 0.0) * jnp.maximum(b, 0.0),
    "abs": lambda a, b, c, d: jnp.abs(a),
    "a abs": lambda a, b, c, d: a * jnp.abs(a),
    "clip": lambda a, b, c, d: jnp.clip(a, -1.0, 1.0),
    "div": lambda a, b, c, d: a / b,
    "square": lambda a, b, c, d: a * a,
    "sqrt": lambda a, b, c, d: jnp.sqrt(jnp.abs(a)),
    "log": lambda a, b, c, d: jnp.log(a * a),
    "sign": lambda a, b, c, d: jnp.sign(a),
    "floor": lambda a, b, c, d: jnp.floor(a),
    "stopped": lambda a, b, c, d: a + jax.lax.stop_gradient(b),
}


def program(rng, depth):
    """A random function of x and y."""
    if depth == 0 or rng.random() < 0.15:
        return leaf(rng)
    join = JOIN[rng.choice(sorted(JOIN))]
    parts = [program(rng, depth - 1) for _ in range(4)]
    return lambda x, y: join(*(part(x, y) for part in parts))


def hypotheses_of(f):
    """The hypotheses under which JAX's derivative of f is proved to be its derivative; None where it is not."""
    rule = declare(
        "*s, *s -> *s",
        lambda x, y: f(x, y),
        lambda x, y, dx, dy: jax.jvp(f, (x, y), (dx, dy))[1],
        lambda x, y, g: jax.vjp(f, x, y)[1](g),
    )
    scalars = family(rule, rule.cases[0]).prove[-1]
    assert scalars.inputs == ((), ())
    try:
        with limited():
            shapes = scalars.shapes()
            programs = trace_rules(rule.rules({}), shapes, 0, "a random program")
            problem = build(posed(rule, shapes, programs))
            outcome = prove(problem, "jvp_is_derivative")
    except (UnprovedError, BudgetError, ArithmeticError, RecursionError):
        return None
    return outcome.hypotheses if outcome.proved else None


def allowed(clauses, point):
    """The point satisfies all hypotheses."""

    def value(name, index):
        return point[name]

    try:
        for clause in clauses:
            if any((evaluate(g, {}, value, {}) == 1) != wanted for g, wanted in clause.guards):
                continue
            if not any(_relation_holds(a, evaluate(a.poly, {}, value, {})) for a in clause.alternatives):
                return False
    except (UndecidedError, ZeroDivisionError, ValueError):
        return False
    return True


def has_derivative(f, at, along, claimed):
    """Difference quotients from both sides come close to the claim."""
    start = f(*at)
    if not np.isfinite(start) or not np.isfinite(claimed):
        return False
    for side in (1, -1):
        quotients = [
            (f(*(a + side * h * d for a, d in zip(at, along, strict=True))) - start) / (side * h) for h in STEPS
        ]
        if min(abs(q - claimed) if np.isfinite(q) else np.inf for q in quotients) > 1e-2 * (1 + abs(claimed)):
            return False
    return True


@pytest.mark.one_in(30)
@pytest.mark.parametrize("seed", range(60))
def test_what_is_proved_of_a_random_program_holds(seed):
    rng = random.Random(seed)
    inner = program(rng, rng.choice([2, 3, 3]))

    def f(x, y):
        return inner(x, y) + 0 * x + 0 * y

    clauses = hypotheses_of(f)
    if clauses is None:
        return
    with jax.enable_x64(True):
        grid = list(itertools.product(LATTICE, LATTICE))
        points = [
            p
            for p in grid
            if allowed(clauses, {n: fmpq(v.numerator, v.denominator) for n, v in zip("xy", p, strict=True)})
        ]
        value = jax.jit(f)
        jvp = jax.jit(lambda x, y, dx, dy: jax.jvp(f, (x, y), (dx, dy))[1])
        for point in points:
            at = tuple(map(float, point))
            for along in ((1.0, 0.3), (-0.7, 1.0)):
                claimed = float(jvp(*at, *along))
                assert has_derivative(lambda x, y: float(value(x, y)), at, along, claimed), (
                    point,
                    [c.key for c in clauses],
                )
