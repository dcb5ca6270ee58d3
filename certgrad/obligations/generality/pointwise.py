"""Programs that are one scalar program at every entry, and what a proof of one of them says of the others.

Let the axes of a family of shapes be named by their dimensions, each name at most once in a shape. A program of
elementwise primitives, of broadcasts that send an axis to the one of its name, and of reshapes that add or drop axes
of size 1 computes, at every index, one scalar program of the entries that its inputs have at that index: by induction
over its equations, each of which reads its operands at the index that it writes. A sum over axes is the sum of that
scalar program over their names.

Let φ, ψ, χₖ be the scalar programs of forward, JVP and VJP at such a family, let every output carry the same names U,
and let the k-th cotangent be summed over exactly the names of U that argument k lacks, or be the constant 0, which is
its own sum over any names. Then

- jvp = D forward at the family is ψ = Dφ at each index of U;
- ⟨jvp, seed⟩ = Σ_U ψ·seed and ⟨dx, vjp⟩ = Σₖ Σ_{names of k} dxₖ Σ_{names of U that k lacks} χₖ = Σ_U Σₖ dxₖ·χₖ, so that
  the adjoint law at the family follows from ψ·seed = Σₖ dxₖ·χₖ at each index of U;
- each value is defined where its scalar program is, at each index.

A family with the same scalar programs at which the laws are proved gives them for scalars: set every dimension to 1.
So the laws hold at every such family, under the hypotheses of that proof read at each index.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from certgrad.jaxpr import kinds
from certgrad.obligations.assume.conditions import Clause, polys
from certgrad.obligations.prove.problem import Programs, Shapes
from certgrad.obligations.terms.atoms import Access, Base, Exp, Fn, Num, access
from certgrad.obligations.terms.index import of_const, of_var
from certgrad.obligations.terms.polynomials import ZERO, Atom, Poly, poly_of
from certgrad.obligations.terms.predicates import Pred
from certgrad.obligations.terms.rewriting import Rewriter
from certgrad.obligations.terms.session import intern
from certgrad.obligations.terms.variables import template
from certgrad.obligations.terms.walk import deep_atoms
from certgrad.obligations.tracing.jax_internals import (
    DimExpr,
    Program,
    Serialiser,
    inner_program,
    is_literal,
    kind_of,
    live_equations,
)

Names = tuple[str, ...]


@dataclass(frozen=True)
class Scalars:
    """The scalar programs of forward, JVP, VJP and primal: a number for each output; and the primitives that they run.

    Equal numbers, given by one `Pointwise`, are equal scalar programs.
    """

    programs: tuple[tuple[int, ...], ...]
    primitives: list[str] = field(compare=False)


class _NotPointwiseError(Exception):
    """The program is not known to be one scalar program at every entry."""


@dataclass(frozen=True)
class _Value:
    """A value in a program: the number of its scalar program, the names of its axes, the names that are summed."""

    node: int
    shape: Names
    summed: frozenset[str] = frozenset()

    @property
    def names(self) -> list[str]:
        return [d for d in self.shape if d != "1"]


class Pointwise:
    """Scalar programs by number: equal programs have equal numbers."""

    def __init__(self) -> None:
        self.nodes: dict[tuple, int] = {}
        self.text = Serialiser(str, erase=False)
        self.shapes: set[Names] = set()
        self.zeros: set[int] = set()
        """The scalar programs that are the constant 0."""

    def scalars(self, programs: Programs, shapes: Shapes) -> Scalars | None:
        """Return the scalar programs of these programs, if they satisfy the theorem above; else None."""
        primitives: dict[str, None] = {}
        try:
            run = {name: self._outputs(p, primitives) for name, p in programs.all().items()}
            results = {frozenset(v.names) for name in ("forward", "jvp", "primal") for v in run.get(name, ())}
            if len(results) != 1 or any(v.summed for name in run if name != "vjp" for v in run[name]):
                return None
            (everywhere,) = results  # the names U of the theorem
            inputs = [frozenset(self._shape(s)) - {"1"} for s in shapes.inputs]
            if any(not names <= everywhere for names in inputs):
                return None
            for k, v in zip(shapes.floats, run["vjp"], strict=True):
                right = v.summed == everywhere - inputs[k] or v.node in self.zeros
                if not right or not frozenset(v.names) <= inputs[k]:
                    return None
        except _NotPointwiseError:
            return None
        return Scalars(tuple(tuple(v.node for v in values) for values in run.values()), list(primitives))

    def _number(self, *key: Any) -> int:
        return self.nodes.setdefault(key, len(self.nodes))

    def _shape(self, shape: Sequence[Any]) -> Names:
        """Return the names of a shape's axes, "1" for size 1.

        Raises _NotPointwiseError where a size is no name, or a name stands twice.
        """
        names = tuple(map(self.text.dims, shape))
        if names not in self.shapes:
            axes = [n for n in names if n != "1"]
            if len(set(axes)) != len(axes) or not all(n.isidentifier() for n in axes):
                raise _NotPointwiseError
            self.shapes.add(names)
        return names

    def _outputs(self, program: Program, primitives: dict[str, None]) -> list[_Value]:
        """Return the outputs of a program as values, and add its primitives. Raises _NotPointwiseError."""
        inputs = [
            _Value(self._number("input", k, v.aval.dtype), self._shape(v.aval.shape))
            for k, v in enumerate(program.jaxpr.invars)
        ]
        return [v for v in self._run(program, inputs, [True] * len(program.jaxpr.outvars), primitives) if v is not None]

    def _run(
        self, program: Program, inputs: Sequence[_Value | None], needed: Sequence[bool], primitives: dict[str, None]
    ) -> list[_Value | None]:
        """Return the needed outputs of a program as values, None for the others.

        Raises _NotPointwiseError where an equation behind a needed output is not pointwise.
        """
        jaxpr = program.jaxpr
        if getattr(jaxpr, "effects", None):
            raise _NotPointwiseError
        env: dict[Any, _Value] = {v: x for v, x in zip(jaxpr.invars, inputs, strict=True) if x is not None}
        for v, c in zip(jaxpr.constvars, program.consts, strict=True):
            env[v] = self._constant(v.aval, c)

        def read(v: Any) -> _Value:
            if is_literal(v):
                return self._constant(v.aval, v.val)
            if v not in env:  # an operand that the needed results do not depend on
                raise _NotPointwiseError
            return env[v]

        for eqn, use in live_equations(jaxpr, needed):
            inner = inner_program(eqn)
            if inner is not None and len(inner.jaxpr.invars) == len(eqn.invars):
                # An operand without a value may be one that the needed outputs of the inner program do not read.
                operands = [read(v) if is_literal(v) or v in env else None for v in eqn.invars]
                out = self._run(inner, operands, use, primitives)
            else:
                primitives.setdefault(eqn.primitive.name)
                out = [self._value(eqn, [read(v) for v in eqn.invars])]
            env.update((v, x) for v, x in zip(eqn.outvars, out, strict=True) if x is not None)
        return [read(v) if n else None for v, n in zip(jaxpr.outvars, needed, strict=True)]

    def _constant(self, aval: Any, value: Any) -> _Value:
        """Return a scalar constant as a value. Raises _NotPointwiseError for an array."""
        if aval.shape:
            raise _NotPointwiseError
        node = self._number("constant", self.text.value(value), aval.dtype)
        if kind_of(aval.dtype) == "f" and float(value) == 0:
            self.zeros.add(node)
        return _Value(node, ())

    def _value(self, eqn: Any, operands: list[_Value]) -> _Value:
        """Return the output of an equation that is pointwise, sums whole axes, or only broadcasts and reshapes.

        Only a pointwise primitive makes a new scalar program; a sum adds names to `summed`, and broadcasts and reshapes
        change the shape. Raises _NotPointwiseError for any other equation.
        """
        name, params = eqn.primitive.name, eqn.params
        if name in kinds.CALLS or len(eqn.outvars) != 1:
            raise _NotPointwiseError
        aval = eqn.outvars[0].aval
        shape = self._shape(aval.shape)
        if name in kinds.POINTWISE:
            if any(v.summed or not _fits(v.shape, shape) for v in operands):
                raise _NotPointwiseError
            if any(isinstance(p, DimExpr) for p in params.values()):
                raise _NotPointwiseError
            text = self.text.params(eqn)
            return _Value(self._number(name, text, aval.dtype, *(v.node for v in operands)), shape)
        if len(operands) != 1:
            raise _NotPointwiseError
        (x,) = operands
        if name == "reduce_sum" and kind_of(aval.dtype) == "f":
            return _Value(x.node, shape, x.summed | {x.shape[a] for a in params["axes"]} - {"1"})
        # A name that was summed over must not become an axis again, by a broadcast or a reshape.
        if name in kinds.BROADCASTS:
            kept = [shape[a] for a in params["broadcast_dimensions"]]
            fits = all(d in ("1", size) for d, size in zip(x.shape, kept, strict=True))
        elif name in kinds.RESHAPES:
            permuted = name == "reshape" and params["dimensions"] is not None
            fits = not permuted and x.names == [d for d in shape if d != "1"]
        else:
            fits = False
        if not fits or x.summed & set(shape):
            raise _NotPointwiseError
        return _Value(x.node, shape, x.summed)


def _fits(operand: Names, result: Names) -> bool:
    """Return whether an elementwise primitive reads this operand at the index that it writes; axes of size 1 at 0."""
    return not operand or (
        len(operand) == len(result) and all(d in ("1", size) for d, size in zip(operand, result, strict=True))
    )


def about_entries(clauses: Sequence[Clause]) -> bool:
    """Return whether each clause (a disjunction of conditions) is about entries alone, at whole indices.

    Then no sum, maximum or size is in it, and each index is a variable or 0.
    """
    atoms = [a for c in clauses for p in polys(c) for a in deep_atoms(p)]
    indices = (ix for a in atoms if isinstance(a, Access) for ix in a.index)
    return all(isinstance(a, (Access, Fn, Base, Pred, Exp, Num)) for a in atoms) and all(
        ix.variable() is not None or ix == of_const(ZERO) for ix in indices
    )


def read_at_each_index(
    clauses: Sequence[Clause], names: Sequence[str], shapes: Shapes, out: Sequence[Any]
) -> list[Clause]:
    """Return clauses about entries of the named inputs, read at each index of an output of shape `out`.

    They are built anew from their parts, so that the given ones may come from an earlier proof.
    """
    order = {str(d): k for k, d in enumerate(out)}
    index_of = {
        name: tuple(of_const(ZERO) if str(d) == "1" else of_var(template(order[str(d)])) for d in shape)
        for name, shape in zip(names, shapes.inputs, strict=True)
    }

    def at_index(a: Atom) -> Poly | None:
        if isinstance(a, Access):
            return access(a.tensor, index_of.get(a.tensor, ()))
        return poly_of(intern(Num(a.name))) if isinstance(a, Num) else None

    return [c.rewritten(Rewriter(replace=at_index)) for c in clauses]
