"""Decisions on dimensions that tracing took without proof, and the cases that contradict them.

While tracing, JAX answers `n == 1` and `n == d` with False. Where code other than JAX's asked, each contrary case is
traced, and so are those that these traces leave undecided; a question without a contrary case that can be traced leaves
the op unproved. JAX's own code asks whether sizes are 1 or equal in every broadcast: there all dimensions 1 and all
equal are traced; its other questions, as `n == 17` or `n == 2*m`, count as a rule's. Numbers are traced too, as code
can tell a symbol from a number. Where such a trace is the general program with its dimensions set, the general proof
covers it; another program is proved as well. Where the sizes that answer a question otherwise are not found by solving
for a dimension, some of them are traced: if one is another program, nothing is claimed of the sizes not traced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import cycle, takewhile
from typing import TYPE_CHECKING, Any, Protocol

from certgrad.errors import CertgradError
from certgrad.obligations.assume.conditions import Clause
from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.signs import ZERO
from certgrad.obligations.laws.order import opened
from certgrad.obligations.laws.range_products import product_over
from certgrad.obligations.prove.problem import Programs
from certgrad.obligations.terms.atoms import Access, Dim, Max, Product, Sum, access, dimension
from certgrad.obligations.terms.index import Ix, whole_number
from certgrad.obligations.terms.index_terms import index_condition, index_equal
from certgrad.obligations.terms.polynomials import Atom, Poly, number
from certgrad.obligations.terms.predicates import IxEq, IxPred
from certgrad.obligations.terms.rewriting import Rewriter
from certgrad.obligations.terms.sums import max_over, open_sum, sum_over
from certgrad.obligations.tracing.jax_internals import Decision, DimExpr, Program, dim_poly, serialised_all
from certgrad.signatures.sizes import ONE, Size, integer_size, parse_size

from .instances import Instance

if TYPE_CHECKING:
    from .traces import Traces

Fixed = dict[str, Size]
"""Dimensions set to a number, to another dimension, or to an expression such as `2*n`."""


class HasPrograms(Protocol):
    """Traced programs, by name."""

    def all(self) -> dict[str, Program]: ...


class Sample(dict[str, Size]):
    """Some of the sizes at which a question is answered otherwise, in the place of all."""

    def __init__(self, fixed: Mapping[str, Size], question: str) -> None:
        super().__init__(fixed)
        self.question = question


LARGEST = 1025
"""Sizes below this are tried where an equation is not solved; beyond, the question has no contrary case."""
CONCRETE = (2, 3, 5, 4, 7)
"""Numbers for the dimensions in traces at numbers."""
MOST_SAMPLES = 3
"""At most this many sizes are traced in the place of all that answer a question otherwise (see `Sample`)."""


def shapes_text(instance: Instance, fixed: Fixed) -> str:
    """Return the shapes and structural arguments as text that does not depend on the names of dimensions."""
    shapes = [[parse_size(d) for d in shape] for shape in instance.shapes(fixed).inputs]
    used = dict.fromkeys(n for shape in shapes for size in shape for n in size.names)
    names = {n: f"d{k}" for k, n in enumerate(used)}
    plain = [[size.renamed(names) for size in shape] for shape in shapes]
    return f"{plain} {sorted(instance.statics.items(), key=str)}"


def asks(programs: Programs) -> bool:
    """Return whether tracing took a decision on dimensions that an audit examines (see `examined`)."""
    return any(examined(d) for p in programs.all().values() for d in p.decisions)


def concrete(instance: Instance) -> Fixed:
    """Return each dimension set to a number, different ones where there are enough."""
    return {n: integer_size(k) for n, k in zip(instance.names, cycle(CONCRETE), strict=False)}


def same_with_numbers_in_float32(traces: Traces, instance: Instance, programs: Programs) -> bool:
    """Return whether the programs at numbers in float32 are the general ones with dimensions set, but for dtypes."""
    fixed = concrete(instance)
    try:
        numeric = traces.at(instance, fixed, wide=False).programs
    except CertgradError:
        return False
    return has_same_programs(programs, numeric, fixed, erase_dtypes=True)


def has_same_programs(general: HasPrograms, special: HasPrograms, fixed: Fixed, erase_dtypes: bool = False) -> bool:
    """Return whether the special programs are the general ones with their dimensions set."""
    expected, actual = (
        serialised_all(programs.all(), rendering(sizes), erase_dtypes, fold_sizes=True)
        for programs, sizes in ((general, fixed), (special, {}))
    )
    return expected == actual


UNANSWERABLE = "a dimension was looked up in a dictionary or set, printed, or compared by order"
"""Why a question has no contrary case: it was no comparison that other sizes would answer otherwise."""


class Cases:
    """Iterates over the cases that tracing decided away, each once; `met` adds those of further programs meanwhile.

    `everything` as in `contrary`; `first`: the cases to begin with.
    """

    def __init__(self, everything: bool, first: Iterable[Fixed] = ()) -> None:
        self.everything, self.waiting = everything, [*first]
        self.asked: list[Fixed] = []
        """The cases that code asked for."""
        self.count = 0

    def met(self, programs: HasPrograms, fixed: Fixed) -> list[str]:
        """Add the cases that these programs' traces decided away; return the questions that have none to trace."""
        cases_and_questions = contrary(programs, fixed, self.everything)
        cases = [simplified(item) for item in cases_and_questions if not isinstance(item, str)]
        self.waiting += cases
        self.asked += cases
        return [item for item in cases_and_questions if isinstance(item, str)]

    def __iter__(self) -> Iterator[Fixed]:
        seen: set[str] = set()
        while self.waiting:
            fixed = self.waiting.pop(0)
            if (key := str(sorted(fixed.items()))) not in seen:
                seen.add(key)
                self.count += 1
                yield fixed


