"""Graph certificates: the lemmas, one step a node, the hypotheses that are left, and what follows. All of it data."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from certgrad.graph.ir import Graph, Ref, Struct
from certgrad.language import coding
from certgrad.language.tree import Statement
from certgrad.obligations.certificate import ObligationKind, VerdictName, Witness

FORMAT = 4


class ObligationResult(Struct, frozen=True):
    """One of the three obligations of a lemma."""

    kind: ObligationKind
    verdict: VerdictName
    reason: str = ""
    residual: str = ""
    witness: Witness | None = None


class Lemma(Struct, frozen=True):
    """What is proved of one operation with its parameters at one pattern of shapes, for all sizes of its dimensions."""

    digest: str
    """The digest of the traced programs (forward, jvp, vjp, primal), the given signs and the versions."""
    name: str
    signature: str
    given: list[str]
    """Signs of arguments that the proof uses; each step that uses the lemma shows where they come from."""
    verdict: VerdictName
    obligations: list[ObligationResult]
    hypotheses: list[str]
    """The hypotheses as text, over the lemma's own argument names."""
    statements: list[Statement] = []
    """The hypotheses as trees, in the same order."""
    idealisations: list[str] = []


class NodeHypothesis(Struct, frozen=True):
    """A hypothesis of a lemma at its node, in the user's names."""

    node: int
    source: str
    text: str
    formula: str
    """The hypothesis as the lemma has it, over the lemma's argument names."""
    boundary: bool
    """Whether it fails only where values at the node are 0, or equal to each other."""
    negligible: bool
    """Whether it fails on a set of measure zero: on a boundary, of values that are analytic in the graph's inputs."""
    tree: Statement
    """The hypothesis as a tree, over the lemma's argument names."""
    of: dict[str, str]
    """For each argument that it mentions, a digest of the operations that compute the argument's value."""


class AtArrays(Struct, frozen=True):
    """A hypothesis at the arrays that the graph was traced at, evaluated in floats."""

    places: int
    """The number of places at which it is evaluated: choices of its indices, at each step of loops around the node."""
    failing: int
    """The number of places at which it is false or undefined."""
    first: dict[str, int] = {}
    """The first place at which it fails: each index with its value."""
    instead: str = ""
    """The hypothesis at that place, in numbers: `-1 > 0`."""
    unknown: str = ""
    """Why it was not evaluated; "" where it was."""


class Discharged(Struct, frozen=True):
    """A hypothesis that holds by what is known of the node's operands."""

    formula: str
    tree: Statement
    because: str


class Cotangent(Struct, frozen=True):
    """How a node's output gets its cotangent: the sum of these contributions, in this order."""

    output: int
    contributions: list[str]


class Inside(Struct, frozen=True):
    """The induction over the nodes of a loop's body, or of one branch of a `cond`."""

    name: str
    moving: list[str]
    """The names of its inputs that depend on the graph's inputs."""
    steps: list[Step]


class Step(Struct, frozen=True):
    """One step of the induction: appending this node preserves the laws."""

    node: int
    operation: str
    source: str
    expression: str
    role: str
    """`input`, `constant` (it does not depend on the inputs), or `moving`."""
    verdict: VerdictName
    lemma: str = ""
    arguments: dict[str, Ref] = {}
    """The operand for each argument name of the lemma."""
    instantiation: dict[str, str] = {}
    """The node's size for each dimension of the lemma."""
    hypotheses: list[NodeHypothesis] = []
    discharged: list[Discharged] = []
    cotangents: list[Cotangent] = []
    sign: str = ""
    reason: str = ""
    inside: list[Inside] = []


class Theorem(Struct, frozen=True):
    """A statement about arbitrary linear maps, proved by the kernel, by which the steps of the induction are joined."""

    name: str
    statement: str
    verdict: VerdictName
    digest: str


