"""Ops that are composed of others: declared once from a program, which JAX differentiates by the rules of its parts.

@composed("n d, h d, h, k h, k -> n k", source="...")
def mlp(x, weight_1, bias_1, weight_2, bias_2):
    \"\"\"Two affine maps with a relu between them.\"\"\"
    return linear(relu(linear(x, weight_1, bias_1)), weight_2, bias_2)

No rule is written, so none can be wrong but those of the parts. The certificate follows by induction over the nodes of
the program's graph, with the hypotheses of each part asked at its node (`certgrad.graph`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from certgrad.errors import DeclarationError
from certgrad.ops._declare import Case, Op, Rule, registry
from certgrad.ops._registry import Registry
from certgrad.signatures.cases import names_in


class Composed(Op):
    """An op whose forward is a program of other ops. Its rules are what JAX makes of the rules of those ops."""

    is_composed = True

    def __init__(
        self,
        forward: Rule,
        cases: Iterable[str | Case],
        *,
        like: str | None = None,
        torch: str | None = None,
        source: str | None = None,
        aliases: Iterable[str] = (),
    ) -> None:
        super().__init__(forward, cases, like=like, torch=torch, source=source, aliases=aliases)
        for case in self.cases:
            if case.signature.stars:
                raise self._wrong(
                    f"is composed, and its signature '{case.signature}' has a star: a program is certified at one "
                    "rank; write out its axes, in a case for each rank"
                )
            if sizes := [name for name, value in case.statics.items() if names_in(value)]:
                raise self._wrong(f"is composed, and '{sizes[0]}' is a size in a case of it: give it a number")
        self.jvp_rule, self.vjp_rule = self._jvp, self._vjp

    def fwd(self, rule: Rule) -> Rule:
        raise self._no_rule("fwd")

    def jvp(self, rule: Rule) -> Rule:
        raise self._no_rule("jvp")

    def vjp(self, rule: Rule) -> Rule:
        raise self._no_rule("vjp")

    def reference(self, rule: Rule) -> Rule:
        raise self._no_rule("reference")

    def _no_rule(self, kind: str) -> DeclarationError:
        return self._wrong(f"is composed: it has no {kind} of its own; its parts have. Declare it by `op` instead")

    def run(self, arrays: Sequence[Any], statics: dict[str, Any]) -> Any:
        """Return the op's value at these arrays; JAX differentiates it by the rules of the ops in it."""
        return self.call_rule(self.forward, *arrays, statics=statics)

    def with_rules(self, **rules: Rule | None) -> Composed:
        """Return an unregistered copy with another `forward`. Raises DeclarationError for any other rule."""
        if set(rules) != {"forward"}:
            raise self._wrong("is composed: it has no rules of its own to replace; replace its forward")
        variant = super().with_rules(**rules)
        variant.jvp_rule, variant.vjp_rule = variant._jvp, variant._vjp  # type: ignore[attr-defined]
        return variant  # type: ignore[return-value]

    def _jvp(self, *values: Any, **statics: Any) -> Any:
        count = len(self.arg_names)
        floats, of_floats = self._of_floats(values[:count], statics)
        return jax.jvp(of_floats, floats, list(values[count:]))[1]

    def _vjp(self, *values: Any, **statics: Any) -> Any:
        count = len(self.arg_names)
        floats, of_floats = self._of_floats(values[:count], statics)
        out, pull = jax.vjp(of_floats, *floats)
        return pull(tuple(values[count:]) if isinstance(out, tuple) else values[count])

    def _of_floats(self, args: Sequence[Any], statics: dict[str, Any]) -> tuple[list[Any], Callable[..., Any]]:
        """Return the float arguments, and the forward as a function of these alone, with the others fixed."""
        moving = [k for k, x in enumerate(args) if jnp.issubdtype(x.dtype, jnp.floating)]

        def run(*floats: Any) -> Any:
            full = list(args)
            for k, x in zip(moving, floats, strict=True):
                full[k] = x
            return self.run(full, statics)

        return [args[k] for k in moving], run


def composed(*cases: str | Case, registry: Registry = registry, **options: Any) -> Callable[[Rule], Composed]:
    """Return a decorator that declares an op by a program of other ops; arguments are as for `op`.

    They are the cases, then `like`, `torch`, `source` and `aliases`. The program is certified as it is traced, so
    signatures have no stars, and keyword arguments are no real numbers. The decorator raises DeclarationError.
    """

    def declare(forward: Rule) -> Composed:
        new_op = Composed(forward, cases, **options)
        registry.add(new_op)
        return new_op

    return declare
