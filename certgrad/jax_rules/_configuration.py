"""What a configuration is: a program that runs one rule of JAX, at declared shapes and parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any


@dataclass(frozen=True)
class Configuration:
    """One program of a primitive, or of a function of JAX: what its derivative is proved for.

    `program` is called with the arrays of the signature and with the parameters as keywords. `kinks` are points of
    numbers or nested lists at which the theorem may not speak: what JAX returns there is shown.
    """

    subject: str
    program: Callable[..., Any]
    signature: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    form: str = ""
    domain: tuple[str, ...] = ()
    differentiable: tuple[str, ...] | None = None
    kinks: tuple[tuple[Any, ...], ...] = ()

    @property
    def described(self) -> dict[str, str]:
        """The parameters by which the certificate names this configuration."""
        words = {"form": self.form} if self.form else {}
        return {**words, **{name: _parameter_text(value) for name, value in self.parameters.items()}}

    def __str__(self) -> str:
        settings = ", ".join(f"{name}={value}" for name, value in self.described.items())
        return f"{self.signature} ({settings})" if settings else self.signature


def configurations(
    subject: str,
    program: Callable[..., Any],
    signature: str,
    *,
    form: str = "",
    domain: str | Sequence[str] = (),
    differentiable: Sequence[str] | None = None,
    kinks: Sequence[Any] = (),
    **choices: Sequence[Any],
) -> list[Configuration]:
    """Return a configuration for every combination of the `choices`, each a list of a parameter's values.

    The other arguments are those of a `Configuration`; a kink of a function of one number is written as the number.
    """
    points = tuple(k if isinstance(k, tuple) else (k,) for k in kinks)
    return [
        Configuration(
            subject,
            program,
            signature,
            dict(zip(choices, values, strict=True)),
            form,
            (domain,) if isinstance(domain, str) else tuple(domain),
            None if differentiable is None else tuple(differentiable),
            points,
        )
        for values in product(*choices.values())
    ]


def forms(subject: str, *rows: tuple[str, str, Callable[..., Any]], **shared: Any) -> list[Configuration]:
    """Return the configurations of one subject; a row has its form in words, its signature and its program."""
    return [
        c for form, signature, program in rows for c in configurations(subject, program, signature, form=form, **shared)
    ]


def _parameter_text(value: Any) -> str:
    return getattr(value, "__name__", None) or str(value)
