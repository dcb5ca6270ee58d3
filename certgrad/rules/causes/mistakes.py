"""The catalogue of mistakes that a wrong rule is compared with, the most likely first.

Each is a change of the rule, or of the function that it would be the derivative of, with which the proof has to go
through.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import combinations
from typing import Any

import jax
import jax.numpy as jnp

from certgrad._subject import Rules
from certgrad.obligations.generality.instances import family
from certgrad.obligations.prove.problem import trace_rules
from certgrad.obligations.tracing.jax_internals import live_inputs
from certgrad.report.wording import INTENDED
from certgrad.rules.subject.traced import primal_of
from certgrad.rules.subject.user_rule import UserRule
from certgrad.signatures.sizes import Size, named_size

from .constants import compared_constants, held_constant, written_once
from .steps import Change

_FACTORS = {
    2: "half the derivative is returned: a factor 2 is missing",
    0.5: "twice the derivative is returned: a factor 2 too many",
    -1: "the sign is wrong",
    3: "a third of the derivative is returned: a factor 3 is missing",
    4: "a quarter of the derivative is returned: a factor 4 is missing",
    0.25: "four times the derivative is returned",
    -2: "the sign is wrong and a factor 2 is missing",
    -0.5: "the sign is wrong and there is a factor 2 too many",
}


@dataclass(frozen=True)
class Mistake:
    """A possible mistake: in words, and the rules with it put right, of which a proof is tried.

    `fixed` gives sizes, and `domain` conditions on arguments, under which these rules are to be proved.
    """

    text: str
    rules: Rules
    fixed: Mapping[str, Size] = field(default_factory=dict)
    domain: tuple[str, ...] = ()
    change: Change | None = None
    """The change of steps of the backward that puts it right; None for mistakes of other kinds."""
    of_another: bool = False
    """Whether `rules.jvp` is the derivative of another function; if it equals the right one, there is no mistake."""


def mistakes(one: UserRule, rule: UserRule, rules: Rules) -> Iterator[Mistake]:
    """Yield the mistakes of the catalogue for one argument, the likely ones first.

    Args:
        one: the rule in which only that argument is active.
        rule: the rule in which all arguments are active.
        rules: the functions of `one`.
    """
    plain = replace(rules, jvp=None, primal=None)
    vjp = rules.vjp

    def changed(change: Callable[[Any, list], Any]) -> Rules:
        """Return the rules with `change(cotangent, seeds)` in the place of each cotangent."""
        return replace(plain, vjp=lambda args, seeds, params: [change(c, seeds) for c in vjp(args, seeds, params)])

    yield from _about_zeros(one, rules, plain)
    yield passed_through(rules, -1, "reversed")
    yield from _about_numbers(one, changed)
    for factor, text in _FACTORS.items():
        yield Mistake(text, changed(partial(_times, factor)))
    yield from _about_the_seed(one, rules, changed, plain)
    yield from _about_sizes(one, rules)
    yield from _about_axes(one, rule, changed, plain)
    yield Mistake(
        f"the derivative is 0 wherever there is one, and another is returned (straight-through); {INTENDED}",
        replace(plain, vjp=_zeros(one)),
    )


def forgotten(one: UserRule, rules: Rules) -> Iterator[Mistake]:
    """Yield the mistakes of omission, to be tried.

    They are: negative indices are not handled, a step is not differentiated, a sum is left out, the Jacobian is taken
    to be diagonal.
    """
    plain = replace(rules, jvp=None, primal=None)
    for name, spec in zip(one.arg_names, one.signature.inputs, strict=True):
        if spec.dtype == "int":
            text = f"right where {name} ≥ 0: the function and the rule treat negative values differently"
            yield Mistake(text, plain, domain=(f"{name} >= 0",))
    for text, forward in held_constant(one, rules):
        yield Mistake(text, replace(plain, jvp=_derivative_of(forward, one)))
    yield from _sums_left_out(one, plain)
    yield from _diagonal(one, plain)


def _diagonal(one: UserRule, plain: Rules) -> Iterator[Mistake]:
    """Yield for each axis the mistake that the Jacobian is taken to be diagonal along it.

    With the mistake put right, the rule is compared with the diagonal alone: for each index of the axis, the entries of
    the tangent at other indices are set to 0, and of the output's tangent only the entries at that index are kept.
    """
    spec = one.signature.inputs[one.arg_names.index(one.moving[0])]

    def along(axis: int) -> Callable[[list, list, list], list]:
        def jvp(args: list, tangents: list, params: list) -> list:
            function, x = primal_of(one, plain, args)
            places = jnp.arange(x.shape[axis])
            if any(y.shape != x.shape for y in jax.eval_shape(function, x)):
                raise ValueError("entries of the result have no places of their own")

            def at(place: Any) -> list:
                at_place = jnp.expand_dims(places == place, [j for j in range(x.ndim) if j != axis])
                moved = jax.jvp(function, [x], [jnp.where(at_place, tangents[0], 0)])[1]
                return [jnp.sum(jnp.where(at_place, y, 0), axis) for y in moved]

            return jax.vmap(at, out_axes=axis)(places)

        return jvp

    for axis in range(0 if spec.stars else len(spec.dims)):
        text = f"how an entry depends on the others along axis {axis} is missing: the Jacobian is taken to be diagonal"
        yield Mistake(text, replace(plain, jvp=along(axis)), of_another=True)


def _about_zeros(one: UserRule, rules: Rules, plain: Rules) -> Iterator[Mistake]:
    """Yield the mistakes that the seed, or the tangent in forward mode, is multiplied by 0."""
    name, jvp = one.moving[0], rules.jvp
    if jvp is None:
        none = replace(plain, jvp=lambda a, t, p: [jnp.zeros_like(y) for y in rules.forward(a, p)])
        yield Mistake(f"zeros are returned for {name}; return None to say that it has no gradient", none)
        return
    yield Mistake(f"0 is returned for the tangent of {name}", replace(plain, jvp=jvp, vjp=_zeros(one)))

    def as_one(args: list, seeds: list, params: list) -> list:
        moved = jvp(args, [jnp.zeros_like(x) for x in args[:1]], params)
        return [sum(y * seed for y, seed in zip(moved, seeds, strict=True))]

    yield Mistake(f"the tangent of {name} is ignored: it is treated as 1", replace(plain, vjp=as_one))


def _about_numbers(one: UserRule, changed: Callable) -> Iterator[Mistake]:
    """Yield the mistakes that a real number among the static arguments is missing as a factor, or is one too many."""
    for name, value in one.cases[0].statics.items():
        if type(value) is not float or value in (0.0, 1.0, -1.0):
            continue
        for power, text in (
            (1, f"a factor {name} is missing"),
            (-1, f"a division by {name} is missing"),
            (2, f"a factor {name}² is missing"),
            (-2, f"a division by {name}² is missing"),
        ):
            yield Mistake(text, changed(partial(_power, value, power)))


def _power(value: float, power: int, cotangent: Any, seeds: list) -> Any:
    for _ in range(abs(power)):
        cotangent = cotangent * value if power > 0 else cotangent / value
    return cotangent


def _times(factor: float, cotangent: Any, seeds: list) -> Any:
    return factor * cotangent


def _derivative_of(forward: Callable[[list], list], one: UserRule) -> Callable[[list, list, list], list]:
    k = one.arg_names.index(one.moving[0])

    def jvp(args: list, tangents: list, params: list) -> list:
        return jax.jvp(lambda x: forward([*args[:k], x, *args[k + 1 :]]), [args[k]], tangents)[1]

    return jvp


def _about_the_seed(one: UserRule, rules: Rules, changed: Callable, plain: Rules) -> Iterator[Mistake]:
    """Yield the mistakes that the seed is ignored, or that frequencies of half a spectrum have a wrong factor.

    The seed is ignored if the traced VJP depends on no seed.
    """
    instance = family(one, one.cases[0]).prove[0]
    shapes = instance.shapes()
    try:
        program = trace_rules(plain, shapes, 0, one.name).vjp
    except Exception:  # as in `holds`
        return
    count, k = len(one.arg_names), one.arg_names.index(one.moving[0])
    inputs = [v.aval.shape for v in program.jaxpr.invars]
    yield from _about_frequencies(k, inputs[k], inputs[count:], changed, plain)
    if any(live_inputs(program.jaxpr, [True] * len(program.jaxpr.outvars))[count:]):
        return

    def times(c: Any, seeds: list) -> Any:
        seed = seeds[0]
        return c * jnp.reshape(seed, (*seed.shape, *[1] * (c.ndim - seed.ndim)))

    yield Mistake("the cotangent of the output is ignored: it is treated as 1", changed(times))
    zero = replace(rules, primal=None, jvp=lambda a, t, p: [jnp.zeros_like(y) for y in rules.forward(a, p)])
    yield Mistake("the cotangent of the output is ignored", replace(zero, vjp=_zeros(one)))


def _about_frequencies(
    k: int, shape: Sequence[Any], seed_shapes: Sequence[Any], changed: Callable, plain: Rules
) -> Iterator[Mistake]:
    """Yield the mistakes about half spectra: a missing factor of the frequencies that stand for two.

    A real transform (`rfft`) of length n keeps n // 2 + 1 frequencies. Each stands for itself and its conjugate, except
    the first and, if n is even, the last.

    Args:
        k: the position of the argument that the cotangent is for.
        shape: the shape of this argument.
        seed_shapes: the shapes of the cotangents of the outputs.
        changed: makes the rule with a function of the cotangent and the seeds in the place of the cotangent.
        plain: the rule as it is.
    """

    def scaled(spectrum: Any, length: Any, factor: float) -> Any:
        """Return a spectrum with the frequencies that stand for two multiplied by `factor`."""
        place = jnp.arange(spectrum.shape[-1])
        return jnp.where((place == 0) | (2 * place == length), spectrum, factor * spectrum)

    def of_half(full: Sequence[Any], half: Sequence[Any]) -> bool:
        """Return whether the last axis of the second shape is that of a half spectrum of the first."""
        return bool(full) and len(full) == len(half) and str(half[-1]) == str(full[-1] // 2 + 1)

    stand = "the frequencies but the first and, of an even length, the last stand for two each"
    if all(of_half(shape, seed) for seed in seed_shapes):

        def halved(args: list, seeds: list, params: list) -> list:
            return plain.vjp(args, [scaled(y, args[k].shape[-1], 0.5) for y in seeds], params)

        yield Mistake(f"{stand}: in the cotangent of the output they are to be halved", replace(plain, vjp=halved))
    elif all(of_half(seed, shape) for seed in seed_shapes):
        yield Mistake(f"{stand}: they are to be doubled", changed(lambda c, seeds: scaled(c, seeds[0].shape[-1], 2)))


def _zeros(one: UserRule) -> Callable[[list, list, list], list]:
    k = one.arg_names.index(one.moving[0])
    return lambda args, seeds, params: [jnp.zeros_like(args[k])]


def passed_through(rules: Rules, sign: int = 1, what: str = "passed through unchanged (straight-through)") -> Mistake:
    """Return the mistake that the rule passes the cotangent through, times `sign`: usually a deliberate surrogate."""
    turned = replace(rules, primal=None, jvp=lambda a, t, p: [sign * t[0]])
    return Mistake(f"the cotangent is {what}; {INTENDED}", turned)


def _about_sizes(one: UserRule, rules: Rules) -> Iterator[Mistake]:
    """Yield the mistakes in a divisor made of sizes: of a mean, a variance (n or n − 1), or attention scores (√n)."""
    named = {
        str(d): (k, j) for k, s in enumerate(one.signature.inputs) for j, d in enumerate(s.dims) if isinstance(d, Size)
    }
    if any(s.stars for s in one.signature.inputs):
        return
    for count in (1, 2):
        for size_names in combinations(named, count):
            size = " · ".join(size_names)
            places = [named[c] for c in size_names]
            for power, text in (
                (-1, f"a division by {size} is missing, as of a mean"),
                (1, f"divided by {size} once too often, as a mean is"),
            ):
                yield Mistake(text, _scaled_by_sizes(rules, places, power))
            text = f"divided by {size}, and {size} − 1 is due there, as of a variance with ddof=1"
            yield Mistake(text, _scaled_by_sizes(rules, places, 1, lambda n: n / (n - 1)))
    for size, place in named.items():
        for power, text in (
            (-1, f"a division by √{size} is missing, as of scores"),
            (1, f"divided by √{size} once too often, as scores are"),
        ):
            yield Mistake(text, _scaled_by_sizes(rules, [place], power, jnp.sqrt))


def _scaled_by_sizes(
    rules: Rules, places: Sequence[tuple[int, int]], power: int, of: Callable[[Any], Any] = lambda size: size
) -> Rules:
    """Return the rules with the cotangent multiplied (power > 0) or divided by `of(n)`, n the product of some sizes.

    Each of the `places` of these sizes is an argument's position and one of its axes.
    """

    def vjp(args: list, seeds: list, params: list) -> list:
        sizes = [jnp.asarray(args[k].shape[axis], args[k].dtype) for k, axis in places]
        factor = of(reduce(operator.mul, sizes))
        return [c * factor if power > 0 else c / factor for c in rules.vjp(args, seeds, params)]

    return replace(rules, jvp=None, primal=None, vjp=vjp)


def _about_axes(one: UserRule, rule: UserRule, changed: Callable, plain: Rules) -> Iterator[Mistake]:
    """Yield mistakes in axes: the cotangent transposed, reversed, or exchanged with that of another argument."""
    k = one.arg_names.index(one.moving[0])
    dims = [str(d) for d in one.signature.inputs[k].dims]
    for a, b in combinations(range(len(dims)), 2):
        if dims[a] == dims[b]:
            turned = changed(lambda c, _, a=a, b=b: jnp.swapaxes(c, a, b))
            yield Mistake(f"transposed in axes {a} and {b}", turned)
    for a in range(len(dims)):
        yield Mistake(f"reversed along axis {a}", changed(lambda c, _, a=a: jnp.flip(c, a)))
    yield from _about_halves(one, changed)
    full = rule.rules(rule.cases[0].statics)
    for position, name in enumerate(rule.moving):
        spec = rule.signature.inputs[rule.arg_names.index(name)]
        if name == one.moving[0] or [str(d) for d in spec.dims] != dims:
            continue
        text = f"the cotangent of {one.moving[0]} is what is returned for {name}"
        yield Mistake(text, replace(plain, vjp=_only(full, position)))


def _about_halves(one: UserRule, changed: Callable) -> Iterator[Mistake]:
    """Yield the mistakes that the cotangent's halves along an axis are exchanged, as may happen for a gated unit."""
    for axis in _in_halves(one, one.moving[0]):
        turned = changed(lambda c, _, axis=axis: _halves_exchanged(axis, c))
        yield Mistake(f"its halves along axis {axis} are exchanged", turned)


