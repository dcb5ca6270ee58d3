"""Declarations for called rules: one for each kind of its calls, with names for the sizes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import jax.numpy as jnp

from certgrad.errors import CertgradError
from certgrad.jaxpr.closures import kind_of_rule
from certgrad.obligations.generality.likeness import Likeness
from certgrad.rules.declared.declaration import Declaration
from certgrad.rules.declared.statics import Each, each, real
from certgrad.rules.declared.structure import parse_structure, structure_text
from certgrad.rules.judging.by_name import RECORDED_ORIGIN
from certgrad.signatures.signature import parse

from ._notes import NO_ARRAY, Call, Given, Leaf, Static, Variant
from ._sizes import Lengths, Shapes

MAX_CLAIMS = 4
"""Kinds of calls of one variant that are audited, those that were called most first."""
_SIMPLE = (bool, int, float, str)


@dataclass(frozen=True)
class Claim:
    """A claim about some calls. `apart` has a name for each size that can differ; if it fails, `joined` is tried, with
    one name for sizes that agreed in all calls."""

    apart: Declaration
    joined: Declaration
    calls: int
    kept: Mapping[str, int] = field(default_factory=dict)
    """The sizes that are numbers in `apart`, by the axis, though the rule runs at others: nothing is claimed there."""


@dataclass(frozen=True)
class Claims:
    """The claims about one variant of a rule."""

    claims: tuple[Claim, ...]
    left: tuple[str, ...]
    """The reasons why nothing is claimed of some calls."""


class _NotSaidError(Exception):
    """The error for calls that no declaration can describe; the message says why."""


def claims_of(variant: Variant) -> Claims:
    """Return the claims about a variant's calls: one for each kind of call, the most frequent first."""
    kinds: dict[Hashable, list[Call]] = {}
    left: list[str] = []
    for call in variant.calls.values():
        kinds.setdefault(_kind(call), []).append(call)
    claims: list[Claim] = []
    for calls in kinds.values():
        try:
            claims.append(_claim(variant.custom, calls))
        except _NotSaidError as error:
            left.append(str(error))
    merged = sorted(_merged_claims(claims), key=lambda c: -c.calls)
    if len(merged) > MAX_CLAIMS:
        left.append(f"{len(merged) - MAX_CLAIMS} further kinds of calls, less frequent, were not looked at")
    if variant.more:
        left.append(f"{variant.more} further calls, of shapes or static values not kept, were not looked at")
    return Claims(tuple(merged[:MAX_CLAIMS]), tuple(dict.fromkeys(left)))


def _kind(call: Call) -> Hashable:
    """Return a key of a call: calls with equal keys differ only in lengths that are not 1."""

    def of(argument: Given | Static) -> Hashable:
        if isinstance(argument, Static):
            return argument.key
        shown = tuple(
            (tuple(n == 1 for n in x.shape), x.dtype, type(x.number), _leaf_integer(x)) for x in argument.leaves
        )
        return (str(argument.tree), shown)

    return (*((name, of(a)) for name, a in call.arguments), *map(of, call.rest))


def _leaf_integer(leaf: Leaf) -> int | None:
    return leaf.number if isinstance(leaf.number, int) else None


def _claim(custom: Any, calls: list[Call]) -> Claim:
    """Return the claim about calls of one kind. Raises _NotSaidError where no declaration describes them.

    Python numbers among the arguments are scalar arrays; if the rule does not trace so, they are static, with the
    values of the first call.
    """
    call = calls[0]
    with_arrays = [(name, a) for name, a in call.arguments if isinstance(a, Given)]
    if any(isinstance(a, Static) for a in call.rest):
        raise _NotSaidError("it takes one of its *args as it is: wrap it in a function of named arguments")
    arrays = [a for _, a in with_arrays] + [a for a in call.rest if isinstance(a, Given)]
    if not any(a.leaves for a in arrays):
        raise _NotSaidError("it was called without arrays")
    if any(0 in x.shape for a in arrays for x in a.leaves):
        raise _NotSaidError("calls with empty arrays: sizes are at least 1")
    for leaf in (x for a in arrays for x in a.leaves):
        _suffix(leaf)  # raises, before anything is traced, for a dtype that no signature has
    static = {name: _static_value(name, a) for name, a in call.arguments if isinstance(a, Static)}
    numbers = {name: a.leaves[0].number for name, a in with_arrays if a.numbers}
    lengths = None
    for fixed in [{}, numbers] if numbers else [{}]:
        open_arrays = [a for name, a in with_arrays if name not in fixed]
        open_arrays += [a for a in call.rest if isinstance(a, Given)]
        if not any(a.leaves for a in open_arrays):
            break
        shapes = [_shapes(c, fixed) for c in calls]
        lengths = Lengths(shapes, _runner(custom, call, fixed), [name for name, _ in call.arguments])
        declared_arrays, static_values = open_arrays, {**static, **fixed}
        if lengths.traces:
            break
    assert lengths is not None
    count = sum(c.count for c in calls)
    apart, joined = (
        Declaration(_signature(declared_arrays, t), static_values, sizes=lengths.sizes(t), origin=RECORDED_ORIGIN)
        for t in (lengths.apart(), lengths.joined())
    )
    return Claim(apart, replace(joined, sizes=None), count, lengths.kept)


