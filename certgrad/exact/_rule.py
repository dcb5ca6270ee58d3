"""From a function with a derivative rule to what is compared: the derivatives that JAX makes of the function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp

from certgrad._subject import Rules, Subject
from certgrad.errors import SignatureError, UsageError
from certgrad.jaxpr.closures import kind_of_rule
from certgrad.language.lengths import in_lengths
from certgrad.rules.declared.statics import combinations, plain_values, reals
from certgrad.rules.declared.structure import flat_signature, named_arguments, parse_structure, real_parts
from certgrad.rules.subject.layers import unwrapped
from certgrad.rules.subject.open_number import OpenNumber
from certgrad.rules.subject.properties import PROPERTIES, check_properties, projected, properties_in
from certgrad.signatures.cases import Case


class Rule(Subject):
    """A function with a rule, at the shapes of a signature; `static` gives the arguments that are no arrays."""

    def __init__(
        self,
        function: Callable,
        signature: str | Sequence[Any],
        static: Mapping[str, Any],
        differentiable: Sequence[str] | None,
        domain: str | Sequence[str],
        name: str,
    ) -> None:
        """Read a function's signature, domain and static arguments. Raises UsageError or SignatureError where they do
        not fit.
        """
        if not callable(function):
            raise UsageError(f"{function!r} is no function.")
        self.function, self.name = function, name or getattr(function, "__name__", "") or "a function"
        declared = parse_structure(signature)
        self._parameters = inspect.signature(function).parameters
        self.arguments = named_arguments(self._names(len(declared.inputs), static), declared.inputs)
        self.arg_names = tuple(leaf for a in self.arguments for leaf in a.leaves)
        flat = flat_signature(self.arguments, declared.outputs)
        left_out = self._left_out(differentiable)
        # A float argument that the claim leaves out has no tangent: its dtype is "held".
        flat = replace(
            flat,
            inputs=tuple(
                replace(s, dtype="held") if n in left_out else s
                for n, s in zip(self.arg_names, flat.inputs, strict=True)
            ),
        )
        self.params = reals(static)
        self._arrays = self._taken_as_arrays()
        self.cases = tuple(Case(flat, choice) for choice in combinations(static))
        texts, self.properties = properties_in((domain,) if isinstance(domain, str) and domain else domain, self.name)
        self.structures = {n: PROPERTIES[words] for n, words in self.properties.items()}
        check_properties(self.properties, dict(zip(self.arg_names, flat.inputs, strict=True)), self.name)
        axes = {n: s.dims for n, s in zip(self.arg_names, flat.inputs, strict=True)}
        self.domain = in_lengths(texts, axes, taken=self.params)

    @property
    def alone(self) -> list[str]:
        """The float arguments that are each perturbed alone as well, for a rule that sees symbolic zeros.

        Empty for other rules, and where there is one such argument.
        """
        if not getattr(unwrapped(self.function), "symbolic_zeros", False):
            return []
        floats = [n for n, s in zip(self.arg_names, self.cases[0].signature.inputs, strict=True) if s.dtype == "float"]
        return floats if len(floats) > 1 else []

    @property
    def code(self) -> list[Any]:
        """The code of the rule: the function alone."""
        return [self.function]

    def _names(self, count: int, static: Mapping[str, Any]) -> list[str]:
        """Return the names of the `count` arguments that the signature describes, in order.

        Raises UsageError for a static argument that the function has not, SignatureError for another number of them.
        """
        names: list[str] = []
        for parameter in self._parameters.values():
            if parameter.kind is parameter.VAR_POSITIONAL:
                names += [f"{parameter.name}_{k}" for k in range(count - len(names))]
            elif parameter.kind is not parameter.VAR_KEYWORD and parameter.name not in static and len(names) < count:
                names.append(parameter.name)
        unknown = [n for n in static if n not in self._parameters]
        if unknown and not any(p.kind is p.VAR_KEYWORD for p in self._parameters.values()):
            raise UsageError(f"{self.name} has no argument named {unknown[0]!r}; it has {', '.join(self._parameters)}.")
        if len(names) != count:
            raise SignatureError(f"{self.name} takes {len(names)} array arguments, but the signature has {count}.")
        return names

    def _taken_as_arrays(self) -> set[str]:
        """Return the names of arguments whose numbers JAX makes arrays: those of a custom function, if not fixed."""
        custom = unwrapped(self.function)
        if kind_of_rule(custom) not in ("jax.custom_vjp", "jax.custom_jvp"):
            return set()
        names = list(inspect.signature(custom).parameters)
        return {n for k, n in enumerate(names) if k not in {x % len(names) for x in custom.nondiff_argnums}}

    def _left_out(self, differentiable: Sequence[str] | None) -> set[str]:
        """Return the names of the float arrays that `differentiable` does not name; none if it is None.

        Raises UsageError for a name that is no float argument.
        """
        if differentiable is None:
            return set()
        chosen = {n for a in self.arguments for n in a.leaves if {a.name, n} & {*differentiable}}
        floats = [n for a in self.arguments for n, s in zip(a.leaves, a.specs, strict=True) if s.dtype == "float"]
        float_names = {*floats, *(a.name for a in self.arguments)}
        if unknown := [n for n in differentiable if n not in float_names]:
            raise UsageError(f"'{unknown[0]}' is no float argument of {self.name}; those are {', '.join(floats)}.")
        return {n for n in floats if n not in chosen}

    def _called(self, arrays: Sequence[Any], statics: Mapping[str, Any], params: Sequence[Any]) -> list[Any]:
        """Return the function's float outputs, complex ones as their real and imaginary parts."""
        given: dict[str, Any] = plain_values(statics)
        for name, value in zip(self.params, params, strict=True):
            given[name] = value if name in self._arrays else OpenNumber(name, value)
        remaining = projected(self.properties, self.arg_names, arrays)
        variadic: list[Any] = []
        for a in self.arguments:
            leaves, remaining = remaining[: len(a.leaves)], remaining[len(a.leaves) :]
            if a.name in self._parameters:
                given[a.name] = a.made_of(leaves)
            else:
                variadic.append(a.made_of(leaves))
        positional: list[Any] = []
        for parameter in self._parameters.values():
            if (
                parameter.kind is parameter.KEYWORD_ONLY
                or parameter.kind is parameter.VAR_KEYWORD
                or (parameter.name not in given and not variadic)
            ):
                break
            positional += (
                variadic
                if parameter.kind is parameter.VAR_POSITIONAL
                else [given.pop(parameter.name)]
                if parameter.name in given
                else []
            )
        outputs = real_parts(jax.tree_util.tree_leaves(self.function(*positional, **given)))
        return [y for y in outputs if jnp.issubdtype(jnp.result_type(y), jnp.floating)]

    def rules(self, statics: Mapping[str, Any]) -> Rules:
        """Return the forward at the given static arguments, with the VJP and the JVP that JAX makes of the function.

        Without a float argument there is no JVP, and the VJP returns nothing.
        """
        moving = [k for k, s in enumerate(self.cases[0].signature.inputs) if s.dtype == "float"]

        def of_moving(args: list, params: list) -> Callable[..., list[Any]]:
            def run(*xs: Any) -> list[Any]:
                moved = dict(zip(moving, xs, strict=True))
                return self._called([moved.get(k, x) for k, x in enumerate(args)], statics, params)

            return run

        def forward(args: list, params: list) -> list[Any]:
            return self._called(args, statics, params)

        def jvp(args: list, tangents: list, params: list) -> list[Any]:
            return jax.jvp(of_moving(args, params), [args[k] for k in moving], list(tangents))[1]

        def vjp(args: list, seeds: list, params: list) -> list[Any]:
            return list(jax.vjp(of_moving(args, params), *(args[k] for k in moving))[1](list(seeds)))

        def primal(args: list, params: list) -> list[Any]:
            return jax.vjp(of_moving(args, params), *(args[k] for k in moving))[0]

        if not moving:
            return Rules(forward, None, lambda args, seeds, params: [], None)
        return Rules(forward, jvp, vjp, primal)