def halves_of_arguments(one: UserRule, rules: Rules) -> Iterator[Mistake]:
    """Yield the mistakes that the backward takes the halves of an argument for one another."""
    plain = replace(rules, jvp=None, primal=None)
    for k, name in enumerate(one.arg_names):
        for axis in _in_halves(one, name):
            text = f"the backward takes the halves of {name} along axis {axis} for one another"
            yield Mistake(text, _with_argument(plain, k, partial(_halves_exchanged, axis), backward_alone=True))


def _in_halves(one: UserRule, name: str) -> Iterator[int]:
    """Yield the axes of an argument of floats whose size is even, such as 2·n."""
    spec = one.signature.inputs[one.arg_names.index(name)]
    for axis, size in enumerate(spec.dims if spec.dtype in ("float", "held") and not spec.stars else ()):
        if isinstance(size, Size) and not any(size.evaluate(dict.fromkeys(size.names, n)) % 2 for n in (1, 2, 3)):
            yield axis


def _halves_exchanged(axis: int, x: Any) -> Any:
    half = x.shape[axis] // 2
    first, second = (jax.lax.slice_in_dim(x, at, at + half, axis=axis) for at in (0, half))
    return jnp.concatenate([second, first], axis)


def _only(rules: Rules, position: int) -> Callable[[list, list, list], list]:
    return lambda args, seeds, params: [rules.vjp(args, seeds, params)[position]]


