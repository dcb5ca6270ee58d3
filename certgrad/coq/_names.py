"""Names that Coq takes: identifiers which no keyword of Coq and no word of the library `proofs/` is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_WORD = re.compile(r"[A-Za-z_][\w']*")
_TAKEN = frozenset(
    "as at cofix else end exists fix for forall fun if in let match return Set Prop SProp Type then using where with "
    "by Z R bool nat true false PI ln exp sqrt cbrt sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh "
    "erf sum_lt prod_lt max_lt min_lt argmax_lt all_lt any_lt zsum_lt zmax_lt floor rpow zpow IZR Rltb Rleb Reqb negb "
    "sign trunc Rabs Rsign is_derive unique_max differentiable_pt_lim mod "
    "E P I S O t Eq Lt Gt inv sum fst snd pair".split()
)


def identifier(name: str) -> str:
    """The name as Coq writes it: another letter than Coq knows is written out, a word that is taken gets a `_`."""
    out = re.sub(r"[^A-Za-z0-9_]", lambda m: "'" if m[0] == "'" else f"_u{ord(m[0]):x}_", name)
    if not out or not (out[0].isalpha() or out[0] == "_"):
        out = f"_{out}"
    return f"{out}_" if out in _TAKEN else out


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
