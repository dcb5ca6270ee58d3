"""Star groups: whether a trace treats the axes of a group as one.

A program whose every equation moves, sums or broadcasts a star group as a whole commutes with any renumbering of the
group's index tuples, so it is the rank-1 program with one axis in the group's place. So does one that cuts, pads,
reverses, sorts or gathers along other axes, and takes each group as a whole, or one line of it for each index tuple.
`collapsed` writes a program with each group's axes replaced by that one axis; equal texts are the same program.

A group of no axes is one axis of size 1 that is left out: where a program only keeps, sums or broadcasts that axis, it
does the same to every value without it. `collapsed` writes such a program with the groups that are `gone` left out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from certgrad.jaxpr import kinds
from certgrad.obligations.terms.atoms import Dim, dimension
from certgrad.obligations.terms.polynomials import Poly, monomial
from certgrad.obligations.tracing.jax_internals import (
    DimExpr,
    Program,
    Serialiser,
    dim_poly,
    is_literal,
    remembered,
    scan_loop,
)

Shapes = Sequence[Sequence[Any]]


class SplitGroupError(Exception):
    """An equation takes the axes of a star group apart."""


def collapsed(
    programs: Mapping[str, Program], groups: Mapping[str, Sequence[str]], gone: Collection[str] = ()
) -> dict[str, str]:
    """Return the programs as texts in which each star group is one axis, or is left out if it is in `gone`.

    `groups` gives the dimension names of the axes of each group, in order. Raises SplitGroupError where an equation
    treats the axes of a group differently, or needs the size of a group that is left out.
    """
    collapsing = _Collapsing(groups, gone)
    return {name: collapsing.program(p) for name, p in programs.items()}


_GONE = -1
"""The position of an axis that is left out."""


class _Collapsing(Serialiser):
    """Writes programs as text with each star group as one axis."""

    def __init__(self, groups: Mapping[str, Sequence[str]], gone: Collection[str] = ()) -> None:
        super().__init__(str, erase=False)
        self.groups, self.gone = groups, gone
        self.member = {n: (g, k) for g, names in groups.items() for k, n in enumerate(names)}
        self.shapes: dict[tuple[str, ...], tuple[list[str], list[int]]] = {}
        self.sizes: dict[int, tuple[Any, str]] = {}
        self.needed: set[Any] = set()

    def axes(self, shape: Sequence[Any]) -> tuple[list[str], list[int]]:
        """Return the shape with each group as one axis, and the new position of each old axis (`_GONE` if left out)."""
        written = tuple(map(self.dims, shape))
        if written not in self.shapes:
            self.shapes[written] = self._axes(shape, written)
        return self.shapes[written]

    def _axes(self, shape: Sequence[Any], written: tuple[str, ...]) -> tuple[list[str], list[int]]:
        """Return as `axes`, for a shape written as text. Raises SplitGroupError where a group's axes are not together.

        Of a group s with axes s_0, s_1 the shape (n, s_0, s_1) becomes (n, s), with the new positions 0, 1, 1.
        """
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
        """Return a size as text in which the product of all axes of a star group is one name; the text is kept."""
        return remembered(self.sizes, value, self._dim)

    def _dim(self, value: Any) -> str:
        """Return a size as text in which the product of a star group's axes is one name: 2·a_0·a_1 becomes 2·a.

        Raises SplitGroupError where only some of the axes are in it, or a group that is left out.
        """
        if not isinstance(value, DimExpr):
            return str(value)
        total = Poly({})
        for mono, c in dim_poly(value).items():
            factors = dict(mono)
            for group, names in self.groups.items():
                of_group = {a: e for a, e in factors.items() if isinstance(a, Dim) and a.name in names}
                if not of_group:
                    continue
                if group in self.gone:
                    raise SplitGroupError(f"the size of *{group} is used")
                if len(of_group) != len(names) or len(set(of_group.values())) != 1:
                    raise SplitGroupError(f"the size of one axis of *{group} is used")
                power = next(
                    iter(of_group.values())
                )  # all axes of the group have the same power: it is that of the group
                for a in of_group:
                    del factors[a]
                for atom, e in next(iter(dimension(group).items()))[0]:
                    factors[atom] = e * power
            total = total + monomial(factors).scale(c)
        return total.key

    def type(self, aval: Any) -> str:
        shape, _ = self.axes(getattr(aval, "shape", ()))
        return f"{getattr(aval, 'dtype', '?')}[{','.join(shape)}]"

    def params(self, eqn: Any) -> str:
        """Return the parameters of an equation as text in which each star group is one axis.

        Those that name axes or sizes are rewritten by a method for the primitive (`_REWRITTEN`), the others are written
        as they are. Raises SplitGroupError where the primitive treats the axes of a group differently, or is not known
        to treat them as one.
        """
        name = eqn.primitive.name
        shapes = [getattr(v.aval, "shape", ()) for v in eqn.invars]
        out_shapes = [v.aval.shape for v in eqn.outvars]
        rewritten: dict[str, str] = {}
        if (rewrite := _REWRITTEN.get(name)) is not None:
            rewritten = rewrite(self, eqn, shapes, out_shapes)
        elif name not in _WITHOUT_AXES and any(self.dims(d) in self.member for s in (*shapes, *out_shapes) for d in s):
            raise SplitGroupError(f"{name} is not known to treat star axes as one")
        rest = {k: self.param(v) for k, v in eqn.params.items() if k not in rewritten and k not in self.IGNORED}
        return ",".join(f"{k}={v}" for k, v in sorted({**rewritten, **rest}.items()))

    # Each of the following methods returns the rewritten parameters of one primitive, or of several alike.

    def of_broadcast(self, eqn: Any, shapes: Shapes, out_shapes: Shapes) -> dict[str, str]:
        p = eqn.params
        shape = str(self.axes(p["shape"])[0])
        place = [self.axes(out_shapes[0])[1][a] for a in p["broadcast_dimensions"]]
        if any((a == _GONE) != (b == _GONE) for a, b in zip(self.axes(shapes[0])[1], place, strict=True)):
            raise SplitGroupError("an axis of size 1 becomes one of a star group")
        return {"shape": shape, "broadcast_dimensions": str(_without_repeats(place))}

    def of_reduction(self, eqn: Any, shapes: Shapes, out_shapes: Shapes) -> dict[str, str]:
        return {"axes": str(self.whole(eqn.params["axes"], shapes[0]))}

    def of_squeeze(self, eqn: Any, shapes: Shapes, out_shapes: Shapes) -> dict[str, str]:
        return {"dimensions": str(self.whole(eqn.params["dimensions"], shapes[0]))}

    def of_transposition(self, eqn: Any, shapes: Shapes, out_shapes: Shapes) -> dict[str, str]:
        places = [self.axes(shapes[0])[1][a] for a in eqn.params["permutation"]]
        return {"permutation": str(_without_repeats(places))}

    def of_product(self, eqn: Any, shapes: Shapes, out_shapes: Shapes) -> dict[str, str]:
        (xc, yc), (xb, yb) = eqn.params["dimension_numbers"]
        return {"dimension_numbers": self.numbers((xc, shapes[0]), (yc, shapes[1]), (xb, shapes[0]), (yb, shapes[1]))}

    def of_reshape(self, eqn: Any, shapes: Shapes, out_shapes: Shapes) -> dict[str, str]:
        return {"new_sizes": str(self.axes(eqn.params["new_sizes"])[0])}

    def of_iota(self, eqn: Any, shapes: Shapes, out_shapes: Shapes) -> dict[str, str]:
        p = eqn.params
        shape = str(self.axes(p["shape"])[0])
        return {"shape": shape, "dimension": str(self.collapsed_axis(p["dimension"], out_shapes[0]))}

    def of_concatenation(self, eqn: Any, shapes: Shapes, out_shapes: Shapes) -> dict[str, str]:
        """Return the parameters of `concatenate` or `split`."""
        p = eqn.params
        key = "dimension" if eqn.primitive.name == "concatenate" else "axis"
        axis = str(self.collapsed_axis(p[key], shapes[0]))
        return {key: axis, "sizes": str([self.dim(n) for n in p.get("sizes", ())])}

    def of_size(self, eqn: Any, shapes: Shapes, out_shapes: Shapes) -> dict[str, str]:
        return {"dim": self.dim(eqn.params["dim"])}

    def of_reversal(self, eqn: Any, shapes: Shapes, out_shapes: Shapes) -> dict[str, str]:
        return {"dimensions": str([self.collapsed_axis(a, shapes[0]) for a in eqn.params["dimensions"]])}

    def along_an_axis(self, eqn: Any, shapes: Shapes, out_shapes: Shapes) -> dict[str, str]:
        p, key = eqn.params, kinds.ALONG_AN_AXIS[eqn.primitive.name]
        axis = p[key][0] if key == "axes" else p[key]
        return {key: str(self.collapsed_axis(axis, shapes[0]))}

    def of_slice(self, eqn: Any, shapes: Shapes, out_shapes: Shapes) -> dict[str, str]:
        p = eqn.params
        parts = list(zip(p["start_indices"], p["limit_indices"], p["strides"] or [1] * len(shapes[0]), strict=True))
        whole = [(0, n, 1) for n in shapes[0]]
        return {
            **dict.fromkeys(("start_indices", "limit_indices", "strides"), ""),
            "parts": self.each(parts, whole, shapes[0]),
        }

    def of_padding(self, eqn: Any, shapes: Shapes, out_shapes: Shapes) -> dict[str, str]:
        padding = eqn.params["padding_config"]
        return {"padding_config": self.each(padding, [(0, 0, 0)] * len(shapes[0]), shapes[0])}

    def of_windows(self, eqn: Any, shapes: Shapes, out_shapes: Shapes) -> dict[str, str]:
        p = eqn.params
        keys = [k for k in ("window_dimensions", "window_strides", "base_dilation", "window_dilation") if k in p]
        windows = [(*sizes, *pad) for *sizes, pad in zip(*(p[k] for k in keys), p["padding"], strict=True)]
        whole = [(*[1] * len(keys), 0, 0)] * len(shapes[-1])
        return {**dict.fromkeys((*keys, "padding"), ""), "windows": self.each(windows, whole, shapes[-1])}

    def of_dynamic_slice(self, eqn: Any, shapes: Shapes, out_shapes: Shapes) -> dict[str, str]:
        """Return the parameters of `dynamic_slice` or `dynamic_update_slice`."""
        self.untouched(eqn, out_shapes[0] if eqn.primitive.name == "dynamic_slice" else shapes[1])
        return {"slice_sizes": ""}

    def of_gather(self, eqn: Any, shapes: Shapes, out_shapes: Shapes) -> dict[str, str]:
        p = eqn.params
        d = p["dimension_numbers"]
        self.windows_or_lines(p["slice_sizes"], d.start_index_map, d.operand_batching_dims, shapes[0])
        return {
            "slice_sizes": self.outside(p["slice_sizes"], shapes[0]),
            "dimension_numbers": self.numbers(
                (d.offset_dims, out_shapes[0]),
                (d.collapsed_slice_dims, shapes[0]),
                (d.operand_batching_dims, shapes[0]),
                (d.start_indices_batching_dims, shapes[1]),
                (d.start_index_map, shapes[0]),
            ),
        }

    def of_scatter(self, eqn: Any, shapes: Shapes, out_shapes: Shapes) -> dict[str, str]:
        d = eqn.params["dimension_numbers"]
        kept = {*range(len(shapes[0]))} - {*d.inserted_window_dims, *d.operand_batching_dims}
        window = dict(zip(sorted(kept), (shapes[2][a] for a in d.update_window_dims), strict=True))
        sizes = [window.get(a, 1) for a in range(len(shapes[0]))]
        self.windows_or_lines(sizes, d.scatter_dims_to_operand_dims, d.operand_batching_dims, shapes[0])
        return {
            # the primitive's name says how updates combine
            **dict.fromkeys(("update_jaxpr", "update_consts"), eqn.primitive.name),
            "dimension_numbers": self.numbers(
                (d.update_window_dims, shapes[2]),
                (d.inserted_window_dims, shapes[0]),
                (d.operand_batching_dims, shapes[0]),
                (d.scatter_indices_batching_dims, shapes[1]),
                (d.scatter_dims_to_operand_dims, shapes[0]),
            ),
        }

    def of_scan(self, eqn: Any, shapes: Shapes, out_shapes: Shapes) -> dict[str, str]:
        """Return no parameter: each step is the body, which treats groups as one, on entries along an own axis."""
        loop = scan_loop(eqn)
        self.stacked([*eqn.invars[loop.consts + loop.carries :], *eqn.outvars[loop.carries :]])
        return {}

    def whole(self, axes: Sequence[int], shape: Sequence[Any]) -> list[int]:
        """Return the collapsed positions of these axes, sorted. Raises SplitGroupError for a part of a group's axes."""
        _, place = self.axes(shape)
        chosen = {place[a] for a in axes}
        chosen.discard(_GONE)
        if sorted(k for k, q in enumerate(place) if q in chosen) != sorted(a for a in axes if place[a] != _GONE):
            raise SplitGroupError("part of a star group is reduced")
        return sorted(chosen)

    def collapsed_axis(self, axis: int, shape: Sequence[Any]) -> list[int]:
        """Return the collapsed position, in a list, of an axis along which a primitive depends on the place of entries.

        Raises SplitGroupError for an axis of a group with several axes, or one that is left out.
        """
        place = self.whole((axis,), shape)
        if not place:
            raise SplitGroupError("entries are placed along a star group")
        return place

    def stacked(self, stacks: Sequence[Any]) -> None:
        """Check that a scan does not run along an axis of a star group. Raises SplitGroupError."""
        if any(self.dims(v.aval.shape[0]) in self.member for v in stacks):
            raise SplitGroupError("a scan runs along an axis of a star group")

    def each(self, values: Sequence[Any], whole: Sequence[Any], shape: Sequence[Any]) -> str:
        """Return a parameter that has a value for each axis as text, without the axes of star groups.

        Raises SplitGroupError where an axis of a group has another value than in `whole`, which leaves it as it is.
        """
        written = [tuple(map(self.dims, value)) for value in values]
        for n, value, everything in zip(shape, written, whole, strict=True):
            if self.dims(n) in self.member and value != tuple(map(self.dims, everything)):
                raise SplitGroupError("part of a star group is looked at")
        return str(
            [[self.dim(x) for x in v] for n, v in zip(shape, values, strict=True) if self.dims(n) not in self.member]
        )

    def windows_or_lines(
        self, sizes: Sequence[Any], indexed: Sequence[int], lines: Sequence[int], shape: Sequence[Any]
    ) -> None:
        """Check that each window takes all of a group, or lies in one line of it, so that no index says where in it.

        `sizes` are those of a window along each axis of `shape`; along axes in `indexed` an index says where it begins,
        and along axes in `lines` (batching axes) it takes one line. Raises SplitGroupError.
        """
        of_groups = [n for n in map(self.dims, shape) if n in self.member]
        if len(of_groups) != len(set(of_groups)):
            raise SplitGroupError("a star group stands twice in an array that is indexed")
        for axis, (n, size) in enumerate(zip(shape, sizes, strict=True)):
            if self.dims(n) in self.member and (
                axis in indexed or (axis not in lines and self.dims(size) != self.dims(n))
            ):
                raise SplitGroupError("part of a star group is looked at")

    def outside(self, sizes: Sequence[Any], shape: Sequence[Any]) -> str:
        """Return sizes along the axes of a shape that belong to no group, as text."""
        return str([self.dim(m) for m, n in zip(sizes, shape, strict=True) if self.dims(n) not in self.member])

    def numbers(self, *axes: tuple[Sequence[int], Sequence[Any]]) -> str:
        """Return lists of axes as text with their collapsed positions; each list comes with the shape of its array."""
        return str([self.ordered(listed, shape) for listed, shape in axes])

    def untouched(self, eqn: Any, part: Sequence[Any]) -> None:
        """Check that a slice whose start is a traced value takes all of each group, from 0. Raises SplitGroupError.

        `part` is the shape of the slice.
        """
        shape = eqn.invars[0].aval.shape
        for n, m, start in zip(shape, part, eqn.invars[-len(shape) :], strict=True):
            if self.dims(n) in self.member and (
                self.dims(n) != self.dims(m) or not (is_literal(start) and start.val == 0)
            ):
                raise SplitGroupError("part of a star group is looked at")

    def program(self, program: Program) -> str:
        """Return a program as text, without the equations whose outputs nothing needs (`unused`)."""
        outer = self.needed
        used = (v for eqn in program.jaxpr.eqns for v in eqn.invars)
        self.needed = {v for v in (*used, *program.jaxpr.outvars) if not is_literal(v)}
        try:
            return super().program(program)
        finally:
            self.needed = outer

    def unused(self, eqn: Any) -> bool:
        """Return whether an equation computes a size that nothing needs: then the size is not used."""
        return eqn.primitive.name == "dim_as_value" and self.needed.isdisjoint(eqn.outvars)

    def operands(self, eqn: Any) -> Sequence[Any]:
        """Return the operands of an equation, without the starts of a slice along star groups, which are 0."""
        if eqn.primitive.name not in ("dynamic_slice", "dynamic_update_slice"):
            return eqn.invars
        shape = eqn.invars[0].aval.shape
        if not shape:
            return eqn.invars
        starts = zip(shape, eqn.invars[-len(shape) :], strict=True)
        return [*eqn.invars[: -len(shape)], *(v for n, v in starts if self.dims(n) not in self.member)]

    def ordered(self, axes: Sequence[int], shape: Sequence[Any]) -> list[int]:
        """Return the collapsed positions of axes, in their order. Raises SplitGroupError for a part of a group."""
        self.whole(axes, shape)
        return _without_repeats([self.axes(shape)[1][a] for a in axes])