def _static_value(name: str, argument: Static) -> Any:
    """Return a static argument's value in a declaration; any real number for a traced float. Raises _NotSaidError."""
    if not argument.traced:
        return argument.value
    if argument.traced in ("float32[]", "float64[]", "bfloat16[]", "float16[]"):
        return real()  # its number is known only where the program runs
    raise _NotSaidError(f"its argument {name}, which it takes as it is, was a traced value ({argument.traced})")


def _shapes(call: Call, fixed: dict[str, Any]) -> Shapes:
    arguments = [a for name, a in call.arguments if name not in fixed] + list(call.rest)
    return [list(x.shape) for a in arguments if isinstance(a, Given) for x in a.leaves]


def _runner(custom: Any, call: Call, fixed: dict[str, Any]) -> Callable[[Shapes], bool]:
    """Return a function that says whether the rule traces, with its derivative, at given shapes of a call's arrays.

    Dtypes and static arguments are those of the call; `fixed` has the values of further ones, by name, and a static
    argument that was traced is 0.5. The derivative is by forward mode for a `custom_jvp`, else by reverse mode. Without
    a float argument only the value is traced.
    """
    arguments = [a for name, a in call.arguments if name not in fixed] + list(call.rest)
    leaves = [x for a in arguments if isinstance(a, Given) for x in a.leaves]

    kind = kind_of_rule(custom)
    last = len(leaves)
    if kind == "equinox.filter_custom_vjp":  # a rule for its first argument alone
        last = next((len(a.leaves) for a in arguments if isinstance(a, Given)), 0)

    def called(values: Sequence[Any]) -> Any:
        values_left = iter(values)

        def argument_value(a: Given | Static) -> Any:
            if isinstance(a, Static):
                return a.value if not a.traced else 0.5
            return jax.tree_util.tree_unflatten(a.tree, [next(values_left) for _ in a.leaves])

        by_name = {name: fixed[name] if name in fixed else argument_value(a) for name, a in call.arguments}
        positional = [by_name[name] for name in by_name if name not in call.named]
        return custom(*positional, *map(argument_value, call.rest), **{name: by_name[name] for name in call.named})

    def derivative(*values: Any) -> Any:
        moving = [k for k, x in enumerate(values[:last]) if jnp.issubdtype(x.dtype, jnp.inexact)]

        def value(*xs: Any) -> list[Any]:
            all_values = list(values)
            for k, x in zip(moving, xs, strict=True):
                all_values[k] = x
            outs = jax.tree_util.tree_leaves(called(all_values))
            return [y for y in outs if jnp.issubdtype(jnp.result_type(y), jnp.inexact)]

        moving_values = [values[k] for k in moving]
        if not moving:
            return value()
        if kind.endswith("custom_jvp"):
            return jax.jvp(value, moving_values, [jnp.ones_like(x) for x in moving_values])
        out, pull = jax.vjp(value, *moving_values)
        return pull([jnp.ones_like(y) for y in out])

    def runs(shapes: Shapes) -> bool:
        try:
            jax.eval_shape(
                derivative,
                *(
                    jax.ShapeDtypeStruct(tuple(s), x.dtype, weak_type=x.weak)
                    for s, x in zip(shapes, leaves, strict=True)
                ),
            )
        except Exception:
            return False
        return True

    return runs


