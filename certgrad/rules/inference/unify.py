"""The most general shapes of given ranks at which a function runs, by unification of sizes.

Every axis is a size of its own. A trace that fails compared, last, two sizes that it needs to be equal, or a size with
a number, or the remainder of a division with 0: that equation is solved, and the function is traced again. No other
sizes are tied.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise
from typing import Any

from certgrad.errors import CertgradError, UsageError
from certgrad.obligations.generality.in_code import in_code
from certgrad.obligations.generality.instances import family
from certgrad.obligations.generality.reach import is_users, reachable
from certgrad.obligations.prove.problem import forward_or_failure
from certgrad.obligations.terms.atoms import Dim, dimension
from certgrad.obligations.terms.budget import budget
from certgrad.obligations.terms.polynomials import ONE, Mono, Poly, number
from certgrad.obligations.tracing.jax_internals import dim_poly, equations_of
from certgrad.rules.subject.orders import INCONCLUSIVE_ORDER
from certgrad.rules.subject.user_rule import UserRule
from certgrad.signatures.sizes import ONE as ONE_LONG
from certgrad.signatures.sizes import Call, Factor, Power, Size, integer_size, named_size, parse_size

Sizes = dict[str, Size]
"""By the name of an axis, its size."""
LAST = 3
"""Questions of a failing trace that are tried as what it needs, from the last one on."""
TRACES = 40
"""Sizes that are tried in search of equations between them, at most; then the choice of ranks fails."""
MAX_LENGTH = 9
"""The longest axis whose length may be a number of the code."""
NUMBERS = (2, 3, 4, 1, 5, 6)
"""Lengths that are tried for an axis where code needs a number: it is meant where it runs with just one of them."""
NEEDS_A_NUMBER = re.compile(r"Symbolic dimension '(.+?)' used in a context|object cannot be interpreted as an integer")
NEEDS_NUMBERS = re.compile(
    rf"{NEEDS_A_NUMBER.pattern}|non-constant size|a symbolic size has no|is inconclusive|concrete value is expected"
    r"|\b_DimExpr\b"  # code that refuses what is no int by the name of its class
)
"""What may be meant by a failure of code that computes with sizes."""
OF_RANKS = re.compile(r"values to unpack|number of indices|index out of range|Too many indices")
"""What a failure says that no sizes mend: an array has another number of axes than code asks for."""
PRIMES = (7, 5, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43)
"""Sizes by which a failure names axes, as each is that of one alone: no window is longer, no count of groups fits."""
_UNPACKED = re.compile(r"values to unpack \(expected (\d+)")
_SUBSCRIPT = re.compile(r"Einstein sum subscript '([a-zA-Z]+)' does not contain the correct number of indices")
_SHAPE = re.compile(r"[(\[]((?:\d+, *)*\d+),?[)\]]")
_ORDER = re.compile(
    rf"^{INCONCLUSIVE_ORDER.pattern}|the (?:start|stop) \((?P<bound>.+?)\) must be resolved statically if it is >= 0"
)
"""Of two sizes, or of one that a slice takes for its bound and 0."""
_NAME = re.compile(r"axis\d+_\d+")


@dataclass
class Unified:
    """The sizes of axes at which a function runs; or how it failed with sizes that are not tied."""

    sizes: Sizes | None = None
    error: Exception | None = None


@dataclass
class Unifier:
    """Unifies the sizes of one function at one choice of ranks.

    Names in `rigid` are an author's own: they are not tied to each other.
    """

    rule: UserRule
    rigid: frozenset[str] = frozenset()
    whole_rule: bool = False
    """Its backward is run as well."""
    wide: bool = True
    traces: int = 0
    _guessed: bool = field(default=False)
    _of_ranks: Exception | None = None
    """A failure that no sizes mend."""
    _runs: dict[Any, _Failed | None] = field(default_factory=dict)
    """By the sizes, how the function fails with them: branches of the search come to the same ones."""
    _any_number: set[str] = field(default_factory=set)
    """Axes that need a number for their size, whichever it is: a loop of Python's over a kernel."""

    def __post_init__(self) -> None:
        self.instance = family(self.rule, self.rule.cases[0]).prove[0]

    def unified(self, given: Sizes) -> Unified:
        """Return the most general sizes at which the function runs, where some are given."""
        start = [given] if given else []
        sizes = self._at(start)
        assert sizes is not None
        first = self._run(sizes)
        if first is not None and "float64" in str(first.error):  # it names 32 bits
            self.wide = False
            first = self._run(sizes)
        if first is None:
            return Unified(sizes)
        found = self._solved(sizes, start, first)
        if found is None:
            return Unified(error=self._of_ranks or first.error)
        equations = [*start, *self._needed(found[len(start) :], start)] if self._guessed else found
        return Unified(self._at([e for e in equations if not self._any_number >= e.keys()]))

    def _solved(self, sizes: Sizes, made: list[Sizes], failed: _Failed) -> list[Sizes] | None:
        """Return the equations between sizes with which the function runs; None where none are found.

        Args:
            sizes: those of the axes, with the equations `made` so far.
            made: these equations, which are among those returned.
            failed: how the function fails with them.
        """
        order = _ORDER.search(str(failed.error))
        # Where one is longer, symbols may do; that it is at least as long as a block of 1,024 is not needed, if it is
        # not at the primes.
        orders = order is not None and not any((parse_size(order[k] or "0").value or 0) > max(PRIMES) for k in (1, 3))
        if failed.needs_numbers and not orders and (found := self._at_primes(made)) is not None:
            return found
        for guessed, more in self._candidates(sizes, failed):
            if self.traces >= TRACES or self._of_ranks is not None:
                return None
            tied = self._at([*made, *more])
            if tied is None:
                continue
            self._guessed |= guessed
            result = self._run(tied)
            if result is None:
                return [*made, *more]
            if guessed and result.normalised_error == failed.normalised_error:  # nothing was gained
                continue
            if guessed and len(more) > 1:
                more = self._gained(made, more, failed)
                tied = self._at([*made, *more]) or tied
                result = self._run(tied)
                if result is None:
                    return [*made, *more]
            if (found := self._solved(tied, [*made, *more], result)) is not None:
                return found
        return self._at_primes(made) if orders else None

    def _gained(self, made: list[Sizes], guess: list[Sizes], failed: _Failed) -> list[Sizes]:
        """Return the equations of a guess without which the function fails as before."""
        for one in list(guess):
            fewer = [e for e in guess if e is not one]
            there = self._at([*made, *fewer])
            result = failed if there is None else self._run(there)
            if result is None or result.normalised_error != failed.normalised_error:
                guess = fewer
        return guess

    def _candidates(self, sizes: Sizes, failed: _Failed) -> Iterator[tuple[bool, list[Sizes]]]:
        """Yield equations between sizes that a failing trace may need, the likeliest first, each with whether it is a
        guess: nothing that the trace compared says that it is needed.
        """
        if failed.number is not None:
            yield from ((True, [one]) for one in self._numbers(sizes, failed.number))
            return
        if (match := _ORDER.search(str(failed.error))) is not None:
            ordered = ("left", "right") if match["than"] == "<" else ("right", "left")
            left, right = (parse_size(match[k] or "0") for k in (ordered if match["than"] else ("bound", "than")))
            if not _rounds(left) and not _rounds(right):
                yield from ((False, [s]) for s in at_least(_poly(left), _poly(right)))
        asked = list(dict.fromkeys(reversed(failed.asked)))
        solved = [s for question in asked[:LAST] for s in solutions(question) if self._allowed(s)]
        if self.whole_rule:  # a rule is not for arrays of one entry because a cotangent has an axis of it
            alone = {size.name for size in sizes.values()}
            solved = [s for s in solved if all(size.value != 1 or n not in alone for n, size in s.items())]
        ones = [s for s in solved if ONE_LONG in s.values()]
        plain = [s for s in solved if s not in ones]
        yield from ((k > 0 or s in _of_parts(asked[0]), [s]) for k, s in enumerate(plain))
        # Sizes that JAX compares by their hash, as a scan does of the first axes, are not asked for.
        shapes = self.instance.inputs
        first_axes = [shape[0] for shape in shapes if shape]
        if len(first_axes) > 2:
            yield True, [one for length in first_axes[1:] for one in self._tied(first_axes[0], length)]
        for a, b in combinations(shapes, 2):
            if len(a) == len(b) > 0:
                yield True, [one for x, y in zip(a, b, strict=True) for one in self._tied(x, y)]
        for a, b in combinations(shapes, 2):
            if a and b:
                yield True, self._tied(a[0], b[0])
        yield from ((True, [s]) for s in ones)  # an array that is broadcast is the rarer one

    def _numbers(self, sizes: Sizes, name: str) -> list[Sizes]:
        """Return the one number that a size has to be, where no other of a few runs; or one of them, where all run."""
        names = [name] if name in sizes else list(dict.fromkeys(n for s in sizes.values() for n in s.names))
        for one in names:
            runs = []
            for k in NUMBERS:
                there = self._at([{one: integer_size(k)}], sizes)
                if there is None:
                    continue
                result = self._run(there)
                if result is None or (result.number is None and result.asked):
                    runs.append(k)
            if len(runs) == 1 and one not in self.rigid:
                return [{one: integer_size(runs[0])}]
            if len(runs) == len(NUMBERS):
                self._any_number.add(one)
                return [{one: integer_size(NUMBERS[0])}]
        return []

    def _at_primes(self, made: list[Sizes]) -> list[Sizes] | None:
        """Equations, beside those made, with which the function runs at primes for sizes; None where it does not."""
        sizes = self._at(made)
        if sizes is None or self.traces >= 2 * TRACES:
            return None
        names = sorted({n for s in sizes.values() for n in s.names})
        for order in (names, names[::-1]):  # what is at most as long as another is shorter in one of them
            primes = dict(zip(order, PRIMES, strict=False))
            there = self._at([{n: integer_size(p)} for n, p in primes.items()], sizes)
            if there is None:
                return None
            if (failed := self._run(there)) is None:
                continue
            for equation in filter(self._allowed, _named_by(str(failed.error), primes)):
                if (found := self._at_primes([*made, equation])) is not None:
                    return found
            return None
        return made

    def _needed(self, equations: list[Sizes], start: list[Sizes]) -> list[Sizes]:
        """Return the equations without which the function does not run."""
        for one in list(equations):
            fewer = [e for e in equations if e is not one]
            there = self._at([*start, *fewer])
            if there is not None and self._run(there) is None:
                equations = fewer
        return equations

    def _tied(self, a: Size, b: Size) -> list[Sizes]:
        return [s for s in solutions(_poly(a) - _poly(b)) if self._allowed(s)][:1]

    def _allowed(self, solution: Mapping[str, Size]) -> bool:
        return not any(n in self.rigid and set(s.names) != {n} for n, s in solution.items())

    def _at(self, equations: Sequence[Sizes], sizes: Sizes | None = None) -> Sizes | None:
        """Return the sizes with equations solved; None where one of them is no size of a signature."""
        out: Sizes = sizes or {name: named_size(name) for name in self.instance.names}
        for one in equations:
            values = {n: s.grouped for n, s in one.items()}
            found = {name: poly_as_size(_poly(size.at(values))) for name, size in out.items()}
            if any(size is None for size in found.values()):
                return None
            out = {name: size for name, size in found.items() if size is not None}
        return out

    def _run(self, sizes: Sizes) -> _Failed | None:
        """How the function fails with these sizes; None where it runs."""
        self.traces += 1  # also where it is known: the search ends by how often it asks
        key = (*sorted(sizes.items(), key=lambda item: item[0]), self.wide)
        if key not in self._runs:
            self._runs[key] = self._traced(sizes)
        return self._runs[key]

    def _traced(self, sizes: Sizes) -> _Failed | None:
        if not budget.seconds_left():
            return _Failed(UsageError("the search for shapes took its time"), ())
        try:
            shapes = self.instance.shapes(sizes)
            rules = self.rule.rules(shapes.statics)
        except (CertgradError, ValueError) as error:
            return _Failed(error, ())
        if self.whole_rule and rules.both is not None:
            both = rules.both
            rules = replace(rules, forward=lambda args, params: [y for part in both(args, None, params) for y in part])
        jaxpr, failure, asked = forward_or_failure(rules, shapes, len(self.rule.params), self.wide)
        if failure is not None:
            if OF_RANKS.search(str(failure)):
                self._of_ranks = failure
            return _Failed(failure, tuple(asked))
        if any(0 in v.aval.shape for v in jaxpr.outvars):  # of which every rule is right
            return _Failed(ValueError("an output has no entries"), ())
        # JAX reshapes c channels to 4 times ⌊c/4⌋ and does not ask whether these are as many.
        lost = tuple(d for d in map(entries_lost, equations_of(jaxpr)) if not d.is_zero)
        return _Failed(ValueError(f"a reshape loses {lost[0].key}"), lost) if lost else None


