"""Verdicts on rules in code that an earlier audit gave, served where all they depend on is as it was.

The rule is traced each time, at sizes left open, in 64 bits and in 32. An entry serves only if these traces are the
same, and the code that the rule reaches with the data that this can read, its declaration, JAX's configuration, the
versions and certgrad's own text. docs/cache.md says why no other trace need be made again.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

import msgspec

from certgrad._subject import Subject, is_op
from certgrad.errors import CertgradError
from certgrad.obligations.cache import (
    Folder,
    Identity,
    UnknownError,
    digest_of_texts,
    entry_name,
    lines_of,
    package_is_as_it_was,
    package_surroundings,
    sources_of,
)
from certgrad.obligations.certificate import PROVED_AS_WRITTEN
from certgrad.obligations.generality.decisions import contrary
from certgrad.obligations.generality.hidden import INSTALLED
from certgrad.obligations.generality.reach import is_users_code, reachable_from, rules_in
from certgrad.obligations.generality.traces import Spec, Traces
from certgrad.obligations.terms.budget import HOW_A_GRAPH_GETS_MORE, HOW_A_RULE_GETS_MORE
from certgrad.obligations.tracing.jax_internals import unremembered
from certgrad.report.audited import RuleResult
from certgrad.rules.declared.declaration import Declaration, declaration_of
from certgrad.rules.finding.find import FoundRule
from certgrad.rules.inference.calls import calls_of
from certgrad.rules.inference.infer import inferred, keep
from certgrad.rules.inference.tried import ORIGIN, Tried
from certgrad.rules.judging.by_name import NotDeclaredError, approximating, declarations_of
from certgrad.rules.subject.defaults import choices
from certgrad.rules.subject.examine import apply_examination, examine
from certgrad.rules.subject.layers import plain_function, unwrapped
from certgrad.rules.subject.user_rule import UserRule
from certgrad.rules.syntax.ignores import ignores_of

from .lines import ChangedError, Lines, with_current_lines

BY_THE_CLOCK = (HOW_A_RULE_GETS_MORE, HOW_A_GRAPH_GETS_MORE, "exceeded its seconds", "took longer", "took more than")
"""What a verdict says that another run, on a quicker machine or with more time, need not come to."""


_NAMES_A_LINE = re.compile(r"\bline \d+|\.py:\d+")


class Entry(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The stored result of a rule, with its whole key."""

    key: str
    traces: list[str]
    text: str
    """A digest of the code's text, if the result says something of that, or of lines; else empty,"""
    lines: dict[str, Lines]
    """and where in its files it stood."""
    result: RuleResult