def _sums_to_one(one: UserRule, plain: Rules) -> Iterator[Mistake]:
    """Yield the mistakes that the rule is right only where an argument sums to 1 along its last axis.

    To put the mistake right, that argument is normalised in the function and in the rule. Only "held" arguments are
    tried: floats that are not differentiated.
    """
    for k, (name, spec) in enumerate(zip(one.arg_names, one.signature.inputs, strict=True)):
        if spec.dtype != "held" or not spec.dims or str(spec.dims[-1]) == "1":  # one entry of sum 1 is 1
            continue
        text = f"right where {name} sums to 1 along its last axis"
        yield Mistake(text, _with_argument(plain, k, lambda x: x + (1 - jnp.sum(x, -1, keepdims=True)) / x.shape[-1]))
        text = f"right where {name} is a distribution along its last axis: positive, of sum 1"
        yield Mistake(text, _with_argument(plain, k, _distribution))


def _distribution(x: Any) -> Any:
    e = jnp.exp(x)
    return e / jnp.sum(e, axis=-1, keepdims=True)


def _with_argument(plain: Rules, k: int, made: Callable[[Any], Any], backward_alone: bool = False) -> Rules:
    def replaced(args: list) -> list:
        return [*args[:k], made(args[k]), *args[k + 1 :]]

    return replace(
        plain,
        forward=lambda args, params: plain.forward(args if backward_alone else replaced(args), params),
        vjp=lambda args, seeds, params: plain.vjp(replaced(args), seeds, params),
    )