@dataclass(frozen=True)
class _Failed:
    error: Exception
    asked: tuple[Poly, ...]
    """The differences that were taken for nonzero, in order."""

    @property
    def normalised_error(self) -> str:
        return f"{type(self.error).__name__} {_NAME.sub('#', str(self.error))}"

    @property
    def needs_numbers(self) -> bool:
        return NEEDS_NUMBERS.search(str(self.error)) is not None

    @property
    def number(self) -> str | None:
        """The size that must be a number, empty where any may be meant; None where none has to be."""
        match = NEEDS_A_NUMBER.search(str(self.error).strip())
        return None if match is None else match[1] or ""


def _named_by(said: str, primes: Mapping[str, int]) -> Iterator[Sizes]:
    """Equations that a failure at primes may need: of two shapes that it names, axis by axis, then of two sizes."""
    names = {p: n for n, p in primes.items()}
    shapes = [[int(n) for n in found.split(",")] for found in _SHAPE.findall(said)]
    pairs = [pair for a, b in pairwise(shapes) for pair in zip(reversed(a), reversed(b), strict=False)]
    pairs += combinations([int(n) for n in re.findall(r"\d+", said)], 2)
    for a, b in dict.fromkeys(pairs):
        if a != b and a in names and b in names:
            yield from ({names[a]: named_size(names[b])}, {names[b]: named_size(names[a])})


