"""The choices of ranks and dtypes at which a rule without a declaration runs, the likeliest first.

Which ranks are meant is evidence: what annotations say, at which ranks the function and its rule both run, of which
ranks the cotangents are that its backward returns, and with which arrays it is called (`called.py`). Ranks start at 2,
as a forgotten sum vanishes at rank 0 and an axis that was forgotten at rank 1; at more where it is called with more.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, product
from typing import Any

import jax

from certgrad.errors import CertgradError
from certgrad.obligations.terms.budget import budget
from certgrad.rules.declared.declaration import Declaration
from certgrad.rules.subject.containers import NO_ARRAY, Forms, OtherFormsError
from certgrad.rules.subject.failures import fails_at_numbers
from certgrad.rules.subject.layers import backward_of, unwrapped
from certgrad.rules.subject.traced import array_of, misshapen, names_no_axis, of_leaves, why_untraced
from certgrad.rules.subject.user_rule import UserRule
from certgrad.signatures.signature import parse
from certgrad.signatures.sizes import Size, Star, integer_size

from . import called
from .called import Pattern
from .calls import Call
from .tried import ORIGIN, Tried, shortened
from .unify import NEEDS_A_NUMBER, NEEDS_NUMBERS, Sizes, Unifier, lengths_in_code, rank_asked

RANKS = (2, 1, 3, 4, 0)
"""The highest rank of an argument, in the order in which choices are tried."""
WHOLE_RANKS = (1, 2, 0)
"""Ranks that are tried for an argument of integers or booleans."""
NAMES = {3: "b n d m k l p q r", 4: "b h n d m k l p q r"}
"""What axes are called, in order, by the rank of the first argument,"""
FEW = "n d m k l p q r u v w"
"""and of one of another rank."""
SCALARS = frozenset(
    "eps epsilon delta gate temperature temp tau alpha beta gamma lam lambda_ lr momentum rate margin threshold slope "
    "power sigma scale".split()
)
"""Names of arguments that are numbers more often than arrays, where nothing else tells."""
WHOLE_NUMBERS = frozenset(
    "label labels class_ids classes id ids idx index indices segment_ids seg segments token tokens token_ids lengths "
    "row rows col cols src dst senders receivers sizes group_sizes counts offsets".split()
)
"""Names of arguments without a gradient that are integers more often than floats."""
MOST_REFUSED = 16
"""Signatures at which only the rule fails that are named at most."""
MOST_AS_CALLED = 8
"""At most this many choices that agree with one call are tried."""
SAME_REFUSALS, MOST_TIED = 4, 3
"""Equal refusals after which these dtypes are given up; and failing choices that are looked at again."""
MOST_MIXED = 4
"""At most this many arguments have ranks of their own above 2."""
KEY = "prng key"
"""What JAX calls it when an argument is a key of random numbers, and no floats."""
CHOICES = 80
"""At most this many choices of ranks and dtypes are tried."""
MAX_SIGNATURES = 3
"""Signatures that are audited at most; the others are not."""
_OF_SHAPES = re.compile("shape|dimension|axis|operand")
_NO_FLOATS = re.compile(f"(?i)integer|bool|{KEY}")


@dataclass(frozen=True)
class _Choice:
    """The rank of each argument, and its dtype as a signature writes it."""

    ranks: tuple[int, ...]
    kinds: tuple[str, ...]


@dataclass(frozen=True)
class _Seen:
    """The result of a choice."""

    signature: str = ""
    """The most general one; empty where the function does not run."""
    why: str = ""
    """Why the function, or its rule, does not run."""
    misshapen: Sequence[str] = ()
    """Which cotangents are of other shapes than their arguments, where that is why."""
    suggested: _Choice | None = None
    """The choice that the cotangents of the backward are of, where that is another one."""
    resting: Sequence[int] = ()
    """The arguments of which the backward returns None."""
    at_numbers: bool = False
    """The function and its rule run with numbers for sizes; with symbols code fails that computes with them."""

    @property
    def consistent(self) -> bool:
        """The function and its rule run."""
        return bool(self.signature) and (not self.why or self.at_numbers)

    @property
    def broadcasts(self) -> bool:
        """An array has an axis of one entry, as its rank asks for: another rank may ask for none."""
        return "1" in re.sub(r"[{}()\[\],]", " ", self.signature).split()


class Search:
    """The search for the choices of ranks and dtypes at which a function and its rule run.

    Raises OtherFormsError where the arguments are of other structures, if these are not `settled`.
    """

    def __init__(
        self,
        function: Callable,
        forms: Forms,
        static: Mapping[str, Any],
        calls: Sequence[Call] = (),
        settled: bool = False,
    ) -> None:
        self.function, self.forms, self.static, self.settled = function, forms, static, settled
        self.names = names = [name for name, _ in forms.leaves]
        self.evidence = [said for _, said in forms.leaves]
        self.patterns = called.patterns(calls, names)
        self.called_kinds = called.kinds(calls, names)
        self.out = Tried()
        self.seen: dict[_Choice, _Seen] = {}
        self.asked = 0
        """The highest rank that code said it needs."""
        self.returns_cotangents = backward_of(unwrapped(function)) is not None

    def tried(self) -> Tried:
        """Return all that was tried, with the consistent choices of the first ranks and dtypes that have some."""
        found: list[_Choice] = []
        below: list[_Choice] = []
        later: list[tuple[str, ...]] = []
        for kinds in chain(self._kinds(), later):
            as_called = self._as_called(kinds)
            found = [c for c in as_called if max(c.ranks) >= RANKS[0]]
            below = [c for c in as_called if c not in found]
            found += self._beside(found[0]) if found else []
            untried = [] if found else [*RANKS]
            while untried:
                highest = self.asked if self.asked in untried else untried[0]
                untried.remove(highest)
                found = self._consistent(kinds, highest)
                if found or self._ended():
                    break
                if kinds not in later and self._wants_integers(kinds):
                    later.append(kinds)  # it runs at no ranks, unless what is said of integers is meant otherwise
                    break
            of_calls = kinds == self._kinds_in_calls() != self._declared_kinds()
            if found or (self.out.refused and not of_calls) or self._ended():
                break  # a function that runs with floats is of floats
        if not found:
            found = [c for c, seen in self.seen.items() if seen.consistent][:1]
        found = self._of_integers(sorted(dict.fromkeys(found), key=self._likely))
        self.out.found = self._declared(dict.fromkeys(self.seen[c].signature for c in found))[:MAX_SIGNATURES]
        if found and max(found[0].ranks) == RANKS[0] and names_no_axis(self._rule(self.seen[found[0]].signature)):
            vectors = [c for c in below if max(c.ranks) == RANKS[0] - 1]
            lower = vectors or sorted(self._consistent(found[0].kinds, RANKS[0] - 1), key=self._likely)
            self.out.lower = self._declared(dict.fromkeys(self.seen[c].signature for c in lower))[:1]
        elif found:
            self.out.below = self._declared(dict.fromkeys(self.seen[c].signature for c in below if c not in found))
        self.out.calls = self._agreeing()
        self.out.count, self.out.cut_short = len(self.seen), not budget.seconds_left()
        if found:
            alike = [c for c in self.seen if c.kinds == found[0].kinds and max(c.ranks) >= max(found[0].ranks)]
            beside = [self.seen[c].signature for c in sorted(alike, key=lambda c: _choice_distance(c, found[0]))]
            in_calls = [text for _, agreeing in self.out.calls for text in agreeing]
            shown = dict.fromkeys([*in_calls, *beside])
            self.out.refused = {text: self.out.refused[text] for text in shown if text in self.out.refused}
        elif self.out.refused:
            self.out.found = self._tied_by_the_rule() or self._at_numbers()
        return self.out

    def _tied_by_the_rule(self) -> list[Declaration]:
        """Sizes that are tied where the rule runs with no others: halves of a cotangent are of arrays of one size."""
        for choice, sizes, seen in self._whole_rules():
            if seen.consistent:
                whole = self._with_integers(choice, self._whole_numbers(self._resting(seen)))
                also = self._looked_at(whole, sizes, whole_rule=True) if whole is not None else seen
                return self._declared([also.signature if also.consistent else seen.signature])
        return []

    def _whole_rules(self) -> Iterator[tuple[_Choice, Sizes | None, _Seen]]:
        """Yield choices with sizes, and the results at which the backward runs too, symbolic or numeric."""
        choices = [c for c, seen in self.seen.items() if seen.signature][:MOST_TIED]
        given = [(c, sizes) for c in choices for sizes in lengths_in_code(self._rule_of(c))]
        for choice, sizes in [*((c, None) for c in choices), *given]:
            seen = self._looked_at(choice, sizes, whole_rule=True)
            if seen.signature:
                yield choice, sizes, seen

    def _at_numbers(self) -> list[Declaration]:
        """Return the first signature at which the rule runs with numeric sizes; else the failing one with the fewest
        misshapen cotangents.
        """
        choices = {seen.signature: c for c, seen in self.seen.items() if seen.signature}
        refused = self._declared(choices)[:MOST_REFUSED]
        tied = (d for *_, seen in self._whole_rules() for d in self._declared({seen.signature} - choices.keys()))
        running = (one for one in chain(refused, tied) if not fails_at_numbers(self.function, one))
        first = next(running, None)
        if first is None:
            few = (d for d in refused if self.seen[choices[str(d.signature)]].misshapen)
            return [min(few, key=lambda d: len(self.seen[choices[str(d.signature)]].misshapen), default=refused[0])]
        self.out.refused.clear()  # it is not known where the rule fails
        if str(first.signature) in choices and names_no_axis(self._rule(str(first.signature))):
            highest = max(choices[str(first.signature)].ranks)
            lower = [one for one in refused if 0 < max(choices[str(one.signature)].ranks) < highest]
            self.out.lower = [one for one in lower if not fails_at_numbers(self.function, one)][:1]
        return [first]

    def _rule_of(self, choice: _Choice) -> UserRule:
        """Return the rule of a choice with a name for each axis."""
        return self._rule(self.forms.signature(self._specs(choice)))

    def _rule(self, signature: str) -> UserRule:
        return UserRule(self.function, signature, static=self.static)

    def _declared(self, signatures: Iterable[str]) -> list[Declaration]:
        return [Declaration(s, self.static, origin=ORIGIN) for s in signatures]

    def _likely(self, choice: _Choice) -> tuple[int, int, int, int]:
        """A sort key of likelihood: choices that the rule is called at first, numbers as in calls, other ranks high."""
        named = [r for r, n in zip(choice.ranks, self.names, strict=True) if n in SCALARS]
        floats = [r for r, kind in zip(choice.ranks, choice.kinds, strict=True) if not kind]
        whole = [WHOLE_RANKS.index(r) for r, kind in zip(choice.ranks, choice.kinds, strict=True) if kind and r < 3]
        return self._in_calls(choice), sum(r > 0 for r in named), -sum(floats), sum(whole)

    # --- what the rule is called with ---

    def _in_calls(self, choice: _Choice) -> int:
        """Return the number of the first call that agrees with a choice."""
        return next((k for k, p in enumerate(self.patterns) if p.speaks_for(choice.ranks)), len(self.patterns))

    def _as_called(self, kinds: tuple[str, ...]) -> list[_Choice]:
        """Return, for each call, the first choice that agrees with it and at which the rule runs."""
        return [choice for one in self.patterns if (choice := self._first_of(kinds, one)) is not None]

    def _first_of(self, kinds: tuple[str, ...], pattern: Pattern) -> _Choice | None:
        each = [
            [r for r in self._ranks(k, kind, pattern.highest) if own is None or r == own]
            for k, (kind, own) in enumerate(zip(kinds, pattern.ranks, strict=True))
        ]
        partly = None in pattern.ranks
        for choice in sorted((_Choice(v, kinds) for v in product(*each)), key=lambda c: -sum(c.ranks))[:MOST_AS_CALLED]:
            if choice not in self.seen and self._ended():
                break
            seen = self._at(choice)
            if seen.consistent and not (partly and seen.broadcasts):
                return choice
        return None

    def _agreeing(self) -> list[tuple[str, list[str]]]:
        """Return each call's place with the signatures that agree with it and at which the function runs."""
        running = {c: seen.signature for c, seen in self.seen.items() if seen.signature}
        agreeing = [(p.where, [text for c, text in running.items() if p.agrees(c.ranks)]) for p in self.patterns]
        return [(where, [*dict.fromkeys(texts)]) for where, texts in agreeing if texts]

    def _kinds_in_calls(self) -> tuple[str, ...]:
        """Return the arguments' dtypes by the calls that give integers or booleans for some."""
        both = zip(self.evidence, self.called_kinds, strict=True)
        return tuple((e.kind if e.kind is not None else kind) or "" for e, kind in both)

    # --- which choices ---

    def _kinds(self) -> Iterator[tuple[str, ...]]:
        """Dtypes of the arguments: as in calls, floats where nothing says otherwise, integers or booleans for some."""
        free = [k for k, e in enumerate(self.evidence) if e.kind is None]
        base, in_calls = self._declared_kinds(), self._kinds_in_calls()
        if in_calls != base and "" in in_calls and self.returns_cotangents:
            yield in_calls  # a backward says of which arguments there is a gradient; a rule in forward mode does not
        named = tuple(":int" if k in free and n in WHOLE_NUMBERS else base[k] for k, n in enumerate(self.names))
        yield from dict.fromkeys(kinds for kinds in (base, named) if "" in kinds)
        for count in range(1, min(len(free), 2) + 1):
            for kind in self._whole_kinds():
                for chosen in combinations(reversed(free), count):
                    if "" in (kinds := tuple(kind if k in chosen else own for k, own in enumerate(base))):
                        yield kinds

    def _declared_kinds(self) -> tuple[str, ...]:
        """Floats, where no annotation says otherwise."""
        return tuple(e.kind or "" for e in self.evidence)

    def _wants_integers(self, kinds: tuple[str, ...]) -> bool:
        """Return whether the function fails with these dtypes because other arguments should not be floats."""
        failures = [seen.why for c, seen in self.seen.items() if c.kinds == kinds]
        return not self.out.refused and any(map(_about_integers, failures))

    def _whole_kinds(self) -> tuple[str, ...]:
        """Return the non-float dtypes to try: a key, if the error says that one was expected."""
        return (":key", ":int", ":bool") if any(KEY in why.lower() for why in self.out.failures) else (":int", ":bool")

    def _ranks(self, k: int, kind: str, highest: int) -> list[int]:
        evidence = self.evidence[k]
        if evidence.shape is not None:
            return [len(_dims(evidence.shape))]
        if evidence.scalar or kind == ":key":
            return [0]
        return [r for r in (WHOLE_RANKS if kind else range(highest, -1, -1)) if r <= max(highest, 1)]

    def _choices(self, kinds: tuple[str, ...], highest: int) -> list[_Choice]:
        """Return choices with an argument of the highest rank: more axes first, equal ranks before mixed ones."""
        each = [self._ranks(k, kind, highest) for k, kind in enumerate(kinds)]
        free = [k for k, kind in enumerate(kinds) if not kind and len(each[k]) > 1]
        if not free and highest != RANKS[0]:
            return []
        if highest > RANKS[0] and (self.out.refused or len(free) > MOST_MIXED):  # the function runs at any rank
            lowest = highest - 2 if highest == self.asked and not self.out.refused else highest
            each = [[r for r in own if r >= lowest] if k in free else own for k, own in enumerate(each)]
        vectors = [v for v in product(*each) if not free or max(v[k] for k in free) == highest]
        floats = [k for k, kind in enumerate(kinds) if not kind]
        choices = [_Choice(v, kinds) for v in vectors]
        return sorted(choices, key=lambda c: (self._in_calls(c), -sum(c.ranks[k] for k in floats)))

    def _consistent(self, kinds: tuple[str, ...], highest: int) -> list[_Choice]:
        """Return the first choice of at most these ranks at which the rule runs, and those beside it; [] if none is."""
        waiting = deque(self._choices(kinds, highest))
        tried: set[_Choice] = set()
        while waiting and not self._ended():
            choice = waiting.popleft()
            if choice in tried:
                continue
            tried.add(choice)
            seen = self._at(choice)
            if len(tried) == SAME_REFUSALS and all(_about_integers(self.seen[c].why) for c in tried):
                return []  # these arguments have no such dtypes
            if highest < (asked := rank_asked(seen.why)) <= max(RANKS):
                self.asked = max(self.asked, asked)
                return []
            if seen.consistent and not seen.broadcasts:
                return [choice, *self._beside(choice)]
            refusals = [*self.out.refused.values()]
            if len(refusals) == SAME_REFUSALS and len({*refusals}) == 1 and not _OF_SHAPES.search(refusals[0]):
                return []  # it is not for its shapes that the rule fails
            if seen.suggested is not None and max(seen.suggested.ranks, default=0) >= min(highest, max(choice.ranks)):
                # A cotangent of more axes than any argument was given may have them from what was given too many.
                (waiting.append if max(seen.suggested.ranks) > highest else waiting.appendleft)(seen.suggested)
        return []

    def _beside(self, choice: _Choice) -> list[_Choice]:
        """Return choices with another rank for one argument at which the rule runs too."""
        highest = max(choice.ranks)
        found = []
        for k, kind in enumerate(choice.kinds):
            for rank in self._ranks(k, kind, highest):
                ranks = (*choice.ranks[:k], rank, *choice.ranks[k + 1 :])
                other = replace(choice, ranks=ranks)
                if max(ranks) == highest and (other not in self.seen or self.seen[other].consistent):
                    seen = self._at(other)
                    if other != choice and seen.consistent and not seen.broadcasts:
                        found.append(other)
        return found

    def _of_integers(self, found: list[_Choice]) -> list[_Choice]:
        """The choices, with integers for those arguments of the first one that have no gradient, where it runs so too:
        in the place of floats if these are called as integers are, and else as the last choice.
        """
        if not found:
            return []
        free = self._resting(self.seen[found[0]])
        each = (self._with_integers(found[0], some) for some in (self._whole_numbers(free), free))
        by_name, last = ([c] if c is not None and self._at(c).consistent else [] for c in each)
        first = by_name or (found[: MAX_SIGNATURES - 1] if last else found)
        return [*dict.fromkeys([*first, *last])]

    def _with_integers(self, choice: _Choice, some: Sequence[int]) -> _Choice | None:
        """Return the choice with integers for some arguments."""
        kinds = tuple(":int" if k in some else kind for k, kind in enumerate(choice.kinds))
        other = "" in kinds and kinds != choice.kinds and self.returns_cotangents
        return replace(choice, kinds=kinds) if other else None

    def _resting(self, seen: _Seen) -> list[int]:
        """Return the arguments without a gradient whose dtype nothing says."""
        return [k for k in seen.resting if self.evidence[k].kind is None]

    def _whole_numbers(self, some: Sequence[int]) -> list[int]:
        """Return those of the arguments whose names are those of integers."""
        return [k for k in some if self.names[k] in WHOLE_NUMBERS]

    def _ended(self) -> bool:
        """Return whether no more choices are tried."""
        return len(self.seen) >= CHOICES or not budget.seconds_left()

    # --- one choice ---

    def _at(self, choice: _Choice) -> _Seen:
        if choice not in self.seen:
            seen = self.seen[choice] = self._looked_at(choice)
            if NO_ARRAY.search(seen.why):
                self._take(self.forms.by_text)
            text = seen.signature or self.forms.signature(self._written(choice, None))
            if seen.why:
                self.out.failures.setdefault(shortened(seen.why), text)
            if seen.signature and not seen.consistent:
                self.out.refused[text] = next(iter(seen.misshapen), shortened(seen.why))
        return self.seen[choice]

    def _take(self, forms: Callable[[], Forms | None]) -> None:
        """Raise OtherFormsError where a failure says that an argument is of another structure."""
        other = None if self.settled else forms()
        if other is not None:
            raise OtherFormsError(other)

    def _looked_at(self, choice: _Choice, numbers: Sizes | None = None, whole_rule: bool = False) -> _Seen:
        """Return what comes of a choice, with `numbers` for some sizes; of the backward as well for a `whole_rule`."""
        specs = self._specs(choice)
        rigid = frozenset(n for e in self.evidence if e.shape is not None for n in _names(e.shape))
        try:
            rule = self._rule_of(choice)
            unified = Unifier(rule, rigid, whole_rule).unified(numbers or {})
            if unified.sizes is None:
                error = unified.error
                return _Seen(why=f"{type(error).__name__}: {error}")
            signature = self.forms.signature(self._written(choice, unified.sizes))
            rule = self._rule(signature)
            why, returned = why_untraced(rule)
        except CertgradError as error:
            return _Seen(why=str(error))
        arrays = [array_of(one) for one in of_leaves(rule, returned)]
        needs_numbers = NEEDS_NUMBERS.search(why) is not None
        at_numbers = needs_numbers and not fails_at_numbers(self.function, *self._declared([signature]))
        if not why or at_numbers:
            return _Seen(signature, why, at_numbers=at_numbers, resting=[k for k, a in enumerate(arrays) if a is None])
        self._take(lambda: self.forms.as_returned(returned))
        if numbers is None and (lengths := self._of_numbers(choice, specs, arrays)):
            seen = self._looked_at(choice, lengths, whole_rule)
            if seen.consistent:
                return seen
        others = [f"the cotangent of {name} has {shapes}" for name, shapes in misshapen(rule, arrays).items()]
        return _Seen(signature, why, others, self._suggested(choice, arrays))

    def _of_numbers(self, choice: _Choice, specs: Sequence[str], arrays: Sequence[Any]) -> Sizes:
        """Axes that have a number of entries in the cotangents: a rule for x, y and z stacks three."""
        found: Sizes = {}
        for text, array in zip(specs, arrays, strict=True):
            dims = _dims(text)
            if array is None or len(array.shape) != len(dims):
                continue
            for dim, length in zip(dims, array.shape, strict=True):
                if isinstance(dim, Size) and dim.name is not None and isinstance(length, int) and length > 1:
                    found[dim.name] = integer_size(length)
        return found

    def _suggested(self, choice: _Choice, arrays: Sequence[Any]) -> _Choice | None:
        """Return the ranks and dtypes of the cotangents, where annotations do not say others."""
        ranks, kinds = list(choice.ranks), list(choice.kinds)
        for k, (array, evidence) in enumerate(zip(arrays, self.evidence, strict=False)):
            if array is None:
                continue
            if evidence.shape is None and not evidence.scalar:
                ranks[k] = len(array.shape)
            if evidence.kind is None and array.dtype == jax.dtypes.float0:
                kinds[k] = kinds[k] or ":int"
        other = _Choice(tuple(ranks), tuple(kinds))
        return other if other != choice and max(ranks) <= max(RANKS) and "" in kinds else None

    def _specs(self, choice: _Choice) -> list[str]:
        """Return the shapes with a name of its own for each axis that no annotation names."""
        out = []
        for k, (evidence, rank, kind) in enumerate(zip(self.evidence, choice.ranks, choice.kinds, strict=True)):
            axes = " ".join(f"axis{k}_{i}" for i in range(rank))
            out.append(((evidence.shape if evidence.shape is not None else axes) or "()") + kind)
        return out

    def _written(self, choice: _Choice, sizes: Sizes | None) -> list[str]:
        """Return the shapes with their sizes, under short names that nothing else has."""
        dims = [_dims(text) for text in self._specs(choice)]
        sized = [[d if isinstance(d, Star) or sizes is None else d.at(sizes) for d in row] for row in dims]
        taken = {*self.names, *(n for e in self.evidence if e.shape is not None for n in _names(e.shape))}
        taken |= self.static.keys()
        letters = NAMES.get(choice.ranks[0], FEW).split()
        free = (n for n in (*letters, *(f"n{k}" for k in range(99))) if n not in taken)
        used = dict.fromkeys(n for row in sized for d in row if isinstance(d, Size) for n in d.names)
        short = {n: next(free) for n in used if n.startswith("axis")}
        texts = [" ".join(str(d.renamed(short)) if isinstance(d, Size) else str(d) for d in row) for row in sized]
        return [(text or "()") + kind for text, kind in zip(texts, choice.kinds, strict=True)]


def _about_integers(why: str) -> bool:
    """Return whether a failure says that an argument has to be of integers, of booleans or a key."""
    return not NEEDS_A_NUMBER.search(why) and bool(_NO_FLOATS.search(why))


def _choice_distance(choice: _Choice, other: _Choice) -> tuple[int, bool, int]:
    """Return a distance of two choices: those first where later arguments have lower ranks."""
    changed = [k for k, (a, b) in enumerate(zip(choice.ranks, other.ranks, strict=True)) if a != b]
    return len(changed), any(choice.ranks[k] > other.ranks[k] for k in changed) or 0 in changed, -sum(choice.ranks)


def _dims(text: str) -> tuple[Size | Star, ...]:
    """Return the axes of one array, as a signature writes it."""
    return parse(f"{text} ->").inputs[0].dims


def _names(shape: str) -> list[str]:
    """Return the names in a shape; of any number of axes too."""
    return [n for d in _dims(shape) for n in ((d.name,) if isinstance(d, Star) else d.names)]
