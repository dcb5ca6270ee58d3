"""Random sums over index sets, as terms and as numbers computed by counting: for the tests of the index modules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from random import Random

from flint import fmpq
from hypothesis import strategies as st

from certgrad.obligations.decide import evaluate as _evaluate
from certgrad.obligations.terms.atoms import access, dimension
from certgrad.obligations.terms.index import Ix, of_atom, of_const, of_var
from certgrad.obligations.terms.index_terms import index_condition, index_equal, index_number
from certgrad.obligations.terms.integers import Entry, quotient, remainder, row_major
from certgrad.obligations.terms.polynomials import ONE, Poly, number
from certgrad.obligations.terms.power import exp_of
from certgrad.obligations.terms.rewriting import substitute
from certgrad.obligations.terms.sums import sum_over
from certgrad.obligations.terms.variables import Var, fresh

N, M = dimension("n"), dimension("m")
RANGES: dict[str, tuple[Poly, object]] = {
    "n": (N, lambda n, m: n),
    "m": (M, lambda n, m: m),
    "2n": (N.scale(2), lambda n, m: 2 * n),
    "nm": (N * M, lambda n, m: n * m),
    "n-1": (N - ONE, lambda n, m: n - 1),
    "3": (number(3), lambda n, m: 3),
    "2": (number(2), lambda n, m: 2),
}
Size = tuple[int, int, int, int]
"""c + c_n·n + c_m·m + c_nm·n·m."""
CONSTANTS: list[Size] = [
    (0, 0, 0, 0),
    (0, 0, 0, 0),
    (1, 0, 0, 0),
    (-1, 0, 0, 0),
    (-1, 1, 0, 0),
    (0, -1, 0, 0),
    (-1, 2, 0, 0),
    (0, 0, 1, 0),
    (0, 1, -1, 0),
]
LAST: dict[str, Size] = {
    "n": (-1, 1, 0, 0),
    "m": (-1, 0, 1, 0),
    "2n": (-1, 2, 0, 0),
    "nm": (-1, 0, 0, 1),
    "n-1": (-2, 1, 0, 0),
    "3": (2, 0, 0, 0),
    "2": (1, 0, 0, 0),
}


def size_poly(c: Size) -> Poly:
    return number(c[0]) + N.scale(c[1]) + M.scale(c[2]) + (N * M).scale(c[3])


def size_at(c: Size, n: int, m: int) -> int:
    return c[0] + c[1] * n + c[2] * m + c[3] * n * m


SHAPES = [(1, 1), (2, 1), (1, 2), (3, 2), (2, 3)]
FREE: dict[str, Var] = {"u": ("u", 0, 0), "w": ("u", 1, 0)}
FREE_RANGES = {FREE["u"]: N, FREE["w"]: M}


@dataclass(frozen=True)
class Index:
    """An affine expression in named variables, maybe divided, or used to look up an integer."""

    coefficients: tuple[tuple[str, int], ...]
    constant: Size = (0, 0, 0, 0)
    outer: str = ""

    def ix(self, names: Mapping[str, Var]) -> Ix:
        out = of_const(size_poly(self.constant))
        for name, c in self.coefficients:
            out = out.plus(of_var(names[name]).scaled(c))
        if self.outer == "half":
            return quotient(out, number(2))
        if self.outer == "parity":
            return remainder(out, number(2))
        if self.outer == "row":
            return quotient(out, M)
        if self.outer == "column":
            return remainder(out, M)
        if self.outer == "look":
            return of_atom(Entry("k", (out,)))
        return out

    def moved(self, name: str, to: tuple[tuple[str, int], ...], by: Size) -> Index:
        """With a variable replaced by an expression."""
        times = dict(self.coefficients).get(name, 0)
        if times == 0:
            return self
        total = {v: c for v, c in self.coefficients if v != name}
        for v, c in to:
            total[v] = total.get(v, 0) + times * c
        constant = tuple(a + times * b for a, b in zip(self.constant, by, strict=True))
        return replace(self, coefficients=tuple(total.items()), constant=constant)  # type: ignore[arg-type]

    def at(self, env: Mapping[str, int], sizes: tuple[int, int], values: Values) -> int:
        out = size_at(self.constant, *sizes)
        out += sum(c * env[name] for name, c in self.coefficients)
        divisor = sizes[1] if self.outer in ("row", "column") else 2
        if self.outer in ("half", "row"):
            return out // divisor
        if self.outer in ("parity", "column"):
            return out % divisor
        return int(values("k", (out,))) if self.outer == "look" else out


@dataclass(frozen=True)
class Factor:
    """`kind` is the name of a tensor, `exp`, a number, or a relation to 0."""

    kind: str
    index: tuple[Index, ...]

    def poly(self, names: Mapping[str, Var]) -> Poly:
        where = tuple(i.ix(names) for i in self.index)
        if self.kind == "exp":
            return exp_of(access("a", where))
        if self.kind == "number":
            return index_number(where[0])
        if self.kind == ">=":
            return index_condition(where[0])
        return index_equal(where[0]) if self.kind == "=" else access(self.kind, where)

    def moved(self, name: str, to: tuple[tuple[str, int], ...], by: Size) -> Factor:
        return replace(self, index=tuple(i.moved(name, to, by) for i in self.index))

    def at(self, env: Mapping[str, int], sizes: tuple[int, int], values: Values) -> fmpq:
        where = tuple(i.at(env, sizes, values) for i in self.index)
        if self.kind == "exp":
            return values("exp a", where)
        if self.kind == "number":
            return fmpq(where[0])
        if self.kind in (">=", "="):
            return fmpq(int(where[0] >= 0 if self.kind == ">=" else where[0] == 0))
        return values(self.kind, where)


@dataclass(frozen=True)
class Summed:
    """c · Σ over the variables of the product of the factors."""

    coefficient: int
    dummies: tuple[tuple[str, str], ...]
    factors: tuple[Factor, ...]
    pairs: tuple[tuple[str, str, str], ...] = ()
    """Names for row·m + column."""

    def poly(self) -> Poly:
        names = FREE | {v: fresh() for v, _ in self.dummies}
        whole = {fresh(): (names[row], names[column]) for _, row, column in self.pairs}
        names |= dict(zip((name for name, _, _ in self.pairs), whole, strict=True))
        body = ONE
        for f in self.factors:
            body = body * f.poly(names)
        body = substitute(body, {v: row_major(of_var(i), of_var(j), M) for v, (i, j) in whole.items()})
        return sum_over(body, [(names[v], RANGES[r][0]) for v, r in self.dummies]).scale(self.coefficient)

    def at(self, free: Mapping[str, int], sizes: tuple[int, int], values: Values) -> fmpq:
        total = fmpq(0)
        spans = [range(RANGES[r][1](*sizes)) for _, r in self.dummies]  # type: ignore[operator]
        for where in product(*spans):
            env = {**free, **dict(zip((v for v, _ in self.dummies), where, strict=True))}
            env |= {name: env[row] * sizes[1] + env[column] for name, row, column in self.pairs}
            part = fmpq(self.coefficient)
            for f in self.factors:
                part *= f.at(env, sizes, values)
                if part == 0:
                    break
            total += part
        return total


class Values:
    """Entries drawn at random, the same ones each time they are asked for; any integer is an index."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

        self.seen: dict[tuple, fmpq] = {}

    def __call__(self, tensor: str, index: tuple[int, ...]) -> fmpq:
        found = self.seen.get((tensor, index))
        if found is None:
            draw = Random(f"{self.seed} {tensor} {index}")
            found = fmpq(draw.randint(-1, 3) if tensor == "k" else draw.randint(-99, 99))
            self.seen[tensor, index] = found
        return found


