"""Sums over index sets: a term that is a sum of products over Presburger sets vanishes if its coefficients do.

A term is written as Σ over monomials of c · Σ_{v ∈ S} q(v) · Π_k f_k(e_k(v)): S is a set of index tuples, q a
polynomial in indices and sizes, and the f_k are entries of tensors, predicates and other functions of integers, of
which nothing is assumed. With a coordinate s_k for each argument of the f_k it becomes Σ_s A(s) · Π_k f_k(s_k), where
A(s) = q · [s ∈ e(S)], or q times the number of v that come to the same s. Monomials with the same f's add up, and if
their A's add up to 0 at every s (after averaging over the orders of equal f's), the term is 0 whatever the f's are.
isl adds the A's, for all sizes at once. A variable that s does not determine is counted where it runs through an
interval, and otherwise stays as a coordinate of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import permutations, product
from math import factorial, prod

import islpy as isl

from certgrad.obligations.assume.isl import Condition, Knowledge, Words, here
from certgrad.obligations.terms.budget import budget
from certgrad.obligations.terms.index import Ix, of_var
from certgrad.obligations.terms.polynomials import ONE, Poly
from certgrad.obligations.terms.variables import Var

from .index_pieces import MAX_PIECES, Piece, UnreadableError, pieces

MAX_ORDERS = 24
"""The most orders of equal factors that are averaged over; beyond, the sum counts as not zero."""
MAX_OPERATIONS = 500_000
"""The most operations of isl in one question; beyond, it counts as undecided. Questions with an answer take fewer."""


def vanishes(poly: Poly, ranges: Mapping[Var, Poly], conditions: Sequence[Condition], known_of: Knowledge) -> bool:
    """Return whether the term is 0 for all entries and sizes, at all indices in range that satisfy the conditions.

    False also where that is not decided: where the term has another form, or isl takes too many operations.
    """
    try:
        groups: dict[tuple, list[Piece]] = {}
        for count, piece in enumerate(pieces(poly)):
            if count > MAX_PIECES:
                return False
            piece.prepare(known_of)
            groups.setdefault(piece.kind, []).append(piece)
        with _few_operations():
            return all(
                _cancel(pieces, Words(ranges, known_of), conditions)
                for _, pieces in sorted(groups.items(), key=lambda t: str(t[0]))
            )
    except (UnreadableError, ValueError, isl.Error):
        return False


@contextmanager
def _few_operations() -> Iterator[None]:
    """Bound isl's operations in the block: isl raises beyond, which counts as undecided."""
    context = here.context
    context.reset_operations()
    context.set_max_operations(MAX_OPERATIONS)
    try:
        yield
    finally:
        context.set_max_operations(0)
        context.reset_operations()


def _cancel(pieces: list[Piece], words: Words, conditions: Sequence[Condition]) -> bool:
    """Return whether pieces with the same functions add up to 0.

    Each piece gives its coefficient A(s) as a quasi-polynomial of isl, once for each order of equal factors; these are
    added up. False where that is undecided.
    """
    if _of_one_sign(pieces):  # nothing cancels: each is over the empty set
        return all(_empty(piece, words, conditions) for piece in pieces)
    orders = _orders(pieces[0])
    if len(pieces) * len(orders) > MAX_PIECES:
        raise UnreadableError("too many orders of equal factors")
    terms = [(piece, _arguments(piece, order)) for piece in pieces for order in orders]
    condition_texts = [words.condition(c) for c in conditions]
    fixed = _fixed(terms)
    for k in fixed:
        words.ix(terms[0][1][k])  # for what is known of its sizes and variables
    written = [
        _Written(piece, [ix for k, ix in enumerate(arguments) if k not in fixed], words, len(orders))
        for piece, arguments in terms
    ]
    # Coefficients are added as functions of the same coordinates, so that all need as many for open variables.
    open_counts = {len(w.undetermined) for w in written}
    total = None
    width = max(open_counts, default=0)
    for w in written:
        budget.spend(200)
        part = w.quasi_polynomial(width if len(open_counts) == 1 else None)
        if part is None:
            return False
        total = part if total is None else total.add(part)
    if total is None:
        return True
    text = " and ".join([*condition_texts, *words.known]) or "true"
    params = isl.Set(f"{words.header} -> {{ : {text} }}", here.context)
    total = total.intersect_params(params)
    return _is_zero(total)