def lengths_in_code(rule: UserRule) -> Iterator[Sizes]:
    """Each axis with a length that code may write down: `for k in range(3)`."""
    lengths = [n for n in in_code(filter(is_users, reachable(rule))) if 1 < n <= MAX_LENGTH]
    yield from ({name: integer_size(n)} for n in lengths for name in rule.signature.names)


def rank_asked(why: str) -> int:
    """Return the rank that an error says an array should have; 0 if it does not."""
    unpacked, subscript = _UNPACKED.search(why), _SUBSCRIPT.search(why)
    return int(unpacked[1]) if unpacked else len(subscript[1]) if subscript else 0


def entries_lost(equation: Any) -> Poly:
    """Return how many more entries a reshape takes than it gives."""
    if equation.primitive.name != "reshape":
        return number(0)
    old, new = (_entries(v.aval.shape) for v in (equation.invars[0], equation.outvars[0]))
    return old - new


def _entries(shape: Sequence[Any]) -> Poly:
    total = ONE
    for n in shape:
        total = total * dim_poly(n)
    return total


def solutions(difference: Poly) -> list[Sizes]:
    """Equations for single sizes with which a difference is 0, those of products and remainders first."""
    difference = _without_common_factors(difference)
    names = sorted({n for mono in difference for n in _names(mono)}, reverse=True)
    return [*_of_parts(difference), *(s for name in names for s in _solved_for(name, difference))]


