"""The directional derivative of a term, by structure: d/dt at x + t·dx, t = 0.

Predicates count as locally constant here; `seams` adds the hypotheses under which that is true. A maximum, and a value
behind `stop_gradient`, get an arbitrary tangent τ: if τ's coefficient vanishes in the obligation, the tangent does not
matter. If it does not vanish, a maximum is differentiated under the hypothesis that it is attained once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from flint import fmpq

from certgrad.obligations.laws.matrices import derivative, opened
from certgrad.obligations.laws.order import argument, may_be_empty
from certgrad.obligations.laws.order import opened as opened_extremum
from certgrad.obligations.laws.range_products import others
from certgrad.obligations.laws.recurrences import System, fresh_carry, open_loop, solve
from certgrad.obligations.laws.scalar_derivatives import NoDerivativeError, derivative_of
from certgrad.obligations.laws.solutions import Solution, solution_of
from certgrad.obligations.terms.atoms import Access, Base, Dim, Exp, Fn, Max, Num, Product, Sum, access
from certgrad.obligations.terms.determined import Matrix, Rec
from certgrad.obligations.terms.exponents import Exponent
from certgrad.obligations.terms.index import of_var
from certgrad.obligations.terms.index_terms import index_equal
from certgrad.obligations.terms.law import Law, applied
from certgrad.obligations.terms.polynomials import ZERO, Accumulator, Atom, Mono, Poly, monomial, poly_of
from certgrad.obligations.terms.rewriting import Rewriter, substitute
from certgrad.obligations.terms.sums import open_sum, sum_over
from certgrad.obligations.terms.variables import Var, template
from certgrad.obligations.terms.walk import atoms_of, tensors_in

ARBITRARY = "τ"
"""First letter of the tensors that stand for arbitrary tangents."""


class Differentiator:
    """Differentiates terms along a direction: `tangents` names the tangent of each input tensor; others are constant.

    `attained_once` names maxima, by their arbitrary tangents, that are differentiated at their only arg-maximum.
    """

    def __init__(
        self, tangents: Mapping[str, str], attained_once: Collection[str] = (), held: Collection[str] = ()
    ) -> None:
        self.tangents, self.attained_once = tangents, attained_once
        self.held = held
        """Solutions of equations, by their tensors, that count as constant."""
        self.solved: dict[str, Poly] = {}
        """The tangents of solutions that were computed, by tensor."""
        self.seen: dict[Atom, Poly] = {}
        """The derivatives of atoms that were computed."""
        self.arbitrary: dict[str, str] = {}
        """For each arbitrary tangent, whether a `stop_gradient` or a maximum made it."""
        self.ranges: dict[Var, Poly] = {}
        """The ranges of variables that were opened on the way."""
        self.maxima: dict[Max, None] = {}
        """The maxima that were differentiated where they are attained once."""

    def __call__(self, poly: Poly) -> Poly:
        """Return the derivative of a term. Raises NoDerivativeError where the calculus has none."""
        total = Accumulator()
        for mono, c in poly.items():
            total.add_poly(self.mono(mono), c)
        return total.poly()

    def mono(self, mono: Mono) -> Poly:
        """Return the derivative of a product of powers: Σ over its factors a^e of e·a^(e−1)·da times the others."""
        total = Accumulator()
        for k, (a, e) in enumerate(mono):
            da = self.atom(a)
            if da.is_zero:
                continue
            factors: dict[Atom, Exponent] = dict(mono[:k] + mono[k + 1 :])
            factors[a] = e - 1
            total.add_poly(monomial(factors) * da, fmpq(e.numerator, e.denominator))
        return total.poly()

    def atom(self, a: Atom) -> Poly:
        """Return the derivative of an atom, which is computed once."""
        derivative_of_a = self.seen.get(a)
        if derivative_of_a is None:
            derivative_of_a = self.seen[a] = self._atom(a)
        return derivative_of_a

    def _atom(self, a: Atom) -> Poly:
        """Return the derivative of an atom, by its kind. Atoms of other kinds, such as predicates, are constant."""
        if isinstance(a, Access):
            solution = solution_of(a.tensor)
            if solution is not None:
                return self._of_solution(solution, a)
            tangent = self.tangents.get(a.tensor)
            return access(tangent, a.index) if tangent else ZERO
        if isinstance(a, Exp):
            return poly_of(a) * self.mono(a.mono)
        if isinstance(a, Base):
            return self(a.poly)
        if isinstance(a, Sum):
            dummies, body = open_sum(a)
            self.ranges.update(dummies)
            return sum_over(self(body), dummies)
        if isinstance(a, Fn):
            if not depends(a, self.tangents):
                return ZERO
            if a.name == "stop":
                return self._free_tangent(a, "stop_gradient")
            total = ZERO
            for k, argument in enumerate(a.args):
                d = self(argument)
                if not d.is_zero:
                    total = total + derivative_of(a.name, a.args, k) * d
            return total
        if isinstance(a, Matrix):
            if not depends(a, self.tangents):
                return ZERO
            row, column, body = opened(a)
            change = derivative(a, row, column, self(body))
            if change is None:
                raise NoDerivativeError(f"the {a.name} of a matrix")
            return change
        if isinstance(a, Product):
            return self._of_product(a) if depends(a, self.tangents) else ZERO
        if isinstance(a, Max):
            return self._of_maximum(a) if depends(a, self.tangents) else ZERO
        if isinstance(a, Rec):
            return self._carried(a) if depends(a, self.tangents) else ZERO
        return ZERO

    def _of_solution(self, solution: Solution, a: Access) -> Poly:
        """Return an entry of dz = −J⁻¹·∂R/∂θ·dθ for the solution z of R(z, θ) = 0, where J = ∂R/∂z.

        ∂R/∂θ·dθ is the derivative of the residual R with z held constant.
        """
        if a.tensor in self.held or not depends(a, self.tangents):
            return ZERO
        if a.tensor not in self.solved:
            applied(Law.IMPLICIT_FUNCTION)
            moved = {n: d for n, d in self.tangents.items() if n != a.tensor}
            inner = Differentiator(moved, self.attained_once, {*self.held, a.tensor})
            inner.arbitrary = self.arbitrary
            self.solved[a.tensor] = solution.tangent(inner(solution.residual))
        return substitute(self.solved[a.tensor], {template(k): ix for k, ix in enumerate(a.index)})

    def _carried(self, a: Rec) -> Poly:
        """Return the derivative of what a loop carries, an entry of a loop that carries tangents beside the carries.

        For the carry c, dc[0] is the tangent of c[0], and dc[s + 1] the derivative of the step that makes c[s + 1].
        """
        system = open_loop(a.loop)
        moved = {c.name: fresh_carry() for c in system.carries}
        inner = Differentiator({**self.tangents, **moved}, held=self.held)
        inner.arbitrary = self.arbitrary
        tangents = [replace(c, name=moved[c.name], init=self(c.init), step=inner(c.step)) for c in system.carries]
        both = System(system.step, [*system.carries, *tangents])
        return solve(both)[moved[system.carries[a.position].name]](a.time, a.index)

    def _of_product(self, a: Product) -> Poly:
        """Return d Π_{k∈S} f(k) = Σ_{j∈S} df(j)·Π_{k∈S, k≠j} f(k) for a product over a finite index set S.

        It is the product rule without a division, so that it holds where factors are 0.
        """
        applied(Law.DERIVATIVE_OF_PRODUCT)
        dummies, body, where = opened_extremum(a)
        self.ranges.update(dummies)
        place = {v: of_var(w) for v, (w, _) in zip(a.vars, dummies, strict=True)}
        return sum_over(where * self(body) * others(a, place), dummies)

    def _of_maximum(self, a: Max) -> Poly:
        """Return the derivative of a maximum: that of the entry at its arg-maximum, if it is said to be attained once.

        Other maxima get an arbitrary tangent.
        """
        if _tangent_name(a)[0] not in self.attained_once:
            return self._free_tangent(a, "maximum")
        self.maxima.setdefault(a)
        applied(Law.DERIVATIVE_OF_MAXIMUM)
        dummies, body, where = opened_extremum(a)
        self.ranges.update(dummies)
        place = {v: ix for (v, _), ix in zip(dummies, argument(a), strict=True)}
        if may_be_empty(where):  # then Σ over the arg-maximum alone, which is 0 if no value takes part
            for v, ix in place.items():
                where = where * index_equal(of_var(v).minus(ix))
            return sum_over(where * self(body), dummies)
        return Rewriter(place)(self(body))

    def _free_tangent(self, a: Atom, why: str) -> Poly:
        """Return an arbitrary tangent, indexed by the value's free variables: equal values have the same tangent."""
        name, variables = _tangent_name(a)
        self.arbitrary[name] = why
        return access(name, tuple(of_var(v) for v in variables))