def _arguments(piece: Piece, order: Sequence[int]) -> list[Ix]:
    """Return the arguments of the piece's factors, the factors in this order."""
    return [ix for k in order for ix in piece.factors[k].arguments]


def _fixed(terms: Sequence[tuple[Piece, list[Ix]]]) -> set[int]:
    """Return the positions of arguments that all terms have alike and that nothing is summed over, as in a[0, 2].

    They need no coordinate, as A(s) is 0 wherever a coordinate differs from them.
    """
    columns = zip(*(arguments for _, arguments in terms), strict=True)
    return {
        k
        for k, column in enumerate(columns)
        if len(set(column)) == 1 and not any(v in piece.dummies for v in column[0].free for piece, _ in terms)
    }


def _of_one_sign(pieces: Sequence[Piece]) -> bool:
    """Return whether all pieces have coefficients that are numbers of one sign."""
    return not any(p.sizes or p.numbers for p in pieces) and len({p.coefficient > 0 for p in pieces}) == 1


def _empty(piece: Piece, words: Words, conditions: Sequence[Condition]) -> bool:
    """Return whether no index tuple satisfies the piece's conditions, whatever the sizes are."""
    budget.spend(200)
    return _Written(piece, [], words, 1).indices(conditions).is_empty()


def _is_zero(total: isl.PwQPolynomial) -> bool:
    if total.is_zero():
        return True
    for domain, value in total.get_pieces():
        if value.is_zero() or domain.is_empty():
            continue
        # Equalities of the domain can make the value vanish: try it on each basic set, simplified there.
        for basic in domain.make_disjoint().get_basic_sets():
            simplified = value.gist(isl.Set.from_basic_set(basic))
            if not simplified.is_zero() and not _zero_on(simplified, basic):
                return False
    return True


def _zero_on(value: isl.QPolynomial, basic: isl.BasicSet) -> bool:
    """Return whether the value is 0 on the set, as an affine expression that the set's equalities make 0."""
    if not value.isa_aff():
        return False
    zero = value.as_aff().zero_basic_set()
    return bool(basic.is_subset(zero))


def _orders(piece: Piece) -> list[list[int]]:
    """Return the orders of the factors in which only equal functions change places."""
    groups: list[list[int]] = []
    for k, f in enumerate(piece.factors):
        equal = k > 0 and (f.text, f.exponent) == (piece.factors[k - 1].text, piece.factors[k - 1].exponent)
        groups[-1].append(k) if equal and f.arguments else groups.append([k])
    if prod(factorial(len(g)) for g in groups) > MAX_ORDERS:
        raise UnreadableError("too many orders of equal factors")
    return [[k for g in choice for k in g] for choice in product(*(permutations(g) for g in groups))]