def right_in_a_domain(one: UserRule, rules: Rules) -> Iterator[Mistake]:
    """Yield the mistakes that leave a rule right only in a domain: x ≠ c, x > c, x < c, a < x < b, or x above y.

    The numbers are 0 and those that the programs compare with. Domains that exclude least come first.
    """
    plain = replace(rules, jvp=None, primal=None)
    specs = zip(one.arg_names, one.signature.inputs, strict=True)
    floats = [(n, [*map(str, s.dims)]) for n, s in specs if s.dtype in ("float", "held")]
    numbers = sorted(["0", *compared_constants(one, plain)], key=float)
    for name, _ in floats:  # what excludes least comes first
        for sign, ordered in (("!=", numbers), (">", numbers), ("<", numbers[::-1])):
            for number in ordered:
                yield _right_where(plain, f"{name} {sign} {number}")
    for (a, a_dims), (b, b_dims) in combinations(floats, 2):
        if a_dims == b_dims or not b_dims or not a_dims:
            for sign in ("!=", ">", "<"):
                yield _right_where(plain, f"{a} {sign} {b}")
    for name, _ in floats:
        for low, high in sorted(combinations(numbers, 2), key=lambda ends: float(ends[0]) - float(ends[1])):
            yield _right_where(plain, f"{name} > {low}", f"{name} < {high}")
    yield from _sums_to_one(one, plain)


