"""`certgrad.check`: prove the derivative rule of one function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from certgrad.obligations._audit import audit

from ._report import Report
from ._user_rule import UserRule


def check(
    function: Callable,
    signature: str,
    *,
    static: Mapping[str, Any] | None = None,
    differentiable: Sequence[str] | None = None,
    domain: str | Sequence[str] = (),
    surrogate: str = "",
    name: str = "",
) -> Report:
    """Prove the derivative rule of a function for all shapes that fit the signature.

    For a `jax.custom_vjp`: the primal of its `fwd` is the function, and its cotangents are the adjoint of the
    function's derivative. For a `jax.custom_jvp`: its tangents are the derivative, and JAX's transposition of them is
    the adjoint. For any other function: the same of the derivatives that JAX makes.

    Args:
        function: the function, also under `jit` or `partial`.
        signature: the shapes of its array arguments and outputs: `"n d, d -> n d"`; `*s` is any number of axes,
            `:int` and `:bool` mark arrays that have no tangent.
        static: the values of its other arguments, by name. The claim is about these values.
        differentiable: the arguments that the claim is about; all float arrays if None.
        domain: hypotheses on the arguments (`"x > 0"`), which the proof may use and then lists.
        surrogate: the reason, if the rule deliberately is not the derivative.
        name: what the report calls it; the function's own name if empty.

    Returns a report; a wrong rule is a verdict in it and never an exception.

    Raises:
        SignatureError, UsageError, DomainError: the declaration does not fit the function.
    """
    rule = UserRule(function, signature, static=static, differentiable=differentiable, domain=domain, name=name)
    certificate = audit(rule)
    if surrogate and certificate.verdict in ("refuted", "unproved"):
        certificate = msgspec.structs.replace(certificate, verdict="surrogate")
    return Report(certificate, rule.where, tuple(rule.undifferentiated), surrogate)
