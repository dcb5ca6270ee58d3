"""`--select` and `--ignore`: patterns that choose ops and their obligations."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import msgspec

from certgrad.errors import UsageError
from certgrad.obligations.certificate import CODES, Certificate, Claim, ignoring, with_claims
from certgrad.report.findings import ALL_CODES

if TYPE_CHECKING:
    from certgrad.report.audited import RuleResult

_CODE = re.compile(r"[Cc][Gg]\d*")
LIBRARY = "op of the library, no rule that was found, and is no code. `certgrad list` shows the ops"


@dataclass(frozen=True)
class Patterns:
    """Parsed patterns: globs of op names, globs of obligation ids (`soft*.vjp_is_adjoint`), prefixes of codes."""

    ops: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()

    def matches_op(self, names: Sequence[str]) -> bool:
        """Return whether a glob matches one of the op's names."""
        return any(fnmatchcase(name, glob) for glob in self.ops for name in names)

    def matches_id(self, name: str, kind: str) -> bool:
        """Return whether a glob matches the obligation's id."""
        return any(fnmatchcase(f"{name}.{kind}", glob) for glob in self.ids)

    def matches_code(self, code: str) -> bool:
        """Return whether the code begins with one of the listed ones."""
        return code.startswith(self.codes)


@dataclass(frozen=True)
class Selection:
    """The selected ops, with the patterns that select and ignore their obligations."""

    ops: tuple[str, ...]
    select: Patterns
    ignore: Patterns
    aliases: Mapping[str, Sequence[str]]

    def narrow(self, certificate: Certificate) -> Certificate | None:
        """Return the certificate with its selected claims alone; None if no claim is left.

        Claims that are ignored are left out as well, and the certificate says that they are.
        """
        claims = [claim for claim in certificate.claims if self._selects(certificate.op, claim)]
        if len(claims) < len(certificate.claims):
            certificate = with_claims(certificate, claims)
        left = ignoring(certificate, {c.code for c in claims if self._ignores(certificate.op, c)})
        return left if left.claims else None

    def narrowed(self, results: "Iterable[RuleResult]") -> "list[RuleResult]":
        """Return the results with narrowed certificates, without those of which no claim is left."""
        pairs = ((result, self.narrow(result.certificate)) for result in results if result.certificate is not None)
        return [msgspec.structs.replace(result, certificate=left) for result, left in pairs if left is not None]

    def ignored(self, certificate: Certificate) -> list[str]:
        """Return the codes of the selected claims if all of them are ignored, else []."""
        claims = [c for c in certificate.claims if self._selects(certificate.op, c)]
        return [c.code for c in claims] if all(self._ignores(certificate.op, c) for c in claims) else []

    def _selects(self, op: str, claim: Claim) -> bool:
        names = [op, *self.aliases.get(op, ())]
        by_name = not (self.select.ops or self.select.ids)
        by_name = by_name or self.select.matches_op(names) or self.select.matches_id(op, claim.kind)
        return by_name and (not self.select.codes or self.select.matches_code(claim.code))

    def _ignores(self, op: str, claim: Claim) -> bool:
        names = [op, *self.aliases.get(op, ())]
        ignored = self.ignore.matches_id(op, claim.kind) or self.ignore.matches_code(claim.code)
        return ignored or self.ignore.matches_op(names)


def choose(
    known: Sequence[str],
    aliases: Mapping[str, Sequence[str]],
    targets: Sequence[str],
    select: Sequence[str],
    ignore: Sequence[str],
    rules: Sequence[str] = (),
    what: str = LIBRARY,
) -> Selection:
    """Return the selection: the ops among the targets in their order, or all ops, narrowed by the patterns.

    Args:
        known: the names of all ops.
        aliases: by op, its other names.
        targets: names of ops and of code; the latter is left out here.
        select: patterns of what is audited.
        ignore: patterns of what is not audited.
        rules: the names of rules in code, which patterns may match as well.
        what: what a pattern should match, for the message on one that matches nothing.

    Raises:
        UsageError: a pattern matches nothing that exists.
    """
    chosen = parse("--select", select, [*known, *rules], aliases, what)
    dropped = parse("--ignore", ignore, [*known, *rules], aliases, what)
    ops = []
    for op in dict.fromkeys(t for t in targets if t in known) if targets else known:
        names = [op, *aliases.get(op, ())]
        ids = any(chosen.matches_id(op, kind) for kind in CODES)
        wanted = not (chosen.ops or chosen.ids) or chosen.matches_op(names) or ids
        if wanted and not dropped.matches_op(names):
            ops.append(op)
    return Selection(tuple(ops), chosen, dropped, aliases)


def parse(
    option: str, values: Sequence[str], known: Sequence[str], aliases: Mapping[str, Sequence[str]], what: str = LIBRARY
) -> Patterns:
    """Return the patterns in the comma separated values of an option.

    The other arguments are those of `choose`. Raises UsageError for a pattern that matches nothing that exists.
    """
    ops, ids, codes = [], [], []
    names = [*known, *(alias for op in known for alias in aliases.get(op, ()))]
    for item in (part.strip() for value in values for part in value.split(",")):
        if not item:
            raise UsageError(
                f"{option} has an empty pattern. Separate patterns with single commas: {option} 'soft*,CG102'."
            )
        if _CODE.fullmatch(item):
            if not any(code.startswith(item.upper()) for code in ALL_CODES):
                raise UsageError(f"{option}: no code begins with '{item}'. The codes are {', '.join(ALL_CODES)}.")
            codes.append(item.upper())
        elif any(fnmatchcase(name, item) for name in names):
            ops.append(item)
        elif "." in item:
            if not any(fnmatchcase(f"{op}.{kind}", item) for op in known for kind in CODES):
                raise UsageError(
                    f"{option}: '{item}' matches no obligation. An obligation is named OP.KIND, "
                    f"with KIND one of {', '.join(CODES)}."
                )
            ids.append(item)
        else:
            raise UsageError(f"{option}: '{item}' matches no {what}; a pattern may use * and ?, as in 'soft*'.")
    return Patterns(tuple(ops), tuple(ids), tuple(codes))
