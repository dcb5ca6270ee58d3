"""The rule of a rule: the derivative that JAX makes of what a rule returns, which is what second derivatives run.

A rule returns cotangents, and the function's value where its forward computes it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from certgrad.errors import UsageError
from certgrad.obligations.generality.traces import Spec, Trace, Traces

from .user_rule import UserRule


def gradients_of(rule: UserRule, traces: Traces) -> list[tuple[Callable, str, list[str]]]:
    """Return, for each case, the function that the rule is, its signature, and the names of its active arguments.

    The function takes the arguments and the seeds, and returns the cotangents and the values.

    Raises:
        UsageError: the rule does not trace, the outputs' shapes are not known, or a static number is left open.
    """
    if rule.params:
        raise UsageError(
            f"order=2 needs values for {', '.join(rule.params)} of {rule.name} ({rule.where}): give them by "
            "certgrad.each."
        )
    out = []
    for k, case in enumerate(rule.cases):
        trace = traces.make(Spec(k, 0, (), True))
        if not isinstance(trace, Trace):
            raise UsageError(
                f"order=2 looks at the cotangents of {rule.name} ({rule.where}), which do not trace: {trace}"
            )
        # Seeds have the shapes of the outputs. Declared shapes have the user's names of sizes, traced ones may not.
        shapes = [" ".join(map(str, shape)) for shape in trace.programs.out_shapes]
        declared = rule.outputs_declared
        if declared is not None and len(declared) == len(shapes):
            shapes = [" ".join(map(str, spec.dims)) for spec in declared]
        elif rule.signature.stars:
            raise UsageError(
                f"order=2 needs the shapes of the outputs of {rule.name} ({rule.where}): write them behind '->'."
            )
        used_names = {*rule.arg_names}
        seeds = [_unused("seed" if len(shapes) == 1 else f"seed{j}", used_names) for j in range(len(shapes))]
        inputs = [_text(spec) for spec in case.signature.inputs] + shapes
        gradient = _gradient(rule, dict(case.statics), [*rule.arg_names, *seeds])
        out.append((gradient, ", ".join(inputs), [*rule.moving, *seeds]))
    return out


def _gradient(rule: UserRule, statics: dict[str, Any], names: list[str]) -> Callable:
    rules, count = rule.rules(statics), len(rule.arg_names)
    code = tuple(rule.code)  # in the closure of `gradient`, so that a look at what code reaches finds the rule's code

    def gradient(*arrays: Any) -> Any:
        assert code
        xs, seeds = list(arrays[:count]), list(arrays[count:])
        values = rules.primal(xs, []) if rules.primal else ()
        return (*rules.vjp(xs, seeds, []), *values)

    parameters = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in names]
    gradient.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return gradient


def _unused(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _text(spec: Any) -> str:
    """Return the shape of an argument as a signature writes it; a float array without a gradient is a float array."""
    dims = " ".join(map(str, spec.dims))
    return dims if spec.dtype in ("float", "held") else f"{dims}:{spec.dtype}"
