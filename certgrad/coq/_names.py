"""Names that may be used in printed text: identifiers that are no keyword of Coq and no word of `proofs/`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache

from ._errors import NotPrintedError
from ._library import sources

_WORD = re.compile(r"[A-Za-z_][\w']*")
_GENERATED = re.compile(r"(?:[vikt]|out)\d+(?:_is_defined|_is_determined|_other)?")
"""Names that the specification gives to tensors, indices and times, and the printer to indices and conditions."""
_DEFINITION = re.compile(r"^ *(?:Definition|Fixpoint|Inductive|Record) ([\w']+)", re.MULTILINE)
_OF_COQ = frozenset(
    "as at cofix else end exists exists2 fix for forall fun if in let match return struct then using where with by "
    "Set Prop SProp Type True False Z R N nat bool list true false PI ln exp sqrt sin cos tan asin acos atan sinh cosh "
    "tanh IZR INR Rabs negb is_derive differentiable_pt_lim locally mod div and or not eq le lt ge gt plus minus mult "
    "E P I S O t x' Eq Lt Gt inv sum fst snd pair cons nil List Nat some Some None".split()
)
"""Keywords of Coq, and the words of its own libraries and of Coquelicot that are printed."""


@cache
def _reserved_words() -> frozenset[str]:
    """Return the words that already mean something in a printed file: those of Coq, and what `proofs/` defines."""
    words = [m[1] for file in sources().glob("*.v") for m in _DEFINITION.finditer(file.read_text(encoding="utf-8"))]
    return _OF_COQ.union(words)


def identifier(name: str) -> str:
    """Return the name as an identifier of Coq: other characters become `_u` and a code, a reserved word gets `_`."""
    out = re.sub(r"[^A-Za-z0-9_]", lambda m: "'" if m[0] == "'" else f"_u{ord(m[0]):x}_", name)
    if not out or not (out[0].isalpha() or out[0] == "_"):
        out = f"_{out}"
    return f"{out}_" if out in _reserved_words() else out


def is_generated(name: str) -> bool:
    """Return whether a name has a form that the printer binds; names of users with that form get a `_`."""
    return _GENERATED.fullmatch(name) is not None


def of_size(name: str) -> str:
    """Return the name of a size as an identifier of Coq that the printed text around it never binds."""
    return identifier(f"{name}_" if is_generated(name) else name)


def of_sizes(names: Iterable[str]) -> list[str]:
    """Return the names of several sizes in Coq. Raises NotPrintedError where two would get the same name."""
    written: dict[str, str] = {}
    for name in names:
        first_name = written.setdefault(of_size(name), name)
        if first_name != name:
            raise NotPrintedError(f"the sizes {first_name} and {name}, which Coq would write alike")
    return [*written]


def shadowed(definitions: Iterable[str], names: Iterable[str]) -> str:
    """Return one of the names that a theorem binds which would hide a definition; "" if there is none.

    A name hides a definition d if it is d, or begins with `d_`, as the names of the arrays that d determines do.
    """
    beginnings = tuple(definitions)
    return next((n for n in names if any(n == d or n.startswith(f"{d}_") for d in beginnings)), "")


def mentioned(texts: Iterable[str], definitions: Mapping[str, str]) -> set[str]:
    """Return the names of the definitions that the texts mention, directly or through other definitions.

    `definitions` are the texts of all definitions, by name.
    """
    names: set[str] = set()
    left = [*texts]
    while left:
        for word in _WORD.findall(left.pop()):
            if word in definitions and word not in names:
                names.add(word)
                left.append(definitions[word])
    return names
