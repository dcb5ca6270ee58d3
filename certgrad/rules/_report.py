"""What `certgrad.check` returns: the verdict on one rule, with everything that a test or a person asks next."""

from __future__ import annotations

from dataclasses import dataclass

from certgrad.obligations.certificate import Certificate, Claim, VerdictName, Witness


@dataclass(frozen=True)
class Report:
    """The certificate of one rule, and where the rule is defined."""

    certificate: Certificate
    where: str
    undifferentiated: tuple[str, ...] = ()
    """Float arguments that the claim leaves out."""
    surrogate: str = ""
    """The author's reason why the rule deliberately is not the derivative."""

    @property
    def name(self) -> str:
        return self.certificate.op

    @property
    def verdict(self) -> VerdictName:
        return self.certificate.verdict

    @property
    def claims(self) -> list[Claim]:
        """One for each obligation."""
        return list(self.certificate.claims)

    @property
    def hypotheses(self) -> list[str]:
        """The conditions under which the claims hold, as formulas."""
        return sorted({h.text for claim in self.claims for h in claim.hypotheses})

    @property
    def witness(self) -> Witness | None:
        """A point where the rule is wrong, if one was found."""
        return next((c.witness for claim in self.claims for c in claim.cases if c.witness is not None), None)

    @property
    def residual(self) -> str:
        """The difference of the two sides, where it did not vanish."""
        return next((c.residual for claim in self.claims for c in claim.cases if c.residual), "")

    @property
    def proved(self) -> bool:
        """Every obligation is proved, perhaps under hypotheses."""
        return self.verdict in ("proved", "proved under hypotheses")

    def __str__(self) -> str:
        from certgrad.report import text
        from certgrad.report.audited import findings_of

        lines = [f"{self.name} ({self.where}): {self.verdict}"]
        if self.surrogate:
            lines.append(f"surrogate: {self.surrogate}")
        if self.hypotheses:
            lines.append("under: " + ", ".join(self.hypotheses))
        if self.undifferentiated:
            lines.append("no claim about: " + ", ".join(self.undifferentiated))
        return "\n".join([*lines, *(text.block(f, None) for f in findings_of([self.certificate]))])
