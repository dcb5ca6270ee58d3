"""The choices of ranks and dtypes at which a rule without a declaration runs, the likeliest first.

The evidence for ranks: annotations, the ranks at which the function and its rule both run, the ranks of the cotangents
that the backward returns, and the arrays that the rule is called with (`called.py`). The search starts at rank 2, as a
forgotten sum vanishes at rank 0 and a forgotten axis at rank 1; and at a higher one where the rule is called with it.
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
from .unify import KEY, NEEDS_NUMBERS, Sizes, Unifier, about_integers, lengths_in_code, rank_asked

RANKS = (2, 1, 3, 4, 0)
"""The highest rank of an argument, in the order in which it is tried."""
WHOLE_RANKS = (1, 2, 0)
"""Ranks that are tried for an argument of integers or booleans."""
NAMES = {3: "b n d m k l p q r", 4: "b h n d m k l p q r"}
"""Names of axes, in order, by the rank of the first argument; and for another rank:"""
FEW = "n d m k l p q r u v w"
SCALARS = frozenset(
    "eps epsilon delta gate temperature temp tau alpha beta gamma lam lambda_ lr momentum rate margin threshold slope "
    "power sigma scale".split()
)
"""Names of arguments that are more often scalars than arrays."""
WHOLE_NUMBERS = frozenset(
    "label labels class_ids classes id ids idx index indices segment_ids seg segments token tokens token_ids lengths "
    "row rows col cols src dst senders receivers sizes group_sizes counts offsets".split()
)
"""Names of arguments without a gradient that are more often integers than floats."""
MOST_REFUSED = 16
"""At most this many signatures at which only the rule fails are tried with numbers for sizes."""
MOST_AS_CALLED = 8
"""At most this many choices that agree with one call are tried."""
SAME_REFUSALS, MOST_TIED = 4, 3
"""Equal failures after which dtypes are given up; and failing choices that are tried again with sizes tied."""
MOST_MIXED = 4
"""At most this many arguments have ranks of their own above 2."""
CHOICES = 80
"""At most this many choices of ranks and dtypes are tried."""
MAX_SIGNATURES = 3
"""At most this many signatures are audited."""
_OF_SHAPES = re.compile("shape|dimension|axis|operand")


@dataclass(frozen=True)
class _Choice:
    """The rank of each argument, and its dtype as a signature writes it."""

    ranks: tuple[int, ...]
    kinds: tuple[str, ...]


@dataclass(frozen=True)
class _Seen:
    """The result of trying a choice."""

    signature: str = ""
    """The most general signature of the choice; empty where the function does not run."""
    why: str = ""
    """Why the function, or its rule, does not run."""
    misshapen: Sequence[str] = ()
    """Texts on the cotangents that have other shapes than their arguments, if the rule fails for that."""
    suggested: _Choice | None = None
    """The choice with the ranks of the cotangents that the backward returns, if it is another one."""
    resting: Sequence[int] = ()
    """The positions of arguments for which the backward returns None."""
    at_numbers: bool = False
    """The function and its rule run with numbers for sizes, and fail only with symbols, as code computes with sizes."""

    @property
    def consistent(self) -> bool:
        """Whether the function and its rule both run."""
        return bool(self.signature) and (not self.why or self.at_numbers)

    @property
    def broadcasts(self) -> bool:
        """Whether an array runs only with an axis of length 1: with another rank it may need none."""
        return "1" in re.sub(r"[{}()\[\],]", " ", self.signature).split()


class Search:
    """The search for the choices of ranks and dtypes at which a function and its rule run.

    Raises OtherFormsError where arguments need other structures (a tuple, say), unless these are `settled`.
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
        self.evidence = [annotation for _, annotation in forms.leaves]
        self.patterns = called.patterns(calls, names)
        self.called_kinds = called.kinds(calls, names)
        self.out = Tried()
        self.seen: dict[_Choice, _Seen] = {}
        self.asked = 0
        """The highest rank that an error of the code asked for."""
        self.returns_cotangents = backward_of(unwrapped(function)) is not None

    def tried(self) -> Tried:
        """Return the results of the search: the consistent choices of the first dtypes and highest rank that have some.

        For each choice of dtypes, ranks as in calls are tried, then highest ranks in the order of `RANKS`. If no choice
        is consistent, one with some sizes tied by the backward, or with numbers for sizes, is returned.
        """
        choices: list[_Choice] = []
        below: list[_Choice] = []
        later: list[tuple[str, ...]] = []
        for kinds in chain(self._kinds(), later):  # `later` grows meanwhile
            as_called = self._as_called(kinds)
            choices = [c for c in as_called if max(c.ranks) >= RANKS[0]]
            below = [c for c in as_called if c not in choices]
            choices += self._beside(choices[0]) if choices else []
            untried = [] if choices else [*RANKS]
            while untried:
                highest = self.asked if self.asked in untried else untried[0]
                untried.remove(highest)
                choices = self._consistent(kinds, highest)
                if choices or self._ended():
                    break
                if kinds not in later and self._wants_integers(kinds):
                    later.append(kinds)  # other ranks hardly help: other dtypes are tried first, these again at the end
                    break
            of_calls = kinds == self._kinds_in_calls() != self._declared_kinds()
            if choices or (self.out.refused and not of_calls) or self._ended():
                break  # a function that runs with these dtypes is meant for them
        if not choices:
            choices = [c for c, seen in self.seen.items() if seen.consistent][:1]
        choices = self._of_integers(sorted(dict.fromkeys(choices), key=self._likely))
        self.out.found = self._declared(dict.fromkeys(self.seen[c].signature for c in choices))[:MAX_SIGNATURES]
        if choices and max(choices[0].ranks) == RANKS[0] and names_no_axis(self._rule(self.seen[choices[0]].signature)):
            vectors = [c for c in below if max(c.ranks) == RANKS[0] - 1]  # no code names an axis: these may be meant
            lower = vectors or sorted(self._consistent(choices[0].kinds, RANKS[0] - 1), key=self._likely)
            self.out.lower = self._declared(dict.fromkeys(self.seen[c].signature for c in lower))[:1]
        elif choices:
            self.out.below = self._declared(dict.fromkeys(self.seen[c].signature for c in below if c not in choices))
        self.out.calls = self._agreeing()
        self.out.count, self.out.cut_short = len(self.seen), not budget.seconds_left()
        if choices:
            same_kinds = [c for c in self.seen if c.kinds == choices[0].kinds and max(c.ranks) >= max(choices[0].ranks)]
            beside = [self.seen[c].signature for c in sorted(same_kinds, key=lambda c: _choice_distance(c, choices[0]))]
            in_calls = [text for _, agreeing in self.out.calls for text in agreeing]
            shown = dict.fromkeys([*in_calls, *beside])  # failures are reported in this order
            self.out.refused = {text: self.out.refused[text] for text in shown if text in self.out.refused}
        elif self.out.refused:
            self.out.found = self._tied_by_the_rule() or self._at_numbers()
        return self.out

    def _tied_by_the_rule(self) -> list[Declaration]:
        """Return a signature with sizes tied by the backward (halves of a cotangent have one size), or []."""
        for choice, sizes, seen in self._whole_rules():
            if seen.consistent:
                whole = self._with_integers(choice, self._whole_numbers(self._resting(seen)))
                retried = self._looked_at(whole, sizes, whole_rule=True) if whole is not None else seen
                return self._declared([retried.signature if retried.consistent else seen.signature])
        return []

    def _whole_rules(self) -> Iterator[tuple[_Choice, Sizes | None, _Seen]]:
        """Yield choices with numeric sizes, if any, and their results, where function and backward both run."""
        running = [c for c, seen in self.seen.items() if seen.signature]
        choices = running[:MOST_TIED]
        # As many further ones, if no cotangent has another shape than its argument: ties must not hide a mistake.
        choices += [c for c in running[MOST_TIED:] if not self.seen[c].misshapen][:MOST_TIED]
        given = [(c, sizes) for c in choices for sizes in lengths_in_code(self._rule_of(c))]
        waiting: list[tuple[_Choice, Sizes | None]] = [*((c, None) for c in choices), *given]
        for choice, sizes in waiting:  # which grows meanwhile
            seen = self._looked_at(choice, sizes, whole_rule=True)
            if seen.signature:
                yield choice, sizes, seen
            if seen.suggested is not None and (seen.suggested, None) not in waiting:  # with the cotangents' ranks
                waiting.append((seen.suggested, None))

    def _at_numbers(self) -> list[Declaration]:
        """Return the first signature at which the rule runs with numeric sizes; else, of those at which it fails, the
        one with the fewest cotangents of a wrong shape.
        """
        choices = {seen.signature: c for c, seen in self.seen.items() if seen.signature}
        refused = self._declared(choices)[:MOST_REFUSED]
        tied = (d for *_, seen in self._whole_rules() for d in self._declared({seen.signature} - choices.keys()))
        running = (one for one in chain(refused, tied) if not fails_at_numbers(self.function, one))
        first = next(running, None)
        if first is None:
            few = (d for d in refused if self.seen[choices[str(d.signature)]].misshapen)
            return [min(few, key=lambda d: len(self.seen[choices[str(d.signature)]].misshapen), default=refused[0])]
        self.out.refused.clear()  # failures at symbolic sizes say nothing of a rule that needs numbers
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
        """Return a sort key, the likeliest first: as in calls, scalars by their names, then high ranks of floats."""
        named = [r for r, n in zip(choice.ranks, self.names, strict=True) if n in SCALARS]
        floats = [r for r, kind in zip(choice.ranks, choice.kinds, strict=True) if not kind]
        whole = [WHOLE_RANKS.index(r) for r, kind in zip(choice.ranks, choice.kinds, strict=True) if kind and r < 3]
        return self._in_calls(choice), sum(r > 0 for r in named), -sum(floats), sum(whole)

    def _in_calls(self, choice: _Choice) -> int:
        """Return the index of the first call that agrees with a choice; the number of calls if none does."""
        return next((k for k, p in enumerate(self.patterns) if p.speaks_for(choice.ranks)), len(self.patterns))

    def _as_called(self, kinds: tuple[str, ...]) -> list[_Choice]:
        """Return, for each call, the first choice that agrees with it and at which the rule runs."""
        return [choice for one in self.patterns if (choice := self._first_of(kinds, one)) is not None]

    def _first_of(self, kinds: tuple[str, ...], pattern: Pattern) -> _Choice | None:
        each = [
            [r for r in self._ranks(k, kind, pattern.highest) if called_rank is None or r == called_rank]
            for k, (kind, called_rank) in enumerate(zip(kinds, pattern.ranks, strict=True))
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
        """Return, for each call, its place and the signatures that agree with it and at which the function runs."""
        running = {c: seen.signature for c, seen in self.seen.items() if seen.signature}
        agreeing = [(p.where, [text for c, text in running.items() if p.agrees(c.ranks)]) for p in self.patterns]
        return [(where, [*dict.fromkeys(texts)]) for where, texts in agreeing if texts]

    def _kinds_in_calls(self) -> tuple[str, ...]:
        """Return the arguments' dtypes by annotations, then by calls, and else floats ("")."""
        both = zip(self.evidence, self.called_kinds, strict=True)
        return tuple((e.kind if e.kind is not None else kind) or "" for e, kind in both)

    def _kinds(self) -> Iterator[tuple[str, ...]]:
        """Yield dtypes of the arguments: as in calls, then as annotated or by names, then with one or two others."""
        free = [k for k, e in enumerate(self.evidence) if e.kind is None]
        base, in_calls = self._declared_kinds(), self._kinds_in_calls()
        if in_calls != base and "" in in_calls and self.returns_cotangents:
            yield in_calls  # only a backward shows which arguments have no gradient
        named = tuple(":int" if k in free and n in WHOLE_NUMBERS else base[k] for k, n in enumerate(self.names))
        yield from dict.fromkeys(kinds for kinds in (base, named) if "" in kinds)
        for count in range(1, min(len(free), 2) + 1):
            for kind in self._whole_kinds():
                for chosen in combinations(reversed(free), count):
                    if "" in (kinds := tuple(kind if k in chosen else base_kind for k, base_kind in enumerate(base))):
                        yield kinds

    def _declared_kinds(self) -> tuple[str, ...]:
        """Return the arguments' dtypes by annotations; "", which is floats, for the rest."""
        return tuple(e.kind or "" for e in self.evidence)

    def _wants_integers(self, kinds: tuple[str, ...]) -> bool:
        """Return whether the function fails with these dtypes because an argument must not be of floats."""
        failures = [seen.why for c, seen in self.seen.items() if c.kinds == kinds]
        return not self.out.refused and any(map(about_integers, failures))

    def _whole_kinds(self) -> tuple[str, ...]:
        """Return the dtypes to try beside floats; the first is a random key if an error speaks of one."""
        return (":key", ":int", ":bool") if any(KEY in why.lower() for why in self.out.failures) else (":int", ":bool")

    def _ranks(self, k: int, kind: str, highest: int) -> list[int]:
        """Return the ranks to try for argument `k` with dtype `kind`, the likeliest first."""
        evidence = self.evidence[k]
        if evidence.shape is not None:
            return [len(_dims(evidence.shape))]
        if evidence.scalar or kind == ":key":
            return [0]
        return [r for r in (WHOLE_RANKS if kind else range(highest, -1, -1)) if r <= max(highest, 1)]

    def _choices(self, kinds: tuple[str, ...], highest: int) -> list[_Choice]:
        """Return the choices whose highest rank is `highest`: as in calls first, then those with more axes."""
        each = [self._ranks(k, kind, highest) for k, kind in enumerate(kinds)]
        free = [k for k, kind in enumerate(kinds) if not kind and len(each[k]) > 1]
        if not free and highest != RANKS[0]:
            return []
        if highest > RANKS[0] and (self.out.refused or len(free) > MOST_MIXED):  # the function runs at any rank
            lowest = highest - 2 if highest == self.asked and not self.out.refused else highest
            each = [[r for r in ranks if r >= lowest] if k in free else ranks for k, ranks in enumerate(each)]
        vectors = [v for v in product(*each) if not free or max(v[k] for k in free) == highest]
        floats = [k for k, kind in enumerate(kinds) if not kind]
        choices = [_Choice(v, kinds) for v in vectors]
        return sorted(choices, key=lambda c: (self._in_calls(c), -sum(c.ranks[k] for k in floats)))

    def _consistent(self, kinds: tuple[str, ...], highest: int) -> list[_Choice]:
        """Return the first choice of ranks up to `highest` at which the rule runs, and those `_beside` it, or []."""
        waiting = deque(self._choices(kinds, highest))
        tried_choices: set[_Choice] = set()
        while waiting and not self._ended():
            choice = waiting.popleft()
            if choice in tried_choices:
                continue
            tried_choices.add(choice)
            seen = self._at(choice)
            failures = [self.seen[c].why for c in tried_choices if not self.seen[c].signature]
            if sum(map(about_integers, failures)) == SAME_REFUSALS and len(failures) == len(tried_choices):
                return []  # the arguments have other dtypes: the function ran at no rank
            if highest < (needed_rank := rank_asked(seen.why)) <= max(RANKS):
                self.asked = max(self.asked, needed_rank)
                return []
            if seen.consistent and not seen.broadcasts:
                return [choice, *self._beside(choice)]
            refusals = [*self.out.refused.values()]
            if len(refusals) == SAME_REFUSALS and len({*refusals}) == 1 and not _OF_SHAPES.search(refusals[0]):
                return []  # the rule fails for something else than its shapes
            if seen.suggested is not None and max(seen.suggested.ranks, default=0) >= min(highest, max(choice.ranks)):
                # A cotangent with more axes than all arguments may have them from an argument that was given too many.
                (waiting.append if max(seen.suggested.ranks) > highest else waiting.appendleft)(seen.suggested)
        return []

    def _beside(self, choice: _Choice) -> list[_Choice]:
        """Return the choices that differ from `choice` in one rank and at which the rule runs too."""
        highest = max(choice.ranks)
        consistent = []
        for k, kind in enumerate(choice.kinds):
            for rank in self._ranks(k, kind, highest):
                ranks = (*choice.ranks[:k], rank, *choice.ranks[k + 1 :])
                neighbour = replace(choice, ranks=ranks)
                if max(ranks) == highest and (neighbour not in self.seen or self.seen[neighbour].consistent):
                    seen = self._at(neighbour)
                    if neighbour != choice and seen.consistent and not seen.broadcasts:
                        consistent.append(neighbour)
        return consistent

    def _of_integers(self, found: list[_Choice]) -> list[_Choice]:
        """Return the choices and one with integers for the arguments without a gradient of the first choice.

        If these arguments are integers by their names, it replaces the choices with floats; else it is the last one.
        """
        if not found:
            return []
        free = self._resting(self.seen[found[0]])
        each = (self._with_integers(found[0], some) for some in (self._whole_numbers(free), free))
        by_name, last = ([c] if c is not None and self._at(c).consistent else [] for c in each)
        first = by_name or (found[: MAX_SIGNATURES - 1] if last else found)
        return [*dict.fromkeys([*first, *last])]

    def _with_integers(self, choice: _Choice, some: Sequence[int]) -> _Choice | None:
        """Return the choice with integers for some arguments; None if that is no other one, or has no floats."""
        kinds = tuple(":int" if k in some else kind for k, kind in enumerate(choice.kinds))
        is_new = "" in kinds and kinds != choice.kinds and self.returns_cotangents
        return replace(choice, kinds=kinds) if is_new else None

    def _resting(self, seen: _Seen) -> list[int]:
        """Return the arguments without a gradient whose dtype is not annotated."""
        return [k for k in seen.resting if self.evidence[k].kind is None]

    def _whole_numbers(self, some: Sequence[int]) -> list[int]:
        """Return those of the arguments that are integers by their names."""
        return [k for k in some if self.names[k] in WHOLE_NUMBERS]

    def _ended(self) -> bool:
        """Return whether the search has to end."""
        return len(self.seen) >= CHOICES or not budget.seconds_left()

    def _at(self, choice: _Choice) -> _Seen:
        """Return the result of a choice, and keep it and the failure. Raises OtherFormsError."""
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
        """Raise OtherFormsError if `forms()` returns other structures of the arguments."""
        new_forms = None if self.settled else forms()
        if new_forms is not None:
            raise OtherFormsError(new_forms)

    def _looked_at(self, choice: _Choice, numbers: Sizes | None = None, whole_rule: bool = False) -> _Seen:
        """Return the result of a choice; `numbers` fixes some sizes, `whole_rule` ties sizes by the backward too."""
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
        arrays = [array_of(leaf) for leaf in of_leaves(rule, returned)]
        needs_numbers = NEEDS_NUMBERS.search(why) is not None
        at_numbers = needs_numbers and not fails_at_numbers(self.function, *self._declared([signature]))
        if not why or at_numbers:
            return _Seen(signature, why, at_numbers=at_numbers, resting=[k for k, a in enumerate(arrays) if a is None])
        self._take(lambda: self.forms.as_returned(returned))
        if numbers is None and (lengths := self._of_numbers(choice, specs, arrays)):
            seen = self._looked_at(choice, lengths, whole_rule)  # with the numbers in the shapes of cotangents
            if seen.consistent:
                return seen
        others = [f"the cotangent of {name} has {shapes}" for name, shapes in misshapen(rule, arrays).items()]
        return _Seen(signature, why, others, self._suggested(choice, arrays))

    def _of_numbers(self, choice: _Choice, specs: Sequence[str], arrays: Sequence[Any]) -> Sizes:
        """Return sizes that are numbers in the cotangents: a rule for x, y and z stacks three."""
        lengths: Sizes = {}
        for text, array in zip(specs, arrays, strict=True):
            dims = _dims(text)
            if array is None or len(array.shape) != len(dims):
                continue
            for dim, length in zip(dims, array.shape, strict=True):
                if isinstance(dim, Size) and dim.name is not None and isinstance(length, int) and length > 1:
                    lengths[dim.name] = integer_size(length)
        return lengths

    def _suggested(self, choice: _Choice, arrays: Sequence[Any]) -> _Choice | None:
        """Return the choice with ranks and dtypes of the cotangents, but for annotated ones; None if it is no other."""
        ranks, kinds = list(choice.ranks), list(choice.kinds)
        for k, (array, evidence) in enumerate(zip(arrays, self.evidence, strict=False)):
            if array is None:
                continue
            if evidence.shape is None and not evidence.scalar:
                ranks[k] = len(array.shape)
            if evidence.kind is None and array.dtype == jax.dtypes.float0:
                kinds[k] = kinds[k] or ":int"
        suggestion = _Choice(tuple(ranks), tuple(kinds))
        return suggestion if suggestion != choice and max(ranks) <= max(RANKS) and "" in kinds else None

    def _specs(self, choice: _Choice) -> list[str]:
        """Return the shapes, with the annotated names of axes or else a new name for each axis."""
        out = []
        for k, (evidence, rank, kind) in enumerate(zip(self.evidence, choice.ranks, choice.kinds, strict=True)):
            axes = " ".join(f"axis{k}_{i}" for i in range(rank))
            out.append(((evidence.shape if evidence.shape is not None else axes) or "()") + kind)
        return out

    def _written(self, choice: _Choice, sizes: Sizes | None) -> list[str]:
        """Return the shapes with their sizes, under short names that no argument or annotation has."""
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


def _choice_distance(choice: _Choice, other: _Choice) -> tuple[int, bool, int]:
    """Return a distance of two choices, shortest where fewer and later arguments have another, lower rank."""
    changed = [k for k, (a, b) in enumerate(zip(choice.ranks, other.ranks, strict=True)) if a != b]
    return len(changed), any(choice.ranks[k] > other.ranks[k] for k in changed) or 0 in changed, -sum(choice.ranks)


def _dims(text: str) -> tuple[Size | Star, ...]:
    """Return the axes of one array, as a signature writes it."""
    return parse(f"{text} ->").inputs[0].dims


def _names(shape: str) -> list[str]:
    """Return the names in a shape, those of star groups included."""
    return [n for d in _dims(shape) for n in ((d.name,) if isinstance(d, Star) else d.names)]
