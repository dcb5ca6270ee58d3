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
KERNEL = "45"
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
"""The obligations that state that two programs compute the same values."""


class Struct(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base: immutable, and unknown fields are refused on decoding."""


ASSUMED = "assumed"
"""The source of a hypothesis that bounds an argument without a gradient, and that the audit takes undeclared."""


class Hypothesis(Struct, frozen=True):
    """A condition under which a claim holds, for every index that occurs in it.

    `tree` is the condition as a syntax tree; `text` (`x[i] ≠ 0`), `latex` and `prose` write it for a reader; `source`
    names the operation or declaration that it comes from. Two hypotheses are equal if their trees are.
    """

    text: str
    latex: str
    prose: str
    source: str
    negligible: bool
    """True where the excluded set has measure zero; False where the hypothesis fails on an open set."""
    tree: Statement
    outside: Literal["no derivative", "right"] | UnsetType = UNSET
    """What an evaluation found at points where this hypothesis alone fails.

    `no derivative`: at one of them the function has none. `right`: at all of them it has one and the rule returns it,
    so that the proof needs the hypothesis and the claim need not. Absent where no such point was evaluated.
    """


def hypothesis(
    tree: Statement,
    source: str,
    negligible: bool,
    prose: str = "",
    inputs: Sequence[str] = (),
    axes: "Mapping[str, Sequence[Size]] | None" = None,
) -> Hypothesis:
    """Return a statement as a hypothesis with its texts.

    Args:
        tree: the condition.
        source: where the condition comes from.
        negligible: whether it excludes a set of measure zero only.
        prose: words in the place of the generated ones.
        inputs: the names of the op's arguments, in order; any other name in `tree` is a parameter.
        axes: the sizes of each argument's axes, which LaTeX writes as the ranges of indices.
    """
    return Hypothesis(
        text=language.text.text(tree, inputs=inputs),
        latex=language.text.text(tree, "latex", inputs, axes),
        prose=prose or language.prose.prose(tree, inputs),
        source=source,
        negligible=negligible,
        tree=tree,
    )


def each_once(hypotheses: Iterable[Hypothesis]) -> list[Hypothesis]:
    """Return the hypotheses sorted by their texts; of several with equal trees, only the first."""
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
    """For which shapes the claim is: "all shapes, any rank", or the list of the ranks that were looked at."""
    verdict: VerdictName
    hypotheses: list[Hypothesis] = []
    reason: str = ""
    residual: str = ""
    witness: Witness | None = None
    needless: list[Hypothesis] | UnsetType = UNSET
    """Hypotheses that the rule needs and the function does not: the witness violates them at a point where the function
    has a derivative. Under these and `hypotheses` together, the claim is proved."""


class Claim(Struct, frozen=True):
    """One obligation of an op, about all its cases. The verdict is the worst of those of the cases."""

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
    """What the traced programs were compared with beside the proof: traces at numbers, calls in several dtypes."""
    contradicted: str | UnsetType = UNSET
    """For an unproved claim: the point at which the two sides differ in floats, in words. Absent if no such point was
    found.
    """


DIFFERS_IN_FLOATS = "a numeric check in floats differs"
"""The first words of `Claim.contradicted`."""


def fails(claim: Claim, verdicts: Collection[str]) -> bool:
    """Return whether an audit that fails on these verdicts fails on the claim.

    An unproved claim that is contradicted in floats is not refuted, but the audit fails on it where it fails on
    refuted claims: of all unproved claims it is the one to examine.
    """
    contradicted = claim.verdict == "unproved" and bool(claim.contradicted)
    return claim.verdict in verdicts or (contradicted and "refuted" in verdicts)


def compared_with(claim: Claim) -> list[str]:
    """Return texts: what the claim was compared with, then what contradicts it, if anything does."""
    return [*claim.measured, *([claim.contradicted] if claim.contradicted else [])]


class Convention(Struct, frozen=True):
    """What the rule returns at a point that its theorem excludes, beside what JAX and PyTorch return there."""

    point: str
    rule: str
    jax: str
    torch: str


class TracedCase(Struct, frozen=True):
    """The program of one case that was proved: its trace at symbolic dimensions, with one axis for each star group.

    `digest` is the digest of this trace.
    """

    signature: str
    statics: dict[str, str]
    digest: str


class LiteralMeaning(Struct, frozen=True):
    """The closed form that a float literal is read as: coefficient · √root · π^pi · (log log)^log_power.

    The fields name the parts: √ is taken of `root`, π is raised to `pi`, and the logarithm of the number `log` to
    `log_power`. If `log` is 1 there is no logarithm as a factor; with `of_pi` the factor is the logarithm of `log`·π.
    The closed form is at most two units in the last place away from the literal.
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
    """One trace for each case, in order: `certgrad verify` makes it again and compares the digests."""
    literals: list[LiteralMeaning] = []
    """What float literals are read as, where the verdict is `proved up to rounding`."""
    without_gradient: list[str] | UnsetType = UNSET
    """Float arguments for which the rule returns `None`: the verdict says nothing of their gradients. Absent if there
    are no such arguments.
    """
    sizes: list[dict[str, int]] | UnsetType = UNSET
    """The sizes that the verdict is about, if it is `proved at sizes` or was refuted at numbers. Absent if the verdict
    is about all shapes of the signature.
    """
    ignored: list[str] | UnsetType = UNSET
    """Codes of obligations that the author has ignored: the certificate has no claims with these codes, and the verdict
    says nothing of them. Absent where no code is ignored.
    """
    checksum: str = ""
    """The checksum of all other fields. It reveals an accidental edit, and is no protection against a forger."""


def assumed(certificate: Certificate) -> list[str]:
    """Return the hypotheses that the audit assumed without a declaration (their source is `ASSUMED`).

    They are written as `domain=` takes them: `delta > 0`, `ids >= 0`, `ids < v`.
    """
    texts = dict.fromkeys(h.text for c in certificate.claims for h in c.hypotheses if h.source == ASSUMED)
    return sorted(map(language.relations.as_written, texts), key=lambda text: (text.split()[0], "<" in text))


def verdict_text(certificate: Certificate) -> str:
    """Return the verdict in words, with what it leaves out: `proved; no gradient for w`, `CG103 proved; CG102 ignored`.

    Where a rule's code asks for ranks, the text names the ranks that were looked at: `proved; at ranks 0, 1, 2 of *s`.
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
    """Return the ranks that the proof of a case is about; "" if it is about all ranks, or the case is not proved."""
    _, _, ranks = case.scope.partition(RANKS)
    return f"ranks {ranks.partition(' (')[0]}" if ranks and case.verdict in (*PROOFS, AT_SIZES) else ""


def with_cases(claim: Claim, cases: Iterable[CaseClaim], **fields: Any) -> Claim:
    """Return the claim with these cases and the worst of their verdicts; `fields` are further fields to replace."""
    changed = list(cases)
    return msgspec.structs.replace(claim, cases=changed, verdict=worst([c.verdict for c in changed]), **fields)


def with_claims(certificate: Certificate, claims: Iterable[Claim], **fields: Any) -> Certificate:
    """Return the certificate with these claims, the worst of their verdicts, and the new checksum.

    `fields` are further fields to replace.
    """
    changed = list(claims)
    verdict = worst([c.verdict for c in changed])
    return sealed(msgspec.structs.replace(certificate, claims=changed, verdict=verdict, **fields))


def with_each_case(certificate: Certificate, change: Callable[[Claim, CaseClaim], CaseClaim]) -> Certificate:
    """Return the certificate in which `change(claim, case)` replaces each case of each claim."""
    changed = (with_cases(c, [change(c, case) for case in c.cases]) for c in certificate.claims)
    return with_claims(certificate, changed)


def ignoring(certificate: Certificate, codes: Collection[str]) -> Certificate:
    """Return the certificate without the claims of these codes; its field `ignored` names them."""
    dropped = {c.code for c in certificate.claims if c.code in codes}
    if not dropped:
        return certificate
    claims = [c for c in certificate.claims if c.code not in dropped]
    return with_claims(certificate, claims, ignored=sorted({*(certificate.ignored or ()), *dropped}))


def sized(sizes: Sequence[Mapping[str, int]], limit: int | None = None) -> str:
    """Return sizes in words: `n = 2, 3, 128`, or `d = 3, n = 2; d = 64, n = 128`.

    Of more than `limit` sizes, the text has the first ones and the number of the others.
    """
    named = sizes[:limit]
    more = f" and {len(sizes) - len(named)} more" if len(sizes) > len(named) else ""
    if named and all(len(size) == 1 for size in named):
        return f"{next(iter(named[0]))} = {', '.join(str(v) for size in named for v in size.values())}{more}"
    return "; ".join(", ".join(f"{name} = {value}" for name, value in sorted(size.items())) for size in named) + more


def not_for_all(certificate: Certificate) -> str:
    """Return why a claim proved at sizes is not proved for all; "" for other verdicts."""
    cases = [case for claim in certificate.claims for case in claim.cases if case.verdict == AT_SIZES]
    reason = next((case.reason for case in cases if case.reason), "")
    return f"not proved for sizes left open: {reason}" if certificate.verdict == AT_SIZES else ""


def checksum(certificate: Certificate) -> str:
    """Return the checksum of all fields of the certificate but `checksum` itself."""
    bare = msgspec.structs.replace(certificate, checksum="")
    return hashlib.blake2b(msgspec.json.encode(bare, order="deterministic"), digest_size=32).hexdigest()


def sealed(certificate: Certificate) -> Certificate:
    """Return the certificate with its checksum filled in."""
    return msgspec.structs.replace(certificate, checksum=checksum(certificate))


RANKS = ", ranks "
"""The text in the scope of a case before the ranks that were looked at, if the claim is about these ranks alone."""
SHOWN = 3
"""The number of sizes, at most, that are named beside a verdict that is about sizes."""
PROVED_AS_WRITTEN: tuple[VerdictName, ...] = ("proved", "proved under hypotheses")
"""The verdicts that state a proof about the program as it is written, for all shapes of its signature."""
PROOFS: tuple[VerdictName, ...] = (*PROVED_AS_WRITTEN, "proved up to rounding")
"""The verdicts that state a proof for all shapes, of the program as written or with closed forms for its literals."""
AT_SIZES: VerdictName = "proved at sizes"
ORDER: tuple[VerdictName, ...] = (*PROOFS, AT_SIZES, "surrogate", "unproved", "refuted")


def holding(hypotheses: Sequence[object]) -> VerdictName:
    """Return the verdict of a claim that is proved under these hypotheses: "proved" if there are none."""
    return "proved under hypotheses" if hypotheses else "proved"


def worst(verdicts: list[VerdictName]) -> VerdictName:
    """Return the worst of the verdicts, by `ORDER`, as the verdict of a conjunction; "unproved" if there are none."""
    return max(verdicts, key=ORDER.index, default="unproved")


_STATEMENTS: dict[str, str] = {
    "jvp_is_derivative": "for all {x}{where} and all {dx}: jvp({x}, {dx}) = d/dt {op}({moved}) at t = 0",
    "vjp_is_adjoint": "for all {x}, {dx} and seed{where}: ⟨jvp({x}, {dx}), seed⟩ = ⟨{tangent}, vjp({x}, seed)⟩",
    "rule_runs_forward": "for all {x}{where}: the rule's primal output is {op}({x})",
    "forward_equals_reference": "for all {x}{where}: {op}({x}) is what the reference computes",
}
_WITHOUT_JVP = "for all {x}, {dx} and seed{where}: ⟨d/dt {op}({moved}) at t = 0, seed⟩ = ⟨{tangent}, vjp({x}, seed)⟩"


def statement(op: Subject, kind: str, conditional: bool) -> str:
    """Return the obligation `kind` of an op as a sentence about the op's own arguments, by their names.

    If `conditional`, the sentence says that it holds under the hypotheses.
    """
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
