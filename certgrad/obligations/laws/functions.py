"""Scalar functions: one row each, with its value, where it is defined, where it is differentiable, and its sign.

The derivative of a function that the normal form keeps as an atom comes from sympy, once (`derivative_of`). sympy
supplies the derivative, never the domain: `defined` and `smooth` state that, and every use records both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from flint import fmpq

from certgrad.language.functions import FUNCTIONS as RECORDS
from certgrad.obligations.assume.conditions import UNDEFINED_EVERYWHERE, Atomic, Clause, Clauses, condition
from certgrad.obligations.assume.signs import ANY_SIGN, NEG, NONNEG, POS, ZERO
from certgrad.obligations.terms.atoms import Access, Base, Exp, Fn
from certgrad.obligations.terms.polynomials import ONE, Poly, number, poly_of
from certgrad.obligations.terms.power import exp_of, fn, is_integer_term, log_of, power, pred, sign_of
from certgrad.obligations.terms.walk import deep_atoms

HALF = Fraction(1, 2)


def _always(*_: Poly) -> Clauses:
    return ()


@dataclass(frozen=True)
class Row:
    """A scalar function in the calculus.

    `value` is the term; `defined` and `smooth` give the conditions on the arguments; `signs` maps the arguments'
    possible signs to the value's.
    """

    value: Callable[..., Poly]
    defined: Callable[..., Clauses] = _always
    smooth: Callable[..., Clauses] = _always
    signs: Callable[..., int] = lambda *s: ANY_SIGN


def _needs(*relations: tuple[str, Callable[[Poly], Poly], str]) -> Callable[[Poly], Clauses]:
    def clauses(p: Poly) -> Clauses:
        return tuple(c for r, f, o in relations for c in condition(r, f(p), o))  # type: ignore[arg-type]

    return clauses


Everywhere = tuple[Callable[..., Clauses], Callable[..., Clauses]]
"""The conditions under which a function is defined, and those under which it is differentiable."""


def _throughout(*relations: tuple[str, Callable[[Poly], Poly], str]) -> Everywhere:
    clauses = _needs(*relations)
    return clauses, clauses


def _identity(p: Poly) -> Poly:
    return p


def _above_minus_one(p: Poly) -> Poly:
    return ONE + p


def _needs_abs_within_one(relation: str, name: str) -> Callable[[Poly], Clauses]:
    return _needs((relation, lambda p: ONE - p, name), (relation, _above_minus_one, name))


def _fixed(p: Poly) -> bool:
    """Return whether the term mentions no entry of an input, so that it does not move."""
    return not any(isinstance(a, Access) for a in deep_atoms(p))


def whole_or_zero(p: Poly, name: str) -> Clauses:
    """Return the condition under which p rounded towards 0 is locally constant.

    No condition where p does not move, or is an integer by its form.
    """
    return (
        () if _fixed(p) or is_integer_term(p) else (Clause((Atomic("not integer", p), Atomic("= 0", p)), origin=name),)
    )


def truncated(p: Poly) -> Poly:
    """Return p rounded towards 0; p itself, if it is an integer by its form."""
    return p if is_integer_term(p) else pred(p) * fn("floor", p) - pred(-p) * fn("floor", -p)


def _not(relation: str, shift: Fraction, name: str) -> Callable[[Poly], Clauses]:
    def clauses(p: Poly) -> Clauses:
        moved = p + number(shift)
        c = moved.constant()
        if (c is not None and c.q != 1) or (relation == "not integer" and _fixed(p)):
            return ()
        return (Clause((Atomic(relation, moved),), origin=name),)  # type: ignore[arg-type]

    return clauses


def _off_poles(name: str) -> Everywhere:
    """Return the condition that the last argument is no pole of the gamma function, for both of `Everywhere`."""
    clauses = _not("not pole", Fraction(0), name)
    return (lambda *p: clauses(p[-1])), (lambda *p: clauses(p[-1]))


def _positive(_: int) -> int:
    return POS


def _odd(s: int) -> int:
    return s


def _tanh(p: Poly) -> Poly:
    e = exp_of(p.scale(2))
    return (e - ONE) * power(e + ONE, -1)


def _logistic(p: Poly) -> Poly:
    return power(ONE + exp_of(-p), -1)


def _abs(p: Poly) -> Poly:
    return p * sign_of(p)


def _atom(name: str) -> Callable[[Poly], Poly]:
    return lambda p: fn(name, p)


_SIGNS: dict[str, Callable[[int], int]] = {
    "": lambda s: ANY_SIGN,
    "of its argument": _odd,
    ">= 0": lambda s: NONNEG,
    "> 0": _positive,
}


def _atom_row(name: str, defined: Callable[..., Clauses] = _always, smooth: Callable[..., Clauses] = _always) -> Row:
    """Return the row of a function that terms keep as an atom; its sign comes from its record in `RECORDS`."""
    return Row(_atom(name), defined, smooth, _SIGNS[RECORDS[name].sign])


FUNCTIONS: dict[str, Row] = {
    "exp": Row(exp_of, signs=_positive),
    "exp2": Row(lambda p: exp_of(p * log_of(number(2))), signs=_positive),
    "expm1": Row(lambda p: exp_of(p) - ONE, signs=_odd),
    "log": Row(log_of, *_throughout(("> 0", _identity, "log"))),
    "log1p": Row(
        lambda p: log_of(ONE + p),
        *_throughout(("> 0", _above_minus_one, "log1p")),
        signs=_odd,
    ),
    "logistic": Row(_logistic, signs=_positive),
    "tanh": Row(_tanh, signs=_odd),
    "sinh": Row(lambda p: (exp_of(p) - exp_of(-p)).scale(fmpq(1, 2)), signs=_odd),
    "cosh": Row(lambda p: (exp_of(p) + exp_of(-p)).scale(fmpq(1, 2)), signs=_positive),
    "sin": _atom_row("sin"),
    "cos": _atom_row("cos"),
    "asin": _atom_row("asin", _needs_abs_within_one(">= 0", "asin"), _needs_abs_within_one("> 0", "asin")),
    "acos": _atom_row("acos", _needs_abs_within_one(">= 0", "acos"), _needs_abs_within_one("> 0", "acos")),
    "atan": _atom_row("atan"),
    "asinh": _atom_row("asinh"),
    "acosh": _atom_row(
        "acosh", _needs((">= 0", lambda p: p - ONE, "acosh")), _needs(("> 0", lambda p: p - ONE, "acosh"))
    ),
    "atanh": _atom_row("atanh", _needs_abs_within_one("> 0", "atanh"), _needs_abs_within_one("> 0", "atanh")),
    "sqrt": Row(
        lambda p: power(p, HALF) if not p.is_zero else p,
        _needs((">= 0", _identity, "sqrt")),
        _needs(("> 0", _identity, "sqrt")),
        signs=lambda s: s & NONNEG or NONNEG,
    ),
    "rsqrt": Row(lambda p: power(p, -HALF), *_throughout(("> 0", _identity, "rsqrt")), signs=_positive),
    "cbrt": _atom_row("cbrt", smooth=_needs(("!= 0", _identity, "cbrt"))),
    "abs": Row(_abs, signs=lambda s: (s & ZERO) | (POS if s & (POS | NEG) else 0)),
    "sign": Row(sign_of, signs=_odd),
    "erf": _atom_row("erf"),
    "erf_inv": _atom_row("erf_inv", _needs_abs_within_one("> 0", "erf_inv"), _needs_abs_within_one("> 0", "erf_inv")),
    "lgamma": _atom_row("lgamma", *_off_poles("lgamma")),
    "digamma": _atom_row("digamma", *_off_poles("digamma")),
    "floor": _atom_row("floor", smooth=_not("not integer", Fraction(0), "floor")),
    "ceil": Row(lambda p: -fn("floor", -p), smooth=_not("not integer", Fraction(0), "ceil")),
    "round_even": _atom_row("round_even", smooth=_not("not integer", Fraction(-1, 2), "round")),
    "round_away": _atom_row("round_away", smooth=_not("not integer", Fraction(-1, 2), "round")),
    "bessel_i0e": Row(lambda p: exp_of(-_abs(p)) * fn("bessel_i0", p), signs=_positive),
    "bessel_i1e": Row(
        lambda p: exp_of(-_abs(p)) * fn("bessel_i1", p), smooth=_needs(("!= 0", _identity, "bessel_i1e")), signs=_odd
    ),
    "erfi": _atom_row("erfi"),
    "expi": _atom_row("expi", *_throughout(("!= 0", _identity, "expi"))),
    "si": _atom_row("si", smooth=_needs(("!= 0", _identity, "si"))),
    "ci": _atom_row("ci", *_throughout(("!= 0", _identity, "ci"))),
    "fresnels": _atom_row("fresnels"),
    "fresnelc": _atom_row("fresnelc"),
    "spence": _atom_row(
        "spence",
        _needs(("> 0", _identity, "spence")),
        _needs(("> 0", _identity, "spence"), ("!= 0", lambda p: ONE - p, "spence")),
    ),
    "lambertw": _atom_row(
        "lambertw", *_throughout(("> 0", lambda p: ONE + p * exp_of(ONE), "lambertw"), ("!= 0", _identity, "lambertw"))
    ),
}


def _argument_conditions(*relations: tuple[str, int], name: str) -> Callable[..., Clauses]:
    """Return a function from arguments to the conditions `args[position] relation 0` for each (relation, position)."""

    def clauses(*args: Poly) -> Clauses:
        return tuple(c for r, k in relations for c in condition(r, args[k], name))  # type: ignore[arg-type]

    return clauses


def _polygamma(m: Poly, x: Poly) -> Poly:
    return fn("digamma", x) if m.is_zero else fn("polygamma", m, x)


def _incomplete(name: str) -> Everywhere:
    """Return where an incomplete gamma function of (a, x) is defined, and where it is differentiable."""
    return _argument_conditions(("> 0", 0), (">= 0", 1), name=name), _argument_conditions(
        ("> 0", 0), ("> 0", 1), name=name
    )


def _beta_conditions(relation: str) -> Callable[..., Clauses]:
    name = "regularized_incomplete_beta"
    shapes = _argument_conditions(("> 0", 0), ("> 0", 1), (relation, 2), name=name)
    return lambda a, b, x: shapes(a, b, x) + condition(relation, ONE - x, name)  # type: ignore[arg-type]


def _zeta_conditions(s: Poly, q: Poly) -> Clauses:
    return condition("> 0", s - ONE, "zeta") + condition("> 0", q, "zeta")


def _order_conditions(name: str, entire: bool) -> Everywhere:
    """Return where a Bessel function is defined, and where it is differentiable.

    J and I are `entire` functions of x at integer orders. But their terms divide by x where the order is none of −1, 0
    and 1, and their derivatives where it is not 0; then x ≠ 0. At other orders, and for Y and K, x > 0.
    """

    def clauses(plain: tuple[int, ...]) -> Callable[..., Clauses]:
        def of(order: Poly, x: Poly) -> Clauses:
            c = order.constant()
            if not entire or c is None or c.q != 1:
                return condition("> 0", x, name)
            return () if c in plain else condition("!= 0", x, name)

        return of

    return clauses((-1, 0, 1)), clauses((0,))


def _of_order(name: str, order: Poly, x: Poly) -> Poly:
    from .bessel import bessel  # which few programs have

    return bessel(name, order, x)


_BESSEL = {c: _order_conditions(f"bessel_{c}", entire=c in "ji") for c in "jyik"}


def _hypergeometric(below: int, bounded: bool) -> Everywhere:
    """Return where a hypergeometric function is defined, and where it is differentiable.

    Its lower parameter, the argument number `below`, is no pole; and if `bounded`, its last argument is below 1.
    """
    pole = _not("not pole", Fraction(0), "hypergeometric")

    def clauses(*args: Poly) -> Clauses:
        c = args[below].constant()
        if c is not None and c.q == 1:
            return UNDEFINED_EVERYWHERE if c <= 0 else clauses_of(args)
        return pole(args[below]) + clauses_of(args)

    def clauses_of(args: tuple[Poly, ...]) -> Clauses:
        return condition("> 0", ONE - args[-1], "hypergeometric") if bounded else ()

    return clauses, clauses


def _mass(s: int) -> int:
    """Return the signs of a distribution function at x ≥ 0, which is 0 at x = 0, from the signs of x."""
    return s & NONNEG or NONNEG


OF_SEVERAL: dict[str, Row] = {
    "igamma": Row(lambda a, x: fn("igamma", a, x), *_incomplete("igamma"), signs=lambda a, x: _mass(x)),
    "igamma_grad_a": Row(lambda a, x: fn("igamma_grad_a", a, x), *_incomplete("igamma_grad_a")),
    "regularized_incomplete_beta": Row(
        lambda a, b, x: fn("incomplete_beta", a, b, x),
        _beta_conditions(">= 0"),
        _beta_conditions("> 0"),
        signs=lambda a, b, x: _mass(x),
    ),
    **{f"bessel_{c}": Row(partial(_of_order, f"bessel_{c}"), *where) for c, where in _BESSEL.items()},
    "owens_t": Row(lambda h, a: fn("owens_t", h, a)),
    "wofz_re": Row(lambda x, y: fn("wofz_re", x, y)),
    "wofz_im": Row(lambda x, y: fn("wofz_im", x, y)),
    "hyp1f1": Row(lambda a, b, x: fn("hyp1f1", a, b, x), *_hypergeometric(1, bounded=False)),
    "hyp2f1": Row(lambda a, b, c, x: fn("hyp2f1", a, b, c, x), *_hypergeometric(2, bounded=True)),
    "zeta": Row(lambda s, q: fn("zeta", s, q), _zeta_conditions, _zeta_conditions, signs=lambda s, q: POS),
    "polygamma": Row(
        _polygamma,
        *_off_poles("polygamma"),
    ),
}
"""Functions of several arguments. JAX evaluates some of them on larger domains; the calculus claims nothing there."""


def defined_in(poly: Poly) -> Clauses:
    """Return the conditions under which the divisors, roots and one-argument functions in a term have a value.

    What stands inside of sums is left out. A hypothesis counts as false where its term has no value, so that it implies
    these conditions on its own term.
    """
    out: dict[str, Clause] = {}
    waiting, seen = [poly], {poly}
    while waiting:
        for mono in waiting.pop():
            for a, e in mono:
                base = a.poly if isinstance(a, Base) else poly_of(a)
                # For a divisor, a root, and a root in a divisor.
                relation = "!= 0" if isinstance(e, int) else ">= 0" if e > 0 else "> 0"
                clauses = condition(relation, base, "domain") if e < 0 or isinstance(e, Fraction) else ()  # type: ignore[arg-type]
                if isinstance(a, Fn) and len(a.args) == 1 and a.name in FUNCTIONS:
                    clauses += FUNCTIONS[a.name].defined(a.args[0])
                out |= {c.key: c for c in clauses}
                parts = [p for p in a.parts() if isinstance(a, Base | Fn | Exp) and p not in seen]
                seen.update(parts)
                waiting += parts
    return tuple(out.values())
