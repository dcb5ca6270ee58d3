"""The most general shapes of given ranks at which a function runs, by unification of sizes.

At first every axis has a size of its own. The last comparison of a trace that fails is of two sizes that must be equal,
of a size and a number, or of a remainder and 0: that equation is solved for a size, and the function is traced again.
No other sizes are tied.
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
from certgrad.signatures.sizes import Call, Factor, Power, Size, integer_size, named_size, parse_size

Sizes = dict[str, Size]
"""The size of each axis, by the name of the axis."""
LAST = 3
"""At most this many last comparisons of a failing trace are solved as what it needs."""
TRACES = 40
"""At most this many traces are made in search of equations between sizes; then the choice of ranks fails."""
MAX_LENGTH = 9
"""The longest axis whose length may be a number of the code."""
NUMBERS = (2, 3, 4, 1, 5, 6)
"""Lengths that are tried for an axis where code needs a number; one is meant if the code runs with it alone."""
KEY = "prng key"
"""What JAX's errors call a key of random numbers, in lower case."""
_NO_FLOATS = re.compile(f"(?i)integer|bool|{KEY}")
NEEDS_A_NUMBER = re.compile(r"Symbolic dimension '(.+?)' used in a context|object cannot be interpreted as an integer")
NEEDS_NUMBERS = re.compile(
    rf"{NEEDS_A_NUMBER.pattern}|non-constant size|a symbolic size has no|is inconclusive|concrete value is expected"
    r"|\b_DimExpr\b"  # code that refuses what is no int by the name of its class
)
"""Messages of code that may fail only because it computes with sizes, which are symbols."""
OF_RANKS = re.compile(r"values to unpack|number of indices|index out of range|Too many indices")
"""Messages of failures that no sizes can mend: an array has another rank than the code needs."""
PRIMES = (7, 5, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43)
"""Sizes by which a message identifies axes: a prime for each. No window is longer, no count of groups divides it."""
_UNPACKED = re.compile(r"values to unpack \(expected (\d+)")
_SUBSCRIPT = re.compile(r"Einstein sum subscript '([a-zA-Z]+)' does not contain the correct number of indices")
_SHAPE = re.compile(r"[(\[]((?:\d+, *)*\d+),?[)\]]")
_ORDER = re.compile(
    rf"^{INCONCLUSIVE_ORDER.pattern}|the (?:start|stop) \((?P<bound>.+?)\) must be resolved statically if it is >= 0"
)
"""Messages on the order of two sizes, or of the bound of a slice and 0."""
_NAME = re.compile(r"axis\d+_\d+")


@dataclass
class Unified:
    """The sizes of axes at which a function runs, or else its error with sizes that are not tied."""

    sizes: Sizes | None = None
    error: Exception | None = None


