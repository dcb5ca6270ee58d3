"""Values that solvers return: tensors that an equation R(z, θ) = 0 determines.

That a solver's result satisfies its equation is a hypothesis, printed with the other ones. What follows from it:

- Where R = J·z + r with J and r free of z, and J is invertible, z = −J⁻¹·r: then z is a term like any other.
- Else z stands as a tensor of its own. The implicit function theorem: let R be C¹ near (z₀, θ₀), R(z₀, θ₀) = 0 and
  J = ∂R/∂z invertible there. Then near (z₀, θ₀) the zeros of R are the graph of one C¹ function of θ, and its
  derivative is dz = −J⁻¹·∂R/∂θ·dθ. So this is the derivative of what a solver returns if near θ₀ that satisfies the
  equation and depends on θ continuously: a solver may jump between solutions, and only then is it another function.

J mixes the entries of z along one axis at most; what else z has is a batch of systems.

An equation is also used to rewrite (`modulo`): what is proved for all θ and z that satisfy it may be proved with one of
them eliminated: an input, or another solution, in which it is linear (E − e·sin E = M, for M), or z itself where it
stands outside of functions (z = tanh(W·z + x)). Each is an equality at every point of the claim, and is used once.
What is eliminated has the shape of z: of the entries of a larger array the equation speaks of a part alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.signs import ZERO as SIGN_ZERO
from certgrad.obligations.assume.tensor import Tensor, own_index
from certgrad.obligations.terms.atoms import Access, Base, Sum, access
from certgrad.obligations.terms.determined import Matrix
from certgrad.obligations.terms.index import of_var
from certgrad.obligations.terms.law import Law, applied
from certgrad.obligations.terms.polynomials import ZERO, Atom, Poly, monomial, poly_of
from certgrad.obligations.terms.power import cleared, power
from certgrad.obligations.terms.rewriting import Rewriter, substitute
from certgrad.obligations.terms.session import Memo
from certgrad.obligations.terms.sums import sum_over
from certgrad.obligations.terms.variables import Var, fresh, template
from certgrad.obligations.terms.walk import atoms_of, deep_atoms

from .matrices import matrix

UNKNOWN = "unknown of an equation"
"""The tensor in which the linear part of an equation is written."""
Shapes = Mapping[str, tuple[Poly, ...]]
"""Shapes of tensors, by name."""


@dataclass(frozen=True)
class Jacobian:
    """∂R/∂z along one axis: its entry at (row, column), a term over these and the other template variables.

    The template variables number the axes of z. Without an axis, ∂R/∂z is diagonal and `entry` is over these alone.
    """

    entry: Poly
    axis: int | None = None
    row: Var = ("f", 0, 1)
    column: Var = ("f", 0, 1)

    def solved(self, right: Poly, shape: tuple[Poly, ...]) -> Poly:
        """Return J⁻¹·right, both over the template variables."""
        if self.axis is None:
            return right * power(self.entry, -1)
        dummy, row_index, size = fresh(), own_index(shape)[self.axis], shape[self.axis]
        inverse = matrix("inverse", self.entry, self.row, self.column, size, (row_index, of_var(dummy)))
        return sum_over(inverse * substitute(right, {template(self.axis): of_var(dummy)}), [(dummy, size)])


@dataclass(frozen=True)
class Solution:
    """One call of a solver: its name, R at the template variables with entries of the tensor `name` for z, and J.

    `change` is J·u for the tensor u = `UNKNOWN`. `affine` says that z is a term: then `name` stands in R alone.
    """

    name: str
    shape: tuple[Poly, ...]
    residual: Poly
    change: Poly
    jacobian: Jacobian
    affine: bool

    def tangent(self, change: Poly) -> Poly:
        """Return dz at the template variables, where R has the differential `change` as θ moves."""
        return -self.jacobian.solved(change, self.shape)


Call = tuple[Tensor, tuple[Poly, ...]]
"""What a call of a solver returned, and the terms of its arguments."""
_solutions: Memo[str, Solution] = Memo()
_calls: Memo[tuple, Call] = Memo()
_taken: Memo[str, None] = Memo()


def reserve(names: Iterable[str]) -> None:
    """Keep the names of inputs from being given to solutions."""
    _taken.table.update(dict.fromkeys(names))


def unused(name: str) -> str:
    """Return the name, primed until nothing else is called so, and keep it from being given again."""
    while name in _taken.table:
        name += "′"
    _taken.table[name] = None
    return name


def known_call(key: tuple) -> Call | None:
    """Return the result of an earlier call of the same program at the same arguments, if there is one."""
    return _calls.table.get(key)


def keep_call(key: tuple, value: Tensor, arguments: tuple[Poly, ...], solution: Solution) -> Tensor:
    """Remember a call of a solver for this proof, and return its value."""
    _solutions.table[solution.name] = solution
    _calls.table[key] = value, arguments
    return value


def solution_of(tensor: str) -> Solution | None:
    """Return the solver's call that returned a tensor; None where no solver did."""
    return _solutions.table.get(tensor)