def _tangent_name(a: Atom) -> tuple[str, list[Var]]:
    """Return the name of the arbitrary tangent of an atom, and the free variables that are its indices."""
    variables = sorted(a.free)
    abstract = Rewriter({v: of_var(("c", k, 9)) for k, v in enumerate(variables)})(poly_of(a))
    return f"{ARBITRARY}{abstract.key}", variables


def depends(a: Atom, tensors: Mapping[str, str]) -> bool:
    """Return whether the atom mentions one of the tensors."""
    return not tensors_in(a).isdisjoint(tensors)


def polynomial(poly: Poly, inputs: Mapping[str, Sequence[Poly]]) -> bool:
    """Return whether the term is a polynomial in entries of the inputs, and so smooth everywhere.

    `inputs` holds the shape of each input. No value may decide which entries are read, or how many; so all sizes must
    be those of the inputs (the number of steps of a loop that ends by its values is a size too, and jumps).
    """
    sizes = {a for shape in inputs.values() for n in shape for a in atoms_of(n)}

    def is_polynomial(mono: Mono) -> bool:
        return all(is_number_or_size(a) or (isinstance(e, int) and e > 0 and is_entry_or_sum(a)) for a, e in mono)

    def is_number_or_size(a: Atom) -> bool:
        return isinstance(a, Num) or (isinstance(a, Dim) and a in sizes)

    def is_of_sizes(n: Poly) -> bool:
        return all(map(is_number_or_size, atoms_of(n)))

    def is_entry_or_sum(a: Atom) -> bool:
        if isinstance(a, Sum):
            return is_polynomial(a.body) and all(map(is_of_sizes, a.ranges))
        if not isinstance(a, Access) or a.tensor not in inputs:
            return False
        return not any(ix.atoms for ix in a.index) and all(is_of_sizes(ix.const) for ix in a.index)

    return all(is_polynomial(mono) for mono in poly)
