"""`certgrad.check`: prove the derivative rule of one function.

`subject/statement.py` makes the author's statement and the single attempts at a proof. Attempts are made in order: with
the sizes of the signature left open, with some sizes as multiples of others, at numbers (`at_sizes.py`), and at other
values of options. `judged.py` gives the verdict on each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from certgrad import rules
from certgrad.errors import CertgradError, DomainError, UsageError
from certgrad.obligations.auditing.claims import untraced
from certgrad.obligations.certificate import AT_SIZES, ORDER, PROOFS, Certificate, VerdictName
from certgrad.obligations.generality.traces import Traces
from certgrad.obligations.terms.budget import AUDIT_SECONDS, allotted_seconds, auditing
from certgrad.rules.subject.defaults import LEFT_OUT, at_choices, of_defaults, with_fixed_defaults
from certgrad.rules.subject.report import Report
from certgrad.rules.subject.statement import Attempt, Statement

from .judged import Look, claims_of, explained, first_look, helped, judged, plainly, report_of, reported

if TYPE_CHECKING:
    from certgrad.rules.declared.declaration import Declaration
    from certgrad.rules.subject.approximation import Declared

    from .at_sizes import Sizes

OUT_OF_MEMORY = "memory: what is evaluated at numbers does not fit into it: smaller sizes may"


def check(
    function: Callable,
    signature: str | Sequence[Any],
    *,
    static: Mapping[str, Any] | None = None,
    differentiable: Sequence[str] | None = None,
    domain: str | Sequence[str] = (),
    surrogate: str = "",
    approximates: Callable | str | None = None,
    name: str = "",
    conformance: bool = True,
    sizes: Sizes | Sequence[Sizes] | None = (),
    elsewhere: Sequence[Declared] = (),
    order: int = 1,
    seconds: float = AUDIT_SECONDS,
) -> Report:
    """Prove the derivative rule of a function for all shapes that fit the signature.

    For a `jax.custom_vjp`: the primal of its `fwd` is the function, and its cotangents are the adjoint of the
    function's derivative. For a `jax.custom_jvp`: its tangents are the derivative, and JAX's transposition of them is
    the adjoint. For any other function: JAX's own derivatives are proved to be the derivative and its adjoint.

    Args:
        function: the function, also under `jit` or `partial`.
        signature: the shapes of the array arguments and outputs: `"n d, d -> n d"`; `*s` is any number of axes,
            `:int` and `:bool` mark arrays that have no tangent; `{w: d m, b: m}`, `(n, m)`, `Params(w: d m, b: m)` and
            `None` are arguments that hold several arrays or none. Or a tuple with, for each argument, any structure of
            such texts.
        static: the other arguments of the function, by name: a value; `certgrad.each(…)` of several values, where the
            rule is proved at each, and at every combination if several arguments have several values; or
            `certgrad.real("c > 0")` for every such number.
        differentiable: the arguments that the claim is about; all float arrays if None. The array `w` in the argument
            `params` is called `params_w`. A rule that returns `None` for an argument that is named here claims that
            its derivative is 0. If the argument is not named, it has no gradient, and the verdict says so.
        domain: hypotheses on the arguments (`"x > 0"`), which the proof may use and then lists.
        surrogate: the reason, if the rule deliberately is not the derivative.
        approximates: the function that the rule is the derivative of, if `function` computes only an approximation of
            it: a function of the same arrays, or its name as `"jax.numpy:exp"`. The derivative is then claimed of the
            approximated function, and the value of `function`; their distance is measured at drawn points, not proved.
        name: the name of the function in the report; its own name if empty.
        conformance: compare the traced programs with traces at numbers and with calls, which can take a proof away. If
            False, the claim says that this was not done.
        sizes: sizes that are tried first (`{"n": 128, "d": 64}`, or several such) if the rule is not proved for all
            sizes; small sizes follow. A proof there is `proved at sizes`, which is no proof for all. If None, no
            numbers are tried.
        elsewhere: other functions that the rule calls, each with the declaration of what it approximates, if that
            stands in a configuration and not on the function. If `approximates` is given, calls of them are read as
            calls of what they approximate.
        order: 2 also audits the rule of the rule: whether the derivative of the cotangents that JAX makes, which
            second derivatives run, is right. The result is `second` of the report.
        seconds: the processor time for everything that is tried. A claim that is open then is `unproved`, with that
            reason; a step that has begun (a trace, a call) is finished first.

    Returns a report. If the rule is wrong, that is a verdict in it and not an exception.

    Raises:
        SignatureError, UsageError, DomainError: the declaration does not fit the function.
    """

    if order not in (1, 2):
        raise UsageError(f"`order` is 1 or 2, and not {order!r}.")
    if surrogate and approximates is not None:
        raise UsageError(
            "`surrogate` says that a rule is no derivative, and `approximates` of what it is one: say one."
        )
    statement = Statement(
        function, signature, differentiable, domain, surrogate, approximates, name, conformance, elsewhere
    )
    with auditing(seconds):
        return _report_over_options(statement, Attempt(static), sizes, order)


@dataclass(frozen=True)
class Choice:
    """The verdict on a rule with one of several signatures, the sizes left open, without explanations."""

    certificate: Certificate
    look: Look | None = None
    """The attempt; None where the choice was audited in full and is proved."""

    @property
    def verdict(self) -> VerdictName:
        return self.certificate.verdict

    def under_assumed(self) -> bool:
        """Return whether the rule is refuted here and proved under bounds that nobody declared."""
        if self.look is None or self.verdict != "refuted":
            return False
        return rules.assumed(self.look, self.certificate) is not None

    def proved_under(self, conditions: Sequence[str]) -> bool:
        """Return whether the rule is proved under these bounds; False if they name sizes that its signature lacks."""
        with suppress(DomainError):
            return self.look is None or plainly(self.look.under(conditions)).verdict in PROOFS
        return False


def choice_of(function: Callable, declared: Declaration, name: str, seconds: float = AUDIT_SECONDS) -> Choice:
    """Return the verdict on a rule with the signature of a declaration, within `seconds`. Raises as `check` does."""
    statement = Statement(function, declared.signature, name=name, tentative=True)
    with auditing(seconds):
        look = first_look(statement, Attempt(declared.static))
        return Choice(plainly(look), look)


def _report_over_options(
    statement: Statement, attempt: Attempt, sizes: Sizes | Sequence[Sizes] | None, order: int
) -> Report:
    """Return the report of a rule at its declared options and then at other values of these options.

    An argument that keeps its default, because the rule does not trace with an array in its place, is left out of the
    claim. Other values of options are tried only if the rule is proved at the declared ones. With `order` 2, the report
    has a second one, on the derivative of the rule.
    """
    rule = statement.rule(attempt)
    with_defaults = with_fixed_defaults(rule)
    if with_defaults is not None:
        statement = replace(statement, function=with_defaults)
        rule = statement.rule(attempt)
    report = _attempted(statement, attempt, sizes)
    if with_defaults is not None and report.verdict != "unproved":
        report = replace(report, left_out=(*report.left_out, LEFT_OUT.format(" and ".join(of_defaults(rule)))))
    if statement.surrogate or report.verdict not in (*PROOFS, AT_SIZES):
        return report
    others = _OtherOptions(statement.of_inputs, attempt, sizes)
    report = at_choices(report, rule, others.report_at, others.refutation_at)
    if order == 1 or report.verdict not in (*PROOFS, AT_SIZES):
        return report
    return _with_second(report, first_look(statement, attempt), sizes)


@dataclass(frozen=True)
class _OtherOptions:
    """The audits of a rule at other values of its options than those of an attempt."""

    statement: Statement
    """What the author says of the inputs alone: outputs may have other shapes at other values of options."""
    declared: Attempt
    """The attempt at the declared options."""
    sizes: Sizes | Sequence[Sizes] | None
    """Numbers for sizes that are tried first, as in `check`."""

    def report_at(self, chosen: Mapping[str, Any]) -> Report | str | None:
        """Return the report at the chosen values, or the error as text; None if the function fails only there."""
        attempt = self._attempt(chosen)
        try:
            sizes_tried = rules.first_sizes(self.statement.rule(attempt))
            at_declared = self.statement.rule(replace(self.declared, sizes=sizes_tried))
            if rules.runs(at_declared) and not rules.runs(self.statement.rule(replace(attempt, sizes=sizes_tried))):
                return None
            return _attempted(self.statement, attempt, self.sizes)
        except CertgradError as error:
            return str(error)

    def refutation_at(self, chosen: Mapping[str, Any]) -> Report | None:
        """Return the report at the chosen values if a point refutes the rule there; else None.

        The check at points is cheap, and says whether an audit is worth its time.
        """
        attempt = self._attempt(chosen)
        with suppress(CertgradError):
            if rules.differs_at_a_point(self.statement.rule(attempt)):
                report = _attempted(replace(self.statement, conformance=False), attempt, self.sizes)
                return report if report.verdict == "refuted" else None
        return None

    def _attempt(self, chosen: Mapping[str, Any]) -> Attempt:
        return Attempt({**(self.declared.static or {}), **chosen})


def _with_second(report: Report, look: Look, sizes: Sizes | Sequence[Sizes] | None) -> Report:
    """Return the report with a second one: the audit of the rule's cotangents as a function of their own.

    There is an audit for each case of the static arguments, and the one with the worst verdict counts.
    """
    module, mark, function_name = report.name.rpartition(":")
    name, statement = f"{module}{mark}gradient of {function_name}", look.statement
    reports = [
        check(
            f,
            shapes,
            differentiable=active,
            domain=statement.domain,
            name=name,
            conformance=statement.conformance,
            sizes=sizes,
            seconds=allotted_seconds(),
        )
        for f, shapes, active in rules.gradients_of(look.rule, look.traces)
    ]
    return replace(report, second=max(reports, key=lambda one: ORDER.index(one.verdict)))


def _attempted(statement: Statement, attempt: Attempt, sizes: Sizes | Sequence[Sizes] | None) -> Report:
    """Return the report on one attempt: with sizes left open, else with sizes that divide, else at numbers.

    The next step is taken only if the one before leaves the rule unproved. A rule that ends the program, or needs more
    memory than there is, is unproved with that reason.

    Args:
        statement: what the author says of the rule.
        attempt: the static values and the part of the statement that this audit is about.
        sizes: numbers for sizes that are tried first; if None, the rule is not tried at numbers.
    """
    rule = statement.rule(attempt)
    given = rules.read_sizes(sizes, rule) if sizes else []
    try:
        look = first_look(statement, attempt)
        report = judged(look)
        if statement.surrogate:
            return report
        if report.verdict == "unproved" and not look.traces.refused:
            report_by_order, wrong_at = _in_each_order(look)
            report_by_order = report_by_order or (None if wrong_at else _where_sizes_divide(look, report))
            given += wrong_at
            if report_by_order is not None:
                return report_by_order
        if report.verdict == "unproved" and sizes is not None and not look.traces.differs_anywhere:
            report = rules.at_sizes(report, look, given)
            if report.verdict == "refuted" and (under := rules.assumed(look, report.certificate)) is not None:
                return reported(*under)
            if report.verdict == "refuted" and report.witness is None:
                report = replace(report, certificate=explained(report.certificate, rule, report.arguments))
        return helped(report, look)
    except SystemExit as error:
        ended = f"the rule ends the program: sys.exit({error.code!r})"
        return report_of(rule, untraced(rule, ended), statement.surrogate)
    except MemoryError:
        return report_of(rule, untraced(rule, OUT_OF_MEMORY), statement.surrogate)


def _in_each_order(look: Look) -> tuple[Report | None, list[Sizes]]:
    """Return the report on a rule whose code compares sizes (`if n < m`), with each outcome as a case.

    Returns (report, []) if the rule is proved so; else None, and the sizes of its witnesses if it is refuted.
    """
    rule = rules.in_each_order(look.rule, look.traces)
    if rule is None:
        return None, []
    look_by_order = replace(look, rule=rule, traces=Traces(rule))
    certificate, _ = claims_of(look_by_order)
    if certificate.verdict not in PROOFS:
        return None, rules.sizes_of_witnesses(look.rule.signature, certificate)
    return reported(look_by_order, rules.said_in_general(certificate, rule)), []


def _where_sizes_divide(look: Look, unproved: Report) -> Report | None:
    """Return the report of the rule with some sizes as multiples; None if it is neither proved nor refuted so.

    A rule that reshapes c channels into groups of 4 traces only where c = 4·c′. A proof lists such multiples as
    hypotheses. Code that catches JAX's error may run at other sizes too: if the rule is refuted at one of those, that
    is the report.

    Args:
        look: the attempt with sizes left open.
        unproved: the report on that attempt.
    """

    def attempt(divisors: Mapping[str, str]) -> Attempt:
        return replace(look.attempt, multiples=divisors, excluded=())

    rule = look.statement.rule(attempt({}))
    divisors = rules.multiples(rule, lambda some: look.statement.rule(attempt(some)), look.traces)
    if not divisors:
        return None
    look_there = first_look(look.statement, attempt(divisors))
    report = judged(look_there)
    if report.verdict not in PROOFS:
        return helped(report, look_there) if report.verdict == "refuted" else None
    for sizes in rules.no_multiples(rule, divisors):
        if (elsewhere := rules.refuted_at(unproved, look, sizes)) is not None:
            return helped(elsewhere, look)
    certificate = rules.listed(report.certificate, rule, divisors)
    arguments = tuple(replace(a, verdict=certificate.verdict) for a in report.arguments)
    return replace(report, certificate=certificate, arguments=arguments)