def simplified(fixed: Fixed) -> Fixed:
    """Return the fixed sizes, each as simple as possible."""
    simple = {d: v.simplified for d, v in fixed.items()}
    return Sample(simple, fixed.question) if isinstance(fixed, Sample) else simple


def contrary(programs: HasPrograms, fixed: Fixed, everything: bool = False) -> list[Fixed | str]:
    """Return sizes, with `fixed`, that answer a recorded question otherwise, or the question's text if none is found.

    A question is whether a polynomial in sizes, `difference`, is 0. Questions of JAX's broadcasts, whether a size is 1
    or two are equal, are left out; with `everything` only the latter, which JAX's caches ask too. Where the equation
    is not solved for a size, samples stand for all sizes if JAX's code asked.
    """
    out: dict[str, Fixed | str] = {}
    for program in programs.all().values():
        for decision in program.decisions:
            if not examined(decision) and not (everything and _of_one_size(decision.difference)):
                continue
            if decision.difference is None:  # it was no comparison of sizes
                out.setdefault("hash", UNANSWERABLE)
                continue
            if not Facts().signs(decision.difference) & ZERO:  # no sizes make it 0: there is no other answer
                continue
            text = f"{decision.difference.key} = 0".replace("$", "")
            solution = _solution(decision.difference)
            solutions = [] if solution is None else [solution]
            if solution is None:
                if decision.by_library:
                    solutions = _samples(decision.difference)
                else:
                    out.setdefault(text, text)
            for sizes in solutions:
                case = together(fixed, Sample(sizes, text) if solution is None else sizes)
                out.setdefault(f"{sorted(case.items())}{' sampled' * isinstance(case, Sample)}", case)
    return [out[k] for k in sorted(out)]


def together(fixed: Fixed, more: Fixed) -> Fixed:
    """Return the sizes set in `fixed`, with the dimensions of `more` set inside of them, and those set in `more`."""
    # What is set to a multiple of itself is no size any more: a solution for it says which multiple.
    grouped = {n: size.grouped for n, size in more.items()}
    both = {**more, **{k: v.at(grouped) for k, v in fixed.items()}}
    sample = next((sizes for sizes in (more, fixed) if isinstance(sizes, Sample)), None)
    return both if sample is None else Sample(both, sample.question)


def answered_otherwise(programs: HasPrograms, fixed: Fixed) -> bool:
    """Return whether a recorded question has another answer at the sizes in `fixed`, or none that is known."""
    values = {n: _poly(v) for n, v in fixed.items()}
    numbers = all(v.value is not None for v in fixed.values())
    for decision in (d for program in programs.all().values() for d in program.decisions):
        difference = None if decision.difference is None else _with_dimensions_set(decision.difference, values)
        if difference is None or difference.is_zero or (numbers and difference.constant() is None):
            return True
    return False


def broken(programs: HasPrograms, sizes: Mapping[str, int]) -> Fixed | None:
    """Return the case to which these sizes belong and that may be another program; {} where it cannot be written.

    Return None where each question about dimensions that tracing answered has the same answer at these sizes.
    """
    for decision in (d for program in programs.all().values() for d in program.decisions):
        if decision.difference is None:
            if not decision.by_library:
                return {}
        elif _value_at_sizes(decision.difference, sizes) in (None, 0):
            return _solution(decision.difference) or {}
    return None


def examined(decision: Decision) -> bool:
    """Return whether an audit traces the contrary case of a decision.

    A rule can have JAX ask for it: `jnp.array_equal` compares shapes, and so do types of arrays.
    """
    return decision.asker == "rule" or _own_formula(decision.difference)