@dataclass
class Unifier:
    """Unifies the sizes of one function at one choice of ranks.

    Names in `rigid` are from the author's annotations: they are not tied to each other.
    """

    rule: UserRule
    rigid: frozenset[str] = frozenset()
    whole_rule: bool = False
    """Whether the backward is run as well."""
    wide: bool = True
    """Whether floats have 64 bits in traces."""
    traces: int = 0
    _guessed: bool = field(default=False)
    """Whether an equation was used that no comparison of a trace asked for."""
    _of_ranks: Exception | None = None
    """A failure that no sizes can mend, if one was met."""
    _runs: dict[Any, _Failed | None] = field(default_factory=dict)
    """The failure, or None, for sizes that were traced: branches of the search meet the same ones."""
    _any_number: set[str] = field(default_factory=set)
    """Axes that need a number as their size, whichever it is: a Python loop over a kernel."""

    def __post_init__(self) -> None:
        self.instance = family(self.rule, self.rule.cases[0]).prove[0]

    def unified(self, given: Sizes) -> Unified:
        """Return the most general sizes at which the function runs, with the sizes in `given` fixed; or its error.

        Equations that the search guessed are dropped afterwards if the function runs without them.
        """
        start = [given] if given else []
        sizes = self._at(start)
        assert sizes is not None
        first = self._run(sizes)
        if first is not None and "float64" in str(first.error):  # code that insists on 32 bits
            self.wide = False
            first = self._run(sizes)
        if first is None:
            return Unified(sizes)
        solved = self._solved(sizes, start, first)
        if solved is None:
            return Unified(error=self._of_ranks or first.error)
        equations = [*start, *self._needed(solved[len(start) :], start)] if self._guessed else solved
        return Unified(self._at([e for e in equations if not self._any_number >= e.keys()]))

    def _solved(self, sizes: Sizes, made: list[Sizes], failed: _Failed) -> list[Sizes] | None:
        """Return the equations between sizes with which the function runs, `made` included; None if none are found.

        A depth-first search: each candidate is added and the function traced. If it fails differently, the search
        goes on from that failure; a guessed candidate, for which no comparison asked, has to change the failure.

        Args:
            sizes: the sizes of the axes, with the equations in `made` solved.
            made: the equations so far.
            failed: the failure of the function with `sizes`.
        """
        order = _ORDER.search(str(failed.error))
        # Code that compares two sizes may run with symbols once one is known to be longer, so primes are tried last.
        # A comparison with a number above all primes (a block of 1,024) does not count: it fails at every prime.
        compares_order = order is not None and not any(
            (parse_size(order[k] or "0").value or 0) > max(PRIMES) for k in (1, 3)
        )
        if failed.needs_numbers and not compares_order and (equations := self._at_primes(made)) is not None:
            return equations
        for guessed, further in self._candidates(sizes, failed):
            if self.traces >= TRACES or self._of_ranks is not None:
                return None
            tied = self._at([*made, *further])
            if tied is None:
                continue
            self._guessed |= guessed
            result = self._run(tied)
            if result is None:
                return [*made, *further]
            if guessed and result.normalised_error == failed.normalised_error:  # nothing was gained
                continue
            if guessed and len(further) > 1:
                further = self._gained(made, further, failed)
                tied = self._at([*made, *further]) or tied
                result = self._run(tied)
                if result is None:
                    return [*made, *further]
            if (equations := self._solved(tied, [*made, *further], result)) is not None:
                return equations
        return self._at_primes(made) if compares_order else None

    def _gained(self, made: list[Sizes], guess: list[Sizes], failed: _Failed) -> list[Sizes]:
        """Return the equations that a guess needs: without each of them, the function fails as before."""
        for equation in list(guess):
            fewer = [e for e in guess if e is not equation]
            sizes = self._at([*made, *fewer])
            result = failed if sizes is None else self._run(sizes)
            if result is None or result.normalised_error != failed.normalised_error:
                guess = fewer
        return guess

    def _candidates(self, sizes: Sizes, failed: _Failed) -> Iterator[tuple[bool, list[Sizes]]]:
        """Yield pairs of a flag and equations between sizes that a failing trace may need, the likeliest first.

        The flag says that the equations are a guess: no comparison of the trace asked for them.
        """
        if failed.number is not None:
            yield from ((True, [equation]) for equation in self._numbers(sizes, failed.number))
            return
        if (match := _ORDER.search(str(failed.error))) is not None:
            ordered = ("left", "right") if match["than"] == "<" else ("right", "left")
            left, right = (parse_size(match[k] or "0") for k in (ordered if match["than"] else ("bound", "than")))
            if not _rounds(left) and not _rounds(right):
                yield from ((False, [s]) for s in at_least(_poly(left), _poly(right)))
        comparisons = list(dict.fromkeys(reversed(failed.asked)))
        solved = [s for question in comparisons[:LAST] for s in solutions(question) if self._allowed(s)]
        longer = [size for size in sizes.values() if size.value != 1]
        ones = [s for s in solved if any(size.at(s).value == 1 for size in longer)]
        without_ones = [s for s in solved if s not in ones]
        if self.whole_rule:  # a cotangent with an axis of length 1 does not make the argument one of length 1
            ones = []
        yield from ((k > 0 or s in _of_parts(comparisons[0]), [s]) for k, s in enumerate(without_ones))
        # JAX compares some sizes by their hash (the first axes in a scan), which is not seen as a comparison: so guess.
        shapes = self.instance.inputs
        first_axes = [shape[0] for shape in shapes if shape]
        if len(first_axes) > 2:
            yield True, [equation for length in first_axes[1:] for equation in self._tied(first_axes[0], length)]
        for a, b in combinations(shapes, 2):
            if len(a) == len(b) > 0:
                yield True, [equation for x, y in zip(a, b, strict=True) for equation in self._tied(x, y)]
        for a, b in combinations(shapes, 2):
            if a and b:
                yield True, self._tied(a[0], b[0])
        yield from ((True, [s]) for s in ones)  # a broadcast axis is the least likely

    def _numbers(self, sizes: Sizes, name: str) -> list[Sizes]:
        """Return the equation of size `name`, or any size if empty, with the number that it has to be; [] if unknown.

        The number is known if the function runs with it alone, of a few numbers. If it runs with all, any will do.
        """
        names = [name] if name in sizes else list(dict.fromkeys(n for s in sizes.values() for n in s.names))
        for size_name in names:
            runs = []
            for k in NUMBERS:
                sizes_there = self._at([{size_name: integer_size(k)}], sizes)
                if sizes_there is None:
                    continue
                result = self._run(sizes_there)
                # A failure that asks for no number, but for sizes to be equal, can be solved later.
                if result is None or (result.number is None and result.asked):
                    runs.append(k)
            if len(runs) == 1 and size_name not in self.rigid:
                return [{size_name: integer_size(runs[0])}]
            if len(runs) == len(NUMBERS):
                self._any_number.add(size_name)
                return [{size_name: integer_size(NUMBERS[0])}]
        return []

    def _at_primes(self, made: list[Sizes]) -> list[Sizes] | None:
        """Return equations, `made` included, with which the function runs at primes for sizes; None if it does not."""
        sizes = self._at(made)
        if sizes is None or self.traces >= 2 * TRACES:
            return None
        names = sorted({n for s in sizes.values() for n in s.names})
        for order in (
            names,
            names[::-1],
        ):  # a size that has to be at most another is so in one of them
            primes = dict(zip(order, PRIMES, strict=False))
            prime_sizes = self._at([{n: integer_size(p)} for n, p in primes.items()], sizes)
            if prime_sizes is None:
                return None
            if (failed := self._run(prime_sizes)) is None:
                continue
            for equation in filter(self._allowed, _named_by(str(failed.error), primes)):
                if (equations := self._at_primes([*made, equation])) is not None:
                    return equations
            return None
        return made

    def _needed(self, equations: list[Sizes], start: list[Sizes]) -> list[Sizes]:
        """Return the equations that the function needs: each one is dropped if it also runs without it."""
        for equation in list(equations):
            fewer = [e for e in equations if e is not equation]
            sizes = self._at([*start, *fewer])
            if sizes is not None and self._run(sizes) is None:
                equations = fewer
        return equations

    def _tied(self, a: Size, b: Size) -> list[Sizes]:
        return [s for s in solutions(_poly(a) - _poly(b)) if self._allowed(s)][:1]

    def _allowed(self, solution: Mapping[str, Size]) -> bool:
        return not any(n in self.rigid and set(s.names) != {n} for n, s in solution.items())

    def _at(self, equations: Sequence[Sizes], sizes: Sizes | None = None) -> Sizes | None:
        """Return the sizes with the equations substituted; None if one is then no size that a signature can state.

        `sizes` are the sizes to start from, by default a name for each.
        """
        out: Sizes = sizes or {name: named_size(name) for name in self.instance.names}
        for equation in equations:
            values = {n: s.grouped for n, s in equation.items()}
            substituted = {name: poly_as_size(_poly(size.at(values))) for name, size in out.items()}
            if any(size is None for size in substituted.values()):
                return None
            out = {name: size for name, size in substituted.items() if size is not None}
        return out

    def _run(self, sizes: Sizes) -> _Failed | None:
        """Return how the function fails with these sizes; None where it runs."""
        self.traces += 1  # counted also if the result is known, so that the search ends
        key = (*sorted(sizes.items(), key=lambda item: item[0]), self.wide)
        if key not in self._runs:
            self._runs[key] = self._traced(sizes)
        return self._runs[key]

    def _traced(self, sizes: Sizes) -> _Failed | None:
        """Return how the function fails in a new trace; a reshape that loses entries counts as a failure."""
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
        jaxpr, failure, comparisons = forward_or_failure(rules, shapes, len(self.rule.params), self.wide)
        if failure is not None:
            if OF_RANKS.search(str(failure)):
                self._of_ranks = failure
            return _Failed(failure, tuple(comparisons))
        if any(0 in v.aval.shape for v in jaxpr.outvars):  # every rule is right for those
            return _Failed(ValueError("an output has no entries"), ())
        # JAX reshapes c channels to 4·⌊c/4⌋ without a comparison of the two numbers of entries.
        lost = tuple(d for d in map(entries_lost, equations_of(jaxpr)) if not d.is_zero)
        return _Failed(ValueError(f"a reshape loses {lost[0].key}"), lost) if lost else None


