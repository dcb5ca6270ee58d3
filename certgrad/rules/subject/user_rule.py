"""A function of a user with its derivative rule, as the audit sees it.

The programs come from JAX's public transformations of the function itself, so they are what runs: `jax.vjp` of it for
the cotangents and for the primal that its `fwd` returns, `jax.jvp` for a rule in forward mode. A function with a rule
in reverse mode only has no JVP of its own; its cotangents are compared with the derivative of its primal function.

Where the author says that the function only approximates an ideal one, the claims about the derivative are about the
ideal: they belong to a `UserRule` with `ideal` as its forward. The claim about the value belongs to one without.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from certgrad import language, rules
from certgrad._subject import OF_RULES, Rules, Subject
from certgrad.errors import DomainError, SignatureError, UsageError
from certgrad.language.tree import Statement
from certgrad.obligations import tracing
from certgrad.obligations.balls._rule import Structure
from certgrad.obligations.generality.patterns import choices, too_many
from certgrad.process.threads import PROCESS_LOCK
from certgrad.rules.declared.statics import Default, combinations, plain_values, reals, text_of
from certgrad.rules.declared.structure import (
    Argument,
    Declared,
    flat_signature,
    is_whole,
    named_arguments,
    parse_structure,
    real_parts,
    with_objects,
)
from certgrad.signatures.cases import Case
from certgrad.signatures.sizes import parse_size

from .layers import (
    REVERSE,
    by_name,
    closed_over,
    incomplete,
    keywords_of,
    kind_of_rule,
    place_of,
    plain_function,
    unwrapped,
)
from .parameters import POSITIONAL, Parameters

REVERSE_ONLY = OF_RULES[1:]
VALUE_ONLY = OF_RULES[2:]
PATTERN = "perturbed arguments"
"""Key among the static arguments of a case: the active arguments, for a rule that sees symbolic zeros."""
USED = "used outputs"
"""Key among the static arguments of a case: the used float outputs, for a rule that sees symbolic zeros."""
ALSO = "also perturbed"
"""Key among the static arguments of a case: arrays without a gradient that are differentiated all the same."""
_TAKES_ARRAYS = ("jax.custom_vjp", "jax.custom_jvp", "flax.nnx.custom_vjp")
"""Kinds of rules that get their arguments, but for those of `nondiff_argnums`, as arrays even if they are numbers."""


class UserRule(Subject):
    """The subject of an audit: a function with its rule, and the shapes and arguments that it is declared for.

    Args:
        function: a function with a custom rule, or any JAX function, also under `jit` or `partial`.
        signature: the shapes of the array arguments, in order, as `structure` reads them.
        static: the other arguments, by name: a value, `Each` of several, or a `Real` number.
        differentiable: the arguments, or arrays in them, that the claim is about; all float arrays if None.
        domain: hypotheses on the arguments, in the syntax of an op's domain.
        name: what reports call it, instead of the function's own name.
        excluded: arrays that have no gradient.
        integers: look at the outputs that are integers or booleans, and claim their values alone.
        ideal: another function, of which the rule is the derivative: claim the derivative alone.
        value_only: claim the value alone.
        conformance: compare the traced programs with traces at numbers and with calls.
        at: numbers for the names of sizes; the claim is about these sizes alone.
        multiples: by the name of a size what divides it: the claim is about such sizes alone.
        assumed: further hypotheses, which the author does not declare.

    Raises:
        SignatureError: the signature does not fit the function.
        UsageError: a name is not one of the function's arguments, or the function has no rule.
    """

    def __init__(
        self,
        function: Callable,
        signature: str | Sequence[Any],
        *,
        static: Mapping[str, Any] | None = None,
        differentiable: Sequence[str] | None = None,
        domain: str | Sequence[str] = (),
        name: str = "",
        excluded: Sequence[str] = (),
        integers: bool = False,
        ideal: Callable | str | None = None,
        value_only: bool = False,
        conformance: bool = True,
        at: Mapping[str, int] | None = None,
        multiples: Mapping[str, str] | None = None,
        assumed: Sequence[str] = (),
    ) -> None:
        """Read a rule's object and its declaration. Raises UsageError where they do not fit."""
        self._read_function(function, name)
        self.integers = integers
        self.conformance = conformance
        self.excluded = tuple(excluded)
        self._read_domain(domain)
        self._read_arguments(signature, dict(static or {}))
        self.undifferentiated = self._undifferentiated(differentiable)
        self._read_sizes(assumed, multiples or {}, at)
        self.sees_zeros = bool(getattr(self.custom, "symbolic_zeros", False)) or self.kind.startswith("equinox")
        """Whether the rule sees symbolic zeros: which arguments are active and which outputs are used."""
        self.unknown = ""
        """Why nothing can be proved of the rule, whatever its programs are; "" if a proof may be tried."""
        self.cases = self._cases(1)  # as for one float output, until `split` is told how many there are
        self.ideal = rules.named_function(ideal) if isinstance(ideal, str) else ideal
        if self.ideal is not None and not callable(self.ideal):
            raise UsageError(f"What {self._shown} approximates is no function, but {self.ideal!r}.")
        self.value_only = value_only or integers
        self.claim(REVERSE_ONLY if self.kind in REVERSE else OF_RULES)
        self._read_rule_parts()

    def _read_function(self, function: Any, name: str) -> None:
        """Set the attributes of the function: its custom rule, the plain function under it, its name and place."""
        if not callable(function):
            raise UsageError(f"{function!r} is no function.")
        self.function = function
        self.custom = unwrapped(function)
        self.kind = kind_of_rule(self.custom)
        self.plain = plain_function(self.custom)
        self.name = name or getattr(self.plain, "__name__", "") or "a function"
        self.file, self.line = place_of(self.plain)
        self._shown = f"{self.name} ({self.where})"  # as messages call it
        if lacks := incomplete(self.custom):
            raise UsageError(f"{self._shown} is {lacks}.")

    def _read_domain(self, domain: str | Sequence[str]) -> None:
        """Set the conditions of a domain, and apart from them the properties that it gives arrays."""
        self.domain = (domain,) if isinstance(domain, str) else tuple(domain)
        if odd := [text for text in self.domain if not isinstance(text, str)]:
            raise DomainError(f"{self._shown}: a condition of a domain is a text, and not {odd[0]!r}.")
        self.properties: Mapping[str, str] = {}
        """By array the property that the domain gives it, such as `symmetric`."""
        if any(" is " in text for text in self.domain):
            self.domain, self.properties = rules.properties_in(self.domain, self.name)

    def _read_arguments(self, signature: str | Sequence[Any], static: dict[str, Any]) -> None:
        """Set the arguments and shapes that the signature declares, and the values of the static arguments."""
        declared = parse_structure(signature)
        self.classes: dict[str, type] = {}
        """By name the classes of containers of arrays that the signature names."""
        if isinstance(signature, str):
            declared = replace(declared, inputs=with_objects(declared.inputs, self._class))
        self.parameters = Parameters(self.function, self.custom, self.plain, self._shown)
        self.arguments = self._arguments(declared, signature, static)
        self.params: Mapping[str, str | None] = reals(static)
        self.choices = combinations(static)
        self.outputs_declared = declared.outputs
        self.complex_outputs = False
        """Whether an output is complex; it then counts as two of real numbers."""
        self.arg_names = tuple(leaf for a in self.arguments for leaf in a.leaves)
        self.signature = flat_signature(self.arguments, declared.outputs)

    def _read_sizes(self, assumed: Sequence[str], multiples: Mapping[str, str], at: Mapping[str, int] | None) -> None:
        """Write the domain in sizes; mark arrays without a gradient; substitute multiples and numbers for sizes.

        Args:
            assumed: further hypotheses, which join the domain.
            multiples: by the name of a size what divides it: a number, or the name of another size.
            at: numbers for all sizes, if the claim is about these alone.
        """
        inputs = list(zip(self.arg_names, self.signature.inputs, strict=True))
        if self.properties:
            rules.check_properties(self.properties, dict(inputs), self.name)
        self.assumed = tuple(assumed)
        if self.domain or assumed:
            axes = {n: s.dims for n, s in inputs}
            self.domain, self.assumed = (
                language.lengths.in_lengths(texts, axes, taken=self.params) for texts in (self.domain, assumed)
            )
        self.domain += self.assumed
        # Everywhere else a float array without a gradient is recognised by its dtype "held".
        fixed = {*self.undifferentiated, *self.excluded}
        marked_inputs = tuple(replace(s, dtype="held") if n in fixed else s for n, s in inputs)
        self.signature = replace(self.signature, inputs=marked_inputs)
        if multiples:
            products = {name: parse_size(f"{divisor}*{name}") for name, divisor in multiples.items()}
            self.signature = self.signature.renamed(products)
            self.outputs_declared = self.outputs_declared and tuple(s.renamed(products) for s in self.outputs_declared)
        if at is not None:
            self.signature = self.signature.at(at)
            self.outputs_declared = self.outputs_declared and tuple(s.at(at) for s in self.outputs_declared)

    def _read_rule_parts(self) -> None:
        """Set the functions that the rule is made of."""
        self.forward = self.plain
        with PROCESS_LOCK:  # another thread may have put a recorder in the place of the backward (`recorded`)
            self.fwd_rule = getattr(self.custom, "fwd", None) or getattr(self.custom, "fn_fwd", None)
            self.vjp_rule = getattr(self.custom, "bwd", None) or getattr(self.custom, "fn_bwd", None)
        self.jvp_rule = getattr(self.custom, "jvp", None) if isinstance(self.custom, jax.custom_jvp) else None
        self.further = closed_over(self.jvp_rule or getattr(getattr(self.custom, "fn", None), "jvp", None))
        """Further functions whose code is the rule's: those that a library's wrapper closes over, and the ideal."""
        if self.ideal is not None:
            self.further += (self.ideal,)

    @property
    def where(self) -> str:
        """File and line of the definition; `no source` if there is none."""
        return f"{Path(self.file).name}:{self.line}" if self.line else "no source"

    @property
    def granted(self) -> Mapping[str, Statement]:
        """By declaration (`a is symmetric`) the statement that an argument has the property, which `call` gives it."""
        return {said: h.tree for said, h in rules.granted(self).items()} if self.properties else {}

    @property
    def structures(self) -> Mapping[str, Structure]:  # type: ignore[override]
        """The properties of arguments, by which drawn points are made to have them."""
        return rules.structures(self) if self.properties else {}

    @property
    def moving(self) -> list[str]:
        """The arrays that the claim is about."""
        return [n for n, s in zip(self.arg_names, self.signature.inputs, strict=True) if s.dtype == "float"]

    @property
    def dynamic(self) -> list[str]:
        """The arguments for which the backward returns cotangents; "" for one of `*args` that a partial binds."""
        names = [n for n, p in self.parameters.all.items() if p.kind in POSITIONAL and n not in self.parameters.fixed]
        return [*names, *[""] * self.parameters.bound, *self.rest]

    @property
    def positional(self) -> list[str]:
        """The arguments that can be given by position, in order: up to one that a partial binds by name."""
        return [*(n for n in self.parameters.positional if n not in self._by_name), *self.places]

    @cached_property
    def _by_name(self) -> frozenset[str]:
        return by_name(self.custom)

    @property
    def code(self) -> list[Any]:
        """The objects whose code counts as the rule's: the function, the parts of its rule, static objects, classes."""
        parts = (self.function, self.forward, self.fwd_rule, self.jvp_rule, self.vjp_rule, *self.further)
        given = (
            v for choice in self.choices for v in plain_values(choice).values() if not isinstance(v, (int, float, str))
        )
        return [part for part in (*parts, *given, *self.classes.values()) if part is not None]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of obligations that are claimed, as `claim` has set them."""
        return self.claimed

    @property
    def derivative_of(self) -> str:
        """The name of the ideal function, of which the rule is the derivative; "" if there is none."""
        if self.ideal is None:
            return ""
        full, digest, _ = text_of(self.ideal).partition(" #")
        return full if not digest else full.rpartition(".")[2].replace("<lambda>", "ideal")

    def claim(self, kinds: Sequence[str]) -> None:
        """Set the obligations that are claimed: that about the value is not, if there is an ideal function."""
        if self.value_only:
            kinds = VALUE_ONLY
        self.claimed = tuple(k for k in kinds if self.ideal is None or k != "rule_runs_forward")

    # --- the declaration ---

    def _arguments(
        self, declared: Declared, signature: str | Sequence[Any], static: dict[str, Any]
    ) -> tuple[Argument, ...]:
        """Return the arguments that the signature declares, in order; add all others to `static`, at their defaults."""
        parameters, rest = self.parameters.free, self.parameters.rest
        as_they_are = {f"{rest}_{k}": k for k in self.parameters.fixed_places}
        if twice := sorted({*as_they_are} & {*self.parameters.all}):
            raise UsageError(f"{self._shown} has an argument '{twice[0]}' beside *{rest}: rename it.")
        unknown = [n for n in static if n not in parameters and n not in as_they_are]
        if unknown and not self.parameters.keywords:
            raise UsageError(f"{self._shown} has no argument named {unknown[0]!r}; it has {', '.join(parameters)}.")
        fixed = [n for n in self.parameters.fixed if n in parameters]
        free = [n for n in parameters if n not in static and n not in fixed]
        missing = [n for n in fixed if n not in static and parameters[n].default is inspect.Parameter.empty]
        if missing:
            raise UsageError(f"{self._shown} needs a value for {missing[0]!r}: give it by `static`.")
        required = [n for n in free if parameters[n].default is inspect.Parameter.empty]
        count = len(declared.inputs)  # the shapes go to required parameters first, then optional ones, then `*args`
        optional = [n for n in free if n not in required and not (rest and parameters[n].kind not in POSITIONAL)]
        if len(required) > count or (len(required) + len(optional) < count and not rest):
            raise SignatureError(
                f"{self._shown} takes {len(required)} array arguments "
                f"({', '.join(required) or 'none'}), but the signature '{signature}' has {count}. "
                "Arguments that are not arrays are given by `static`."
            )
        optional = optional[: count - len(required)]
        arrays = [n for n in free if n in required or n in optional]
        static |= {n: Default(p.default) for n, p in parameters.items() if n not in arrays and n not in static}
        self.unsaid: Mapping[str, Any] = {n: v.value for n, v in static.items() if isinstance(v, Default)}
        static |= self.unsaid
        given_in_rest = {k for n, k in as_they_are.items() if n in static}
        self.places = self.parameters.places_in_rest(count - len(arrays), given_in_rest)
        self.rest = [n for n in self.places if n not in as_they_are]
        if self.places and not self.parameters.reaches_rest:
            raise UsageError(
                f"{self._shown} takes arrays by *{rest} after an argument that a partial gives by name: "
                "wrap it in a function of named arguments."
            )
        keywords = [n for n in arrays if parameters[n].kind not in POSITIONAL]
        return named_arguments([*(n for n in arrays if n not in keywords), *self.rest, *keywords], declared.inputs)

    def _class(self, name: str) -> type | None:
        from .containers import classes_of  # few signatures name a class

        self.classes |= {n: kind for n, kind in classes_of(self.custom).items() if n == name}
        return self.classes.get(name)

    def _undifferentiated(self, differentiable: Sequence[str] | None) -> list[str]:
        """Return the float arrays that the claim leaves out."""
        pairs = [(leaf, a.name, s) for a in self.arguments for leaf, s in zip(a.leaves, a.specs, strict=True)]
        floats = {leaf: argument for leaf, argument, s in pairs if s.dtype == "float"}
        if differentiable is None:
            if self.kind != "equinox.filter_custom_vjp" or not self.arguments:
                return []
            differentiable = [self.arguments[0].name]  # an Equinox VJP is about its first argument only
        names = {*floats, *floats.values()}
        unknown = [n for n in differentiable if n not in names]
        if unknown:
            raise UsageError(f"'{unknown[0]}' is no float argument of {self._shown}; those are {', '.join(floats)}.")
        return [leaf for leaf, name in floats.items() if leaf not in differentiable and name not in differentiable]

    def _cases(self, outputs: int) -> tuple[Case, ...]:
        """Return a case for each choice of static values and, if the rule sees symbolic zeros, each pattern of them.

        `outputs` is the number of float outputs. Raises UsageError if there are too many patterns.
        """
        cases = [Case(self.signature, statics) for statics in self.choices]
        if not self.sees_zeros:
            return tuple(cases)
        if many := too_many(len(self.moving), outputs):
            raise UsageError(f"{self._shown} sees symbolic zeros: {many}; audit fewer at a time by `differentiable`.")
        if len(self.moving) > 1:
            cases = [
                Case(self._moving_only(active), {**case.statics, PATTERN: ", ".join(active)})
                for case in cases
                for active in choices(self.moving)
            ]
        if self.excluded:
            cases += [replace(c, statics={**c.statics, ALSO: ", ".join(self.excluded)}) for c in cases]
        used = choices(range(outputs))[1:]
        named = [", ".join(map(str, some)) for some in used]
        return (*cases, *(replace(c, statics={**c.statics, USED: some}) for some in named for c in cases))

    def statics_of(self, k: int, values: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the static arguments of case `k` as the function takes them, with `values` for the open numbers."""
        chosen = {n: v for n, v in self.cases[k].statics.items() if n not in (PATTERN, USED, ALSO)}
        return plain_values(chosen) | {n: (values or {})[n] for n in self.params if values is not None}

    def split(self, outputs: int, sees_zeros: bool) -> None:
        """Set the cases for this number of float outputs. Raises UsageError if the rule's own patterns are too many."""
        outputs = 1 if "jvp_is_derivative" in self.kinds else outputs  # a JVP does not see which outputs are used
        if sees_zeros and not self.sees_zeros and (many := too_many(len(self.moving), outputs)):
            self.unknown = f"a rule that it calls sees symbolic zeros: {many}"
            return
        self.sees_zeros = self.sees_zeros or sees_zeros
        self.cases = self._cases(outputs)

    def _moving_only(self, names: Sequence[str]) -> Any:
        specs = zip(self.arg_names, self.signature.inputs, strict=True)
        return replace(
            self.signature,
            inputs=tuple(replace(s, dtype="held") if s.dtype == "float" and n not in names else s for n, s in specs),
        )

    # --- the programs ---

    def call(self, arrays: Sequence[Any], statics: Mapping[str, Any], params: Sequence[Any] = ()) -> Any:
        """Return what the function returns for a flat list of arrays, and traced values of the open static numbers.

        Trailing arguments that JAX's custom function does not see are not passed if they are at their defaults: a
        backward function returns cotangents only for the arguments that were passed.
        """
        positional, given = self._given(arrays, statics, params)
        while positional and self._is_hidden_default(*list(positional.items())[-1]):
            positional.popitem()
        return self.function(*positional.values(), **given)

    def _is_hidden_default(self, name: str, value: Any) -> bool:
        return name in self.unsaid and value is self.unsaid[name] and name not in self.parameters.seen

    def call_ideal(self, arrays: Sequence[Any], statics: Mapping[str, Any], params: Sequence[Any] = ()) -> Any:
        """Return what the ideal function returns for the arrays, in order, and the static arguments that it names."""
        assert self.ideal is not None
        positional, given = self._given(arrays, statics, params)
        given = {**positional, **given}
        arrays = [given.pop(a.name) for a in self.arguments]
        return self.ideal(*arrays, **{n: v for n, v in given.items() if n in keywords_of(self.ideal)})

    def _given(
        self, arrays: Sequence[Any], statics: Mapping[str, Any], params: Sequence[Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the arguments of a call by name: those that are passed by position, and those passed by keyword."""
        given: dict[str, Any] = plain_values(statics)
        for name, value in zip(self.params, params, strict=True):
            # JAX passes a Python number on unchanged only where the custom function does not take it as an array.
            as_it_is = self.kind in _TAKES_ARRAYS and name in self.dynamic
            given[name] = value if as_it_is else rules.OpenNumber(name, value)
        rest = rules.projected(self.properties, self.arg_names, arrays) if self.properties else list(arrays)
        for argument in self.arguments:
            leaves, rest = rest[: len(argument.leaves)], rest[len(argument.leaves) :]
            given[argument.name] = argument.made_of(leaves)
        positional = {n: given.pop(n) for n in self.positional if n in given}
        return positional, given

    def rules(self, statics: Mapping[str, Any]) -> Rules:
        """Return the function and its derivatives over flat lists of arrays, with calls read as `ideals` says."""
        programs = self._rules(statics)
        if self.ideals:
            reading = tracing.ideals.reading
            jvp = None if programs.jvp is None else reading(programs.jvp, self.ideals)
            forward, vjp = reading(programs.forward, self.ideals), reading(programs.vjp, self.ideals)
            primal = None if programs.primal is None else reading(programs.primal, self.ideals)
            programs = replace(programs, forward=forward, jvp=jvp, vjp=vjp, primal=primal, both=None, pushed=None)
        return programs

    def _rules(self, statics: Mapping[str, Any]) -> Rules:
        """Return the rule's programs at one choice of static arguments, which may name `PATTERN`, `USED` and `ALSO`.

        `moving` has the positions of the active arguments, `moved` those of all perturbed ones, with a gradient or not.
        """
        statics = dict(statics)
        pattern, used, extra = (statics.pop(key, None) for key in (PATTERN, USED, ALSO))
        also = [k for k, n in enumerate(self.arg_names) if extra is not None and n in extra.split(", ")]
        names = self.moving if pattern is None else pattern.split(", ")
        moving = [k for k, n in enumerate(self.arg_names) if n in names]
        moved = [*moving, *also] or [k for k, n in enumerate(self.arg_names) if n in self.excluded]
        forward_mode = bool(self.kind) and "jvp_is_derivative" in self.kinds

        def outputs(args: Sequence[Any], params: Sequence[Any], call: Callable[..., Any] = self.call) -> list[Any]:
            leaves = real_parts(jax.tree_util.tree_leaves(call(args, statics, params)))
            if self.integers:
                return [jnp.asarray(y, jnp.result_type(float)) for y in leaves if is_whole(y)]
            floats = [y for y in leaves if jnp.issubdtype(jnp.result_type(y), jnp.floating)]
            return floats if used is None else [floats[int(k)] for k in used.split(", ")]

        def of_moving(args: Sequence[Any], params: list, which: Sequence[int] = moving) -> Callable[..., list[Any]]:
            def run(*xs: Any) -> list[Any]:
                full = list(args)  # all arguments but those at `which` are fixed, so that JAX sees them unperturbed
                for k, x in zip(which, xs, strict=True):
                    full[k] = x
                return outputs(full, params)

            return jax.jit(run) if self.under_jit else run

        def forward(args: list, params: list) -> list:
            return outputs(args, params, self.call if self.ideal is None else self.call_ideal)

        def jvp(args: list, tangents: list, params: list) -> list:
            return jax.jvp(of_moving(args, params), [args[k] for k in moving], list(tangents))[1]

        def vjp(args: list, seeds: list, params: list) -> list:
            if not moving:
                return []
            perturbed = [*moving, *also]
            pull = jax.vjp(of_moving(args, params, perturbed), *(args[k] for k in perturbed))[1]
            return list(pull(list(seeds)))[: len(moving)]  # the cotangents of `also` are not claimed

        def both(args: list, seeds: list | None, params: list) -> tuple[list, list]:
            value, pull = jax.vjp(of_moving(args, params, moved), *(args[k] for k in moved))
            tracing.jax_internals.mark()  # the equations of the fwd end here, those of the bwd begin
            return value, list(pull(list(value if seeds is None else seeds)))[: len(moving)]

        def pushed(args: list, tangents: list, params: list) -> tuple[list, list]:
            return jax.jvp(of_moving(args, params), [args[k] for k in moving], list(tangents))

        def primal(args: list, params: list) -> list:
            points = [args[k] for k in moved]
            if forward_mode:
                return jax.jvp(of_moving(args, params, moved), points, [jnp.zeros_like(x) for x in points])[0]
            return jax.vjp(of_moving(args, params, moved), *points)[0]

        one_call = self.ideal is None and bool(moving)
        return Rules(
            forward,
            jvp if "jvp_is_derivative" in self.kinds else None,
            vjp,
            primal if self.ideal is None else None,
            both=both if one_call and not forward_mode else None,
            pushed=pushed if one_call and forward_mode and moved == moving else None,
        )
