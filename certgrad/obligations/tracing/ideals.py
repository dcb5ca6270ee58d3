"""Programs in which functions are read as the ideal functions that they approximate.

The rule of an approximation calls further approximations: K₀' = −K₁ for Bessel functions, where both K₀ and K₁ run as
tables of coefficients. The rule is the derivative only of the ideal functions, so that the claim is about these: each
call of an approximation is read as a call of its ideal function.
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
    """A function that computes an approximation, and the ideal function that it approximates, of the same arrays."""

    function: Callable[..., Any]
    exact: Callable[..., Any]
    arity: int
    """How many arrays both functions take."""
    said: str
    """What a certificate says of reading the function as the ideal one."""
    custom: bool = True
    """Whether the function has a custom rule, so that only calls of custom functions need be compared with it."""
    met: bool = False
    """Whether a call of the function was found in a program."""
    within: Callable[[Sequence[Any], Any], Any] | None = None
    """From the arrays of a call and a dtype: a zero that is defined where the function approximates the ideal one."""
    near: Callable[[], bool] | None = None
    """Measures whether the function is near the ideal one; None where that is stated elsewhere."""
    shown: Callable[..., Any] | None = None
    """The function under `jit`, if it is a plain helper of a module: it stands in the module while a program is traced,
    so that its calls are equations that can be recognised."""
    _calls: dict[tuple[str, ...], _Call | None] = field(default_factory=dict)
    _near: bool | None = None

    def is_called(self, eqn: Any, body: Program, known: Constants) -> bool:
        """Return whether an equation, which runs the program `body`, calls the function of its last `arity` operands.

        It does if the operands before them are the constants of such a call, and the programs are the same. `known` are
        the variables that are constants.
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
        if any(c is None for c in constants):  # an operand before the last ones depends on an input
            return False
        if len(call.constants) == first:
            same = all(map(_is_identical_array, constants, call.constants)) and identity(call.body) == identity(body)
        else:  # one of the calls passes a number that the other has inside of its program
            same = identity(_bind_constants(call.body, call.constants, avals)) == identity(
                _bind_constants(body, constants, avals)
            )
        return same and self._is_near()

    def _is_near(self) -> bool:
        """Return whether the function is near the ideal one, measured once."""
        if self._near is None:
            with jax.ensure_compile_time_eval():  # it is measured at numbers, and asked while a program is traced
                self._near = self.near is None or self.near()
        return self._near


Constants = dict[Any, Any]
"""The variables of a program that are constants, with their values."""


@dataclass(frozen=True)
class _Call:
    """A call of `body` with some constants, followed by all arguments of a function in order."""

    body: Program
    constants: Sequence[Any]