def _solved_for(name: str, difference: Poly) -> Iterator[Sizes]:
    """Yield the equation solved for a name that stands in it once, alone, with factor 1 or -1."""
    rest, factor = number(0), None
    for mono, c in difference.items():
        poly = Poly({mono: c})
        if len(mono) == 1 and mono[0][1] == 1 and isinstance(mono[0][0], Dim) and mono[0][0].name == name:
            factor = c
        elif name in _names(mono):
            return
        else:
            rest = rest + poly
    if factor not in (1, -1):
        return
    size = poly_as_size(rest.scale(-factor))
    if size is not None and not (size.value is not None and size.value < 1):
        yield {name: size}


def _of_parts(difference: Poly) -> Iterator[Sizes]:
    """Yield equations with which a remainder is 0, a quotient is exact, or a size is as long as another."""
    for mono in difference:
        for atom, _ in mono:
            if not isinstance(atom, Dim) or atom.name.isidentifier():
                continue
            (only,) = parse_size(atom.name).terms[0][1][:1]
            if not isinstance(only, Call):
                continue
            if _rounds(only.left) or _rounds(only.right):
                continue  # what is rounded twice is solved for nothing
            left, right = _poly(only.left), _poly(only.right)
            if only.function in ("mod", "floordiv"):
                yield from _multiple(left, right)
            for long, short in ((left, right), (right, left)) if only.function in ("min", "max") else ():
                yield from at_least(long, short)


