"""Nodes of programs beside those of statements: what a certificate may say, variables, and values by exact numbers."""

from fractions import Fraction

import msgspec
import numpy as np
import pytest
from flint import fmpq

from benchmarks.pages.written import text
from certgrad.language import tree as t
from certgrad.language.arithmetic import UndefinedError, UnfitError
from certgrad.language.build import argmax_over, for_all, least_over, minimum_over, sum_over
from certgrad.language.coding import decode, encode
from certgrad.language.reader import Reader, Scope
from certgrad.language.sorts import sort
from certgrad.language.substitute import substitute, unbound
from certgrad.obligations.balls.statements import BALLS
from certgrad.specification.primitives.elementwise import integer_power
from tests.language.misfit import misfit

I, K, N = t.Index("i"), t.Index("k"), t.Size("n")
TWO = t.Integer(2)


@pytest.mark.parametrize(
    "node",
    [
        t.Not(t.TRUE),
        t.Compare("=", t.Integer(1), t.ZERO),
        t.Compare("=", t.SortedEntry("x", (), "integer"), t.ZERO),
        t.Compare("=", minimum_over("k", N, K), t.ZERO),
        t.Compare("=", t.If(t.TRUE, t.ONE, t.ZERO), t.ZERO),
        for_all("k", N, t.Given(t.TRUE, t.TRUE)),
    ],
)
def test_what_programs_alone_are_made_of_is_no_part_of_a_certificate(node):
    with pytest.raises(msgspec.ValidationError):
        decode(encode(node))


def test_a_variable_of_a_loop_is_not_captured():
    step = t.Carried("c", 0, t.Index("s"), ()) + I + t.Index("s")
    loop = t.Loop("c", "s", (t.CarryOf((), t.ZERO, step),))
    moved = substitute(t.Carry(loop, 0, N, ()), {"i": t.Index("s")})
    assert moved.loop.time == "s'"
    assert unbound(moved) == {"s"}


def test_a_new_name_is_no_other_variable_s():
    total = sum_over("k", N, K * I * t.Index("k'"))
    assert text(substitute(total, {"i": K})) == "Σ_{k''<n} k''·k·k'"


@pytest.mark.parametrize(
    ("node", "value"),
    [
        (sum_over("k", N, K) - TWO, 4),
        (minimum_over("k", N, K * (K - TWO), t.Compare("!=", K, t.Integer(1))), 0),
        (argmax_over("k", N, K * (t.Integer(3) - K)), 1),
        (least_over("k", t.WHILE_A_TEST_HOLDS, t.Compare(">", K * K, N)), 3),
        (-N // TWO, -2),
        (-N % TWO, 0),
        (t.Divide(t.ToReal(N), t.Number("3/2")), fmpq(8, 3)),
        (integer_power(N, t.Integer(3), of_integer=True), 64),
        (t.Power(t.ToReal(N), "-1"), fmpq(1, 4)),
        (t.If(t.Compare("<", N, TWO), t.Divide(t.ONE, t.ZERO), t.ToReal(N)), 4),
        (t.Exists((t.Range("k", N),), t.Compare("=", K, TWO)), True),
        (t.Not(t.IsDefined(t.Entry("x"))), False),
    ],
)
def test_values(node, value):
    assert Reader(BALLS).read(node)(Scope({"x": np.asarray(fmpq(1), dtype=object)}, {"n": 4})) == value


@pytest.mark.parametrize(
    ("node", "error"),
    [
        (t.Compare("=", t.Divide(t.ONE, t.ZERO), t.ONE), UndefinedError),
        (t.Given(t.FALSE, t.ONE), UndefinedError),
        (for_all("k", t.WHILE_A_TEST_HOLDS, t.TRUE), UnfitError),
    ],
)
def test_what_has_no_value(node, error):
    with pytest.raises(error):
        Reader(BALLS).read(node)(Scope({}, {}))


def test_sorts():
    assert sort(t.Add((I, TWO))) == "integer"
    assert sort(t.Add((t.ToReal(I), t.Number("1/2")))) == "real"
    assert misfit(t.Add((I, t.Number("1/2")))) == "Number of sort real in Add, where integer is wanted"
    assert not misfit(t.Divide(t.ToReal(N), t.number(Fraction(1, 2))))