class Shapes(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The shapes that were inferred for an undeclared rule, or why there are none."""

    key: str
    signatures: list[str]
    lower: list[str]
    below: list[str]
    calls: list[tuple[str, list[str]]]
    refused: dict[str, str]
    problem: str


@dataclass(frozen=True)
class Key:
    """All that the verdict on a rule depends on."""

    name: str
    digest: str
    traces: list[str]
    text: str
    lines: dict[str, Lines]
    codes: frozenset[CodeType]
    subjects: Sequence[Subject]


class Memory:
    """The verdicts in a folder. An entry that is damaged, foreign or out of date counts as none, and is replaced."""

    def __init__(
        self,
        folder: Folder,
        table: Mapping[str, Sequence[Declaration]],
        conformance: bool,
        since: float,
        order: int = 1,
    ) -> None:
        """The rules' modules were imported at `since` or later, in seconds of the clock."""
        self.folder, self._since = folder, since
        self.table = table
        self._conformance, self._order = conformance, order
        self.certain: set[str] = set()
        """The rules whose results stand in the folder, or follow from what was read where there is nothing to keep."""
        package_surroundings()  # read before anything is proved, so that an edit meanwhile is noticed

    def knows(self, found: FoundRule) -> bool:
        """Return whether there are entries of rules of that name, current or not."""
        return self.folder.has(entry_name(found.name, ""))

    def key(self, found: FoundRule, infer: bool = True) -> Key | None:
        """Return the key of a rule in the cache; without traces where nothing gives its shapes.

        None where its code or data cannot be identified; without `infer`, also where no earlier audit inferred the
        undeclared shapes.
        """
        if found.problem or found.rule is None:
            return None
        try:
            declarations = [] if is_op(found.rule) else self._declarations(found, infer)
            subjects = _subjects(found, declarations)
            # JAX remembers answers about sizes and does not ask again; what it asks belongs into a fingerprint.
            with unremembered():
                traced = [_traced(subject) for subject in subjects]
                traces = [one.fingerprint(spec) for one in traced for spec in _specs(one)]
            programs = [jaxpr for one in traced for jaxpr in (*one.general(), *one.narrow().general())]
            rules = list(reachable_from(rule for jaxpr in programs for rule in rules_in(jaxpr)))
            others = [(other, d) for other, d in approximating(self.table)]
            options = [choices(s) for s in subjects if isinstance(s, UserRule)]
            roots = [found.rule, declarations, others, options, rules, *(s.code for s in subjects)]
            identity, sources = self._identity(found, roots)
        except NotDeclaredError:  # code and data were read by then
            return Key(found.name, "", [], "", {}, frozenset(), [])
        except (UnknownError, CertgradError):
            return None
        except Exception:  # an object may answer any question with an error
            return None
        if not traces:
            return None
        ignored = ignores_of(plain_function(unwrapped(found.rule)))
        calls = calls_of(found) if any(d.origin == ORIGIN for d in declarations) else ()
        asked = f"{found.name}\n{self._conformance} {self._order}\n{ignored!r}\n{calls!r}"
        digest = _digest(asked, identity, sources)
        codes = frozenset(identity.codes)
        return Key(found.name, digest, traces, digest_of_texts(codes), lines_of(codes), codes, subjects)

    def _identity(self, found: FoundRule, roots: Iterable[Any]) -> tuple[Identity, str]:
        """Return the identity of code and data, and a digest of their files. Raises UnknownError."""
        module = found.name.partition(":")[0]
        own = frozenset([module.partition(".")[0]])
        identity = Identity(roots, own)
        return identity, sources_of([module, *identity.modules], own, self._since)

    def _declarations(self, found: FoundRule, infer: bool) -> list[Declaration]:
        """Return the declarations of a rule, or the shapes that an earlier audit inferred of the same code.

        Where there are none, they are inferred now, or UnknownError is raised. Inferred shapes only choose what is
        audited: a verdict on them is served or proved as ever.
        """
        plain = plain_function(unwrapped(found.rule))
        if found.name in self.table or declaration_of(found.rule, plain) is not None:
            return declarations_of(found, self.table)
        identity, sources = self._identity(found, [found.rule, plain])
        calls = calls_of(found)
        digest = _digest(f"shapes of {found.name}\n{calls!r}", identity, sources)
        name = entry_name(f"{found.name} shapes", digest)
        try:
            shapes = msgspec.msgpack.decode(self.folder.read(name) or b"", type=Shapes)
            if shapes.key == digest:
                self.folder.used(name)
                signatures = (shapes.signatures, shapes.lower, shapes.below)
                likely, lower, below = ([*map(Declaration, some)] for some in signatures)
                keep(found.rule, Tried(likely, lower, below, shapes.calls, shapes.problem, refused=shapes.refused))
                return declarations_of(found, self.table)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            pass
        if not infer:
            raise UnknownError("nobody knows its shapes")
        tried = inferred(found.rule, calls)
        problem = "" if tried.found else tried.why_none
        keep(found.rule, Tried(problem=problem) if problem else tried)
        texts = [[str(d.signature) for d in some] for some in (tried.found, tried.lower, tried.below)]
        entry = Shapes(digest, texts[0], texts[1], texts[2], tried.calls, tried.refused, problem)
        self.folder.write(name, msgspec.msgpack.encode(entry))
        return declarations_of(found, self.table)

    def recall(self, found: FoundRule, key: Key) -> RuleResult | None:
        """Return the stored result for the same code and data, if there is one."""
        name = entry_name(key.name, key.digest)
        data = self.folder.read(name) if key.traces else None
        if data is None:
            return None
        try:
            entry = msgspec.msgpack.decode(data, type=Entry)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return None
        if entry.key != key.digest or entry.traces != key.traces or entry.result.name != key.name:
            return None
        if entry.text not in ("", key.text):
            return None
        edited = {file: (was, key.lines[file]) for file, was in entry.lines.items() if was != key.lines[file]}
        try:
            result = with_current_lines(entry.result, entry.lines, edited) if edited else entry.result
        except ChangedError:
            return None
        self.folder.used(name)
        self.certain.add(found.name)
        return msgspec.structs.replace(result, where=found.where, file=found.file)

    def keep(self, found: FoundRule, key: Key | None, result: RuleResult) -> None:
        """Store a result, if another run would find the same and all the code that ran is in the key.

        Where nothing is stored because there is nothing to prove, the rule still counts as `certain`: its result
        follows from what was read. A result that says that time ran out, or whose traces run other code, is neither.
        """
        if key is None:
            incomplete = found.problem and ":" in found.name  # by its text, and no module that does not import
            self.certain |= {found.name} if incomplete else set()
            return
        certificates = [one for one in (result.certificate, result.second) if one is not None]
        said = msgspec.json.encode([*certificates, *(r.text for r in result.remarks)]).decode()
        if any(text in said for text in BY_THE_CLOCK) or not package_is_as_it_was():
            return
        if result.certificate is None or not key.traces:
            self.certain |= set() if key.traces else {found.name}
            return
        if not _runs_only(key):
            return
        without_place = msgspec.structs.replace(result, where="", file="")
        names_lines = any(one.verdict not in PROVED_AS_WRITTEN for one in certificates) or _NAMES_A_LINE.search(
            msgspec.json.encode(without_place).decode()
        )
        text, lines = (key.text, key.lines) if names_lines else ("", {})
        entry = Entry(key.digest, key.traces, text, lines, without_place)
        self.folder.write(entry_name(key.name, key.digest), msgspec.msgpack.encode(entry))
        self.certain.add(found.name)


def _digest(asked: str, identity: Identity, sources: str) -> str:
    """Return the digest of a key: the question, code and data, files, and certgrad itself."""
    text = f"{asked}\n{identity.digest}\n{sources}\n{package_surroundings()}"
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=20).hexdigest()


