"""What `certgrad.check` returns: the verdict on one rule, with what a test or a person may ask about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from textwrap import indent
from typing import TYPE_CHECKING

from certgrad.obligations.certificate import (
    PROOFS,
    PROVED_AS_WRITTEN,
    Certificate,
    Claim,
    VerdictName,
    Witness,
    assumed,
    compared_with,
    not_for_all,
    verdict_text,
    worst,
)
from certgrad.obligations.conformance import LIMITS, NOT_COMPARED

if TYPE_CHECKING:
    from certgrad.rules.causes.missing import Missing

    from .user_rule import UserRule

OTHER_VALUE = "the fwd does not return the function's value: under jax.grad the function has another value"


@dataclass(frozen=True)
class ArgumentClaim:
    """The claim about the derivative in one argument alone, with the likely cause where it is wrong."""

    name: str
    verdict: VerdictName
    reason: str = ""
    residual: str = ""
    witness: Witness | None = None
    cause: str = ""
    """The likely cause, found by proving that the rule is right but for this mistake."""
    missing: str = ""
    """What must be added to the cotangent, where that is a short formula."""
    domain: str = ""
    """The domain in which alone the derivative is right, as `domain=` takes it; "" if none was found."""
    mended: UserRule | None = field(default=None, compare=False, repr=False)
    """The rule without the mistake, which is proved."""
    lacks: Missing | None = field(default=None, compare=False, repr=False)
    """The missing term as a term."""


class Judged:
    """What a report and other objects with a certificate answer from it."""

    certificate: Certificate

    @property
    def verdict(self) -> VerdictName:
        return self.certificate.verdict

    @property
    def proved(self) -> bool:
        """Whether every obligation is proved, perhaps under hypotheses."""
        return self.verdict in PROVED_AS_WRITTEN

    @property
    def claims(self) -> list[Claim]:
        """The claims, one for each obligation."""
        return list(self.certificate.claims)

    @property
    def witness(self) -> Witness | None:
        """The first point where an obligation fails; None if none was found."""
        return next((c.witness for claim in self.claims for c in claim.cases if c.witness is not None), None)

    @property
    def compared(self) -> list[str]:
        """What the traced programs were compared with: traces at numbers and calls. It is measured, not proved."""
        return list(dict.fromkeys(text for claim in self.claims for text in compared_with(claim)))


@dataclass(frozen=True)
class Report(Judged):
    """The certificate of one rule, and where the rule is defined."""

    certificate: Certificate
    where: str
    undifferentiated: tuple[str, ...] = ()
    """Float arguments that the claim leaves out."""
    surrogate: str = ""
    """The author's reason why the rule deliberately is not the derivative."""
    approximates: str = ""
    """A sentence on the ideal function that the derivative claims are about, with its distance; "" without one."""
    arguments: tuple[ArgumentClaim, ...] = ()
    """A claim for each float argument that the report is about."""
    only_compared: tuple[str, ...] = ()
    """Arguments without a gradient that the function only compares, as a mask: no gradient is lost."""
    notes: tuple[str, ...] = ()
    """Remarks: what of the declaration was ignored, and what of it is not needed."""
    right_where: str = ""
    """The `domain=` with which a refuted rule is proved as a whole, if one was found."""
    left_out: tuple[str, ...] = ()
    """Values of static arguments, other than the defaults, at which nothing is claimed, each with the reason."""
    location: str = ""
    """File and line of the function, in full."""
    reproduction: str = ""
    """A script that shows the difference at the witness with NumPy numbers, if there is a witness."""
    second: Report | None = None
    """The report on the derivative of the rule itself, for `order=2`. The verdict is the worse of both."""

    @property
    def verdict(self) -> VerdictName:
        """The worst verdict of all claims, those of the second order among them."""
        first_order = self.certificate.verdict
        return first_order if self.second is None else worst([first_order, self.second.verdict])

    @property
    def name(self) -> str:
        return self.certificate.op

    @property
    def without_gradient(self) -> tuple[str, ...]:
        """Float arguments for which the rule returns `None`: nothing is proved of them."""
        return tuple(self.certificate.without_gradient or ())

    @property
    def lost_gradient(self) -> tuple[str, ...]:
        """Arguments without a gradient in which the function has a derivative."""
        return tuple(n for n in self.without_gradient if n not in self.only_compared)

    @property
    def hypotheses(self) -> list[str]:
        """The conditions under which the claims hold, as formulas, without those that others imply."""
        from certgrad.report.audited import listed

        return listed(self.certificate)

    @property
    def assumed(self) -> list[str]:
        """The undeclared hypotheses that bound an argument without a gradient, as `domain=` takes them."""
        return assumed(self.certificate)

    @property
    def rests_on(self) -> list[str]:
        """The idealisations of floats, integers and signs in a proof, and facts about numbers that floats can break."""
        proved = [claim for claim in self.claims if claim.verdict in PROOFS]
        return list(dict.fromkeys(text for claim in proved for text in (*claim.idealisations, *claim.facts)))

    @property
    def sizes(self) -> list[dict[str, int]]:
        """The sizes that the verdict is about; empty if it is about all sizes."""
        return list(self.certificate.sizes or ())

    @property
    def dtypes(self) -> str:
        """The dtypes that the claims are about, with the reason; "" if they are about all dtypes."""
        return next((text for text in self.limits if text.startswith("float")), "")

    @property
    def limits(self) -> list[str]:
        """The limits of the claims with their reasons: some dtypes, arrays that no mesh divides, calls without vmap."""
        scopes = [case.scope for claim in self.claims for case in claim.cases]
        limits = [text for text in LIMITS if any(text in scope for scope in scopes)]
        dtypes = next((s[s.index("float") :] for s in scopes if ", float" in s), "")
        for text in limits:
            dtypes = dtypes.replace(f", {text}", "")
        return [dtypes, *limits] if dtypes else limits

    @property
    def cause(self) -> str:
        """The likely cause of a wrong rule; "" if none was found."""
        cause = next((a.cause for a in self.arguments if a.cause), "")
        if not cause and any(c.kind == "rule_runs_forward" and c.verdict == "refuted" for c in self.claims):
            return OTHER_VALUE
        return cause

    @property
    def reason(self) -> str:
        """Why the rule is not proved, from the first case with a reason; "" if none has one."""
        return next((c.reason for claim in self.claims for c in claim.cases if c.reason), "")

    @property
    def residual(self) -> str:
        """The difference of the two sides of an obligation, from the first case where a proof left one; else ""."""
        return next((c.residual for claim in self.claims for c in claim.cases if c.residual), "")

    def __str__(self) -> str:
        """Return the report as `check` prints it: the verdict, its limits, and each open case."""
        from certgrad.report import text
        from certgrad.report.audited import hypotheses_as_listed, open_cases, told_once
        from certgrad.report.wording import LIKELY_CAUSE, PROVED_WHERE

        lines = [f"{self.name} ({self.where}): {verdict_text(self.certificate)}"]
        if self.right_where:
            lines.append(PROVED_WHERE.format(self.right_where))
        if self.surrogate:
            lines.append(f"surrogate: {self.surrogate}")
        if self.approximates:
            lines.append(self.approximates)
        if hypotheses := hypotheses_as_listed(self.certificate):
            lines.append("under: " + ", ".join(hypotheses))
        if rests_on := self.rests_on:
            lines.append("this rests on: " + "; ".join(rests_on))
        if why := not_for_all(self.certificate):
            lines.append(why)
        lines += [f"for {text}" for text in self.limits]
        if NOT_COMPARED in self.compared:
            lines.append(NOT_COMPARED)
        lines += [f"no claim at {text}" for text in self.left_out]
        if self.undifferentiated:
            lines.append("no claim about: " + ", ".join(self.undifferentiated))
        if any(a.verdict in ("refuted", "unproved") for a in self.arguments):
            for a in self.arguments:
                lines.append(
                    "; ".join([f"d{a.name}: {a.verdict}", *([f"{LIKELY_CAUSE}: {a.cause}"] if a.cause else [])])
                )
        if self.reproduction:
            lines.append("reproduce:\n" + indent(self.reproduction, "    "))
        if self.second is not None:
            lines.append(str(self.second))
        codes = told_once(self.certificate)
        shown = [pair for pair in open_cases([self.certificate]) if pair[0].code in codes]
        return "\n".join([*lines, *(text.block(*pair, also=codes[pair[0].code]) for pair in shown)])