def solution_shapes() -> dict[str, tuple[Poly, ...]]:
    """Return the shapes of what solvers returned, by name."""
    return {name: solution.shape for name, solution in _solutions.table.items()}


def implicit() -> list[Solution]:
    """Return the solutions that stand as tensors of their own, and not as terms, in the order of their calls."""
    return [s for s in _solutions.table.values() if not s.affine]


# --- an equation as a rule for rewriting ---------------------------------------------------------------------------


def modulo(poly: Poly, facts: Facts, inputs: Shapes) -> Poly:
    """Return the term with one tensor eliminated by each equation that can be solved for it under the facts.

    That is an input or another solution of the shape of z, or z itself outside of functions (see the head of the file).
    `inputs` are the shapes of the inputs.
    """
    eliminations: list[Rewriter] = []

    def rewritten(p: Poly) -> Poly:
        for change in eliminations:
            p = change(p)
        return p

    for solution in implicit():
        residual = rewritten(solution.residual)
        shapes = {**inputs, **{other.name: other.shape for other in implicit() if other is not solution}}
        candidates = [name for name, shape in shapes.items() if shape == solution.shape]
        # The equation is tried as it is, and with its denominators cleared.
        ways = (w for r in (residual, cleared(residual)[0]) for w in _eliminations(solution, r, facts, candidates))
        change = next(ways, None)
        if change is not None:
            applied(Law.AFFINE_EQUATION)
            eliminations.append(change)
    return rewritten(poly)


def _eliminations(solution: Solution, residual: Poly, facts: Facts, names: Iterable[str]) -> Iterator[Rewriter]:
    place = own_index(solution.shape)
    for name in names:
        value = _solved_for(residual, access(name, place), facts, lambda p, name=name: stands_in(name, p))  # type: ignore[misc]
        if value is not None:
            yield Rewriter(replace=_putting(name, value, everywhere=True))
    name = solution.name
    value = _solved_for(residual, access(name, place), facts, lambda p: _occurs_outside_functions(name, p))
    if value is not None:
        yield Rewriter(replace=_putting(name, value, everywhere=False))


def _solved_for(residual: Poly, unknown: Poly, facts: Facts, holds: Callable[[Poly], bool]) -> Poly | None:
    """Return −b/a where R = a·unknown + b, a ≠ 0, and the unknown is in neither a nor b, by `holds`; else None."""
    a, b = ZERO, ZERO
    for mono, c in residual.items():
        rest = {k: e for k, e in mono if not (e == 1 and k is unknown.atom())}
        if len(rest) < len(mono):
            a = a + monomial(rest).scale(c)
        else:
            b = b + monomial(rest).scale(c)
    if a.is_zero or holds(a) or holds(b) or facts.signs(a) & SIGN_ZERO:
        return None
    return -b * power(a, -1)


def stands_in(tensor: str, poly: Poly) -> bool:
    """Return whether an entry of the tensor stands in the term; solutions that depend on the tensor do not count."""
    return any(isinstance(a, Access) and a.tensor == tensor for a in deep_atoms(poly))


_ALGEBRA = (Base, Sum, Matrix)
"""Kinds of atoms that are algebraic functions of their parts."""


def _occurs_outside_functions(tensor: str, poly: Poly) -> bool:
    """Return whether an entry of the tensor stands outside of all functions."""
    stack = atoms_of(poly)
    while stack:
        a = stack.pop()
        if isinstance(a, Access) and a.tensor == tensor:
            return True
        if isinstance(a, _ALGEBRA):
            stack += [b for p in a.parts() for b in atoms_of(p)]
    return False


def _putting(tensor: str, value: Poly, everywhere: bool) -> Callable[[Atom], Poly | None]:
    """Return a rewriting of the tensor's entries to `value` at their index; in functions only if `everywhere`."""

    def put(a: Atom) -> Poly | None:
        if isinstance(a, Access):
            if a.tensor != tensor:
                return None
            return substitute(value, {template(k): ix for k, ix in enumerate(a.index)})
        return None if everywhere or isinstance(a, _ALGEBRA) else poly_of(a)

    return put
