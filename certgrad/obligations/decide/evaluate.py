"""The value of a term at concrete dimensions and entries, as a ball: for sampling hypotheses and for tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cmp_to_key, reduce
from itertools import product
from math import prod
from typing import Any

from flint import arb, arb_mat, fmpq

from certgrad.obligations.balls import FACTORS, Undecided, factor
from certgrad.obligations.terms.atoms import Access, Base, Dim, Exp, Fn, IndexNumber, Max, Num, Product, Sum
from certgrad.obligations.terms.determined import Carry, Matrix, Rec, carried
from certgrad.obligations.terms.exponents import Exponent
from certgrad.obligations.terms.functions import UndecidedError
from certgrad.obligations.terms.functions import integer_of_ball as integer_of
from certgrad.obligations.terms.index import IntegerAtom, Ix, IxTerm
from certgrad.obligations.terms.integers import (
    ORDER,
    PIVOTED,
    PIVOTS,
    Chosen,
    Entry,
    Quotient,
    Remainder,
    Rounded,
    RowMajor,
)
from certgrad.obligations.terms.polynomials import ONE, Atom, Poly
from certgrad.obligations.terms.predicates import PREDICATES, IxEq, IxPred, Pred
from certgrad.obligations.terms.variables import Var
from certgrad.signatures.sizes import size_at

from .evaluate_functions import function

Values = Callable[[str, tuple[int, ...]], fmpq]
Env = Mapping[Var, int]
State = dict[str, dict[tuple[int, ...], arb]]
"""The entries of what a loop carries at a time, by name and index."""


def evaluate(poly: Poly, dims: Mapping[str, int], values: Values, env: Env | None = None) -> arb:
    """Return the term's value. Raises UndecidedError where it is open on which side of a boundary a predicate is."""
    return Evaluation(dims, values).poly(poly, env or {})


