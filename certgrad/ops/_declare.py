"""The declaration of an op: signature, domain, forward and derivative rules, convention and source, in one place.

@op("*s -> *s", domain="x > 0", like="jax.numpy.log", torch="torch.log")
def log(x):
    \"\"\"Natural logarithm, elementwise.\"\"\"
    return jnp.log(x)

@log.jvp
def _(x, dx):
    return dx / x

@log.vjp
def _(x, seed):
    return seed / x
"""

import copy
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import FunctionType
from typing import Any

import jax.numpy as jnp

from certgrad._subject import OF_REFERENCE, OF_RULES, Rules, Subject
from certgrad.errors import DeclarationError
from certgrad.ops._constraint import check_constraint
from certgrad.ops._magnitudes import ANY_MAGNITUDE, Magnitudes
from certgrad.ops._registry import Registry
from certgrad.signatures.cases import Case, axis_of, case, rank_of, size_of
from certgrad.signatures.signature import parse

__all__ = ["Case", "Op", "axis_of", "case", "op", "rank_of", "registry", "size_of"]

Rule = Callable[..., Any]

registry = Registry()
"""The ops of certgrad, and all others that are declared without `registry=`."""


class Op(Subject):
    """A function with derivative rules, called like any JAX function, and all that its proof needs to know of it."""

    is_op = True

    def __init__(
        self,
        forward: Rule,
        cases: Iterable[str | Case],
        *,
        domain: str | Iterable[str] = (),
        params: Mapping[str, str | None] | None = None,
        broadcast: bool = False,
        integers: bool = False,
        leading: Iterable[str] = (),
        like: str | None = None,
        torch: str | None = None,
        torch_at: Mapping[str, str] | None = None,
        convention: Mapping[str, str] | None = None,
        source: str | None = None,
        aliases: Iterable[str] = (),
        magnitudes: Magnitudes = ANY_MAGNITUDE,
    ) -> None:
        """Read a declaration, whose parts `op` explains. Raises DeclarationError where they do not fit each other."""
        if not isinstance(forward, FunctionType):
            shown = getattr(forward, "__name__", type(forward).__name__)
            raise DeclarationError(
                f"An op is declared of a function written in Python, and {shown} is of type {type(forward).__name__}. "
                f"Write one that calls it: `def {shown}(x): return …`."
            )
        self.name = forward.__name__
        self.forward = forward
        self.fwd_rule: Rule | None = None
        self.jvp_rule: Rule | None = None
        self.vjp_rule: Rule | None = None
        self.reference_rule: Rule | None = None
        self.several_rule: Rule | None = None
        self.cases = tuple(Case(parse(one)) if isinstance(one, str) else one for one in cases)
        self.domain = (domain,) if isinstance(domain, str) else tuple(domain)
        self.params = dict(params or {})
        self.broadcast = broadcast
        self.integers = integers
        self.leading = tuple(leading)
        self.like, self.torch, self.source = like, torch, source
        self.torch_at = dict(torch_at or {})
        self.convention = dict(convention or {})
        self.aliases = tuple(aliases)
        self.magnitudes = magnitudes
        self.doc = inspect.getdoc(forward) or ""
        self.file = inspect.getsourcefile(forward) or "?"
        self.line = forward.__code__.co_firstlineno
        self.__name__, self.__doc__, self.__module__ = forward.__name__, forward.__doc__, forward.__module__
        self.__signature__ = inspect.signature(forward)
        self._read_arguments()

    @property
    def where(self) -> str:
        """File and line of the declaration."""
        return f"{Path(self.file).name}:{self.line}"

    def fwd(self, rule: Rule) -> Rule:
        """Declare `fwd(*args) -> (out, residuals)`; jvp and vjp then take the residuals in place of the arguments."""
        self.fwd_rule = rule
        return rule

    def jvp(self, rule: Rule) -> Rule:
        """Declare the forward-mode rule: `jvp(*args, *tangents) -> tangent of the output`."""
        self.jvp_rule = rule
        return rule

    def vjp(self, rule: Rule) -> Rule:
        """Declare the reverse-mode rule: `vjp(*args, seed) -> cotangent`, or a tuple of one for each float argument."""
        self.vjp_rule = rule
        return rule

    def reference(self, rule: Rule) -> Rule:
        """Declare the plain function that the forward computes in another way, say in tiles: their equality is proved.

        It takes what the forward takes, and never runs when the op is called.
        """
        self.reference_rule = rule
        return rule

    def several(self, rule: Rule) -> Rule:
        """Declare how a call is carried out by several calls of `call_case`, each covered by a case.

        An example is a call with any number of arrays, where a case has two. The rule takes the arguments of the user's
        call. Each of its steps is proved; the chain rule puts them together.
        """
        self.several_rule = rule
        return rule

    def with_rules(self, **rules: Rule | None) -> "Op":
        """Return an unregistered copy of the op with another `forward`, `fwd`, `jvp` or `vjp`."""
        variant = copy.copy(self)
        for name, rule in rules.items():
            setattr(variant, name if name == "forward" else f"{name}_rule", rule)
        return variant

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of obligations of this op: the one about a reference only where a reference is declared."""
        return OF_RULES if self.reference_rule is None else (*OF_RULES, OF_REFERENCE)

    @property
    def code(self) -> list[Rule]:
        """The declared functions: the forward, its rules and the reference."""
        declared = (self.forward, self.fwd_rule, self.jvp_rule, self.vjp_rule, self.reference_rule)
        return [rule for rule in declared if rule is not None]

    def rules(self, statics: Mapping[str, Any]) -> Rules:
        """Return the forward and the rules as functions of flat lists of arrays, with the structural arguments fixed.

        Each takes the arguments (and tangents or seeds), then the values of `params`, and returns the list of its
        results. The JVP and VJP compute the residuals by `fwd` themselves, where there is one.
        """

        def call(rule: Rule | None, args: Sequence[Any], params: Sequence[Any]) -> Any:
            return self.call_rule(rule, *args, statics={**statics, **dict(zip(self.params, params, strict=True))})

        def of(rule: Rule | None) -> Callable[[list, list], list]:
            return lambda args, params: _leaves(call(rule, args, params))

        def with_residuals(rule: Rule | None) -> Callable[[list, list, list], list]:
            def run(args: list, moves: list, params: list) -> list:
                arguments = args if self.fwd_rule is None else [call(self.fwd_rule, args, params)[1]]
                return _leaves(call(rule, [*arguments, *moves], params))

            return run

        def primal(args: list, params: list) -> list:
            return _leaves(call(self.fwd_rule, args, params)[0])

        return Rules(
            of(self.forward),
            with_residuals(self.jvp_rule),
            with_residuals(self.vjp_rule),
            None if self.fwd_rule is None else primal,
            None if self.reference_rule is None else of(self.reference_rule),
        )

    def call_rule(self, rule: Rule | None, *args: Any, statics: Mapping[str, Any]) -> Any:
        """Return a rule's value, given the keyword arguments that it accepts. Raises DeclarationError if it is None."""
        if rule is None:
            raise DeclarationError(f"Op '{self.name}' ({self.where}) is used without all of its rules.")
        names = _keywords(rule)
        if names is None:
            return rule(*args, **statics)
        return rule(*args, **{name: value for name, value in statics.items() if name in names})

    def check_complete(self) -> None:
        """Raise DeclarationError, naming what is missing, unless all rules are declared."""
        missing = [kind for kind, rule in (("jvp", self.jvp_rule), ("vjp", self.vjp_rule)) if rule is None]
        if missing:
            raise DeclarationError(
                f"Op '{self.name}' ({self.where}) is declared without its {' and '.join(missing)}. "
                f"Add {' and '.join(f'@{self.name}.{kind}' for kind in missing)} below it: an op without rules cannot "
                "be proved, and is not registered."
            )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the op's value: a JAX function of its arrays, whose derivatives are the declared rules.

        An argument whose class has `__certgrad_apply__` carries out the call itself, as a value on a tape does, which
        records it.
        """
        taking = next((x for x in (*args, *kwargs.values()) if hasattr(type(x), "__certgrad_apply__")), None)
        if taking is not None:
            return taking.__certgrad_apply__(self, args, kwargs)
        return self.call_case(*args, **kwargs) if self.several_rule is None else self.several_rule(*args, **kwargs)

    def call_case(self, *args: Any, **kwargs: Any) -> Any:
        """Return the op's value for a call that one case covers."""
        from certgrad.ops._call import call

        self.check_complete()
        return call(self, args, kwargs)

    def run(self, arrays: Sequence[Any], statics: dict[str, Any]) -> Any:
        """Return the op's value at arrays of the right dtypes, differentiable by its rules."""
        from certgrad.ops._execute import execute

        if not any(jnp.issubdtype(x.dtype, jnp.floating) for x in arrays):
            return self.call_rule(self.forward, *arrays, statics=statics)
        return execute(self, arrays, statics)

    def __repr__(self) -> str:
        return f"<op {self.name}: {'; '.join(map(str, self.cases))}>"

    def _read_arguments(self) -> None:
        """Check signatures, cases and parameters against the forward's arguments. Raises DeclarationError."""
        parameters = list(self.__signature__.parameters.values())
        positional = tuple(p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD)
        self.defaults = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is not p.empty}
        self.statics = tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)
        self.arg_names = positional
        unknown = [name for name in self.leading if name not in self.statics]
        if unknown:
            raise self._wrong(f"has '{unknown[0]}' as a leading argument, which is no keyword-only argument of it")
        # In a call, leading arguments come first and may be given by position; the forward takes them by keyword.
        by_name = {p.name: p.replace(kind=p.POSITIONAL_OR_KEYWORD) for p in parameters if p.name in self.leading}
        rest = [p for p in parameters if p.name not in by_name]
        self.__signature__ = inspect.Signature([*(by_name[name] for name in self.leading), *rest])
        if not self.cases:
            raise self._wrong('has no signature; write one, as in @op("*s -> *s")')
        for one in self.cases:
            if len(one.signature.inputs) != len(positional):
                raise self._wrong(
                    f"takes {len(positional)} arrays ({', '.join(positional)}), but its signature '{one.signature}' "
                    f"takes {len(one.signature.inputs)}; numbers and axes are keyword-only, after a '*'"
                )
            if any(spec.dtype != "float" for spec in one.signature.outputs):
                raise self._wrong(f"has an output that is no float in its signature '{one.signature}'")
            unknown = [name for name in one.statics if name not in self.statics or name in self.params]
            if unknown:
                raise self._wrong(f"has a case with '{unknown[0]}', which is no structural keyword argument of it")
        for name, constraint in self.params.items():
            if name not in self.statics:
                raise self._wrong(f"has the parameter '{name}', which is no keyword-only argument of it")
            if not isinstance(constraint, str | None):
                raise self._wrong(
                    f"has {constraint!r} as the constraint of '{name}', which is no text; several are joined by 'and', "
                    f"as in '{name} > 0 and {name} < 1'"
                )
            if constraint is not None:
                check_constraint(constraint, tuple(self.params), f"'{self.name}'")

    def _wrong(self, problem: str) -> DeclarationError:
        return DeclarationError(f"Op '{self.name}' ({self.where}) {problem}.")