@dataclass(frozen=True)
class _Failed:
    error: Exception
    asked: tuple[Poly, ...]
    """The differences of sizes that the trace compared and took for nonzero, in order."""

    @property
    def normalised_error(self) -> str:
        return f"{type(self.error).__name__} {_NAME.sub('#', str(self.error))}"

    @property
    def needs_numbers(self) -> bool:
        return NEEDS_NUMBERS.search(str(self.error)) is not None

    @property
    def number(self) -> str | None:
        """The size that must be a number; empty if the message does not name it, None if no size has to be one."""
        match = NEEDS_A_NUMBER.search(str(self.error).strip())
        return None if match is None else match[1] or ""


def _named_by(said: str, primes: Mapping[str, int]) -> Iterator[Sizes]:
    """Yield equations that a failure at prime sizes may need, by the numbers in its message.

    The pairs are axes of two shapes in the message, from the last on, then any two numbers in it that are sizes.
    """
    names = {p: n for n, p in primes.items()}
    shapes = [[int(n) for n in match.split(",")] for match in _SHAPE.findall(said)]
    pairs = [pair for a, b in pairwise(shapes) for pair in zip(reversed(a), reversed(b), strict=False)]
    pairs += combinations([int(n) for n in re.findall(r"\d+", said)], 2)
    for a, b in dict.fromkeys(pairs):
        if a != b and a in names and b in names:
            yield from ({names[a]: named_size(names[b])}, {names[b]: named_size(names[a])})