def _signature(arguments: list[Given], texts: Iterable[str]) -> str | tuple[Any, ...]:
    """Return the shapes as a signature: a text where it can write them, else the structure. Raises _NotSaidError."""
    texts_left = iter(texts)
    try:
        structures = tuple(
            jax.tree_util.tree_unflatten(a.tree, [next(texts_left) + _suffix(x) for x in a.leaves]) for a in arguments
        )
    except (TypeError, ValueError, AttributeError) as error:  # a class may refuse texts in place of its arrays
        raise _NotSaidError(f"an argument cannot hold texts in place of its arrays: {error}") from None
    part_texts = [structure_text(structure) for structure in structures]
    text = ", ".join(part_text for part_text in part_texts if part_text is not None)
    if all(part_text is not None for part_text in part_texts) and _is_read_as(text, structures):
        return text
    return structures


def _is_read_as(text: str, structure: tuple[Any, ...]) -> bool:
    """Return whether the parser reads the text as this structure."""
    try:
        return parse_structure(text).inputs == structure
    except CertgradError:
        return False


def _suffix(leaf: Leaf) -> str:
    """Return the end of an array's shape in a signature, which gives its dtype: "" for floats, `:int`, `:uint32`.

    Raises _NotSaidError where a signature cannot write it.
    """
    if leaf.dtype.startswith(NO_ARRAY):
        kind = leaf.dtype.removeprefix(NO_ARRAY)
        raise _NotSaidError(f"an argument holds arrays and an object of class {kind}, which a signature cannot say")
    kind = leaf.dtype.partition("<")[0]
    if kind.startswith(("float", "bfloat")):
        return ""
    text = "int" if kind in ("int32", "int64") else next((s for s in ("bool", "key") if kind.startswith(s)), kind)
    try:
        parse(f"n:{text} -> ", pairs=True)
    except CertgradError:
        text = f"one of its arguments is an array of {leaf.dtype}, which a signature cannot say"
        raise _NotSaidError(text) from None
    return f":{text}"


def _merged_claims(claims: list[Claim]) -> list[Claim]:
    """Return each claim once; claims that differ in the value of one static argument are merged to one."""
    merged: list[Claim] = []
    for claim in claims:
        k = next((k for k, earlier in enumerate(merged) if _joins(earlier.apart, claim.apart) is not None), None)
        if k is None:
            merged.append(claim)
            continue
        name = _joins(merged[k].apart, claim.apart)
        values = claim.apart.static.get(name) if name else None
        merged[k] = Claim(
            _with_static_value(merged[k].apart, name, values),
            _with_static_value(merged[k].joined, name, values),
            merged[k].calls + claim.calls,
            {**merged[k].kept, **claim.kept},
        )
    return merged


def _joins(one: Declaration, other: Declaration) -> str | None:
    """Return the only static argument in which two declarations differ; "" if they are equal, None otherwise.

    None also where merged values would give combinations that were not called, or the value is no simple one.
    """
    if one.signature != other.signature or one.static.keys() != other.static.keys():
        return None
    differing = [n for n, v in one.static.items() if not _is(v, other.static[n])]
    if not differing:
        return ""
    several = [n for n, v in one.static.items() if isinstance(v, Each)]
    if len(differing) > 1 or several not in ([], differing):  # else combinations that nobody called would be claimed
        return None
    before, value = one.static[differing[0]], other.static[differing[0]]
    first = before.values[0] if isinstance(before, Each) else before
    return differing[0] if type(value) in _SIMPLE and type(first) is type(value) else None


def _is(one: Any, other: Any) -> bool:
    """Return whether two static values are equal, in type too; for several values (`Each`), whether one of them is."""
    if isinstance(one, Each):
        return any(_is(x, other) for x in one.values)
    if type(one) in _SIMPLE:
        return type(one) is type(other) and bool(one == other)
    return one is other or (type(one) in (tuple, list, dict) and Likeness(one).key == Likeness(other).key)


def _with_static_value(declared: Declaration, name: str | None, value: Any) -> Declaration:
    """Return the declaration with one more value for a static argument; as it is without a name."""
    if not name:
        return declared
    before = declared.static[name]
    values = before.values if isinstance(before, Each) else (before,)
    return replace(declared, static={**declared.static, name: each(*values, value)})
