"""Bounds that an author does not declare, on arguments without a gradient, under which a refuted rule is proved.

`delta > 0`, `labels >= 0`, `ids < v`, `0 <= tau <= 1`: the audit assumes one half-line or one range for an argument and
lists it as a hypothesis that nobody declared. A bound must not hide a mistake, so it is assumed only where

- the rule is proved under it;
- the argument has no gradient, and no declared condition speaks of it;
- the argument is a scalar, or integers that the code takes as indices or labels: a sign of an array of data would
  exclude half of the data;
- the bound keeps typical values: all numbers between 0 and 1, all integers from 0 on or those below a size, or
  below the value of a static argument;
- where the bound excludes the end of a half-line, the rule is not wrong at that end: `mask > 0` would exclude 0 alone;
- no program of the rule compares the argument, alone, with a number outside of the bound or with its end: a forward
  that masks labels below 0 means something by them, and a backward that forgets them is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from math import inf, isnan
from typing import Any

import jax.numpy as jnp
import msgspec

from certgrad._subject import Rules
from certgrad.errors import CertgradError
from certgrad.language.canonical import canonical
from certgrad.language.parse import parse
from certgrad.language.tree import ZERO, Array, Compare, Either, Number, Size, Statement, arrays
from certgrad.obligations.auditing.witnesses import search
from certgrad.obligations.certificate import ASSUMED, PROOFS, Certificate, Hypothesis, Witness, hypothesis
from certgrad.obligations.generality.in_code import LARGEST
from certgrad.obligations.generality.instances import family
from certgrad.obligations.prove.problem import trace_rules
from certgrad.obligations.terms.budget import FIRST_STEPS
from certgrad.obligations.tracing.jax_internals import Program, equations_of
from certgrad.rules.subject.listed import listing
from certgrad.rules.subject.statement import SECONDS_AT_SIZES
from certgrad.rules.subject.user_rule import UserRule
from certgrad.rules.syntax.handled import ABOVE_LITERALS, Comparison, handled
from certgrad.signatures.sizes import Star

from .judged import Look, claims_of

MOST = 4
"""At most this many choices of bounds are tried, as each costs a whole audit."""
SIZES = 3
"""Sizes at which a rule is tried at the end of a bound."""


@dataclass(frozen=True)
class Bounds:
    """A half-line or a range of one argument: above 0, below 1 or a size, or both. An end is open or closed."""

    name: str
    above: str = ""
    """`>` or `>=`, where it is above 0."""
    below: str = ""
    """`<` or `<=`, where it has an upper limit."""
    limit: str = ""
    """A number, or the name of a size."""
    beside: tuple[int, ...] = ()
    """Integers outside of the bounds that the code compares with (`labels != -100`): they are allowed as well."""

    @property
    def conditions(self) -> tuple[str, ...]:
        """The bounds in the syntax of a domain, one text for each end: `labels >= 0 or labels == -100`."""
        ends = [(self.above, "0", self._below_0), (self.below, self.limit, self._above_limit)]
        return tuple(
            " or ".join([f"{self.name} {relation} {end}", *(f"{self.name} == {k}" for k in beside)])
            for relation, end, beside in ends
            if relation
        )

    @property
    def _below_0(self) -> list[int]:
        return [k for k in self.beside if k < 0]

    @property
    def _above_limit(self) -> list[int]:
        return [k for k in self.beside if k > 0]

    @property
    def statements(self) -> tuple[Statement, ...]:
        """The same conditions as `conditions`, as trees."""
        limit = Number(self.limit) if self.limit.isdigit() else Size(self.limit)
        ends = [(self.above, ZERO, self._below_0), (self.below, limit, self._above_limit)]
        return tuple(
            Either((Compare(relation, Array(self.name), end), *(self._is(k) for k in beside)))  # type: ignore[arg-type]
            if beside
            else Compare(relation, Array(self.name), end)  # type: ignore[arg-type]
            for relation, end, beside in ends
            if relation
        )

    def _is(self, number: int) -> Compare:
        return Compare("=", Array(self.name), Number(str(number)))

    @property
    def open_ends(self) -> tuple[str, ...]:
        """The end points that strict bounds exclude: "0" for `> 0`, "1" for `< 1`."""
        return (*(["0"] if self.above == ">" else []), *(["1"] if (self.below, self.limit) == ("<", "1") else []))

    def closed(self, end: str) -> Bounds:
        """Return the bounds with the open end `end` ("0" or "1") included."""
        return replace(self, above=">=") if end == "0" else replace(self, below="<=")

    def handled_otherwise(self, by: Comparison) -> bool:
        """Return whether a comparison in code separates values outside of the bounds from those inside.

        The integers in `beside`, which the bounds allow, do not count as outside.
        """
        if isnan(by.number):
            return True
        if by.equal and by.number in self.beside:
            return False
        if self.above and (by.number < 0 or (by.number == 0 and not (by.equal and self.above == ">="))):
            return True
        if not self.below:
            return False
        limit = int(self.limit) if self.limit.isdigit() else ABOVE_LITERALS
        return by.number > limit or (by.number == limit and not (by.equal and self.below == "<="))


def assumed(look: Look, refuted: Certificate) -> tuple[Look, Certificate] | None:
    """Return the attempt under bounds with which a refuted rule is proved, and a certificate that lists the bounds.

    None if no such bounds are found. The first bounds are those that exclude the witness of the refutation. Then upper
    bounds on indices are tried, bounds that the proof does not need are dropped, and open ends closed if possible.

    Args:
        look: the attempt without assumed bounds.
        refuted: the certificate of that attempt.
    """
    if look.rule.ideal is not None:  # the claim about the value is that of another rule
        return None
    tried = _Tried(look)
    witness = _witness(refuted)
    proof = tried.proved_without(witness, {}) if witness is not None and tried.free else None
    proof = tried.with_ends(tried.needed(tried.narrower(proof))) if proof is not None else None
    if proof is None:
        return None
    return proof.look, _listed(proof, refuted)


Chosen = Mapping[str, Bounds]
"""The bounds that are assumed, by argument."""


@dataclass(frozen=True)
class _Proved:
    """Bounds under which all claims of a rule are proved, with the attempt and its certificate."""

    bounds: Chosen
    look: Look
    certificate: Certificate

    @property
    def listed(self) -> frozenset[Statement]:
        """The hypotheses that the claims of the certificate list."""
        return frozenset(canonical(h.tree) for claim in self.certificate.claims for h in claim.hypotheses)


@dataclass
class _Tried:
    """Tries bounds on the arguments of a rule."""

    look: Look
    count: int = 0
    """The audits under bounds so far, of which there are at most `MOST`."""

    @cached_property
    def free(self) -> Mapping[str, str]:
        """The arguments that may be bounded, by name with dtype: they have no gradient and no declared condition.

        These are integer arrays, scalars that are held fixed (the dtype `held`), and real parameters.
        """
        rule = self.look.rule
        specs = zip(rule.arg_names, rule.signature.inputs, strict=True)
        dtypes = {n: spec.dtype for n, spec in specs if spec.dtype == "int" or (spec.dtype == "held" and not spec.dims)}
        dtypes |= {name: "held" for name, condition in rule.params.items() if not condition}
        names = (*rule.arg_names, *rule.params)
        declared_names = {name for text in rule.domain for name in arrays(parse(text, names))}
        return {name: dtype for name, dtype in dtypes.items() if name not in declared_names and name.isidentifier()}

    def proved_without(self, witness: Witness, bounds: Chosen) -> _Proved | None:
        """Return the first proof under `bounds` and one more bound that excludes a witness against the rule.

        If the rule has another witness under these bounds, they are tightened further. None if there is no proof.
        """
        return self._first_proved(self._excluding(witness, bounds), bounds)

    def _first_proved(self, candidates: Iterator[Bounds], bounds: Chosen) -> _Proved | None:
        """Return the first proof under `bounds` and one of the candidates, tightened if need be; None if there is none.

        The search is depth first: a candidate under which the rule is still refuted is tightened before the next one.
        """
        for candidate in map(self._with_told, candidates):
            if self.count == MOST or self._handled_otherwise(candidate):
                continue
            self.count += 1
            chosen = {**bounds, candidate.name: candidate}
            look = self._under(chosen)
            certificate = claims_of(look)[0]
            if certificate.verdict in PROOFS:
                return _Proved(chosen, look, certificate)
            further = _witness(certificate)
            narrower = self._below_a_size(candidate) if further is None else self._excluding(further, chosen)
            if (proof := self._first_proved(narrower, chosen)) is not None:
                return proof
        return None

    def _below_a_size(self, one: Bounds) -> Iterator[Bounds]:
        """Yield bounds on indices that are also below the length of an axis; none for floats, or beside an upper bound.

        A lookup past the end of an axis gives NaN, so that a proof may need the upper bound. The axes of other
        arguments come first.
        """
        if self.free[one.name] != "int" or one.below:
            return
        for size in self._sizes_for(one.name):
            yield replace(one, below="<", limit=size)

    def _sizes_for(self, name: str) -> list[str]:
        """Return the sizes that an argument may be an index of, those of its own axes last."""
        spec = self.look.rule.signature.inputs[self.look.rule.arg_names.index(name)]
        own_sizes = {d.name for d in spec.dims if not isinstance(d, Star)}
        return sorted(self._sizes, key=lambda size: (size in own_sizes, size))

    def narrower(self, proof: _Proved) -> _Proved:
        """Return a proof with indices bounded above too, if it lists fewer hypotheses; else `proof` itself.

        Only a proof that lists more hypotheses than its bounds can gain by it.
        """
        if len(proof.listed) > sum(len(bounded.conditions) for bounded in proof.bounds.values()):
            unbounded = [b for b in proof.bounds.values() if self.free[b.name] == "int" and not b.below]
            for bounded in [replace(b, below="<", limit=str(n)) for b in unbounded for n in self._numbers]:
                simpler_proof = self._proved({**proof.bounds, bounded.name: bounded})
                if simpler_proof is not None and len(simpler_proof.listed) < len(proof.listed):
                    return simpler_proof
        return proof

    def needed(self, proof: _Proved) -> _Proved:
        """Return the proof without the bounds, or ends of bounds, that it does not need.

        A bound is not needed if there is a proof without it that lists no more hypotheses.
        """
        for name, bound in proof.bounds.items():
            halves = (
                [replace(bound, above=""), replace(bound, below="", limit="")] if bound.above and bound.below else []
            )
            for replacement in [{name: half} for half in halves] + [{}]:
                chosen = {n: b for n, b in proof.bounds.items() if n != name} | replacement
                weaker_proof = self._proved_alone(chosen) if chosen else None
                if weaker_proof is not None and len(weaker_proof.listed) <= len(proof.listed):
                    return self.needed(weaker_proof)
        return proof

    def with_ends(self, proof: _Proved) -> _Proved | None:
        """Return the proof with each open end closed at which the rule is proved; None if the rule is wrong at an end.

        `tau > 0` becomes `tau >= 0` where the proof holds at 0 too. All ends are tried together, then one by one.
        """
        ends = [(name, end) for name, bound in proof.bounds.items() for end in bound.open_ends]
        all_closed = dict(proof.bounds)
        for name, end in ends:
            all_closed[name] = all_closed[name].closed(end)
        if len(ends) > 1 and (closed_proof := self._proved_alone(all_closed)) is not None:
            return closed_proof
        for name, end in ends:
            chosen = {**proof.bounds, name: proof.bounds[name].closed(end)}
            if (closed_proof := self._proved_alone(chosen)) is not None:
                proof = closed_proof
            elif _wrong_at(self._under(chosen).rule, name, float(end)):
                return None
        return proof

    def _proved_alone(self, bounds: Chosen) -> _Proved | None:
        """Return the proof under bounds with closed ends, by a short proof without a search for witnesses.

        None if there is none, or if it lists an end as an exception (`tau != 0`).
        """
        look = self._under(bounds)
        look.rule.proofs_alone, look.rule.steps = True, FIRST_STEPS
        certificate = claims_of(look)[0]
        ends = {canonical(Compare("!=", Array(n), Number(end))) for n in bounds for end in ("0", "1")}
        proved = _Proved(bounds, look, certificate)
        return proved if certificate.verdict in PROOFS and not ends & proved.listed else None

    def _proved(self, bounds: Chosen) -> _Proved | None:
        """Return the proof under bounds; None if there is none, or the code treats values outside differently."""
        bounds = {name: self._with_told(bound) for name, bound in bounds.items()}
        if self.count == MOST or any(map(self._handled_otherwise, bounds.values())):
            return None
        self.count += 1
        look = self._under(bounds)
        certificate = claims_of(look)[0]
        return _Proved(bounds, look, certificate) if certificate.verdict in PROOFS else None

    def _under(self, bounds: Chosen) -> Look:
        look = self.look.under([text for bound in bounds.values() for text in bound.conditions])
        look.rule.seconds = SECONDS_AT_SIZES
        return look

    def _excluding(self, witness: Witness, bounds: Chosen) -> Iterator[Bounds]:
        """Yield tighter bounds, each of one argument, that exclude its value at a witness: lower bounds first."""
        upper: list[Bounds] = []
        for name, dtype in self.free.items():
            entries = _entries(witness.inputs.get(name, []))
            known_bounds = bounds.get(name, Bounds(name))
            if any(x < 0 for x in entries) and not known_bounds.above:
                yield replace(known_bounds, above=">=" if dtype == "int" else ">")
            if known_bounds.below or not entries:
                continue
            if dtype != "int" and max(entries) > 1:
                upper.append(replace(known_bounds, below="<", limit="1"))
            if dtype == "int":
                sizes = (n for n in self._sizes_for(name) if witness.dims.get(n, inf) <= max(entries))
                numbers = (str(n) for n in self._numbers if n <= max(entries))
                upper += (replace(known_bounds, below="<", limit=n) for n in (*sizes, *numbers))
        yield from upper

    @cached_property
    def _sizes(self) -> frozenset[str]:
        """The sizes that are the length of an axis."""
        dims = (d for spec in self.look.rule.signature.inputs for d in spec.dims)
        return frozenset(d.name for d in dims if not isinstance(d, Star) and d.name is not None)

    @cached_property
    def _numbers(self) -> tuple[int, ...]:
        """Numbers that indices may be below: counts (of segments, classes) and lengths of axes that the code indexes.

        Counts are the positive integers among the static arguments, if each of these has one value.
        """
        cases = self.look.rule.cases
        counts = [v for v in cases[0].statics.values() if type(v) is int and v > 0] if len(cases) == 1 else []
        return tuple(dict.fromkeys([*counts, *(n for program in self._programs or () for n in _indexed(program))]))

    def _handled_otherwise(self, bounds: Bounds) -> bool:
        """Return whether the rule's code may treat values outside of the bounds differently from those inside.

        It does if it compares the argument with a number outside or at an end; it may if it does not trace.
        """
        return self._programs is None or any(map(bounds.handled_otherwise, self._comparisons(bounds.name)))

    def _with_told(self, bounds: Bounds) -> Bounds:
        """Return the bounds, extended by integers outside of them that the code compares the argument with.

        With `labels != -100` in the code, `labels >= 0` becomes `labels >= 0 or labels == -100`.
        """
        if self.free[bounds.name] != "int":
            return bounds
        numbers = {by.number for by in self._comparisons(bounds.name) if by.equal and by.number % 1 == 0}
        outside = {k for k in numbers if bounds.handled_otherwise(Comparison(k, equal=True)) and abs(k) <= LARGEST}
        return replace(bounds, beside=tuple(sorted(map(int, outside))))

    def _comparisons(self, name: str) -> Iterator[Comparison]:
        names = (*self.look.rule.arg_names, *self.look.rule.params)
        place = names.index(name)  # the position among the inputs of a program
        if place >= len(self.look.rule.arg_names):  # tangents or cotangents stand before the parameters
            place -= len(names)
        return (by for program in self._programs or () for by in handled(program, place))

    @cached_property
    def _programs(self) -> Sequence[Program] | None:
        """The programs of all cases; None where one does not trace."""
        rule = self.look.rule
        programs: list[Program] = []
        try:
            for instance in (family(rule, case).prove[0] for case in rule.cases):
                traced = trace_rules(rule.rules(instance.statics), instance.shapes(), len(rule.params), rule.name)
                programs += traced.all().values()
        except CertgradError:
            return None
        return programs


def _indexed(program: Program) -> Iterator[int]:
    """Yield the lengths above 1 of axes along which a program looks up or writes entries, where they are numbers."""
    for equation in equations_of(program.jaxpr):
        numbers = equation.params.get("dimension_numbers")
        along = getattr(numbers, "start_index_map", getattr(numbers, "scatter_dims_to_operand_dims", ()))
        shape = equation.invars[0].aval.shape if along else ()
        yield from (shape[axis] for axis in along if type(shape[axis]) is int and shape[axis] > 1)


def _witness(certificate: Certificate) -> Witness | None:
    """Return the first witness of a refuted claim; None if there is none."""
    cases = (case for claim in certificate.claims for case in claim.cases if case.verdict == "refuted")
    return next((case.witness for case in cases if case.witness is not None), None)


def _entries(value: list | str) -> list[Fraction]:
    if isinstance(value, list):
        return [x for part in value for x in _entries(part)]
    return [Fraction(value)]


def _wrong_at(rule: UserRule, name: str, number: float) -> bool:
    """Return whether an obligation fails where all entries of an argument `name`, or only the first, are `number`.

    The rule is right at all other points of its domain, so that a random search would miss a mistake there: so the
    programs are run with the entries replaced.
    """
    axes = {n: spec.dims for n, spec in zip(rule.arg_names, rule.signature.inputs, strict=True)}
    for everywhere in (True, False) if axes.get(name) else (True,):
        fixed = copy(rule)
        fixed.rules = partial(_fixed, rule, name, number, everywhere)  # type: ignore[method-assign]
        instances = [family(rule, case).prove[0] for case in rule.cases]
        if any(search(fixed, at, kind, sizes=SIZES) is not None for at in instances for kind in rule.kinds):
            return True
    return False


def _fixed(rule: UserRule, name: str, number: float, everywhere: bool, statics: Mapping[str, Any]) -> Rules:
    """Return the programs of a rule with `number` for all entries of the argument `name`, or for its first entry.

    Each program is wrapped: it runs as before, on inputs in which these entries are replaced.
    """
    programs = rule.rules(statics)

    def fixed_argument(own: str, x: Any) -> Any:
        if own != name:
            return x
        return jnp.where(everywhere or jnp.arange(x.size).reshape(x.shape) == 0, jnp.asarray(number, x.dtype), x)

    def of_program(run: Any) -> Any:
        if run is None:
            return None

        def with_fixed_entries(args: list, *further: list) -> list:
            *between, params = further
            return run(
                [*map(fixed_argument, rule.arg_names, args)],
                *between,
                [*map(fixed_argument, rule.params, params)],
            )

        return with_fixed_entries

    return Rules(
        of_program(programs.forward),
        of_program(programs.jvp),
        of_program(programs.vjp),
        of_program(programs.primal),
        of_program(programs.reference),
    )


def _listed(found: _Proved, refuted: Certificate) -> Certificate:
    """Return the certificate of a proof under assumed bounds, with the bounds listed as hypotheses of its claims.

    A claim that is refuted without the bounds lists all of them; another one lists those that its proof used.
    """
    rule = found.look.rule
    trees = [tree for bound in found.bounds.values() for tree in bound.statements]
    of_bounds = {h.text: h for h in (hypothesis(tree, ASSUMED, False, inputs=rule.arg_names) for tree in trees)}
    needed = {claim.kind for claim in refuted.claims if claim.verdict == "refuted"}

    def of_case(kind: str, own: list[Hypothesis]) -> list[Hypothesis]:
        of_proof = [h if h.text not in of_bounds else msgspec.structs.replace(h, source=ASSUMED) for h in own]
        listed_texts = {h.text for h in own}
        return [*of_proof, *(h for text, h in of_bounds.items() if kind in needed and text not in listed_texts)]

    return listing(found.certificate, rule, of_case)
