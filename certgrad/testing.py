"""For test suites: `assert_certified`, `assert_equal`; `pytest --certgrad` makes a test of every rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from certgrad.rules import Equality, Report


def assert_certified(
    function: Callable,
    signature: str | Sequence[Any] | None = None,
    *,
    static: Mapping[str, Any] | None = None,
    differentiable: Sequence[str] | None = None,
    domain: str | Sequence[str] | None = None,
    surrogate: str | None = None,
    approximates: Callable | str | None = None,
    sizes: Mapping[str, int] | Sequence[Mapping[str, int]] | None = (),
    hypotheses: Sequence[str] | None = None,
    order: int | None = None,
) -> Report:
    """Assert that the derivative rule of a function is proved, and return the report.

    The arguments are those of `certgrad.check`. Without a signature the function is checked as it is declared: by
    `certgrad.declare`, by the configuration, or by its annotations; what is given besides takes the place of what the
    declaration says. A surrogate passes, and so does a rule that is proved for the function that it `approximates`. A
    rule without a gradient for an argument fails, unless `differentiable` leaves that argument out; and so does one
    that is proved at sizes alone, unless `sizes` names some. With `hypotheses`, the proof may rest on these alone.
    Findings that the project's baseline lists, or that its configuration or a comment on the rule ignores, pass as they
    do in `certgrad audit`.

    Raises:
        AssertionError: the rule is not proved; the message is the report.
        UsageError: nothing says the shapes; or pyproject.toml or the baseline cannot be read.
    """
    from certgrad.rules import check
    from certgrad.rules.project.accepted import declared

    options: dict[str, Any] = {
        "static": static,
        "differentiable": differentiable,
        "domain": domain,
        "surrogate": surrogate,
        "approximates": approximates,
        "order": order,
    }
    given = {name: value for name, value in options.items() if value is not None}
    if sizes != ():
        given["sizes"] = sizes
    if signature is not None:
        return _certified(function, check(function, signature, **given), given.get("sizes"), hypotheses)
    declarations = [(one, {**one.options, **given}) for one in declared(function)]
    reports = [
        _certified(function, check(function, one.signature, **chosen), chosen["sizes"], hypotheses)
        for one, chosen in declarations
    ]
    return reports[0]


def _certified(function: Callable, report: Report, sizes: Any, hypotheses: Sequence[str] | None) -> Report:
    """Return the report if it passes. Raises AssertionError."""
    from certgrad.obligations.certificate import AT_SIZES
    from certgrad.report.findings import NO_GRADIENT
    from certgrad.rules.project.accepted import accepted_codes

    passed = accepted_codes(function, report)
    if any(c.verdict in ("refuted", "unproved") and c.code not in passed for c in report.claims):
        raise AssertionError(f"not certified:\n{report}")
    if not sizes and any(c.verdict == AT_SIZES and c.code not in passed for c in report.claims):
        raise AssertionError(f"not certified for all sizes (to accept some, name them by `sizes`):\n{report}")
    if report.lost_gradient and NO_GRADIENT not in passed:
        missing = ", ".join(report.lost_gradient)
        raise AssertionError(f"{report.name} gives no gradient for {missing}; name the others by `differentiable`.")
    further = [] if hypotheses is None else [h for h in report.hypotheses if h not in hypotheses]
    if further:
        raise AssertionError(f"{report.name} is proved only under {', '.join(further)}.")
    if report.second is not None:
        _certified(function, report.second, sizes, hypotheses)
    return report


def assert_equal(
    left: Callable,
    right: Callable,
    signature: str | Sequence[Any],
    *,
    static: Mapping[str, Any] | None = None,
    domain: str | Sequence[str] = (),
    hypotheses: Sequence[str] | None = None,
) -> Equality:
    """Assert that two functions are proved to return the same, and return what was found.

    The arguments are those of `certgrad.equal`. With `hypotheses`, the proof may rest on these alone.

    Raises:
        AssertionError: they are not proved equal; the message is the report.
    """
    from certgrad.rules import equal

    found = equal(left, right, signature, static=static, domain=domain)
    if not found.proved:
        raise AssertionError(f"not proved equal:\n{found}")
    further = [] if hypotheses is None else [h for h in found.hypotheses if h not in hypotheses]
    if further:
        raise AssertionError(f"{found.left} and {found.right} are equal only under {', '.join(further)}.")
    return found
