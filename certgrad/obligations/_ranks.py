"""Star groups: whether a trace treats the axes of a group as one.

A program whose every equation moves, sums or broadcasts a star group as a whole commutes with any renumbering of the
group's index tuples, so it is the rank-1 program with one axis in the group's place. `collapsed` writes a program with
each group's axes replaced by that one axis; equal texts are the same program.

A group of no axes is one axis of size 1 that is left out: where a program only keeps, sums or broadcasts that axis, it
does the same to every value without it. `collapsed` writes such a program with the groups that are `gone` left out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ._jax_internals import DimExpr, Program, Serialiser, dim_poly, remembered
from ._terms import Dim, Poly, dimension, monomial


class SplitGroupError(Exception):
    """An equation takes the axes of a star group apart."""


def collapsed(
    programs: Mapping[str, Program], groups: Mapping[str, Sequence[str]], gone: Collection[str] = ()
) -> dict[str, str]:
    """The programs' texts with each group (name → its axes' dimension names, in order) as one axis, or as none.

    Raises SplitGroupError where an equation treats the axes of a group differently, or needs the size of a group that
    is left out.
    """
    collapsing = _Collapsing(groups, gone)
    return {name: collapsing.program(p) for name, p in programs.items()}


_GONE = -1
"""The position of an axis that is left out."""


class _Collapsing(Serialiser):
    def __init__(self, groups: Mapping[str, Sequence[str]], gone: Collection[str] = ()) -> None:
        super().__init__(str, erase=False)
        self.groups, self.gone = groups, gone
        self.member = {n: (g, k) for g, names in groups.items() for k, n in enumerate(names)}
        self.shapes: dict[tuple[str, ...], tuple[list[str], list[int]]] = {}
        self.sizes: dict[int, tuple[Any, str]] = {}

    def axes(self, shape: Sequence[Any]) -> tuple[list[str], list[int]]:
        """The shape with groups collapsed, and for each old axis its new position."""
        written = tuple(map(self.dims, shape))
        if written not in self.shapes:
            self.shapes[written] = self._axes(shape, written)
        return self.shapes[written]

    def _axes(self, shape: Sequence[Any], written: tuple[str, ...]) -> tuple[list[str], list[int]]:
        out: list[str] = []
        place: list[int] = []
        k = 0
        while k < len(shape):
            if written[k] in self.member:
                group, start = self.member[written[k]]
                names = self.groups[group]
                if start != 0 or written[k : k + len(names)] != tuple(names):
                    raise SplitGroupError(f"the axes of *{group} are taken apart")
                place += [_GONE if group in self.gone else len(out)] * len(names)
                out += [] if group in self.gone else [group]
                k += len(names)
            else:
                out.append(self.dim(shape[k]))
                place.append(len(out) - 1)
                k += 1
        return out, place

    def dim(self, value: Any) -> str:
        """A size in which groups are whole: a product of all axes of a group is the size of the one axis."""
        return remembered(self.sizes, value, self._dim)

    def _dim(self, value: Any) -> str:
        if not isinstance(value, DimExpr):
            return str(value)
        total = Poly({})
        for mono, c in dim_poly(value).items():
            rest = dict(mono)
            for group, names in self.groups.items():
                mine = {a: e for a, e in rest.items() if isinstance(a, Dim) and a.name in names}
                if not mine:
                    continue
                if group in self.gone:
                    raise SplitGroupError(f"the size of *{group} is used")
                if len(mine) != len(names) or len(set(mine.values())) != 1:
                    raise SplitGroupError(f"the size of one axis of *{group} is used")
                power = next(iter(mine.values()))
                for a in mine:
                    del rest[a]
                for atom, e in next(iter(dimension(group).items()))[0]:
                    rest[atom] = e * power
            total = total + monomial(rest).scale(c)
        return total.key

    def type(self, aval: Any) -> str:
        shape, _ = self.axes(getattr(aval, "shape", ()))
        return f"{getattr(aval, 'dtype', '?')}[{','.join(shape)}]"

    def params(self, eqn: Any) -> str:
        name = eqn.primitive.name
        shapes = [getattr(v.aval, "shape", ()) for v in eqn.invars]
        out_shapes = [v.aval.shape for v in eqn.outvars]
        handled: dict[str, str] = {}
        p = eqn.params
        if name == "broadcast_in_dim":
            handled["shape"] = str(self.axes(p["shape"])[0])
            place = [self.axes(out_shapes[0])[1][a] for a in p["broadcast_dimensions"]]
            if any((a == _GONE) != (b == _GONE) for a, b in zip(self.axes(shapes[0])[1], place, strict=True)):
                raise SplitGroupError("an axis of size 1 becomes one of a star group")
            handled["broadcast_dimensions"] = str(_once(place))
        elif name in ("reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "reduce_and", "reduce_or"):
            handled["axes"] = str(self.whole(p["axes"], shapes[0]))
        elif name in ("squeeze", "expand_dims"):
            handled["dimensions"] = str(self.whole(p["dimensions"], shapes[0] if name == "squeeze" else out_shapes[0]))
        elif name == "transpose":
            handled["permutation"] = str(_once([self.axes(shapes[0])[1][a] for a in p["permutation"]]))
        elif name == "dot_general":
            (xc, yc), (xb, yb) = p["dimension_numbers"]
            handled["dimension_numbers"] = str(
                [self.ordered(a, shapes[k]) for a, k in ((xc, 0), (yc, 1), (xb, 0), (yb, 1))]
            )
        elif name == "reshape":
            handled["new_sizes"] = str(self.axes(p["new_sizes"])[0])
        elif name == "iota":
            handled["shape"] = str(self.axes(p["shape"])[0])
            handled["dimension"] = str(self.one(p["dimension"], out_shapes[0]))
        elif name in ("concatenate", "split"):
            key = "dimension" if name == "concatenate" else "axis"
            handled[key] = str(self.one(p[key], shapes[0]))
            handled["sizes"] = str([self.dim(n) for n in p.get("sizes", ())])
        elif name == "dim_as_value":
            handled["dim"] = self.dim(p["dim"])
        elif name not in _WITHOUT_AXES and any(self.dims(d) in self.member for s in (*shapes, *out_shapes) for d in s):
            raise SplitGroupError(f"{name} is not known to treat star axes as one")
        rest = {k: self.param(v) for k, v in p.items() if k not in handled and k not in self.IGNORED}
        return ",".join(f"{k}={v}" for k, v in sorted({**handled, **rest}.items()))

    def whole(self, axes: Sequence[int], shape: Sequence[Any]) -> list[int]:
        """The collapsed positions of axes that cover groups entirely or not at all."""
        _, place = self.axes(shape)
        chosen = {place[a] for a in axes}
        chosen.discard(_GONE)
        if sorted(k for k, q in enumerate(place) if q in chosen) != sorted(a for a in axes if place[a] != _GONE):
            raise SplitGroupError("part of a star group is reduced")
        return sorted(chosen)

    def one(self, axis: int, shape: Sequence[Any]) -> list[int]:
        """The collapsed position of an axis along which entries differ in more than their values."""
        place = self.whole((axis,), shape)
        if not place:
            raise SplitGroupError("entries are placed along a star group")
        return place

    def ordered(self, axes: Sequence[int], shape: Sequence[Any]) -> list[int]:
        self.whole(axes, shape)
        return _once([self.axes(shape)[1][a] for a in axes])


def _once(places: list[int]) -> list[int]:
    out: list[int] = []
    for q in places:
        if q != _GONE and (not out or out[-1] != q):
            out.append(q)
    return out


_WITHOUT_AXES = set(
    """
    abs acos acosh add add_any and asin asinh atan atan2 atanh bessel_i0e bessel_i1e cbrt ceil clamp clz
    convert_element_type copy cos cosh digamma div eq eq_to erf erf_inv erfc exp exp2 expm1 floor ge gt igamma
    igamma_grad_a igammac integer_pow is_finite jit le le_to lgamma log log1p log2 logistic lt lt_to max min mul mulhi
    name ne neg not one_minus_square optimization_barrier or polygamma population_count pow reduce_precision
    regularized_incomplete_beta rem round rsqrt select_n shift_left shift_right_arithmetic shift_right_logical sign
    sin sinh sqrt square stop_gradient sub tan tanh xor zeta custom_jvp_call custom_vjp_call pjit closed_call
    """.split()
)
