"""Points on sides of what a program decides that no drawn point is on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import msgspec
import numpy as np
import pytest
from flint import fmpq

from certgrad.obligations.auditing import audit as auditing
from certgrad.obligations.auditing.look import looked_at
from certgrad.obligations.certificate import sealed
from certgrad.obligations.verify._points import Point, Space
from certgrad.obligations.verify._sides import on_other_sides
from certgrad.rules.judging.equal import _Pair
from certgrad.rules.subject.user_rule import UserRule


def _exact(*values: int) -> np.ndarray:
    out = np.empty(len(values), dtype=object)
    out[:] = [fmpq(v) for v in values]
    return out


def test_one_condition_behind_another_at_the_last_entry() -> None:
    def decided(point: Point) -> Sequence[Any]:
        x, y = point.inputs
        far = x[-1] + 300  # true of what is drawn
        return [far, y[-1] + 10 if far < 0 else fmpq(1)]

    space = Space(("float", "float"), ((3,), (2,)), 0, ())
    start = Point([_exact(1, 2, 3), _exact(1, 1)], [], [])
    found = list(on_other_sides([start], space, lambda point: True, decided))
    assert {tuple(np.sign([float(d) for d in decided(p)])) for p in found} == {(-1, 1), (-1, -1)}
    assert len(found) <= 4

    fits = lambda point: point.inputs[0][-1] > 0
    assert list(on_other_sides([start], space, fits, decided)) == []
    assert list(on_other_sides([start], space, lambda point: True, lambda point: [])) == []


def _polynomial(x):
    return (x**3 + 5 * x) * 1e-7 + 0.4  # negative below −157


def _piecewise(x):
    return jnp.where(_polynomial(x) > 0, x, x * x)


def _rule(f, backward):
    rule = jax.custom_vjp(f)
    rule.defvjp(lambda *x: (f(*x), x), backward)
    return rule


def _behind(x, z):
    return jnp.log(jnp.where(_polynomial(x) > 0, 1.0, z))


FAR: dict[str, Any] = {
    "a slope": (_piecewise, lambda x, g: (jnp.where(_polynomial(x[0]) > 0, g, 5 * g),), "n -> n"),
    "a slope of the last entry": (
        lambda x: x * jnp.where((jnp.arange(3) == 2) & (_polynomial(x) < 0), x, 1),
        lambda x, g: (g,),
        "3 -> 3",
    ),
    "no value": (_behind, lambda r, g: jax.vjp(_behind, *r)[1](g), "n, n -> n"),
    "a branch": (
        lambda x: jax.lax.cond(_polynomial(x) > 0, lambda x: x, lambda x: x * x, x),
        lambda x, g: (g,),
        " -> ",
    ),
}


@pytest.mark.parametrize(("function", "backward", "signature"), FAR.values(), ids=FAR)
def test_a_proof_that_forgets_a_far_side_is_taken_back(
    function: Any, backward: Any, signature: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the calculus had a hole: the certificate is made to say `proved`, without any hypothesis."""
    assert _looked(UserRule(_rule(function, backward), signature), monkeypatch) == "unproved"


def test_an_equality_that_forgets_a_far_side_is_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = _Pair(_piecewise, lambda x: x, "n", static={})
    pair.check_outputs()
    assert _looked(pair, monkeypatch) == "unproved"


@pytest.mark.slow
def test_where_all_sizes_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """There `y[1:]` has no entry, and nothing is asked of it."""

    def function(x, y):
        return jnp.sum(jnp.log(x - y[1:])) + _piecewise(x)

    def backward(r, g):
        dx, dy = jax.vjp(function, *r)[1](g)
        others = jnp.sum(jnp.ones_like(r[1][1:]))
        return jnp.where((_polynomial(r[0]) > 0) | (others > 0.5), dx, 5 * g), dy

    subject = UserRule(_rule(function, backward), ", n -> ")
    assert _looked(subject, monkeypatch) == "unproved"


def _looked(subject: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """The verdict after the last look at a certificate that was forged."""
    found: list[Any] = []
    audited = auditing._audited
    monkeypatch.setattr(auditing, "_audited", lambda t: found.append((t, c := audited(t))) or c)
    auditing.audit(subject)
    traces, certificate = found[0]
    change = msgspec.structs.replace
    claims = [
        change(c, verdict="proved", cases=[change(k, verdict="proved", hypotheses=[]) for k in c.cases])
        for c in certificate.claims
    ]
    return looked_at(traces, sealed(change(certificate, verdict="proved", claims=claims))).verdict