def lengths_in_code(rule: UserRule) -> Iterator[Sizes]:
    """Yield equations of an axis and an integer of the code, as `for k in range(3)` may be about its length."""
    lengths = [n for n in in_code(filter(is_users, reachable(rule))) if 1 < n <= MAX_LENGTH]
    yield from ({name: integer_size(n)} for n in lengths for name in rule.signature.names)


def rank_asked(why: str) -> int:
    """Return the rank that an error says an array should have; 0 if it does not."""
    unpacked, subscript = _UNPACKED.search(why), _SUBSCRIPT.search(why)
    return int(unpacked[1]) if unpacked else len(subscript[1]) if subscript else 0


def about_integers(why: str) -> bool:
    """Return whether an error says that an argument has to be of integers, of booleans or a key."""
    return not NEEDS_A_NUMBER.search(why) and bool(_NO_FLOATS.search(why))


def entries_lost(equation: Any) -> Poly:
    """Return how many more entries a reshape takes than it returns; 0 for another equation."""
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
    """Return equations for single sizes with which a difference is 0, those from remainders and quotients first."""
    difference = _without_common_factors(difference)
    names = sorted({n for mono in difference for n in _names(mono)}, reverse=True)
    return [*_of_parts(difference), *(s for name in names for s in _solved_for(name, difference))]