def _of_one_size(difference: Poly | None) -> bool:
    """Return whether the question was if one size is a number or divisible by one."""
    solution = None if difference is None else _solution(difference)
    return solution is not None and all(set(v.names) <= {k} for k, v in solution.items())


def _own_formula(difference: Poly | None) -> bool:
    """Return whether a question is no broadcast's (see `_of_broadcasts`), and some sizes answer it otherwise."""
    if difference is None or _of_broadcasts(difference):
        return False
    return _solution(difference) is not None or bool(_samples(difference))


def _of_broadcasts(difference: Poly) -> bool:
    """Return whether the question is if two sizes are equal, or a term in one size alone is 0 or 1."""
    terms = dict(difference.items())
    const = terms.pop((), 0)
    if abs(const) > 1:
        return False
    if len(_names_in(difference)) < 2:
        return True
    alone = all(len(f) == 1 and f[0][1] == 1 and _positive_power(f[0]) for f in terms)
    return const == 0 and alone and len(terms) == 2 and all(abs(c) == 1 for c in terms.values())


def of_broadcasts(programs: Iterable[Programs]) -> list[tuple[str, str]]:
    """Return the questions of broadcasts: a size, and another one or 1 that it may equal."""
    questions: dict[tuple[str, str], None] = {}
    for decision in (d for traced in programs for program in traced.all().values() for d in program.decisions):
        if decision.difference is not None and _of_broadcasts(decision.difference):
            for name, size in (_solution(decision.difference) or {}).items():
                simple = size.simplified
                if simple == ONE or simple.name not in (None, name):
                    questions[name, str(simple)] = None
    return list(questions)


def _names_in(difference: Poly) -> list[str]:
    """Return the dimensions in a difference, also inside of quotients and remainders."""
    texts = [a.name for factors, _ in difference.items() for a, _ in factors if isinstance(a, Dim)]
    return sorted({n for text in texts for n in parse_size(text).names})


def _samples(difference: Poly) -> list[Fixed]:
    """Return some sizes at which the difference is 0: all but one of them small, and none of them 1 where possible."""
    atoms = {a for factors, _ in difference.items() for a, _ in factors}
    if not all(isinstance(a, Dim) for a in atoms):
        return []
    names = _names_in(difference)
    sizes_alone = names == sorted(a.name for a in atoms if isinstance(a, Dim))
    samples: dict[str, Fixed] = {}
    for small in (*(CONCRETE[k:] + CONCRETE[:k] for k in range(len(CONCRETE))), (1,)):
        if samples and small == (1,):
            break
        for name in names:
            rest = dict(zip((n for n in names if n != name), cycle(small), strict=False))
            if sizes_alone:  # no quotient or remainder is in the difference
                solved = _solution(_with_dimensions_set(difference, {n: number(k) for n, k in rest.items()}))
                size = (solved or {}).get(name)
            else:
                size = None if (least := _least_root(difference, rest, name)) is None else integer_size(least)
            if size is not None and size != ONE:
                fixed = {**{n: integer_size(k) for n, k in rest.items()}, name: size}
                samples.setdefault(str(sorted(fixed.items())), fixed)
        if len(samples) >= MOST_SAMPLES:
            break
    return list(samples.values())[:MOST_SAMPLES]


def _least_root(difference: Poly, others: Mapping[str, int], name: str) -> int | None:
    """Return the least size of `name` at which the difference is 0; None if there is none below `LARGEST`."""
    values = ((n, _value_at_sizes(difference, {**others, name: n})) for n in range(1, LARGEST))
    return next((n for n, value in takewhile(lambda pair: pair[1] is not None, values) if value == 0), None)


def _value_at_sizes(difference: Poly, sizes: Mapping[str, int]) -> Any:
    """Return the difference at sizes that are numbers; None where it has other atoms, or a size is not given."""
    total = 0
    for factors, coefficient in difference.items():
        for atom, exponent in factors:
            if not isinstance(atom, Dim):
                return None
            try:
                coefficient = coefficient * parse_size(atom.name).evaluate(sizes) ** int(exponent)
            except (KeyError, ZeroDivisionError):
                return None
        total = total + coefficient
    return total