def all_points(sizes: tuple[int, int]) -> list[dict[str, int]]:
    return [{"u": u, "w": w} for u in range(sizes[0]) for w in range(sizes[1])]


def evaluated(poly: Poly, free: Mapping[str, int], sizes: tuple[int, int], values: Values) -> object:
    """The term's value. (`exp` is a function of its own here only in `Summed.at`: use terms without it.)"""
    env = {FREE[name]: k for name, k in free.items()}
    return _evaluate.evaluate(poly, dict(zip("nm", sizes, strict=True)), values, env)


def changed(term: Summed, draw: Random) -> Summed:
    """The term with one small change, which may or may not matter."""
    kind = draw.choice(["constant", "sign", "range", "drop", "swap", "coefficient", "order", "outer", "none"])
    factors, dummies = list(term.factors), list(term.dummies)
    k = draw.randrange(len(factors))
    f = factors[k]
    j = draw.randrange(len(f.index))
    i = f.index[j]
    if kind == "constant":
        i = replace(i, constant=draw.choice(CONSTANTS))
    elif kind == "outer":
        i = replace(i, outer=draw.choice(["", "half", "parity", "row", "column", "look"]))
    elif kind == "sign":
        i = replace(i, coefficients=tuple((v, -c) for v, c in i.coefficients))
    elif kind == "swap" and f.kind == "b":
        factors[k] = replace(f, index=f.index[::-1])
        return replace(term, factors=tuple(factors))
    elif kind == "range" and dummies:
        d = draw.randrange(len(dummies))
        dummies[d] = (dummies[d][0], draw.choice(list(RANGES)))
        return replace(term, dummies=tuple(dummies))
    elif kind == "drop" and len(factors) > 1:
        return replace(term, factors=tuple(factors[:k] + factors[k + 1 :]))
    elif kind == "coefficient" and i.coefficients:
        v, _ = i.coefficients[0]
        i = replace(i, coefficients=((v, draw.choice([-2, -1, 1, 2, 3])), *i.coefficients[1:]))
    elif kind == "order":
        draw.shuffle(dummies)
        draw.shuffle(factors)
        return replace(term, dummies=tuple(dummies), factors=tuple(factors))
    factors[k] = replace(f, index=(*f.index[:j], i, *f.index[j + 1 :]))
    return replace(term, factors=tuple(factors))