def _solved_for(name: str, difference: Poly) -> Iterator[Sizes]:
    """Yield the equation `difference` = 0 solved for a name, if the name is one term of it, with factor 1 or −1."""
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
    """Yield equations by which a remainder in a difference is 0, a quotient exact, or a minimum or maximum decided."""
    for mono in difference:
        for atom, _ in mono:
            if not isinstance(atom, Dim) or atom.name.isidentifier():
                continue
            (only,) = parse_size(atom.name).terms[0][1][:1]
            if not isinstance(only, Call):
                continue
            if _rounds(only.left) or _rounds(only.right):
                continue  # nested quotients or remainders are not solved
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
    ((top, size_factor),) = size.items()
    ((bottom, divisor_factor),) = divisor.items()
    of_size = {a.name: e for a, e in top if isinstance(a, Dim)}
    of_divisor = {a.name: e for a, e in bottom if isinstance(a, Dim)}
    quotient = {n: e - of_divisor.get(n, 0) for n, e in of_size.items() if e > of_divisor.get(n, 0)}
    missing = {n: e - of_size.get(n, 0) for n, e in of_divisor.items() if e > of_size.get(n, 0)}
    factor = abs(int(divisor_factor))
    if factor > 1 and int(size_factor) % factor == 0:
        factor = 1
    for name in quotient:
        if name.isidentifier() and all(n.isidentifier() and e == 1 for n, e in missing.items()):
            product = number(factor) * dimension(name)
            for n in missing:
                product = product * dimension(n)
            if (multiple := poly_as_size(product)) is not None and multiple.name != name:
                yield {name: multiple}


def at_least(long: Poly, short: Poly) -> Iterator[Sizes]:
    """Yield equations for a name in `long` with which that size is at least `short`: n = n + m − 1 for n and m."""
    for mono, c in long.items():
        if c == 1 and len(mono) == 1 and mono[0][1] == 1 and isinstance(mono[0][0], Dim):
            name = mono[0][0].name
            size = poly_as_size(short - (long - dimension(name)) + dimension(name) - ONE)
            if name.isidentifier() and size is not None and name not in {n for m in short for n in _names(m)}:
                yield {name: size}


def _without_common_factors(difference: Poly) -> Poly:
    """Return the difference divided by the sizes that are factors of every term, as sizes are not 0."""
    monos = list(difference)
    if len(monos) < 2 or not all(monos):
        return difference
    shared = dict(f for f in monos[0] if isinstance(f[0], Dim) and f[0].name.isidentifier())
    for mono in monos[1:]:
        factors = dict(mono)
        shared = {a: min(e, factors[a]) for a, e in shared.items() if a in factors}
    if not shared:
        return difference
    return Poly(
        {tuple((a, e - shared.get(a, 0)) for a, e in mono if e > shared.get(a, 0)): c for mono, c in difference.items()}
    )


def _names(mono: Mono) -> set[str]:
    """Return the names of sizes in a product, also those inside of quotients, remainders, minima and maxima."""
    return {n for a, _ in mono if isinstance(a, Dim) for n in parse_size(a.name).names}


def _rounds(factor: Factor) -> bool:
    """Return whether a size contains a quotient, a remainder, a minimum or a maximum."""
    if isinstance(factor, Size):
        return any(_rounds(f) for _, factors in factor.terms for f in factors)
    return isinstance(factor, Call) or (isinstance(factor, Power) and _rounds(factor.base))


def _poly(size: Size) -> Poly:
    return size.evaluate({n: dimension(n) for n in size.names}, number)


def poly_as_size(poly: Poly) -> Size | None:
    """Return a polynomial as a size of a signature; None if a signature cannot state it."""
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
