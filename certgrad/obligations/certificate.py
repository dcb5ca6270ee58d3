"""Certificates: what was claimed of an op, what was proved, and what it rests on.

Every struct here is data. Text in a certificate is never evaluated. Encoding is deterministic: keys in declaration
order, no timestamps, no paths, no floats.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from certgrad import language
from certgrad._subject import OF_REFERENCE, Subject
from certgrad.language.tree import Statement

if TYPE_CHECKING:
    from certgrad.signatures.sizes import Size

FORMAT = 4
KERNEL = "44"
"""Version of the calculus. It changes with any change that can change a verdict."""

VerdictName = Literal[
    "proved",
    "proved under hypotheses",
    "proved up to rounding",
    "proved at sizes",
    "refuted",
    "unproved",
    "surrogate",
]
ObligationKind = Literal["jvp_is_derivative", "vjp_is_adjoint", "rule_runs_forward", "forward_equals_reference"]

CODES: dict[str, str] = {
    "jvp_is_derivative": "CG101",
    "vjp_is_adjoint": "CG102",
    "rule_runs_forward": "CG103",
    "forward_equals_reference": "CG104",
}
OF_VALUES = ("rule_runs_forward", OF_REFERENCE)
"""The obligations that say of two programs that they compute the same."""


class Struct(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base: immutable, and unknown fields are refused on decoding."""


ASSUMED = "assumed"
"""The source of a hypothesis that bounds an argument without a gradient, and that the audit takes undeclared."""


class Hypothesis(Struct, frozen=True):
    """A condition under which a claim holds, for every index that occurs in it.

    `tree` is what it says; `text` (`x[i] ≠ 0`), `latex` and `prose` are that for reading, and `source` says where it
    comes from. Two hypotheses are the same where their trees are equal.
    """

    text: str
    latex: str
    prose: str
    source: str
    negligible: bool
    """True where the excluded set has measure zero; False where the hypothesis fails on an open set."""
    tree: Statement
    outside: Literal["no derivative", "right"] | UnsetType = UNSET
    """What was seen at points where it alone fails: the function has no derivative at one, or it has one at all of them
    and the rule gives it, so that the proof needs the hypothesis and the claim need not."""


def hypothesis(
    tree: Statement,
    source: str,
    negligible: bool,
    prose: str = "",
    inputs: Sequence[str] = (),
    axes: "Mapping[str, Sequence[Size]] | None" = None,
) -> Hypothesis:
    """Return a statement as a hypothesis with its texts; `prose` replaces the generated words."""
    return Hypothesis(
        text=language.text.text(tree, inputs=inputs),
        latex=language.text.text(tree, "latex", inputs, axes),
        prose=prose or language.prose.prose(tree, inputs),
        source=source,
        negligible=negligible,
        tree=tree,
    )


def each_once(hypotheses: Iterable[Hypothesis]) -> list[Hypothesis]:
    """Each hypothesis once, the first that says it, in the order of their texts."""
    table: dict[Statement, Hypothesis] = {}
    for h in hypotheses:
        table.setdefault(h.tree, h)
    return sorted(table.values(), key=lambda h: (h.text, language.coding.encode(h.tree)))


class Ball(Struct, frozen=True):
    """A real number known to lie in [midpoint - radius, midpoint + radius], as decimal text."""

    midpoint: str
    radius: str


class Witness(Struct, frozen=True):
    """A concrete point where the two sides of an obligation provably differ.

    Arrays are nested lists of rationals as text ("3/2"). `lhs` and `rhs` do not overlap.
    """

    dims: dict[str, int]
    statics: dict[str, str]
    inputs: dict[str, list | str]
    tangents: dict[str, list | str]
    seeds: dict[str, list | str]
    where: str
    lhs: Ball
    rhs: Ball
    relative_gap: str


class CaseClaim(Struct, frozen=True):
    """One obligation for one signature with its structural arguments fixed."""

    signature: str
    statics: dict[str, str]
    scope: str
    """For which shapes: "all shapes, any rank" or the list of ranks that were shown."""
    verdict: VerdictName
    hypotheses: list[Hypothesis] = []
    reason: str = ""
    residual: str = ""
    witness: Witness | None = None
    needless: list[Hypothesis] | UnsetType = UNSET
    """What the rule alone needs: the witness lies outside of it, where the function has a derivative. Inside of it, and
    under the hypotheses, the claim is proved."""


class Claim(Struct, frozen=True):
    """One obligation: the conjunction over the op's cases. The verdict is the worst of theirs."""

    id: str
    code: str
    kind: ObligationKind
    statement: str
    verdict: VerdictName
    hypotheses: list[Hypothesis]
    cases: list[CaseClaim]
    facts: list[str] = []
    """Facts over the reals that the proof used and floats can break, such as exp(z) > 0."""
    idealisations: list[str] = []
    measured: list[str] = []
    """With what the traced programs were compared beside the proof: traces at numbers, calls in several dtypes."""
    contradicted: str | UnsetType = UNSET
    """Where the two sides differ in floats, in words, of what is neither proved nor refuted. Absent where nothing is
    said to.
    """


