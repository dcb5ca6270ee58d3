"""Verdicts on rules in code that an earlier audit gave, served if everything that they depend on is as it was.

The rule is traced each time, at open sizes, in 64 bits and in 32. An entry is served only if these traces are the same,
and so are the code that the rule reaches, the data that this code can read, the declaration, JAX's configuration, the
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
"""Texts in a verdict that says that time ran out, which another run need not say; such a verdict is not stored."""


_NAMES_A_LINE = re.compile(r"\bline \d+|\.py:\d+")


class Entry(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The stored result of a rule, with its whole key."""

    key: str
    traces: list[str]
    text: str
    """A digest of the code's text, if the result may quote the code or name lines of it; else ""."""
    lines: dict[str, Lines]
    """By file the lines with code at that time, if the result may name lines; else empty."""
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
    """What the verdict on a rule depends on: a digest of code, data and question, and fingerprints of its traces."""

    name: str
    digest: str
    traces: list[str]
    text: str
    lines: dict[str, Lines]
    codes: frozenset[CodeType]
    subjects: Sequence[Subject]


class Memory:
    """The stored verdicts in a folder. An entry that is damaged, foreign or out of date is ignored, and replaced."""

    def __init__(
        self,
        folder: Folder,
        table: Mapping[str, Sequence[Declaration]],
        conformance: bool,
        since: float,
        order: int = 1,
    ) -> None:
        """Open the folder for the rules of one target.

        Args:
            folder: the cache.
            table: declarations in the project's configuration, by rule.
            conformance: whether the audits compare the traced programs with calls.
            since: the rules' modules were imported at this time or later, in seconds of the clock.
            order: 2 if the audits are of the derivative of each rule as well.
        """
        self.folder, self._since = folder, since
        self.table = table
        self._conformance, self._order = conformance, order
        self.certain: set[str] = set()
        """The rules whose results another process can take from the folder, or find without any proof."""
        package_surroundings()  # certgrad's own text is read before any proof, so that a later edit is noticed

    def knows(self, found: FoundRule) -> bool:
        """Return whether there are entries for a rule of that name, current or not."""
        return self.folder.has(entry_name(found.name, ""))

    def key(self, found: FoundRule, infer: bool = True) -> Key | None:
        """Return the key of a rule in the cache; one without traces if no declaration and no inference has its shapes.

        None is returned if the rule's code or data cannot be identified. Without `infer`, it is also returned if the
        shapes are undeclared and no earlier audit inferred them.
        """
        if found.problem or found.rule is None:
            return None
        try:
            declarations = [] if is_op(found.rule) else self._declarations(found, infer)
            subjects = _subjects(found, declarations)
            # A fingerprint has the questions about sizes that a trace asks; JAX must not answer them from its memory.
            with unremembered():
                traces_of = [_traced(subject) for subject in subjects]
                fingerprints = [traces.fingerprint(spec) for traces in traces_of for spec in _specs(traces)]
            programs = [jaxpr for traces in traces_of for jaxpr in (*traces.general(), *traces.narrow().general())]
            rules = list(reachable_from(rule for jaxpr in programs for rule in rules_in(jaxpr)))
            approximations = [(function, d) for function, d in approximating(self.table)]
            options = [choices(s) for s in subjects if isinstance(s, UserRule)]
            roots = [found.rule, declarations, approximations, options, rules, *(s.code for s in subjects)]
            identity, sources = self._identity(found, roots)
        except NotDeclaredError:  # `_declarations` has read code and data, and found no shapes for them
            return Key(found.name, "", [], "", {}, frozenset(), [])
        except (UnknownError, CertgradError):
            return None
        except Exception:  # a user's object may raise whatever is done with it
            return None
        if not fingerprints:
            return None
        ignored = ignores_of(plain_function(unwrapped(found.rule)))
        calls = calls_of(found) if any(d.origin == ORIGIN for d in declarations) else ()
        question = f"{found.name}\n{self._conformance} {self._order}\n{ignored!r}\n{calls!r}"
        digest = _digest(question, identity, sources)
        codes = frozenset(identity.codes)
        return Key(found.name, digest, fingerprints, digest_of_texts(codes), lines_of(codes), codes, subjects)

    def _identity(self, found: FoundRule, roots: Iterable[Any]) -> tuple[Identity, str]:
        """Return the identity of the code and data that `roots` reach, and a digest of the files of their modules.

        Raises UnknownError if one of them cannot be identified.
        """
        module = found.name.partition(":")[0]
        own_package = frozenset([module.partition(".")[0]])
        identity = Identity(roots, own_package)
        return identity, sources_of([module, *identity.modules], own_package, self._since)

    def _declarations(self, found: FoundRule, infer: bool) -> list[Declaration]:
        """Return the declarations of a rule, or those of the shapes that an earlier audit inferred from the same code.

        Shapes that neither has are inferred now and stored; without `infer`, UnknownError is raised. Inferred shapes
        only choose what is audited: no verdict rests on where they come from.
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
                groups = (shapes.signatures, shapes.lower, shapes.below)
                likely, lower, below = ([*map(Declaration, signatures)] for signatures in groups)
                keep(found.rule, Tried(likely, lower, below, shapes.calls, shapes.problem, refused=shapes.refused))
                return declarations_of(found, self.table)
        except (msgspec.MsgspecError, ValueError, RecursionError):  # a damaged entry
            pass
        if not infer:
            raise UnknownError("nobody knows its shapes")
        tried = inferred(found.rule, calls)
        problem = "" if tried.found else tried.why_none
        keep(found.rule, Tried(problem=problem) if problem else tried)
        texts = [[str(d.signature) for d in declared] for declared in (tried.found, tried.lower, tried.below)]
        entry = Shapes(digest, texts[0], texts[1], texts[2], tried.calls, tried.refused, problem)
        self.folder.write(name, msgspec.msgpack.encode(entry))
        return declarations_of(found, self.table)

    def recall(self, found: FoundRule, key: Key) -> RuleResult | None:
        """Return the stored result for a key, with the lines that it names as they are now; None if there is none."""
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
        if entry.text not in ("", key.text):  # the result may quote code, which reads otherwise now
            return None
        edited = {file: (then, key.lines[file]) for file, then in entry.lines.items() if then != key.lines[file]}
        try:
            result = with_current_lines(entry.result, entry.lines, edited) if edited else entry.result
        except ChangedError:
            return None
        self.folder.used(name)
        self.certain.add(found.name)
        return msgspec.structs.replace(result, where=found.where, file=found.file)

    def keep(self, found: FoundRule, key: Key | None, result: RuleResult) -> None:
        """Store a result, if another run would find the same one and all the code that ran is in the key.

        A rule of which nothing can be proved (it is incomplete, or has no shapes) has nothing to store, but counts as
        `certain`: its result follows from the code alone. A result that says that time ran out, or whose traces run
        code that is not in the key, is neither stored nor certain.
        """
        if key is None:
            incomplete = found.problem and ":" in found.name  # an incomplete rule; a module that fails has no `:`
            self.certain |= {found.name} if incomplete else set()
            return
        certificates = [c for c in (result.certificate, result.second) if c is not None]
        wording = msgspec.json.encode([*certificates, *(r.text for r in result.remarks)]).decode()
        if any(text in wording for text in BY_THE_CLOCK) or not package_is_as_it_was():
            return
        if result.certificate is None or not key.traces:
            self.certain |= set() if key.traces else {found.name}
            return
        if not _runs_only(key):
            return
        without_place = msgspec.structs.replace(result, where="", file="")
        names_lines = any(c.verdict not in PROVED_AS_WRITTEN for c in certificates) or _NAMES_A_LINE.search(
            msgspec.json.encode(without_place).decode()
        )
        text, lines = (key.text, key.lines) if names_lines else ("", {})
        entry = Entry(key.digest, key.traces, text, lines, without_place)
        self.folder.write(entry_name(key.name, key.digest), msgspec.msgpack.encode(entry))
        self.certain.add(found.name)


def _digest(asked: str, identity: Identity, sources: str) -> str:
    """Return the digest of a key: of the question `asked`, of code and data, of files, and of certgrad itself."""
    text = f"{asked}\n{identity.digest}\n{sources}\n{package_surroundings()}"
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=20).hexdigest()


def _subjects(found: FoundRule, said: Sequence[Declaration]) -> list[Subject]:
    """Return the rule as the audit sees it, for each of its declarations."""
    if is_op(found.rule):
        return [found.rule]
    return [UserRule(found.rule, d.signature, name=found.name, ideal=d.approximates, **d.claimed) for d in said]


def _traced(subject: Subject) -> Traces:
    """Return the traces of a rule at open sizes; if one fails, those with the claims that an audit then makes."""
    traces = Traces(subject)
    if isinstance(subject, UserRule) and any(isinstance(traces.make(s), CertgradError) for s in _specs(traces)):
        traces = apply_examination(subject, examine(subject))
    return traces


def _specs(traces: Traces) -> list[Spec]:
    return [Spec(case, 0, (), wide) for case in range(len(traces.families)) for wide in (True, False)]


def _runs_only(key: Key) -> bool:
    """Return whether traces of the rule run no users' code but what is in the key.

    It is traced at open sizes, and at sizes at which comparisons that it makes have the other outcome.
    """
    with _watched() as ran, unremembered():
        for subject in key.subjects:
            traces = Traces(subject)
            for instance in (family.prove[0] for family in traces.families):
                trace = traces.again(instance)
                for case in [] if isinstance(trace, CertgradError) else contrary(trace.programs, {}):
                    with suppress(CertgradError):
                        traces.at(instance, {} if isinstance(case, str) else case)
    return ran <= key.codes


@contextmanager
def _watched() -> Iterator[set[CodeType]]:
    """Yield a set to which the users' code objects are added that this thread runs in the context."""
    ran: set[CodeType] = set()
    seen_ids: set[int] = set()
    kept: list[CodeType] = []

    def entered(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if id(code) not in seen_ids:
            seen_ids.add(id(code))
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
