"""Walks over terms: the atoms, tensors and index expressions that occur in one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .atoms import Access, IndexNumber
from .determined import Matrix, Rec
from .index import Ix, of_term
from .integers import Chosen, Entry, Rounded
from .polynomials import Atom, Poly
from .predicates import IxEq, IxPred
from .session import Memo


def atoms_of(poly: Poly) -> list[Atom]:
    """Return the atoms of all monomials, each once, in order of first occurrence, without those inside atoms."""
    seen: dict[Atom, None] = {}
    for m in poly:
        for a, _ in m:
            seen.setdefault(a)
    return list(seen)


_deep: Memo[Poly, tuple[Atom, ...]] = Memo()


def deep_atoms(poly: Poly) -> tuple[Atom, ...]:
    """Return all atoms, those inside other atoms too, in an order that depends on the term alone."""
    atoms = _deep.table.get(poly)
    if atoms is None:
        out: dict[Atom, None] = {}
        stack = atoms_of(poly)
        while stack:
            a = stack.pop()
            if a in out:
                continue
            out[a] = None
            for inner in a.parts():
                stack.extend(atoms_of(inner))
        atoms = _deep.table[poly] = tuple(out)
    return atoms


def extent(poly: Poly) -> int:
    """Return the number of parts of a term written out: a part that occurs in several places counts in each."""
    extents: dict[Atom, int] = {}

    def of_poly(p: Poly) -> int:
        return sum(1 + sum(extents[a] for a, _ in mono) for mono, _ in p.items())

    for a in _inner_first(poly):
        extents[a] = 1 + sum(map(of_poly, a.parts()))
    return of_poly(poly)


def _inner_first(poly: Poly) -> list[Atom]:
    """Return all atoms, each after those inside it."""
    order: list[Atom] = []
    seen: set[Atom] = set()
    stack = [(a, False) for a in atoms_of(poly)]
    while stack:
        a, done = stack.pop()
        if done:
            order.append(a)
        elif a not in seen:
            seen.add(a)
            stack.append((a, True))
            stack += [(b, False) for inner in a.parts() for b in atoms_of(inner)]
    return order


_tensors: Memo[Atom, frozenset[str]] = Memo()
_determined: Memo[str, frozenset[str]] = Memo()


def determine(tensor: str, by: Iterable[str]) -> None:
    """Record that an equation determines a tensor from the tensors `by`. No atom may contain an entry of it yet."""
    _determined.table[tensor] = frozenset(by)


def is_determined(tensor: str) -> bool:
    """Return whether an equation determines the tensor, so that it is no input."""
    return tensor in _determined.table


def tensors_in(a: Atom) -> frozenset[str]:
    """Return the names of all tensors that an atom depends on, and the keys of its loops.

    They are the tensors and carries whose entries occur in the atom, in its indices, and in the numbers that are
    compared or rounded to choose an index; for a tensor that an equation determines, also the tensors it depends on.
    """
    names = _tensors.table.get(a)
    if names is None:
        at_top = (
            [a.tensor, *_determined.table.get(a.tensor, ())]
            if isinstance(a, Access)
            else [a.loop.key]
            if isinstance(a, Rec)
            else []
        )
        inner_terms = [*a.parts(), *(p for ix in own_indices(a) for p in _compared(ix))]
        read = [name for ix in own_indices(a) for name in _integer_tensors_in(ix)]
        names = _tensors.table[a] = frozenset([*at_top, *read]).union(
            *(tensors_in(b) for p in inner_terms for b in atoms_of(p))
        )
    return names


def own_indices(a: Atom) -> list[Ix]:
    """Return the index expressions that stand in an atom directly."""
    if isinstance(a, (Access, Matrix)):
        return list(a.index)
    if isinstance(a, (IxPred, IxEq)):
        return [a.ix]
    if isinstance(a, Rec):
        return [a.time, *a.index]
    return [of_term(a.var)] if isinstance(a, IndexNumber) else []


def _integer_tensors_in(ix: Ix) -> Iterator[str]:
    """Yield the integer tensors whose entries an index expression reads."""
    for t in ix.atoms:
        if isinstance(t, Entry):
            yield t.tensor
        for inner in t.parts():
            yield from _integer_tensors_in(inner)


def _compared(ix: Ix) -> Iterator[Poly]:
    """Yield the terms of real numbers that are compared or rounded to choose integers in an index expression."""
    for t in ix.atoms:
        if isinstance(t, Chosen):
            yield from t.comparison.bodies
            yield t.comparison.where
        elif isinstance(t, Rounded):
            yield t.body
        for inner in t.parts():
            yield from _compared(inner)


_hidden: Memo[Poly, tuple[Atom, ...]] = Memo()


def atoms_in_choices(poly: Poly) -> tuple[Atom, ...]:
    """Return all atoms of the numbers that are compared or rounded to choose integers in the term's indices.

    `deep_atoms` leaves these atoms out.
    """
    atoms = _hidden.table.get(poly)
    if atoms is None:
        out: dict[Atom, None] = {}
        waiting, seen = [poly], {poly}
        while waiting:
            for ix in indices_of(waiting.pop()):
                for number in _compared(ix):
                    if number not in seen:
                        seen.add(number)
                        waiting.append(number)
                        out.update(dict.fromkeys(deep_atoms(number)))
        atoms = _hidden.table[poly] = tuple(out)
    return atoms


def mentions(poly: Poly, names: Iterable[str]) -> bool:
    """Return whether one of the tensors occurs in the term."""
    return any(not tensors_in(a).isdisjoint(names) for a in atoms_of(poly))


_indices: Memo[Poly, list[Ix]] = Memo()


def indices_of(poly: Poly) -> list[Ix]:
    """Return all index expressions in a term, those inside integer atoms too."""
    if poly not in _indices.table:
        _indices.table[poly] = _collected(poly)
    return _indices.table[poly]


def _collected(poly: Poly) -> list[Ix]:
    """Return all index expressions in a term (see `indices_of`)."""
    indices: dict[Ix, None] = {}
    stack = [ix for a in deep_atoms(poly) for ix in own_indices(a)]
    while stack:
        ix = stack.pop()
        if ix not in indices:
            indices[ix] = None
            stack += [inner for t in ix.atoms for inner in t.parts()]
    return list(indices)
