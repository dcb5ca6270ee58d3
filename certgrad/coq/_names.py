"""Names that Coq takes: identifiers which no keyword of Coq and no word of the library `proofs/` is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache

from ._errors import NotPrintedError
from ._library import sources

_WORD = re.compile(r"[A-Za-z_][\w']*")
_GENERATED = re.compile(r"(?:[vikt]|out)\d+(?:_is_defined|_is_determined|_other)?")
"""What the specification calls tensors, indices and times, and the printer the indices of arrays and their conditions.
"""
_DEFINITION = re.compile(r"^ *(?:Definition|Fixpoint|Inductive|Record) ([\w']+)", re.MULTILINE)
_OF_COQ = frozenset(
    "as at cofix else end exists exists2 fix for forall fun if in let match return struct then using where with by "
    "Set Prop SProp Type True False Z R N nat bool list true false PI ln exp sqrt sin cos tan asin acos atan sinh cosh "
    "tanh IZR INR Rabs negb is_derive differentiable_pt_lim locally mod div and or not eq le lt ge gt plus minus mult "
    "E P I S O t x' Eq Lt Gt inv sum fst snd pair cons nil List Nat some Some None".split()
)
"""Keywords of Coq, and what is printed of its own libraries and of Coquelicot."""


@cache
def _reserved_words() -> frozenset[str]:
    """The words that mean something where a file is printed: those of Coq, and what `proofs/` defines."""
    found = [m[1] for file in sources().glob("*.v") for m in _DEFINITION.finditer(file.read_text(encoding="utf-8"))]
    return _OF_COQ.union(found)


def identifier(name: str) -> str:
    """The name as Coq writes it: another letter than Coq knows is written out, a word that is taken gets a `_`."""
    out = re.sub(r"[^A-Za-z0-9_]", lambda m: "'" if m[0] == "'" else f"_u{ord(m[0]):x}_", name)
    if not out or not (out[0].isalpha() or out[0] == "_"):
        out = f"_{out}"
    return f"{out}_" if out in _reserved_words() else out


def is_generated(name: str) -> bool:
    """Return whether a name may be bound by printed text; no size and no array of a user's is written so."""
    return _GENERATED.fullmatch(name) is not None


def of_size(name: str) -> str:
    """The name of a size as Coq writes it, which nothing that is printed around it binds."""
    return identifier(f"{name}_" if is_generated(name) else name)


def of_sizes(names: Iterable[str]) -> list[str]:
    """Return the names of several sizes. Raises NotPrintedError where two would be written alike."""
    written: dict[str, str] = {}
    for name in names:
        other = written.setdefault(of_size(name), name)
        if other != name:
            raise NotPrintedError(f"the sizes {other} and {name}, which Coq would write alike")
    return [*written]


def shadowed(definitions: Iterable[str], names: Iterable[str]) -> str:
    """Return a name that a theorem would bind and that one of these definitions, or what it determines, has; "" if
    there is none.
    """
    beginnings = tuple(definitions)
    return next((n for n in names if any(n == d or n.startswith(f"{d}_") for d in beginnings)), "")


def mentioned(texts: Iterable[str], definitions: Mapping[str, str]) -> set[str]:
    """The names of the definitions that texts mention, and that these definitions mention."""
    found: set[str] = set()
    left = [*texts]
    while left:
        for word in _WORD.findall(left.pop()):
            if word in definitions and word not in found:
                found.add(word)
                left.append(definitions[word])
    return found