def _subjects(found: FoundRule, said: Sequence[Declaration]) -> list[Subject]:
    """Return the rule as the audit sees it, for each of its declarations."""
    if is_op(found.rule):
        return [found.rule]
    return [UserRule(found.rule, d.signature, name=found.name, ideal=d.approximates, **d.claimed) for d in said]


def _traced(subject: Subject) -> Traces:
    """Return the traces at open sizes, with the claims that can be made where not all can be traced."""
    found = Traces(subject)
    if isinstance(subject, UserRule) and any(isinstance(found.make(s), CertgradError) for s in _specs(found)):
        found = apply_examination(subject, examine(subject))
    return found


def _specs(traces: Traces) -> list[Spec]:
    return [Spec(case, 0, (), wide) for case in range(len(traces.families)) for wide in (True, False)]


def _runs_only(key: Key) -> bool:
    """Return whether traces, also at sizes that the rule compares, run no users' code but what is in the key."""
    with _watched() as ran, unremembered():
        for subject in key.subjects:
            traces = Traces(subject)
            for instance in (family.prove[0] for family in traces.families):
                found = traces.again(instance)
                for case in [] if isinstance(found, CertgradError) else contrary(found.programs, {}):
                    with suppress(CertgradError):
                        traces.at(instance, {} if isinstance(case, str) else case)
    return ran <= key.codes


@contextmanager
def _watched() -> Iterator[set[CodeType]]:
    """Yield the set of users' code objects that this thread runs."""
    ran: set[CodeType] = set()
    known: set[int] = set()
    kept: list[CodeType] = []

    def entered(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if id(code) not in known:
            known.add(id(code))
            kept.append(code)  # so that no other code gets its id
            installed = INSTALLED in code.co_filename or code.co_filename.startswith("<")
            if not installed and is_users_code(code, frame.f_globals):
                ran.add(code)

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        yield ran
    finally:
        sys.settrace(before)