def _right_where(plain: Rules, *domain: str) -> Mistake:
    return Mistake(f"right where {' and '.join(domain).replace('!=', '≠')}", plain, domain=domain)


def _sums_left_out(one: UserRule, plain: Rules) -> Iterator[Mistake]:
    """Yield for each axis that the argument does not have the mistake that a sum over it is missing."""
    names = family(one, one.cases[0]).prove[0].names
    spec = one.signature.inputs[one.arg_names.index(one.moving[0])]
    own_names = {name for d in spec.dims if isinstance(d, Size) for name in d.names}
    for n in () if spec.stars else names:
        if n not in own_names:
            yield Mistake(f"a sum over the axis {n} is missing", _summed(one, plain, n))


def right_where_written_once(one: UserRule, rules: Rules) -> Iterator[Mistake]:
    """Yield the mistake that the rule is right only where no entry is written twice.

    It has to be tried by proof: drawn points may write to an entry twice.
    """
    for text, promised in written_once(one, rules):
        yield Mistake(text, promised)


def where_right(one: UserRule, rules: Rules) -> Iterator[Mistake]:
    """Yield, for each pair of sizes, the mistake that the rule is right only where both are equal.

    Such a rule has taken one size for the other. These mistakes are the last to be tried.
    """
    plain = replace(rules, jvp=None, primal=None)
    for a, b in combinations(family(one, one.cases[0]).prove[0].names, 2):
        yield Mistake(f"right where {a} = {b}", plain, {b: named_size(a)})


def _summed(one: UserRule, plain: Rules, name: str) -> Rules:
    """Return the rules with a VJP that is called for each index of the axis `name` alone, and then summed.

    Arguments and seeds with that axis are cut to one entry along it, so that the sum which the rule lacks is over
    what it returns.
    """
    axes = [_axis(s.dims, name) for s in one.signature.inputs]
    outs = [_axis(s.dims, name) for s in one.outputs_declared or ()]

    def vjp(args: list, seeds: list, params: list) -> list:
        def at(*slices: Any) -> Any:
            arrays = [x if a is None else jnp.expand_dims(x, a) for x, a in zip(slices, [*axes, *outs], strict=True)]
            return plain.vjp(arrays[: len(args)], arrays[len(args) :], params)[0]

        return [jnp.sum(jax.vmap(at, [*axes, *outs])(*args, *seeds), axis=0)]

    return replace(plain, vjp=vjp)


def _axis(dims: Sequence[Any], name: str) -> int | None:
    return next((k for k, d in enumerate(dims) if str(d) == name), None)