class Conclusion(Struct, frozen=True):
    """A law that the induction proves of the whole graph, and whether it holds here."""

    name: str
    statement: str
    holds: bool


class Source(Struct, frozen=True):
    """The target and shapes by which the command line found the function, so that it can be traced again."""

    target: str
    specs: list[str]


class GraphCertificate(Struct, frozen=True):
    """The certificate of a graph: certified by induction over its nodes."""

    format: int
    graph: Graph
    verdict: VerdictName
    conclusions: list[Conclusion]
    hypotheses: list[NodeHypothesis]
    dimensions: list[str]
    """Hypotheses on dimensions: sizes at which the function, or a rule, may run another program than the traced one."""
    lemmas: list[Lemma]
    theorems: list[Theorem]
    """The induction step itself, for each way in which nodes are put together here."""
    steps: list[Step]
    findings: list[str]
    """One line for each node that is refuted, unproved or a surrogate."""
    assumptions: list[str]
    digest: str
    versions: dict[str, str]
    measured: list[str] = []
    """The comparisons of the traced function made beside the proof: with traces at numbers, calls in several dtypes."""
    traced_in: str = ""
    """The dtypes of the program's floats, and whether JAX had 64-bit numbers."""
    at_arrays: list[AtArrays] = []
    """For each hypothesis its result at the arrays that were given; empty where only shapes were given."""
    source: Source | None = None
    checksum: str = ""
    """The checksum of everything else in the certificate: it shows an accidental edit, but stops no forger."""


def all_steps(steps: Sequence[Step]) -> Iterator[Step]:
    """Yield the steps, each followed by the steps of the graphs inside its node: of loops and branches."""
    for step in steps:
        yield step
        for part in step.inside:
            yield from all_steps(part.steps)


def sealed(certificate: GraphCertificate) -> GraphCertificate:
    """Return the certificate with its checksum."""
    return msgspec.structs.replace(certificate, checksum=checksum(certificate))


def with_source(certificate: GraphCertificate, source: Source) -> GraphCertificate:
    """Return the certificate with the target and shapes by which its function was found."""
    return sealed(msgspec.structs.replace(certificate, source=source))


def checksum(certificate: GraphCertificate) -> str:
    """Return the checksum of the certificate's content."""
    digest = hashlib.blake2b(digest_size=32)
    for piece in pieces(msgspec.structs.replace(certificate, checksum="")):
        digest.update(piece)
    return digest.hexdigest()


PIECE = 10_000
"""Entries of a list that are encoded at once."""


def pieces(value: Struct | list[Any]) -> Iterator[bytes]:
    """Yield the deterministic JSON of a record or a list in pieces, since that of a large graph is a gigabyte."""
    if isinstance(value, list):
        starts = range(0, max(len(value), 1), PIECE)
        parts = (msgspec.json.encode(value[k : k + PIECE], order="deterministic")[1:-1] for k in starts)
        for k, part in zip(starts, parts, strict=True):
            yield (b"," if k else b"[") + part
        yield b"]"
        return
    for k, name in enumerate(value.__struct_fields__):
        part = getattr(value, name)
        yield (b"," if k else b"{") + msgspec.json.encode(name) + b":"
        large = isinstance(part, list | Graph)
        yield from pieces(part) if large else [msgspec.json.encode(part, order="deterministic")]
    yield b"}"


def encode(certificate: GraphCertificate) -> bytes:
    """Return the certificate as deterministic JSON: equal certificates have equal bytes."""
    return msgspec.json.format(msgspec.json.encode(certificate, order="deterministic"), indent=2) + b"\n"


def decode(data: bytes) -> GraphCertificate:
    """Return the certificate that the JSON holds. Unknown fields and wrong types raise msgspec.ValidationError."""
    return msgspec.json.decode(data, type=GraphCertificate)


def schema() -> dict:
    """Return the JSON schema of a graph certificate."""
    return coding.schema(GraphCertificate)