def _multiple(size: Poly, divisor: Poly) -> Iterator[Sizes]:
    """Yield equations that each make one name in a size a multiple, so that the divisor divides the size.

    For the size c·g and the divisor 4·h these are c = 4·h·c and g = 4·h·g; factors that both have are left out. Nothing
    is yielded for a size or a divisor of several terms.
    """
    size = Poly({mono: c for mono, c in size.items() if mono})  # ⌊(n + 1) / 2⌋ is what steps of 2 leave of n
    if len(size) != 1 or len(divisor) != 1:
        return
    ((top, over),) = size.items()
    ((bottom, by),) = divisor.items()
    of_size = {a.name: e for a, e in top if isinstance(a, Dim)}
    of_divisor = {a.name: e for a, e in bottom if isinstance(a, Dim)}
    quotient = {n: e - of_divisor.get(n, 0) for n, e in of_size.items() if e > of_divisor.get(n, 0)}
    missing = {n: e - of_size.get(n, 0) for n, e in of_divisor.items() if e > of_size.get(n, 0)}
    factor = abs(int(by))
    if factor > 1 and int(over) % factor == 0:
        factor = 1
    for name in quotient:
        if name.isidentifier() and all(n.isidentifier() and e == 1 for n, e in missing.items()):
            product = number(factor) * dimension(name)
            for n in missing:
                product = product * dimension(n)
            if (found := poly_as_size(product)) is not None and found.name != name:
                yield {name: found}


def at_least(long: Poly, short: Poly) -> Iterator[Sizes]:
    """Yield equations for a name in the first size with which that size is at least the second one."""
    for mono, c in long.items():
        if c == 1 and len(mono) == 1 and mono[0][1] == 1 and isinstance(mono[0][0], Dim):
            name = mono[0][0].name
            size = poly_as_size(short - (long - dimension(name)) + dimension(name) - ONE)
            if name.isidentifier() and size is not None and name not in {n for m in short for n in _names(m)}:
                yield {name: size}


def _without_common_factors(difference: Poly) -> Poly:
    """Return the difference divided by sizes that are factors of every term; sizes are not 0."""
    monos = list(difference)
    if len(monos) < 2 or not all(monos):
        return difference
    shared = dict(f for f in monos[0] if isinstance(f[0], Dim) and f[0].name.isidentifier())
    for mono in monos[1:]:
        own = dict(mono)
        shared = {a: min(e, own[a]) for a, e in shared.items() if a in own}
    if not shared:
        return difference
    return Poly(
        {tuple((a, e - shared.get(a, 0)) for a, e in mono if e > shared.get(a, 0)): c for mono, c in difference.items()}
    )


def _names(mono: Mono) -> set[str]:
    """Return the names of sizes in a product, also inside of quotients and the like."""
    return {n for a, _ in mono if isinstance(a, Dim) for n in parse_size(a.name).names}


def _rounds(factor: Factor) -> bool:
    """Return whether a size contains a quotient, a remainder, a minimum or a maximum."""
    if isinstance(factor, Size):
        return any(_rounds(f) for _, factors in factor.terms for f in factors)
    return isinstance(factor, Call) or (isinstance(factor, Power) and _rounds(factor.base))


def _poly(size: Size) -> Poly:
    return size.evaluate({n: dimension(n) for n in size.names}, number)


def poly_as_size(poly: Poly) -> Size | None:
    """Return a polynomial as a size of a signature; None where it is none."""
    texts: list[tuple[bool, str]] = []
    for mono, c in poly.sorted_items():
        if c.q != 1 or not all(isinstance(a, Dim) and a.name.isidentifier() and e > 0 for a, e in mono):
            return None
        names = [a.name for a, e in mono for _ in range(int(e)) if isinstance(a, Dim)]
        factors = [*([str(abs(int(c)))] if abs(c) != 1 or not names else []), *names]
        texts.append((c > 0, "*".join(factors)))
    texts.sort(key=lambda t: (not t[0], t[1].isdigit()))
    if not texts or not texts[0][0]:
        return None
    return parse_size("".join(f"{'' if k == 0 else '+' if up else '-'}{t}" for k, (up, t) in enumerate(texts)))