class Evaluation:
    """Evaluates terms at fixed dimensions and entries; equal parts at several indices are computed once."""

    def __init__(self, dims: Mapping[str, int], values: Values) -> None:
        self.dims, self.values = dims, values
        self.carried: State = {}
        self.states: dict[tuple[Any, ...], list[State]] = {}
        """What loops carry at each time so far, while what loops around them carry stays the same."""
        self.known: dict[tuple[Any, ...], arb] = {}
        """Values of atoms, while what loops around them carry stays the same."""
        self.factors: dict[tuple[Any, ...], Any] = {}

    def attained_once(self, a: Max, env: Env) -> bool:
        """Return whether one of the values of a maximum is greater than each other one."""
        ball_values = [*self.entries(a.vars, a.ranges, a.body, a.where, env).values()]
        return any(all(x > y for j, y in enumerate(ball_values) if j != k) for k, x in enumerate(ball_values))

    def all_different(self, entry: Poly, v: Var, n: Poly, env: Env) -> bool:
        """Return whether no two of the entries for v < n are equal."""
        ball_values = [*self.entries((v,), (n,), entry, ONE, env).values()]
        return all(x != y for k, x in enumerate(ball_values) for y in ball_values[:k])

    def poly(self, p: Poly, env: Env) -> arb:
        """Return the term's value, as `evaluate` does."""
        total = arb(0)
        for mono, c in p.items():
            product_ = arb(c)
            for a, e in sorted(mono, key=lambda factor: type(factor[0]) not in PREDICATES):
                if product_ == 0:
                    break  # an unselected lane does not have to be defined
                product_ *= self.power(self.atom(a, env), e)
            total += product_
        return total

    def power(self, x: arb, e: Exponent) -> arb:
        if isinstance(e, Fraction):
            return x ** arb(fmpq(e.numerator, e.denominator))
        result = prod([x] * abs(e), start=arb(1))  # `**` is NaN for a ball around 0
        return result if e >= 0 else 1 / result

    def index(self, ix: Ix, env: Env) -> int:
        const = self.poly(ix.const, env)
        total = round(float(const.mid()))
        return total + sum(c * self.integer(v, env) for v, c in ix.terms)

    def integer(self, v: IxTerm, env: Env) -> int:
        """Return the value of an index variable or an integer atom."""
        if not isinstance(v, IntegerAtom):
            return env[v]
        inner = [self.index(ix, env) for ix in v.parts()]
        if isinstance(v, Chosen):
            return self.chosen(v, inner)
        if isinstance(v, Entry):
            return int(self.values(v.tensor, tuple(inner)))
        if isinstance(v, Rounded):
            return integer_of(self.poly(v.body, {("p", k, 0): i for k, i in enumerate(inner)}))
        if isinstance(v, RowMajor):
            return inner[0] * self.size(v.stride, env) + inner[1]
        assert isinstance(v, (Quotient, Remainder))
        quotient, remainder = divmod(inner[0], self.size(v.divisor, env))
        return quotient if isinstance(v, Quotient) else remainder

    def size(self, n: Poly, env: Env) -> int:
        value = round(float(self.poly(n, env).mid()))
        if value < 0:
            raise UndecidedError("a size below 0")
        return value

    def atom(self, a: Atom, env: Env) -> arb:
        if isinstance(a, Access):
            place = tuple(self.index(ix, env) for ix in a.index)
            if a.tensor in self.carried:
                return self.carried[a.tensor][place[1:]]
            return arb(self.values(a.tensor, place))
        question = a, *(env[v] for v in a.free)
        value = self.known.get(question)
        if value is None:
            value = self.known[question] = self._atom(a, env)
        return value

    def _atom(self, a: Atom, env: Env) -> arb:
        """Return an atom's value as a ball; UndecidedError on a predicate's boundary and for an empty extremum."""
        if isinstance(a, Rec):
            return self.carry(a, env)
        if isinstance(a, Dim):
            return arb(size_at(a.name, self.dims))
        if isinstance(a, Num):
            return arb.pi() if a.name == "pi" else arb(int(a.name))
        if isinstance(a, IndexNumber):
            return arb(self.integer(a.var, env))
        if isinstance(a, Exp):
            return self.poly(Poly({a.mono: fmpq(1)}), env).exp()
        if isinstance(a, Base):
            return self.poly(a.poly, env)
        if isinstance(a, Pred):
            x = self.poly(a.poly, env)
            if x > 0:
                return arb(1)
            if x <= 0:
                return arb(0)
            raise UndecidedError("a predicate on its boundary")
        if isinstance(a, IxPred):
            return arb(1 if self.index(a.ix, env) >= 0 else 0)
        if isinstance(a, IxEq):
            return arb(1 if self.index(a.ix, env) == 0 else 0)
        if isinstance(a, Matrix):
            return self.matrix(a, env)
        if isinstance(a, Product):
            return prod(self.entries(a.vars, a.ranges, a.body, a.where, env).values(), start=arb(1))
        if isinstance(a, (Sum, Max)):
            if isinstance(a, Max):
                entries = self.entries(a.vars, a.ranges, a.body, a.where, env)
                if not entries:
                    raise UndecidedError("an extremum over nothing")
                return reduce(arb.max, entries.values())
            sizes = [self.size(n, env) for n in a.ranges]
            places = product(*(range(n) for n in sizes))
            term = Poly({a.body: fmpq(1)})
            return sum((self.poly(term, {**env, **dict(zip(a.vars, k, strict=True))}) for k in places), arb(0))
        if isinstance(a, Fn):
            return function(a.name, [self.poly(p, env) for p in a.args])
        raise TypeError(f"no value for {type(a).__name__}")

    def entries(
        self, variables: Sequence[Var], ranges: Sequence[Poly], body: Poly, where: Poly, env: Env
    ) -> dict[tuple[int, ...], arb]:
        """Return the values of `body` by the values of its bound variables, where the 0/1-valued `where` is 1."""
        ball_values: dict[tuple[int, ...], arb] = {}
        for place, inner_env in self.places(variables, [self.size(n, env) for n in ranges], where, env):
            if self.poly(where, inner_env) == 1:
                ball_values[place] = self.poly(body, inner_env)
        return ball_values

    def places(
        self, variables: Sequence[Var], sizes: Sequence[int], where: Poly, env: Env
    ) -> Iterator[tuple[tuple[int, ...], Env]]:
        """Yield places, values of the variables, in order, each with `env` extended by them.

        Places that `where` excludes may be left out: a condition on a variable alone is tested before the next variable
        runs. So a window of a large array is not searched for at each of its entries.
        """
        if not variables:
            yield (), env
            return
        later = set(variables[1:])
        (mono, _), *other_terms = [*where.items()] or [((), None)]
        bounds = [a for a, _ in mono if isinstance(a, IxPred | IxEq) and variables[0] in a.free and not later & a.free]
        for k in range(sizes[0]):
            inner_env = {**env, variables[0]: k}
            if other_terms or all(self.atom(a, inner_env) == 1 for a in bounds):
                for rest, full_env in self.places(variables[1:], sizes[1:], where, inner_env):
                    yield (k, *rest), full_env

    def chosen(self, a: Chosen, inner: list[int]) -> int:
        """Return the first arg-maximum, the index at a place of the sorted order, or the place of an index in it.

        For pivots, it is the row that elimination brings to a place, or the place of a row.
        """
        rule = a.comparison
        place, arguments = (inner[0], inner[1:]) if rule.permutes else (0, inner)
        env: Env = {("p", k, 0): i for k, i in enumerate(arguments)}
        columns = [self.entries(rule.variables, rule.ranges, b, rule.where, env) for b in rule.bodies]
        places = sorted(columns[0])
        if not places:
            raise UndecidedError("an arg-maximum over nothing")
        if rule.kind in (PIVOTS, PIVOTED):
            n = max(k[0] for k in places) + 1
            rows_in_order = self.eliminated(arb_mat([[columns[0][i, j] for j in range(n)] for i in range(n)]))[0]
            if not 0 <= place < n:
                raise UndecidedError("a place beyond the axis")
            return rows_in_order[place] if rule.kind == PIVOTS else rows_in_order.index(place)
        if rule.permutes:
            if not 0 <= place < len(places):
                raise UndecidedError("a place beyond the axis")
            order = self.sorted([[c[k] for c in columns] for k in places])
            return order[place] if rule.kind == ORDER else order.index(place)
        best = places[0]
        for k in places[1:]:
            if self.before(columns[0][best], columns[0][k]):
                best = k
        return best[a.component]

    def sorted(self, rows: list[list[arb]]) -> list[int]:
        def order(i: int, j: int) -> int:
            for x, y in zip(rows[i], rows[j], strict=True):
                if self.before(x, y):
                    return -1
                if self.before(y, x):
                    return 1
            return 0

        return sorted(range(len(rows)), key=cmp_to_key(order))

    def eliminated(self, a: arb_mat) -> tuple[list[int], list[list[arb]], arb]:
        """Return (order, F, gap), the result of elimination with pivots.

        `order` has the row that comes to each place, F both factors in one matrix, and `gap` is the least difference
        between the modulus of a pivot and that of another entry that could be taken (1 if there is none).
        """
        n, gaps = a.nrows(), []
        rows, order = [[a[i, j] for j in range(n)] for i in range(n)], list(range(n))
        for k in range(n):
            best = k
            for i in range(k + 1, n):
                best = i if self.before(abs(rows[best][k]), abs(rows[i][k])) else best
            gaps += [abs(rows[best][k]) - abs(rows[i][k]) for i in range(k, n) if i != best]
            rows[k], rows[best], order[k], order[best] = rows[best], rows[k], order[best], order[k]
            if rows[k][k] == 0:
                continue  # a column of zeros is left as it is
            for row in rows[k + 1 :]:
                row[k] = row[k] / rows[k][k]
                row[k + 1 :] = [x - row[k] * y for x, y in zip(row[k + 1 :], rows[k][k + 1 :], strict=True)]
        return order, rows, reduce(arb.min, gaps) if gaps else arb(1)

    @staticmethod
    def before(x: arb, y: arb) -> bool:
        if x < y:
            return True
        if x >= y:
            return False
        raise UndecidedError("an order that the precision does not decide")

    def matrix(self, a: Matrix, env: Env) -> arb:
        """Return a function of a matrix as a ball, such as its determinant or an entry of its inverse."""
        n, m = (self.size(r, env) for r in a.ranges)
        row, column = a.vars
        argument = arb_mat([[self.poly(a.body, {**env, row: i, column: j}) for j in range(m)] for i in range(n)])
        where = tuple(self.index(ix, env) for ix in a.index)
        if a.name == "determinant":
            return argument.det()
        if a.name == "smallest minor":
            minors = [arb_mat([[argument[i, j] for j in range(k)] for i in range(k)]).det() for k in range(1, n + 1)]
            return reduce(arb.min, minors)
        if a.name == "discriminant":
            traces = [sum(((argument**k)[i, i] for i in range(n)), arb(0)) for k in range(2 * n - 1)]
            return arb_mat([traces[i : i + n] for i in range(n)]).det()
        if a.name == "pivot gap":
            return self.eliminated(argument)[2]
        if a.name == "lu":
            i, j = where
            return self.eliminated(argument)[1][i][j]
        if a.name in FACTORS:
            return self.factor(a, argument, env)[where]
        if a.name == "inverse":
            return argument.inv()[where]
        if a.name == "cholesky":
            return _cholesky(argument)[where]
        raise UndecidedError(f"the {a.name} of a matrix is not evaluated")

    def factor(self, a: Matrix, inside: arb_mat, env: Env) -> Any:
        """Return a factor of a matrix, which is computed once for all its entries."""
        key = (a.name, a.body, a.ranges, *((v, env[v]) for v in sorted(a.body.free - set(a.vars))))
        if key not in self.factors or self.carried:
            try:
                self.factors[key] = factor(a.name, inside)
            except Undecided as error:
                raise UndecidedError(str(error)) from None
        return self.factors[key]

    def carry(self, a: Rec, env: Env) -> arb:
        """Return an entry of a carry by running the loop up to its time.

        The states so far are kept for the next call. While a step is evaluated, memos start empty: values in it depend
        on what the loop carries then.
        """
        outer_carried, outer_states, outer_known = self.carried, self.states, self.known
        places = [list(product(*(range(self.size(n, env)) for n in c.ranges))) for c in a.carries]

        def entries(term: Callable[[Carry], Poly], s: int) -> State:
            out: State = {}
            for k, (c, index) in enumerate(zip(a.carries, places, strict=True)):
                bound = [{("b", a.level, 1 + j): x for j, x in enumerate(place)} for place in index]
                values = (self.poly(term(c), {**env, **b, ("b", a.level, 0): s}) for b in bound)
                out[carried(a.level, k)] = dict(zip(index, values, strict=True))
            return out

        time = max(self.index(a.time, env), 0)
        past_states = outer_states.setdefault((a.loop, *(env[v] for v in sorted(a.loop.free))), [])
        try:
            if not past_states:
                past_states.append(entries(lambda c: c.init, 0))
            for s in range(len(past_states) - 1, time):
                self.carried, self.states, self.known = {**outer_carried, **past_states[s]}, {}, {}
                past_states.append(entries(lambda c: c.step, s))
        finally:
            self.carried, self.states, self.known = outer_carried, outer_states, outer_known
        state = past_states[time]
        return state[carried(a.level, a.position)][tuple(self.index(ix, env) for ix in a.index)]


def _cholesky(a: arb_mat) -> arb_mat:
    n = a.nrows()
    out = arb_mat(n, n)
    for j in range(n):
        for i in range(j, n):
            total = a[i, j] - sum((out[i, k] * out[j, k] for k in range(j)), arb(0))
            out[i, j] = total.sqrt() if i == j else total / out[j, j]
    return out
