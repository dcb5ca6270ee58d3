"""Programs in which functions are read as those that they approximate.

A rule that is the derivative of an ideal function is made of others: K₀' = −K₁, where the K₁ that runs is a table of
coefficients as well. What is claimed of the ideal function is claimed with these read as what they approximate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import jaxpr_as_fun

from certgrad.errors import RuleError
from certgrad.jaxpr.programs import bound, results
from certgrad.obligations.tracing.jax_internals import (
    Program,
    identity,
    inner_program,
    is_literal,
    program_of,
)
from certgrad.process.threads import one_at_a_time


@dataclass(eq=False)
class Ideal:
    """A function that computes an approximation, and the one that it approximates, both of the same arrays."""

    function: Callable[..., Any]
    exact: Callable[..., Any]
    arity: int
    """How many arrays."""
    said: str
    """What a certificate says of reading the one as the other."""
    custom: bool = True
    """The function has a rule of its own, so that no other calls need be looked at."""
    met: bool = False
    """It was met in a program."""
    within: Callable[[Sequence[Any], Any], Any] | None = None
    """Of the arrays of a call and a dtype: a zero that is defined where the one approximates the other."""
    near: Callable[[], bool] | None = None
    """Whether the one is near the other, measured where it is called; None where that is said elsewhere."""
    shown: Callable[..., Any] | None = None
    """A helper of a module under `jit`, which stands in the helper's place while a program is traced: there its calls
    are seen."""
    _calls: dict[tuple[str, ...], _Call | None] = field(default_factory=dict)
    _near: bool | None = None

    def is_called(self, eqn: Any, body: Program, known: Constants) -> bool:
        """Return whether an equation calls the function: of the same constants it computes the same of its last
        operands.
        """
        if self.custom != eqn.primitive.name.startswith("custom_") or len(eqn.invars) < self.arity:
            return False
        first = len(eqn.invars) - self.arity
        avals = [v.aval for v in eqn.invars[first:]]
        key = tuple(f"{a} {getattr(a, 'weak_type', False)}" for a in avals)
        if key not in self._calls:
            self._calls[key] = _call_of(self.function, avals, self.custom)
        call = self._calls[key]
        if call is None or len(call.body.jaxpr.eqns) != len(body.jaxpr.eqns):
            return False
        constants = [_value(v, known) for v in eqn.invars[:first]]
        if any(c is None for c in constants):
            return False
        if len(call.constants) == first:
            same = all(map(_is_identical_array, constants, call.constants)) and identity(call.body) == identity(body)
        else:  # where the one is given a number, it stands in the program of the other
            same = identity(_bind_constants(call.body, call.constants, avals)) == identity(
                _bind_constants(body, constants, avals)
            )
        return same and self._is_near()

    def _is_near(self) -> bool:
        if self._near is None:
            with jax.ensure_compile_time_eval():  # it is measured at numbers, and asked while a program is traced
                self._near = self.near is None or self.near()
        return self._near


Constants = dict[Any, Any]
"""The variables of a program that are constants."""


@dataclass(frozen=True)
class _Call:
    """A call of constants, then of all arguments in order."""

    body: Program
    constants: Sequence[Any]


def _call_of(function: Callable[..., Any], avals: Sequence[Any], custom: bool) -> _Call | None:
    """Return the call that is all that a function does with such arrays; None where it does more.

    With `custom`, the call of a function with a custom rule inside of other calls.
    """
    args = [jax.ShapeDtypeStruct(a.shape, a.dtype, weak_type=getattr(a, "weak_type", False)) for a in avals]
    try:
        program = program_of(jax.make_jaxpr(lambda *xs: jax.tree.leaves(function(*xs)))(*args))
    except Exception:  # it is no function of such arrays
        return None
    known: Constants = dict(zip(program.jaxpr.constvars, program.consts, strict=True))
    inputs = list(program.jaxpr.invars)
    while True:
        if len(program.jaxpr.eqns) != 1:
            return None
        (eqn,) = program.jaxpr.eqns
        body = inner_program(eqn)
        if (
            body is None
            or len(body.jaxpr.invars) != len(eqn.invars)
            or list(eqn.outvars) != list(program.jaxpr.outvars)
        ):
            return None
        if not custom or eqn.primitive.name.startswith("custom_"):
            first = len(eqn.invars) - len(inputs)
            constants = [_value(v, known) for v in eqn.invars[: max(first, 0)]]
            in_order = list(eqn.invars[max(first, 0) :]) == inputs
            return _Call(body, constants) if in_order and all(c is not None for c in constants) else None
        in_body = dict(zip(eqn.invars, body.jaxpr.invars, strict=True))
        if any(v not in in_body for v in inputs):
            return None
        inputs = [in_body[v] for v in inputs]
        known = _constants_of_body(eqn, body, known)
        program = body


def _bind_constants(body: Program, constants: Sequence[Any], avals: Sequence[Any]) -> Program:
    """The program of the arrays alone, with its first operands as numbers."""
    run = jaxpr_as_fun(body)
    return program_of(jax.make_jaxpr(lambda *xs: run(*constants, *xs))(*avals))


def _value(v: Any, known: Constants) -> Any:
    return v.val if is_literal(v) else known.get(v)


def _is_identical_array(a: Any, b: Any) -> bool:
    x, y = np.asarray(a), np.asarray(b)
    return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


def _constants_of_body(eqn: Any, body: Program, known: Constants) -> Constants:
    """The constants of the program that an equation runs."""
    given = {u: c for u, v in zip(body.jaxpr.invars, eqn.invars, strict=True) if (c := _value(v, known)) is not None}
    return given | dict(zip(body.jaxpr.constvars, body.consts, strict=True))


def reading(function: Callable[..., list[Any]], ideals: Sequence[Ideal]) -> Callable[..., list[Any]]:
    """The function of flat lists of arrays, with each call of an approximation made one of the ideal function.

    Not inside the bodies of loops and branches, which stay as they are.
    """

    def read(*lists: Sequence[Any]) -> list[Any]:
        with _rebound_in_modules([one.shown for one in ideals if one.shown is not None]):
            closed = jax.make_jaxpr(function)(*map(list, lists))
        found: Replaced = {}
        _collect_approximations(
            closed.jaxpr, ideals, dict(zip(closed.jaxpr.constvars, closed.consts, strict=True)), found
        )
        return _run(closed, [x for one in lists for x in one], found)

    return read


@one_at_a_time
def _rebound_in_modules(helpers: Sequence[Callable[..., Any]]) -> Iterator[None]:
    """Let modules find these helpers under `jit` where they name them."""
    plain: dict[Callable[..., Any], FunctionType] = {one: one.__wrapped__ for one in helpers}  # type: ignore[attr-defined]
    for one, own in plain.items():
        own.__globals__[own.__name__] = one
    try:
        yield
    finally:
        for own in plain.values():
            own.__globals__[own.__name__] = own


Replaced = dict[int, Ideal | Program]
"""By the identity of an equation that is a call: what is called instead, or the program inside that has such calls."""


def _collect_approximations(jaxpr: Any, ideals: Sequence[Ideal], known: Constants, found: Replaced) -> bool:
    """Return whether a program calls approximations, which are added to `found`."""
    known = dict(known)
    for eqn in jaxpr.eqns:
        body = inner_program(eqn)
        if body is None or len(body.jaxpr.invars) != len(eqn.invars):
            known |= _number(eqn, known)
            continue
        ideal = next((one for one in ideals if one.is_called(eqn, body, known)), None)
        if ideal is not None:
            found[id(eqn)] = ideal
            ideal.met = True
        elif _collect_approximations(body.jaxpr, ideals, _constants_of_body(eqn, body, known), found):
            found[id(eqn)] = body
    return any(id(eqn) in found for eqn in jaxpr.eqns)


def _number(eqn: Any, known: Constants) -> Constants:
    """The number that an equation computes of numbers, such as an order less one."""
    operands = [_value(v, known) for v in eqn.invars]
    scalars = all(v.aval.shape == () for v in (*eqn.invars, *eqn.outvars))
    if len(eqn.outvars) != 1 or not scalars or eqn.effects or not operands or any(x is None for x in operands):
        return {}
    with jax.ensure_compile_time_eval():
        out = eqn.primitive.bind(*operands, **eqn.primitive.get_bind_params(eqn.params))
        value = jnp.asarray(out[0] if eqn.primitive.multiple_results else out)
    return {eqn.outvars[0]: value.item() if value.weak_type else np.asarray(value)[()]}


def _run(program: Any, args: Sequence[Any], found: Replaced) -> list[Any]:
    def rule(eqn: Any, operands: list[Any]) -> list[Any]:
        instead = found.get(id(eqn))
        if instead is None:
            return bound(eqn, operands)
        if not isinstance(instead, Ideal):
            return _run(instead, operands, found)
        given = operands[-instead.arity :]
        outs = _fitting(jax.tree.leaves(instead.exact(*given)), [v.aval for v in eqn.outvars], instead)
        if instead.within is None:
            return outs
        return [x + instead.within(given, x.dtype) for x in outs]  # elsewhere nothing says what the call returns

    return results(program, args, rule)


def _fitting(outs: list[Any], avals: Sequence[Any], ideal: Ideal) -> list[Any]:
    """Return the ideal function's results in the dtypes of the approximation. Raises RuleError for other shapes."""
    if [x.shape for x in outs] != [a.shape for a in avals]:
        shown, wanted = (", ".join(str(tuple(x.shape)) for x in xs) for xs in (outs, avals))
        raise RuleError(f"{ideal.said}, but returns arrays of {shown}, not {wanted}")
    return [x.astype(a.dtype) for x, a in zip(outs, avals, strict=True)]