def _without_repeats(places: list[int]) -> list[int]:
    """Return positions without repeats side by side, as of the axes of one group, and without `_GONE`."""
    out: list[int] = []
    for q in places:
        if q != _GONE and (not out or out[-1] != q):
            out.append(q)
    return out


_WITHOUT_AXES = kinds.POINTWISE | kinds.CALLS
_REWRITTEN: dict[str, Callable[[_Collapsing, Any, Shapes, Shapes], dict[str, str]]] = {
    "broadcast_in_dim": _Collapsing.of_broadcast,
    "squeeze": _Collapsing.of_squeeze,
    "transpose": _Collapsing.of_transposition,
    "dot_general": _Collapsing.of_product,
    "reshape": _Collapsing.of_reshape,
    "iota": _Collapsing.of_iota,
    "concatenate": _Collapsing.of_concatenation,
    "split": _Collapsing.of_concatenation,
    "dim_as_value": _Collapsing.of_size,
    "rev": _Collapsing.of_reversal,
    "slice": _Collapsing.of_slice,
    "pad": _Collapsing.of_padding,
    "dynamic_slice": _Collapsing.of_dynamic_slice,
    "dynamic_update_slice": _Collapsing.of_dynamic_slice,
    "gather": _Collapsing.of_gather,
    "scatter": _Collapsing.of_scatter,
    "scatter-add": _Collapsing.of_scatter,
    "scan": _Collapsing.of_scan,
    **dict.fromkeys(kinds.REDUCES, _Collapsing.of_reduction),
    **dict.fromkeys(kinds.ALONG_AN_AXIS, _Collapsing.along_an_axis),
    **dict.fromkeys(kinds.WINDOWS, _Collapsing.of_windows),
}
"""For each primitive whose parameters name axes or sizes, the method that rewrites these."""