def _leaves(value: Any) -> list:
    return list(value) if isinstance(value, (tuple, list)) else [value]


@lru_cache(maxsize=1024)
def _keywords(rule: Rule) -> frozenset[str] | None:
    """Return the names of a rule's keyword-only arguments; None if it takes any."""
    accepted = inspect.signature(rule).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in accepted):
        return None
    return frozenset(p.name for p in accepted if p.kind is p.KEYWORD_ONLY)


def op(*cases: str | Case, registry: Registry = registry, **options: Any) -> Callable[[Rule], Op]:
    """Return a decorator that declares an op by one signature or several cases, and the options below.

    domain: what the proof assumes of the arguments, at every index: comparisons such as "x > 0"; several in a tuple.
    params: keyword arguments that are real numbers, each with a constraint such as "eps > 0" or None.
    broadcast: the arguments broadcast as in numpy. integers: integer arguments stay integers, as in jnp.add.
    leading: keyword arguments that a call may also give by position, before the arrays: einsum("ij,jk->ik", x, y).
    like, torch: the functions of JAX and PyTorch that compute the same. convention: what the rules return where the
    domain excludes a point. torch_at: what PyTorch returns there. magnitudes: those of arguments at which the op is no
    NaN in floats, which is measured. source: where the formula is from, or why the derivative is this one. aliases:
    further names. The decorator raises DeclarationError where these do not fit each other.
    """

    def declare(forward: Rule) -> Op:
        return registry.add(Op(forward, cases, **options))

    return declare