def _solution(difference: Poly) -> Fixed | None:
    """Return one dimension set so that the difference is 0: to a number, a combination of others, or a residue class.

    Return None where it is not solved. A product of dimensions, positive integers, is 1 only where each is 1.
    """
    terms = dict(difference.items())
    const = terms.pop((), number(0).constant())
    if any(c.q != 1 for c in terms.values()) or const is None:
        return None
    if len(terms) == 1:
        ((factors, c),) = terms.items()
        if c + const == 0 and (len(factors) > 1 or factors[0][1] > 1) and all(_positive_power(f) for f in factors):
            return {a.name: ONE for a, _ in factors if isinstance(a, Dim)}
    linear = {m[0][0]: int(c.p) for m, c in terms.items() if len(m) == 1 and m[0][1] == 1 and isinstance(m[0][0], Dim)}
    if len(linear) != len(terms):
        return None
    if len(linear) == 1:  # c·n + const = 0, or c·mod(n, k) + const = 0
        ((dim, c),) = linear.items()
        value = -const / c
        if value.q != 1:
            return None
        if (residue := parse_size(dim.name).remainder) is not None:
            name, k = residue
            return {name: parse_size(f"{k}*{name}-{k - int(value.p)}" if value > 0 else f"{k}*{name}")}
        return {dim.name: integer_size(int(value.p))} if dim.name.isidentifier() and value >= 1 else None
    for dim, c in sorted(linear.items(), key=lambda t: t[0].name):  # n = Σ k·m + shift, with all k > 0
        rest = {d: -k // c for d, k in linear.items() if d is not dim}
        shift = int(-const.p) // c
        if abs(c) != 1 or not dim.name.isidentifier() or not all(d.name.isidentifier() for d in rest):
            continue
        if all(k > 0 for k in rest.values()) and sum(rest.values()) + shift >= 1:
            text = "+".join(f"{k}*{d.name}" for d, k in sorted(rest.items(), key=lambda t: t[0].name))
            return {dim.name: parse_size(f"{text}{shift:+d}" if shift else text)}
    return None


def _positive_power(factor: tuple[Atom, Any]) -> bool:
    atom, exponent = factor
    return isinstance(atom, Dim) and atom.name.isidentifier() and exponent > 0


def _with_dimensions_set(poly: Poly, values: Mapping[str, Poly]) -> Poly:
    """Return a polynomial with some dimensions set, also inside of quotients whose sizes become numbers or names."""
    numbers = {n: size for n, v in values.items() if (size := whole_number(v)) is not None}
    renamed = {n: a.name for n, v in values.items() if isinstance(a := v.atom(), Dim) and a.name.isidentifier()}

    def value(a: Atom) -> Poly | None:
        if not isinstance(a, Dim) or a.name in values:
            return values.get(a.name) if isinstance(a, Dim) else None
        size = parse_size(a.name)
        if numbers.keys() >= {*size.names}:
            return number(size.evaluate(numbers))
        plain = renamed.keys() >= {*size.names} & values.keys() and a.name not in size.names
        return dimension(size.renamed(renamed).spaced, a.positive) if plain else None

    return Rewriter(replace=value)(poly)


def rendering(fixed: Mapping[str, Size]) -> Callable[[Any], str]:
    """Return a function that writes a dimension as text, with the sizes in `fixed` set."""
    values = {n: _poly(v) for n, v in fixed.items()}

    def render(dim: Any) -> str:
        if not isinstance(dim, DimExpr):
            return str(dim)
        poly = _with_dimensions_set(dim_poly(dim), values) if values else dim_poly(dim)
        c = poly.constant()
        return str(c) if c is not None else poly.key

    return render


def at_sizes(clause: Clause, fixed: Fixed) -> Clause:
    """Return a clause with dimensions set, also in the ranges of sums, products and maxima and in places."""
    values = {n: _poly(v) for n, v in fixed.items()}

    def place(ix: Ix) -> Ix:
        return Ix(ix.terms, set_sizes(ix.const))

    def value(a: Atom) -> Poly | None:
        if isinstance(a, Dim):
            return values.get(a.name)
        if isinstance(a, Access) and (index := tuple(map(place, a.index))) != a.index:
            return access(a.tensor, index)
        if isinstance(a, IxPred | IxEq) and (ix := place(a.ix)) != a.ix:
            return index_condition(ix) if isinstance(a, IxPred) else index_equal(ix)
        if isinstance(a, Sum):
            dummies, body = open_sum(a)
            return sum_over(set_sizes(body), [(v, set_sizes(n)) for v, n in dummies])
        if isinstance(a, Max):
            dummies, body, where = opened(a)
            return max_over(set_sizes(body), [(v, set_sizes(n)) for v, n in dummies], set_sizes(where))
        if isinstance(a, Product):
            dummies, body, where = opened(a)
            return product_over(set_sizes(body), [(v, set_sizes(n)) for v, n in dummies], set_sizes(where))
        return None

    set_sizes = Rewriter(replace=value)
    return clause.rewritten(set_sizes)


def _poly(size: Size) -> Poly:
    return size.evaluate({n: dimension(n) for n in size.names}, number)
