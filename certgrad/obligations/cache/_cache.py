"""Certificates of ops on disk: found by the op's declaration, served when its traces are the same."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from certgrad._subject import Subject
from certgrad.obligations.certificate import PROVED_AS_WRITTEN, Certificate, TracedCase
from certgrad.obligations.generality.rank_blind import searched
from certgrad.obligations.generality.traces import Spec, Traces

from ._folder import Folder, entry_name
from ._key import facts, kernel_state, known_by_version, of_library, subject, subject_of_composed


class Step(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """One trace that the audit made, by its key, with the fingerprint of the trace or of its error."""

    spec: Spec
    fingerprint: str


class Entry(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A certificate with its whole key: the declaration and its surroundings, the source that was searched, the traces.

    `searched` is a digest of the source; `facts` is what the search of it found.
    """

    subject: str
    searched: str
    facts: list[str]
    steps: list[Step]
    certificate: Certificate


class Cache:
    """Certificates in a folder, which is given or at a path.

    An entry that is damaged, foreign or out of date counts as missing, and is replaced. Nothing is found or kept where
    the files of the kernel cannot be read, and nothing is kept where they were edited since this object was made.
    """

    def __init__(self, folder: Folder | Path | str) -> None:
        self.folder = folder if isinstance(folder, Folder) else Folder(folder)
        self._kernel = kernel_state()
        self._parts = kernel_state(parts=True)

    def find(self, traces: Traces) -> Certificate | None:
        """Return the certificate that an earlier audit gave for the same traces; None if there is none.

        Makes all traces of that audit again. They are compared if the searches of the op's source, by which an audit
        chooses its traces, read the same source or find the same.
        """
        op = traces.op
        if not self._kernel or not known_by_version(op):
            return None
        key = subject(op)
        name = entry_name(op.name, key)
        entry = self._entry(name)
        if entry is None or entry.subject != key or entry.certificate.op != op.name or not entry.steps:
            return None
        same_source = entry.searched == searched(op)
        if not (same_source or entry.facts == facts(traces)) or not _comes_out_the_same(entry.steps, traces):
            return None
        if same_source:
            self.folder.used(name)
        else:
            self._write(name, msgspec.structs.replace(entry, searched=searched(op)))
        return entry.certificate

    def keep(self, traces: Traces, certificate: Certificate) -> None:
        """Store a certificate with the traces of its audit.

        Only certificates whose claims are all proved are stored, as the search for a witness against a claim runs the
        code at further shapes, which no key knows.
        """
        op = traces.op
        if not known_by_version(op) or any(c.verdict not in PROVED_AS_WRITTEN for c in certificate.claims):
            return
        if (
            not self._kernel or kernel_state() != self._kernel
        ):  # the files were edited: their text is not what proved this
            return
        key = subject(op)
        steps = [Step(spec, traces.fingerprint(spec)) for spec in traces.asked]
        self._write(entry_name(op.name, key), Entry(key, searched(op), facts(traces), steps, certificate))

    def recall(self, op: Subject, traced: Sequence[TracedCase]) -> Certificate | None:
        """Return the certificate that an earlier audit gave for a composed op with these programs; else None."""
        data = self.folder.read(key) if (key := self._of_composed(op, traced)) else None
        if data is None:
            return None
        try:
            certificate = msgspec.msgpack.decode(data, type=Certificate)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return None
        self.folder.used(key)
        return certificate if certificate.op == op.name and certificate.traced == list(traced) else None

    def remember(self, op: Subject, traced: Sequence[TracedCase], certificate: Certificate) -> None:
        """Keep the certificate of a composed op, if it is proved."""
        key = self._of_composed(op, traced)
        if key and certificate.verdict in PROVED_AS_WRITTEN and kernel_state(parts=True) == self._parts:
            self.folder.write(key, msgspec.msgpack.encode(certificate))

    def _of_composed(self, op: Subject, traced: Sequence[TracedCase]) -> str:
        """Return the name of a composed op's entry; "" where its parts may be code that is in no key."""
        if not self._parts or not of_library(op):
            return ""
        return entry_name(op.name, subject_of_composed(op, [case.digest for case in traced]))

    def specs(self, op: Subject) -> list[Spec]:
        """Return the traces of the audit in the op's entry, in order; empty if there is none."""
        entry = self._entry(entry_name(op.name, subject(op)))
        return [step.spec for step in entry.steps] if entry else []

    def _entry(self, name: str) -> Entry | None:
        """Return the entry of this name; None if there is none, or one that cannot be decoded."""
        data = self.folder.read(name)
        if data is None:
            return None
        try:
            return msgspec.msgpack.decode(data, type=Entry)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return None

    def _write(self, name: str, entry: Entry) -> None:
        self.folder.write(name, msgspec.msgpack.encode(entry))


def _comes_out_the_same(steps: list[Step], traces: Traces) -> bool:
    """Return whether the traces of an entry, made again in order, have the fingerprints that the entry gives."""
    try:
        return all(traces.fingerprint(step.spec) == step.fingerprint for step in steps)
    except Exception:  # an entry is data from outside: one that cannot be followed counts as missing
        return False