def _call_of(function: Callable[..., Any], avals: Sequence[Any], custom: bool) -> _Call | None:
    """Return the call that is all that a function does with arrays of these types; None where it does more.

    With `custom`, it is the call of a function with a custom rule, perhaps inside of other calls (`jit`): these are
    entered one by one, with the variables that are constants (`known`) and those that are the arguments (`inputs`).
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
        if not custom or eqn.primitive.name.startswith("custom_"):  # the call is found
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
    """Return the program of the last operands alone, with these constants for its first operands."""
    run = jaxpr_as_fun(body)
    return program_of(jax.make_jaxpr(lambda *xs: run(*constants, *xs))(*avals))


def _value(v: Any, known: Constants) -> Any:
    return v.val if is_literal(v) else known.get(v)


def _is_identical_array(a: Any, b: Any) -> bool:
    """Return whether two arrays have the same dtype, shape and bytes."""
    x, y = np.asarray(a), np.asarray(b)
    return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


def _constants_of_body(eqn: Any, body: Program, known: Constants) -> Constants:
    """Return the constants of the program that an equation runs: its own, and operands that are constants."""
    given = {u: c for u, v in zip(body.jaxpr.invars, eqn.invars, strict=True) if (c := _value(v, known)) is not None}
    return given | dict(zip(body.jaxpr.constvars, body.consts, strict=True))


def reading(function: Callable[..., list[Any]], ideals: Sequence[Ideal]) -> Callable[..., list[Any]]:
    """Return a function of flat lists of arrays in which each call of an approximation is one of its ideal function.

    Calls inside the bodies of loops and branches stay as they are.
    """

    def read(*lists: Sequence[Any]) -> list[Any]:
        with _rebound_in_modules([ideal.shown for ideal in ideals if ideal.shown is not None]):
            closed = jax.make_jaxpr(function)(*map(list, lists))
        replaced: Replaced = {}
        _collect_approximations(
            closed.jaxpr, ideals, dict(zip(closed.jaxpr.constvars, closed.consts, strict=True)), replaced
        )
        return _run(closed, [x for arrays in lists for x in arrays], replaced)

    return read


@one_at_a_time
def _rebound_in_modules(helpers: Sequence[Callable[..., Any]]) -> Iterator[None]:
    """In the context, let modules find these helpers under `jit` in the place of the plain functions."""
    plain: dict[Callable[..., Any], FunctionType] = {h: h.__wrapped__ for h in helpers}  # type: ignore[attr-defined]
    for jitted, function in plain.items():
        function.__globals__[function.__name__] = jitted
    try:
        yield
    finally:
        for function in plain.values():
            function.__globals__[function.__name__] = function


Replaced = dict[int, Ideal | Program]
"""By the `id` of an equation that is a call: the function to call instead, or its program, which has such calls."""


def _collect_approximations(jaxpr: Any, ideals: Sequence[Ideal], known: Constants, found: Replaced) -> bool:
    """Return whether a program calls approximations, which are added to `found`."""
    known = dict(known)
    for eqn in jaxpr.eqns:
        body = inner_program(eqn)
        if body is None or len(body.jaxpr.invars) != len(eqn.invars):
            known |= _number(eqn, known)
            continue
        ideal = next((candidate for candidate in ideals if candidate.is_called(eqn, body, known)), None)
        if ideal is not None:
            found[id(eqn)] = ideal
            ideal.met = True
        elif _collect_approximations(body.jaxpr, ideals, _constants_of_body(eqn, body, known), found):
            found[id(eqn)] = body
    return any(id(eqn) in found for eqn in jaxpr.eqns)


def _number(eqn: Any, known: Constants) -> Constants:
    """Return the number that an equation computes from numbers, such as an order less one, by its variable; else {}.

    Thereby the constants of a call are known where code computes them.
    """
    operands = [_value(v, known) for v in eqn.invars]
    scalars = all(v.aval.shape == () for v in (*eqn.invars, *eqn.outvars))
    if len(eqn.outvars) != 1 or not scalars or eqn.effects or not operands or any(x is None for x in operands):
        return {}
    with jax.ensure_compile_time_eval():
        out = eqn.primitive.bind(*operands, **eqn.primitive.get_bind_params(eqn.params))
        value = jnp.asarray(out[0] if eqn.primitive.multiple_results else out)
    return {eqn.outvars[0]: value.item() if value.weak_type else np.asarray(value)[()]}


def _run(program: Any, args: Sequence[Any], found: Replaced) -> list[Any]:
    """Return the outputs of a program, run with the calls in `found` replaced."""

    def rule(eqn: Any, operands: list[Any]) -> list[Any]:
        """Return the results of an equation, of an approximation those of its ideal function."""
        replacement = found.get(id(eqn))
        if replacement is None:
            return bound(eqn, operands)
        if not isinstance(replacement, Ideal):
            return _run(replacement, operands, found)
        arrays = operands[-replacement.arity :]
        outs = _fitting(jax.tree.leaves(replacement.exact(*arrays)), [v.aval for v in eqn.outvars], replacement)
        if replacement.within is None:
            return outs
        return [x + replacement.within(arrays, x.dtype) for x in outs]  # elsewhere nothing says what the call returns

    return results(program, args, rule)


def _fitting(outs: list[Any], avals: Sequence[Any], ideal: Ideal) -> list[Any]:
    """Return the ideal function's results in the dtypes of the approximation. Raises RuleError for other shapes."""
    if [x.shape for x in outs] != [a.shape for a in avals]:
        shown, wanted = (", ".join(str(tuple(x.shape)) for x in xs) for xs in (outs, avals))
        raise RuleError(f"{ideal.said}, but returns arrays of {shown}, not {wanted}")
    return [x.astype(a.dtype) for x, a in zip(outs, avals, strict=True)]