DIFFERS_IN_FLOATS = "a numeric check in floats differs"
"""How words begin that say so."""


def fails(claim: Claim, verdicts: Collection[str]) -> bool:
    """Return whether an audit fails on a claim, by the verdicts that it fails on.

    A claim contradicted in floats is no refutation, but fails where one does: among unproved claims it is the one to
    examine.
    """
    contradicted = claim.verdict == "unproved" and bool(claim.contradicted)
    return claim.verdict in verdicts or (contradicted and "refuted" in verdicts)


def compared_with(claim: Claim) -> list[str]:
    """Return what the claim was compared with, and what contradicts it."""
    return [*claim.measured, *([claim.contradicted] if claim.contradicted else [])]


class Convention(Struct, frozen=True):
    """What the rule returns at a point its theorem excludes, beside JAX's and PyTorch's choice."""

    point: str
    rule: str
    jax: str
    torch: str


class TracedCase(Struct, frozen=True):
    """One case as it was traced at symbolic dimensions, each star group as one axis: the code that was proved."""

    signature: str
    statics: dict[str, str]
    digest: str


class LiteralMeaning(Struct, frozen=True):
    """The closed form that a float literal is read as: coefficient · √root · π^pi · (log log)^log_power.

    It is at most two units in the literal's last place away. A `log` of 1 stands for no logarithm; with `of_pi` it is
    that of log·π.
    """

    literal: str
    text: str
    coefficient: str
    root: int
    pi: str
    log: int
    log_power: int
    of_pi: bool = False


class Certificate(Struct, frozen=True):
    """All claims about one op."""

    format: int
    op: str
    signature: list[str]
    params: dict[str, str]
    domain: list[str]
    verdict: VerdictName
    claims: list[Claim]
    conventions: list[Convention]
    source: str
    digest: str
    versions: dict[str, str]
    rules_used: list[str] = []
    """The rules of the calculus that the proofs applied."""
    traced: list[TracedCase] = []
    """One for each case, in order: what `certgrad verify` traces again."""
    literals: list[LiteralMeaning] = []
    """What float literals are read as, where the verdict is `proved up to rounding`."""
    without_gradient: list[str] | UnsetType = UNSET
    """Float arguments for which the rule returns `None`: the verdict says nothing of them. Absent where there are none.
    """
    sizes: list[dict[str, int]] | UnsetType = UNSET
    """The sizes that the verdict is about, where it is `proved at sizes`, or where it was refuted at numbers. Absent
    where it is about all shapes of the signature.
    """
    ignored: list[str] | UnsetType = UNSET
    """Codes of obligations that the author has ignored: they are no claims of this certificate, and the verdict says
    nothing of them. Absent where there are none.
    """
    checksum: str = ""
    """Of everything else in the certificate: it shows an accidental edit, and is no protection against a forger."""


def assumed(certificate: Certificate) -> list[str]:
    """The hypotheses that are assumed, as `domain=` takes them: `delta > 0`, `ids >= 0`, `ids < v`."""
    texts = dict.fromkeys(h.text for c in certificate.claims for h in c.hypotheses if h.source == ASSUMED)
    return sorted(map(language.relations.as_written, texts), key=lambda text: (text.split()[0], "<" in text))


def verdict_text(certificate: Certificate) -> str:
    """The verdict with what it leaves out: `proved; no gradient for w`, `CG103 proved; CG102 ignored`.

    Where code asks for ranks, with those that were shown: `proved; at ranks 0, 1, 2, 3, 4, 5, 6 of *s`.
    """
    missing = certificate.without_gradient or []
    ignored = certificate.ignored or []
    of = f"{', '.join(c.code for c in certificate.claims)} " if ignored else ""
    at = f" {sized(certificate.sizes or [], SHOWN)}" if certificate.verdict == AT_SIZES else ""
    left = [*([f"no gradient for {', '.join(missing)}"] if missing else [])]
    left += [f"{', '.join(ignored)} ignored"] if ignored else []
    left += dict.fromkeys(f"at {r}" for c in certificate.claims for case in c.cases if (r := _ranks(case)))
    return "; ".join([f"{of}{certificate.verdict}{at}", *left])


def _ranks(case: CaseClaim) -> str:
    """The ranks that a proof is about, where code asks for them, so that it is not about all."""
    _, _, ranks = case.scope.partition(RANKS)
    return f"ranks {ranks.partition(' (')[0]}" if ranks and case.verdict in (*PROOFS, AT_SIZES) else ""


def with_cases(claim: Claim, cases: Iterable[CaseClaim], **fields: Any) -> Claim:
    """The claim with these cases and the verdict that they come to; `fields` are others of it to change."""
    changed = list(cases)
    return msgspec.structs.replace(claim, cases=changed, verdict=worst([c.verdict for c in changed]), **fields)


def with_claims(certificate: Certificate, claims: Iterable[Claim], **fields: Any) -> Certificate:
    """The certificate with these claims and the verdict that they come to, and with its checksum."""
    changed = list(claims)
    verdict = worst([c.verdict for c in changed])
    return sealed(msgspec.structs.replace(certificate, claims=changed, verdict=verdict, **fields))


