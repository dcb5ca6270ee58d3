"""Hypotheses in their simplest equivalent form: x³·log 2 ≠ 0 is x ≠ 0."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from math import gcd, lcm
from typing import TypeGuard

from flint import fmpq

from certgrad.language.functions import FUNCTIONS
from certgrad.obligations.terms.atoms import Base, Exp, Fn
from certgrad.obligations.terms.determined import Matrix
from certgrad.obligations.terms.index import Ix
from certgrad.obligations.terms.index_terms import as_index, index_number
from certgrad.obligations.terms.polynomials import ONE, ZERO, Atom, Poly, monomial, poly_of
from certgrad.obligations.terms.power import cleared, content, log_of
from certgrad.obligations.terms.predicates import INDEX_PREDICATES, PREDICATES, IxEq, IxPred, Pred
from certgrad.obligations.terms.rational import factored
from certgrad.obligations.terms.spectra import SPECTRA, eigenvalue_of_gap, of_spectrum, smallest_minor
from certgrad.obligations.terms.walk import deep_atoms

from .conditions import IN_RANGE, Atomic, Clause, discharged, holds
from .facts import Facts
from .index_cases import failing, holding
from .isl import feasible
from .signs import NEG, POS


def simplified(clauses: Iterable[Clause], facts: Facts) -> list[Clause]:
    """Return clauses in their simplest form that together hold exactly where the given ones do, under the facts.

    A condition on a product is split into its factors, and a clause that the facts imply is left out.
    """
    out: dict[str, Clause] = {}
    for clause in clauses:
        for simple in (part for c in _each_factor(clause) for part in _simplify_clause(_unguarded(c), facts)):
            if not discharged(simple, facts):
                out.setdefault(simple.key, simple)
    return _strict(_in_either_case(list(out.values())))


def _simplify_clause(clause: Clause, facts: Facts) -> list[Clause]:
    """Return a clause in parts that together say the same; only a single relation without guards is split."""
    clause = _either_side(possible(_without_idle_guards(clause)))
    if len(clause.alternatives) != 1 or clause.guards:  # parts of an alternative would be no alternatives
        return [clause]
    (a,) = clause.alternatives
    a = _exponents(a)
    clause = replace(clause, alternatives=(a,))
    predicate = a.poly.atom()
    if isinstance(predicate, Pred) and a.relation in ("> 0", "!= 0"):
        return [replace(clause, alternatives=(Atomic("> 0", predicate.poly),))]
    on_matrix = _of_all_values(a)
    if on_matrix is not None:
        return [replace(clause, alternatives=(on_matrix,))]
    if a.relation == "!= 0":
        return [replace(clause, alternatives=(Atomic("!= 0", p),)) for p in _nonzero_factors(a.poly)]
    # A sign condition: first without what the facts decide, then one condition for each factor that needs its own.
    a = _without_known_signs(a, facts)
    whole = Atomic(a.relation, coprime(a.poly)) if a.relation == ">= 0" else a
    parts = _positive_parts(a.poly, facts) if a.relation == "> 0" else [whole]
    return [replace(clause, alternatives=(b,)) for part in parts for b in _split_positive_product(part, facts)]


def _of_all_values(a: Atomic) -> Atomic | None:
    """Return a condition on all eigenvalues or singular values as one on the matrix; None for other conditions.

    All eigenvalues are positive where the matrix is positive definite: its smallest minor is positive. No two values
    are equal where the discriminant is not 0.
    """
    value = a.poly.atom()
    if a.relation == "> 0" and isinstance(value, Matrix) and value.name == "eigenvalue" and _any_place(value.index[0]):
        return Atomic("> 0", smallest_minor(value.body, *value.vars, value.ranges[0]))
    repeated = eigenvalue_of_gap(a.poly) if a.relation == "!= 0" else None
    if repeated is not None and all(map(_any_place, (b.index[0] for b in deep_atoms(a.poly) if _is_value(b)))):
        return Atomic("!= 0", of_spectrum(repeated))
    return None


def _any_place(ix: Ix) -> bool:
    """Return whether the index is a variable, so that a condition is about all places."""
    return ix.variable() is not None


def _is_value(a: Atom) -> TypeGuard[Matrix]:
    return isinstance(a, Matrix) and a.name in SPECTRA


def possible(clause: Clause) -> Clause:
    """Return the clause without alternatives that are false on numbers, as 0 ≥ 1; with 0 ≠ 0 alone if all are."""
    left = tuple(a for a in clause.alternatives if not _impossible(a))
    return clause if left == clause.alternatives else replace(clause, alternatives=left or (Atomic("!= 0", ZERO),))


def _either_side(clause: Clause) -> Clause:
    """Return the clause with "p > 0 or p < 0" as p ≠ 0."""
    if len(clause.alternatives) != 2 or {a.relation for a in clause.alternatives} != {"> 0"}:
        return clause
    p, q = (coprime(a.poly) for a in clause.alternatives)
    return replace(clause, alternatives=(Atomic("!= 0", p),)) if (p + q).is_zero else clause


def _exponents(a: Atomic) -> Atomic:
    """Return a sign condition on exp(p) − exp(q) as one on p − q, which has the same sign: exp(x) > 1 is x > 0."""
    difference = difference_of_exponents(a.poly) if a.signs is not None else None
    return a if difference is None else Atomic(a.relation, difference)


def difference_of_exponents(poly: Poly) -> Poly | None:
    """Return p − q, where the term is c·(exp(p) − exp(q)) with c > 0; else None."""
    terms = list(poly.items())
    if len(terms) != 2 or terms[0][1] + terms[1][1] != 0:
        return None
    if not all(isinstance(atom, Exp) for mono, _ in terms for atom, _ in mono):
        return None
    (p, c), (q, _) = terms
    difference = log_of(monomial(dict(p))) - log_of(monomial(dict(q)))
    return difference if c > 0 else -difference


def _each_factor(clause: Clause) -> list[Clause]:
    """Return a clause that only says "the guard fails" as several, where the guard fails only if several terms do.

    A clause whose alternatives never hold says that its one guard is wrong, so that a 0/1-valued term is 1 (`wanted`).
    Where that term is a product of predicates, there is a clause for each of them; where it is [a ≥ 0] − [b ≥ 0] and
    b ≥ 0 implies a ≥ 0, one says a ≥ 0 and one that b ≥ 0 fails.
    """
    if len(clause.guards) != 1 or not _never(clause):
        return [clause]
    ((guard, value),) = clause.guards
    wanted = ONE - guard if value else guard
    if (single := wanted.single()) is not None and single[1] == 1 and len(single[0]) > 1:
        return [replace(clause, guards=((poly_of(a), False),)) for a, _ in single[0]]
    if shared := _shared_predicates(wanted):
        rest = Poly({tuple((a, e) for a, e in mono if a not in shared): c for mono, c in wanted.items()})
        return [replace(clause, guards=((factor, False),)) for factor in (*map(poly_of, shared), rest)]
    if (between := _between_places(wanted)) is not None:
        above, beyond = between
        return [replace(clause, guards=(g,)) for g in ((poly_of(above), False), (poly_of(beyond), True))]
    return [clause]


def _shared_predicates(wanted: Poly) -> list[Pred]:
    """Return the predicates that are factors of every monomial of a sum; [] for a single monomial."""
    monos = list(wanted)
    if len(monos) < 2:
        return []
    return [a for a, e in monos[0] if e == 1 and isinstance(a, Pred) and all((a, e) in mono for mono in monos[1:])]


def _between_places(poly: Poly) -> tuple[IxPred, IxPred] | None:
    """Return ([a ≥ 0], [b ≥ 0]) where the term is their difference up to its sign, and b ≥ 0 implies a ≥ 0; else None.

    The term is then not 0 exactly where a ≥ 0 holds and b ≥ 0 fails.
    """
    if len(poly) != 2 or {c for _, c in poly.items()} != {1, -1}:
        return None
    atoms = [mono[0][0] if len(mono) == 1 and mono[0][1] == 1 else None for mono, _ in poly.items()]
    for a, b in (atoms, atoms[::-1]):
        if isinstance(a, IxPred) and isinstance(b, IxPred) and not feasible([holding(b), failing(a)], {}):
            return a, b
    return None


def _never(clause: Clause) -> bool:
    """Return whether no alternative can hold, so that the clause says only that some guard fails."""
    return all(map(_impossible, clause.alternatives))


def _impossible(a: Atomic) -> bool:
    """Return whether the relation is a false statement on a number."""
    return a.poly.constant() is not None and not holds(a, Facts())


def _unguarded(clause: Clause) -> Clause:
    """Return an equivalent clause without guards, where its guards can be expressed as alternatives or are not needed.

    A clause whose alternatives never hold says that a guard fails: "0 ≠ 0 where [x > 0] = 0" is x > 0. An index bound
    that holds wherever its guards fail needs no guards: "i ≤ n − 1 where i ≥ 0" is i ≤ n − 1.
    """
    if clause.guards and clause.origin == IN_RANGE and len(clause.alternatives) == 1:
        return _always_in_range(clause)
    if not clause.guards or not _never(clause):
        return clause
    opposites: list[Atomic] = []
    for guard, value in clause.guards:
        wanted = guard if not value else ONE - guard
        atom = wanted.atom()
        if isinstance(atom, Pred):
            opposites.append(Atomic("> 0", atom.poly))
        elif isinstance(complement := (ONE - wanted).atom(), Pred):
            opposites.append(Atomic(">= 0", -complement.poly))
        elif (nonzero := _on_either_side(wanted)) is not None:
            opposites.append(Atomic("!= 0", nonzero))
        elif isinstance(atom, IxPred):
            opposites.append(Atomic(">= 0", index_number(atom.ix)))
        elif isinstance(complement, IxPred):
            opposites.append(Atomic(">= 0", index_number(complement.ix.scaled(-1).shifted(-ONE))))
        else:
            return clause
    return replace(clause, alternatives=tuple(opposites), guards=())


def _on_either_side(wanted: Poly) -> Poly | None:
    """Return p for a term [p > 0] + [p < 0], which is 1 where p ≠ 0; None for other terms."""
    terms = [Poly({mono: c}).atom() for mono, c in wanted.items()]
    if len(terms) != 2 or not all(isinstance(predicate, Pred) for predicate in terms):
        return None
    p, q = (coprime(predicate.poly) for predicate in terms if isinstance(predicate, Pred))
    return p if (p + q).is_zero else None


def _split_positive_product(a: Atomic, facts: Facts) -> list[Atomic]:
    """Return f·g > 0 as f > 0 and g > 0, where f + g > 0 shows that they are not both negative; else [a].

    1 − x² > 0 is 1 + x > 0 and 1 − x > 0, and so for ≥. The two factors are found by factoring over ℚ.
    """
    if a.relation not in ("> 0", ">= 0") or not 1 < len(a.poly) < 40:
        return [a]
    split = factored(a.poly)
    if split is None or len(split[1]) != 2 or any(k != 1 for _, k in split[1]):
        return [a]
    (f, _), (g, _) = split[1]
    f = f.scale(split[0])
    f, g = coprime(f), coprime(g)
    for p, q in ((f, g), (-f, -g)):
        if facts.signs(p + q) == POS:
            return [Atomic(a.relation, p), Atomic(a.relation, q)]
    return [a]


def _strict(clauses: list[Clause]) -> list[Clause]:
    """Return the clauses with p ≥ 0 and p ≠ 0 together as p > 0."""
    nonzero = {p for c in clauses if (a := _sole_relation(c)) and a.relation == "!= 0" for p in (a.poly, -a.poly)}
    merged = {
        p
        for c in clauses
        if (a := _sole_relation(c)) and a.relation == ">= 0" and a.poly in nonzero
        for p in (a.poly, -a.poly)
    }
    out: dict[str, Clause] = {}
    for c in clauses:
        a = _sole_relation(c)
        if a is not None and a.poly in merged:
            if a.relation == "!= 0":
                continue
            c = replace(c, alternatives=(Atomic("> 0", a.poly),)) if a.relation == ">= 0" else c
        out.setdefault(c.key, c)
    return list(out.values())


def _always_in_range(clause: Clause) -> Clause:
    """Return an index bound without the guards that are not needed: the bound holds wherever such a guard fails."""
    (a,) = clause.alternatives
    clause = replace(clause, alternatives=(Atomic(a.relation, coprime(a.poly)),))
    ix = as_index(clause.alternatives[0].poly)
    if ix is None:
        return clause
    fails = (ix.scaled(-1).shifted(-ONE), ">=")
    left = []
    for guard, value in clause.guards:
        for b, sign in ((guard.atom(), value), ((ONE - guard).atom(), not value)):
            if isinstance(b, (IxPred, IxEq)) and not feasible([failing(b) if sign else holding(b), fails], {}):
                break
        else:
            left.append((guard, value))
    return replace(clause, guards=tuple(left))


def _sole_relation(clause: Clause) -> Atomic | None:
    """Return the relation of a clause that is one relation without guards; None for other clauses."""
    return clause.alternatives[0] if len(clause.alternatives) == 1 and not clause.guards else None


def _in_either_case(clauses: list[Clause]) -> list[Clause]:
    """Return the clauses; two that differ only in whether their one guard holds become one clause without it."""
    guards_of: dict[tuple[Atomic, ...], list[Poly]] = {}
    for c in clauses:
        if len(c.guards) == 1:
            ((guard, value),) = c.guards
            guards_of.setdefault(c.alternatives, []).append(guard if value else ONE - guard)
    always = {a for a, guards in guards_of.items() if any(ONE - g in guards for g in guards)}
    out: dict[str, Clause] = {}
    for c in clauses:
        c = replace(c, guards=()) if len(c.guards) == 1 and c.alternatives in always else c
        out.setdefault(c.key, c)
    return list(out.values())


def _without_idle_guards(clause: Clause) -> Clause:
    """Return the clause without guards that are always met, or are on indices that its alternatives do not mention.

    The result implies the clause. A clause with a number as an alternative is returned as it is.
    """
    if any(a.poly.constant() is not None for a in clause.alternatives):
        return clause
    mentioned = frozenset().union(*(a.poly.free for a in clause.alternatives))
    guards_left = tuple(
        (g, v)
        for g, v in clause.guards
        if (g.free & mentioned or not _on_indices(g)) and (g.constant() is None or (g.constant() != 0) != v)
    )
    return replace(clause, guards=guards_left) if len(guards_left) < len(clause.guards) else clause


def _on_indices(guard: Poly) -> bool:
    """Return whether a guard is made of conditions on indices alone, and has a free index."""
    return bool(guard.free) and all(type(a) in INDEX_PREDICATES for m in guard for a, _ in m)


def _nonzero_factors(poly: Poly) -> list[Poly]:
    """Return terms that are all nonzero exactly where the term is."""
    if poly.is_zero:
        return [poly]
    numerator, denominators = cleared(poly)
    if numerator.is_zero:
        return [numerator]
    _, taken, rest = content(numerator)
    out: list[Poly] = []
    for a in (*denominators, *taken):
        if not a.positive:
            inner = _root(poly_of(a))
            out += [inner] if inner.atom() is a else _nonzero_factors(inner)
    if rest.constant() is None:
        split = factored(rest) if len(rest) < 40 else None
        out += [_root(f) for f, _ in split[1]] if split else [rest]
    return [coprime(p) for p in dict.fromkeys(out)]


def _root(poly: Poly) -> Poly:
    """Return a simpler term that is zero at the same points: x for x^(1/2), or for a function whose only zero is 0."""
    atom = poly.atom()
    if isinstance(atom, Fn) and (function := FUNCTIONS.get(atom.name)) is not None and function.only_zero:
        return _root(atom.args[0])
    return _root(atom.poly) if isinstance(atom, Base) else poly


def _without_known_signs(a: Atomic, facts: Facts) -> Atomic:
    """Return an equivalent sign condition without divisors and without factors of known sign.

    So t·σ(l) + (1 − t)·(1 − σ(l)) > 0 becomes t·exp(l) + 1 − t > 0, and x² > 1 becomes x > 1 where x > 0. Where the
    sign of b is not known, p/b > 0 becomes p·b > 0, which implies b ≠ 0 as p/b > 0 does; with an even power of b that
    would be lost, and the condition is returned as it is.
    """
    if a.relation not in ("> 0", ">= 0") or not 1 < len(a.poly) < 40:
        return a
    numerator, divisors = cleared(a.poly)
    for b, k in divisors.items():
        signs = POS if b.positive else facts.signs(poly_of(b))
        if signs not in (POS, NEG):
            if a.relation == ">= 0" or k % 2 == 0 or any(isinstance(x, Pred) for x in deep_atoms(a.poly)):
                return a  # predicates inside are decided first, region by region
            numerator = numerator * poly_of(b)
        elif signs == NEG and k % 2:
            numerator = -numerator
    split = factored(numerator) if len(numerator) < 40 else None
    if split is None:
        return Atomic(a.relation, coprime(numerator)) if divisors else a
    remaining, open_factors = ONE.scale(split[0]), 0
    for factor, k in split[1]:
        signs = facts.signs(factor)
        if signs == NEG and k % 2:
            remaining = -remaining
        elif signs not in (POS, NEG):
            remaining, open_factors = remaining * factor**k, open_factors + 1
    return Atomic(a.relation, coprime(remaining)) if divisors or open_factors < len(split[1]) else a


def _positive_parts(poly: Poly, facts: Facts) -> list[Atomic]:
    """Return conditions that together say p > 0.

    For a product, a factor to an even power has to be nonzero, one to a fractional power positive, and the product of
    the others positive. Factors that are known to be positive are left out.
    """
    if poly.is_zero or _divided_in_places(poly):
        return [Atomic("> 0", poly)]
    # A single monomial, or a sum times the factors that all its monomials share.
    c, taken, rest = content(poly, only_positive=True)
    single = rest.single()
    if single is None:
        c, taken, rest = content(poly)
        sign_or_rest = rest if c > 0 else -rest
        factors = dict(taken)
    else:
        sign_or_rest = ONE if single[1] > 0 else -ONE
        factors = dict(single[0])
    parts: list[Atomic] = []
    odd: list[tuple] = []
    for a, e in factors.items():
        if a.positive or facts.signs(poly_of(a)) == POS:
            continue
        if isinstance(e, int) and e % 2 == 0:
            parts.append(Atomic("!= 0", poly_of(a)))
        elif isinstance(e, Fraction):
            parts.append(Atomic("> 0", poly_of(a)))
        else:
            odd.append((a, 1))
    remaining = sign_or_rest * monomial(dict(odd)) if odd else sign_or_rest
    if remaining.constant() is None or remaining.constant() <= 0:  # type: ignore[operator]
        parts.append(Atomic("> 0", coprime(remaining)))
    return parts


def _divided_in_places(poly: Poly) -> bool:
    """Return whether a sum with predicates has a divisor in some of its parts only.

    With that divisor cleared, the condition would demand that it is not 0 even where nothing is divided by it.
    """
    divisors = {a for m in poly for a, e in m if e < 0}
    partial = any(not divisors <= {a for a, e in m if e < 0} for m in poly)
    return bool(divisors) and partial and any(type(a) in PREDICATES for m in poly for a, _ in m)


def coprime(poly: Poly) -> Poly:
    """Return the term scaled by a positive number to coprime integer coefficients."""
    denominators = [int(c.q) for _, c in poly.items()]
    scaled = poly.scale(fmpq(lcm(*denominators))) if denominators else poly
    numerators = [abs(int(c.p)) for _, c in scaled.items()]
    return scaled.scale(fmpq(1, gcd(*numerators))) if numerators else scaled
