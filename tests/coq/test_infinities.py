"""Programs with infinities as programs of numbers: what stands for what, and what is refused."""

from dataclasses import replace

import pytest

from certgrad.coq._errors import NotPrintedError
from certgrad.coq._expressions import printed
from certgrad.coq._infinities import without_infinities
from certgrad.language import tree as e
from certgrad.language.build import maximum_over, minimum_over, sum_over
from certgrad.language.definedness import defined
from certgrad.specification import program as p

N = e.Size("n")
MINUS = e.Infinity(False)
I, K = e.Index("i0"), e.Index("k0")


def tensor(name, shape=(N,), sort="real"):
    return p.Tensor(name, shape, sort)


def at(name, i=I, sort="real"):
    return e.SortedEntry(name, (i,), sort)


def program(*entries):
    """Of x and a mask, with definitions a0, a1, … at i0, the last of which is the output."""
    inputs = (tensor("x"), tensor("mask", sort="boolean"))
    definitions = tuple(p.Defined(tensor(f"a{k}"), ("i0",), entry, "test") for k, entry in enumerate(entries))
    return p.Program(inputs, definitions, (definitions[-1].tensor,))


MASKED = e.If(at("mask", sort="boolean"), at("x"), MINUS)
GREATEST = maximum_over("k0", N, at("a0", K))


def entries(made):
    return {d.tensor.name: d.entry for d in made.definitions}


def test_the_maximum_is_of_what_is_finite_and_exp_of_minus_infinity_is_0():
    made = entries(without_infinities(program(MASKED, GREATEST, at("a0") - at("a1"), e.Apply("exp", (at("a2"),)))))
    assert printed(made["a0_is_finite"]) == "(mask i0)"
    assert printed(made["a1"]) == "(max_where n (fun k0 => (a0_is_finite k0)) (fun k0 => (a0 k0)))"
    assert printed(made["a1_is_finite"]) == "(any_lt n (fun k0 => (a0_is_finite k0)))"
    assert printed(made["a2"]) == "((a0 i0) - (a1 i0))"
    assert printed(made["a3"]) == "(if (a2_is_finite i0) then (exp (a2 i0)) else 0)"


def test_what_an_infinity_is_subtracted_from_is_defined_nowhere():
    made = entries(without_infinities(program(MASKED, GREATEST, at("a0") - at("a1"), e.Apply("exp", (at("a2"),)))))
    condition = e.SortedEntry("a1_is_finite", (I,), "boolean")
    assert condition in conjuncts(defined(made["a2_is_finite"]))
    assert condition in conjuncts(defined(made["a2"]))


def test_a_number_beside_an_infinity_must_be_defined():
    inverse = e.ONE / at("x")
    made = entries(without_infinities(program(MASKED, at("a0") + inverse, e.Apply("exp", (at("a1"),)))))
    nonzero = e.Not(e.Compare("=", at("x"), e.ZERO))
    assert nonzero in conjuncts(defined(made["a1_is_finite"]))


def test_an_infinity_is_beyond_each_number():
    less = entries(without_infinities(program(MASKED, e.If(e.Compare("<=", at("x"), at("a0")), at("x"), -at("x")))))
    assert "(if (a0_is_finite i0) then (Rleb (x i0) (a0 i0)) else false)" in printed(less["a1"])
    more = entries(without_infinities(program(MASKED, e.If(e.Compare("<", at("a0"), at("x")), at("x"), -at("x")))))
    assert "(if (a0_is_finite i0) then (Rltb (a0 i0) (x i0)) else true)" in printed(more["a1"])


@pytest.mark.parametrize(
    "last",
    [
        at("a0"),
        at("a0") * at("x"),
        sum_over("k0", N, at("a0", K)),
        e.Apply("exp", (-at("a0"),)),
        minimum_over("k0", N, at("a0", K)),
        e.If(at("mask", sort="boolean"), at("a0"), e.Infinity(True)),
        e.If(e.Compare("<", at("a0"), at("a0")), at("x"), at("x")),
    ],
)
def test_what_is_not_said_of_infinities_is_refused(last):
    with pytest.raises(NotPrintedError):
        without_infinities(program(MASKED, last))


def test_a_program_of_numbers_is_itself():
    plain = program(at("x") + at("x"))
    assert without_infinities(plain) == replace(plain)


def conjuncts(x):
    return [y for part in x.parts for y in conjuncts(part)] if isinstance(x, e.Both) else [x]