def with_each_case(certificate: Certificate, change: Callable[[Claim, CaseClaim], CaseClaim]) -> Certificate:
    """The certificate with each case of each claim changed."""
    changed = (with_cases(c, [change(c, case) for case in c.cases]) for c in certificate.claims)
    return with_claims(certificate, changed)


def ignoring(certificate: Certificate, codes: Collection[str]) -> Certificate:
    """The certificate without the claims of these codes, which says that they are ignored."""
    dropped = {c.code for c in certificate.claims if c.code in codes}
    if not dropped:
        return certificate
    claims = [c for c in certificate.claims if c.code not in dropped]
    return with_claims(certificate, claims, ignored=sorted({*(certificate.ignored or ()), *dropped}))


def sized(sizes: Sequence[Mapping[str, int]], limit: int | None = None) -> str:
    """Sizes in words: `n = 2, 3, 128`, or `d = 3, n = 2; d = 64, n = 128`; of many, the first and how many more."""
    found = sizes[:limit]
    more = f" and {len(sizes) - len(found)} more" if len(sizes) > len(found) else ""
    if found and all(len(one) == 1 for one in found):
        return f"{next(iter(found[0]))} = {', '.join(str(v) for one in found for v in one.values())}{more}"
    return "; ".join(", ".join(f"{name} = {value}" for name, value in sorted(one.items())) for one in found) + more


def not_for_all(certificate: Certificate) -> str:
    """Return why a claim proved at sizes is not proved for all; "" for other verdicts."""
    cases = [case for claim in certificate.claims for case in claim.cases if case.verdict == AT_SIZES]
    reason = next((case.reason for case in cases if case.reason), "")
    return f"not proved for sizes left open: {reason}" if certificate.verdict == AT_SIZES else ""


def checksum(certificate: Certificate) -> str:
    """The checksum that belongs into the certificate."""
    bare = msgspec.structs.replace(certificate, checksum="")
    return hashlib.blake2b(msgspec.json.encode(bare, order="deterministic"), digest_size=32).hexdigest()


def sealed(certificate: Certificate) -> Certificate:
    """The certificate with its checksum."""
    return msgspec.structs.replace(certificate, checksum=checksum(certificate))


RANKS = ", ranks "
"""What stands in the scope of a case before the ranks that were shown, where these are not all."""
SHOWN = 3
"""At most this many of the sizes that a verdict covers are named beside it."""
PROVED_AS_WRITTEN: tuple[VerdictName, ...] = ("proved", "proved under hypotheses")
"""The verdicts of what is proved of the program as it is written, for all shapes of its signature."""
PROOFS: tuple[VerdictName, ...] = (*PROVED_AS_WRITTEN, "proved up to rounding")
"""What holds, if only of the program with its literals moved."""
AT_SIZES: VerdictName = "proved at sizes"
ORDER: tuple[VerdictName, ...] = (*PROOFS, AT_SIZES, "surrogate", "unproved", "refuted")


def holding(hypotheses: Sequence[object]) -> VerdictName:
    """Return the verdict of what is proved and has these hypotheses: "proved" where there are none."""
    return "proved under hypotheses" if hypotheses else "proved"


def worst(verdicts: list[VerdictName]) -> VerdictName:
    """The verdict of a conjunction."""
    return max(verdicts, key=ORDER.index, default="unproved")


_STATEMENTS: dict[str, str] = {
    "jvp_is_derivative": "for all {x}{where} and all {dx}: jvp({x}, {dx}) = d/dt {op}({moved}) at t = 0",
    "vjp_is_adjoint": "for all {x}, {dx} and seed{where}: ⟨jvp({x}, {dx}), seed⟩ = ⟨{tangent}, vjp({x}, seed)⟩",
    "rule_runs_forward": "for all {x}{where}: the rule's primal output is {op}({x})",
    "forward_equals_reference": "for all {x}{where}: {op}({x}) is what the reference computes",
}
_WITHOUT_JVP = "for all {x}, {dx} and seed{where}: ⟨d/dt {op}({moved}) at t = 0, seed⟩ = ⟨{tangent}, vjp({x}, seed)⟩"


def statement(op: Subject, kind: str, conditional: bool) -> str:
    """The obligation in words over the op's own argument names; whether it stands under hypotheses."""
    floats = [n for n, s in zip(op.arg_names, op.cases[0].signature.inputs, strict=True) if s.dtype == "float"]
    dx = ", ".join(f"d{n}" for n in floats)
    reverse_only = kind == "vjp_is_adjoint" and "jvp_is_derivative" not in op.kinds
    return (_WITHOUT_JVP if reverse_only else _STATEMENTS[kind]).format(
        x=", ".join(op.arg_names),
        where=" under the hypotheses" if conditional else "",
        dx=dx,
        tangent=f"({dx})" if len(floats) > 1 else dx,
        op=op.derivative_of or op.name.rpartition(":")[2],
        moved=", ".join(f"{n} + t·d{n}" if n in floats else n for n in op.arg_names),
    )