class _Written:
    """A piece with a coordinate s_k for each argument of its factors, ready for isl.

    `shares` is the number of orders of equal factors, by which the coefficient is divided.
    """

    def __init__(self, piece: Piece, arguments: list[Ix], words: Words, shares: int) -> None:
        self.words, self.shares, self.coefficient = words, shares, piece.coefficient
        self.sizes, self.numbers = piece.sizes, piece.numbers
        self.slots: list[Var] = [("s", k, 0) for k in range(len(arguments))]
        self.equal = [*piece.equal, *(ix.minus(of_var(s)) for ix, s in zip(arguments, self.slots, strict=True))]
        self.at_least = list(piece.at_least)
        self.dummies = list(piece.dummies)
        for v, n in piece.dummies.items():
            if n is not None:
                self.at_least += [of_var(v), of_var(v).scaled(-1).shifted(n - ONE)]
        self._eliminate()

    def _eliminate(self) -> None:
        """Solve equations for the variables that they determine, and substitute these."""
        progress = True
        while progress:
            progress = False
            for k, ix in enumerate(self.equal):
                v = next(
                    (v for v in self.dummies if abs(ix.coefficient(v)) == 1 and not _has_nested_variable(ix, v)), None
                )
                if v is None:
                    continue
                c = ix.coefficient(v)
                value = {v: ix.plus(of_var(v).scaled(-c)).scaled(-c)}
                del self.equal[k]
                self.equal = [e.subst(value) for e in self.equal]
                self.at_least = [e.subst(value) for e in self.at_least]
                self.numbers = [(e.subst(value), n) for e, n in self.numbers]
                self.dummies.remove(v)
                progress = True
                break

    def _names(self, variables: Sequence[Var], letter: str) -> list[str]:
        names = [f"{letter}{k}" for k in range(len(variables))]
        self.words.variables.update(dict(zip(variables, names, strict=True)))
        return names

    def _conditions(self) -> str:
        texts = [self.words.condition((ix, "=")) for ix in self.equal]
        texts += [self.words.condition((ix, ">=")) for ix in self.at_least]
        return " and ".join(texts) or "true"

    def indices(self, conditions: Sequence[Condition]) -> isl.Set:
        """Return the set of index tuples that the piece sums over."""
        names = self._names(self.dummies, "d")
        texts = [self._conditions(), *map(self.words.condition, conditions)]
        text = " and ".join([*texts, *self.words.known])
        return isl.Set(f"{self.words.header} -> {{ [{', '.join(names)}] : {text} }}", here.context)

    @cached_property
    def undetermined(self) -> list[Var]:
        """The variables that the coordinates do not determine; none where their values are counted, in `count`."""
        self.count: isl.PwAff | None = None
        self.slot_names = self._names(self.slots, "s")
        if not self.dummies:
            return []
        names = self._names(self.dummies, "d")
        conditions = self._conditions()
        relation = isl.Map(
            f"{self.words.header} -> {{ [{', '.join(self.slot_names)}] -> [{', '.join(names)}] : {conditions} }}",
            here.context,
        )
        numbered = {v for ix, _ in self.numbers for v in ix.free if v in self.dummies}
        if numbered:
            return list(self.dummies)
        if relation.is_single_valued():
            return []
        if len(self.dummies) == 1:
            self.count = _interval(relation)
        return [] if self.count is not None else list(self.dummies)

    def quasi_polynomial(self, width: int | None) -> isl.PwQPolynomial | None:
        """Return the coefficient as a function of the coordinates; None where `width` is None.

        `width` is the number of open variables of all pieces: None says that they differ in it, so that the
        coefficients are no functions of the same coordinates.
        """
        if width is None:
            return None
        words = self.words
        coordinates = [*self.slot_names]
        if self.undetermined:
            coordinates += self._names(self.undetermined, "a")
        # Variables that the coordinates determine, or that are counted, are no coordinates: they only have to exist.
        hidden = [] if self.undetermined else self._names(self.dummies, "d")
        conditions = self._conditions()
        if hidden:
            conditions = f"exists ({', '.join(hidden)}: {conditions})"
        value = [f"({self.coefficient / self.shares})"]
        for mono, e in self.sizes:
            value += [words.mono(mono)] * e
        for ix, e in self.numbers:
            value += [words.ix(ix)] * e
        head = f"[{', '.join(coordinates)}]"
        text = f"{words.header} -> {{ {head} -> {' * '.join(value)} : {conditions} }}"
        out = isl.PwQPolynomial(text, here.context)
        if self.count is not None:
            out = out.mul(isl.PwQPolynomial.from_pw_aff(self.count))
        return out


def _has_nested_variable(ix: Ix, v: Var) -> bool:
    return any(v in a.free for a in ix.atoms)


def _interval(relation: isl.Map) -> isl.PwAff | None:
    """Return how many values one variable takes at each point, where it runs through an interval without gaps."""
    try:
        least, most = relation.lexmin_pw_multi_aff().get_pw_aff(0), relation.lexmax_pw_multi_aff().get_pw_aff(0)
    except isl.Error:
        return None
    between = relation.domain()
    low = isl.Map.from_pw_aff(least)
    high = isl.Map.from_pw_aff(most)
    order = isl.Map("{ [x] -> [y] : x <= y }", here.context)
    filled = low.apply_range(order).intersect(high.apply_range(order.reverse())).intersect_domain(between)
    if not filled.is_equal(relation):
        return None
    return most.sub(least).add(_one_like(most))


def _one_like(p: isl.PwAff) -> isl.PwAff:
    """Return the constant 1 on the domain of a function."""
    space = isl.LocalSpace.from_space(p.domain().get_space())
    return isl.PwAff.from_aff(isl.Aff.zero_on_domain(space).set_constant_val(isl.Val(1, here.context)))