def rewritten(term: Summed, draw: Random) -> list[Summed]:
    """Terms with the same sum, written differently, except that a new variable may have too small a range."""
    if not term.dummies:
        return [term]
    name, span = draw.choice(term.dummies)
    kind = draw.choice(["reverse", "split", "name", "rows"])
    if kind == "reverse":
        last = LAST[span]
        return [replace(term, factors=tuple(f.moved(name, ((name, -1),), last) for f in term.factors))]
    if kind == "split":
        at = draw.choice([1, 2])
        above = Factor(">=", (Index(((name, 1),), (-at, 0, 0, 0)),))
        below = Factor(">=", (Index(((name, -1),), (at - 1, 0, 0, 0)),))
        return [replace(term, factors=(*term.factors, f)) for f in (above, below)]
    new = f"x{len(term.dummies)}"
    if kind == "rows" and span in ("nm", "2n"):
        others = tuple(d for d in term.dummies if d[0] != name)
        row, column = f"r{len(term.dummies)}", f"c{len(term.dummies)}"
        new_dummies = (*others, (row, "n"), (column, "2" if span == "2n" else "m"))
        if span == "2n":
            moved = tuple(f.moved(name, ((row, 2), (column, 1)), (0, 0, 0, 0)) for f in term.factors)
            return [replace(term, dummies=new_dummies, factors=moved)]
        return [replace(term, dummies=new_dummies, pairs=((name, row, column),))]
    equal = Factor("=", (Index(((new, 1), (name, -1))),))
    k = draw.randrange(len(term.factors))
    factors = [f.moved(name, ((new, 1),), (0, 0, 0, 0)) if j == k else f for j, f in enumerate(term.factors)]
    return [
        replace(term, dummies=(*term.dummies, (new, draw.choice([span, span, "2n", "n"]))), factors=(*factors, equal))
    ]


@st.composite
def indices(draw: st.DrawFn, variables: list[str]) -> Index:
    used = draw(st.lists(st.sampled_from(variables), min_size=1, max_size=2, unique=True))
    coefficients = tuple((v, draw(st.sampled_from([1, 1, 1, -1, 2]))) for v in used)
    outer = draw(st.sampled_from(["", "", "", "", "half", "parity", "row", "column", "look"]))
    return Index(coefficients, draw(st.sampled_from(CONSTANTS)), outer)


@st.composite
def sums(draw: st.DrawFn, functions: tuple[str, ...] = ("a", "a", "b", "exp", "number", ">=", "=", "=")) -> Summed:
    count = draw(st.sampled_from([0, 1, 1, 2, 2, 3]))
    dummies = tuple((f"d{k}", draw(st.sampled_from(list(RANGES)))) for k in range(count))
    variables = [*FREE, *(v for v, _ in dummies)]
    factors = []
    for _ in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(functions))
        factors.append(Factor(kind, tuple(draw(indices(variables)) for _ in range(2 if kind == "b" else 1))))
    return Summed(draw(st.sampled_from([-2, -1, 1, 3])), dummies, tuple(factors))
