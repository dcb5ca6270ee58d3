"""The proof that a program takes the stated step of every trained parameter, and of no other."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp

from certgrad.errors import RuleError, UsageError
from certgrad.language.tree import Statement
from certgrad.obligations.prove.implied import implied as implies
from certgrad.rules import Equality, equal
from certgrad.training._updates import COUNT, GRADIENT, THETA, Named, Run, Update, staged


def applied(run: Run, params: Named, grads: Named, state: Named, hyper: Named) -> tuple[dict[str, Any], Any]:
    """Return the parameters and the state after a step of `run`, which gets only the parameters that have a gradient.

    All other parameters are returned as they are.

    Raises RuleError where `run` does not return exactly those parameters.
    """
    trained = {n: params[n] for n in grads}
    result = run(trained, grads, state, hyper)
    if not isinstance(result, tuple) or len(result) != 2 or not isinstance(result[0], Mapping):
        raise RuleError("An update returns two things: the new parameters by name, and the new state.")
    new, new_state = result
    missing, unknown = [n for n in trained if n not in new], [n for n in new if n not in trained]
    if missing or unknown:
        what = f"does not return {missing[0]}" if missing else f"returns {unknown[0]}, which it was not given"
        raise RuleError(f"The update {what}. It returns every parameter that it was given, by the same name.")
    return {**params, **new}, new_state


def prove_update(
    update: Update,
    trained: Mapping[str, str],
    frozen: Mapping[str, str] | None = None,
    run: Run | None = None,
    domain: Sequence[str] = (),
) -> Equality:
    """Prove that a program takes the stated step, for all shapes, gradients and hyperparameters; return the equality.

    Both sides are functions of the same named arrays: `runs` by the program, `stated` by the formula, each parameter by
    itself. `equal` proves that they return the same new parameters and state.

    Args:
        update: the stated update.
        trained: the shape of each parameter that is trained: `{"W": "d h", "b": "h"}`.
        frozen: the shapes of parameters that must stay as they are.
        run: the program, as `Update.run`; the update's own if None.
        domain: further hypotheses, beside those of the statement, over `theta_W`, `g_W`, `m_W`, `t`, `lr` and the like:
            `"t < 2147483647"` for a program whose counter stops there.

    Raises:
        UsageError: no parameter is trained, or one is both trained and frozen.
    """
    problem = _Shapes(update, trained, frozen or {})
    program = update.run if run is None else run

    def runs(params: Named, grads: Named, state: Named, hyper: Named) -> Any:
        new, new_state = applied(program, params, grads, state, hyper)
        return problem.result(new, new_state)

    def stated(params: Named, grads: Named, state: Named, hyper: Named) -> Any:
        t = state[COUNT] + 1 if update.counts else None
        moments = {n: tuple(state[m][n] for m in update.moments) for n in grads}
        # Stages see all gradients at once, as clipping by their norm needs; the formula sees one parameter at a time.
        grads = staged(update.stages, {n: params[n] for n in grads}, grads, hyper)
        steps = {n: update.stated(params[n], grads[n], moments[n], t, hyper) for n in grads}
        new_state: dict[str, Any] = {m: {n: steps[n][k + 1] for n in grads} for k, m in enumerate(update.moments)}
        if update.counts:
            new_state[COUNT] = t
        return problem.result({**params, **{n: steps[n][0] for n in grads}}, new_state)

    name = getattr(program, "__name__", "the update").lstrip("_")
    return equal(
        problem.flat(runs, name),
        problem.flat(stated, f"stated {update.name}"),
        problem.signature,
        domain=(*problem.domain, *domain),
    )


def prove_kept(update: Update, shapes: Iterable[str] = ("n",)) -> Equality | None:
    """Prove that a stated step keeps the signs of moments that the update states; return None if it states none.

    `shapes` are those of parameters. A sign is proved as an equality: y ≥ 0 as y = |y|, and y > 0 as sign(y) = 1, for a
    new moment y. With `v ≥ 0` at the start, as `initial` has it, the hypothesis `v ≥ 0` then holds at every step.
    """
    signs = [(m, m in update.nonnegative) for m in (*update.nonnegative, *update.positive)]
    if not signs:
        return None
    distinct = list(dict.fromkeys(shapes))
    names = ["θ"] if len(distinct) == 1 else [f"θ{k + 1}" for k in range(len(distinct))]
    problem = _Shapes(update, dict(zip(names, distinct, strict=True)), {})

    def after(params: Named, grads: Named, state: Named, hyper: Named) -> list[tuple[bool, Any]]:
        """Return the new moments that have a sign, and of each whether it is nonnegative rather than positive."""
        t = state[COUNT] + 1 if update.counts else None
        out = []
        for n in names:
            stated_step = update.stated(params[n], grads[n], tuple(state[m][n] for m in update.moments), t, hyper)
            out += [(nonnegative, stated_step[1 + update.moments.index(m)]) for m, nonnegative in signs]
        return out

    def signed_moments(*args: Any) -> list[Any]:
        return [y if nonnegative else jnp.sign(y) for nonnegative, y in after(*args)]

    def wanted(*args: Any) -> list[Any]:
        return [jnp.abs(y) if nonnegative else jnp.ones_like(y) for nonnegative, y in after(*args)]

    kept = ", ".join(m for m, _ in signs)
    return equal(
        problem.flat(signed_moments, f"the new {kept}"),
        problem.flat(wanted, f"the new {kept} with the sign that it is said to have"),
        problem.signature,
        domain=problem.domain,
    )


def names_of(update: Update, trained: Iterable[str], kinds: Iterable[str]) -> frozenset[str]:
    """Return names in formulas of arrays of trained parameters: `m_W` for the kind `m`; of `theta`, `g` or a moment."""
    problem = _Shapes(update, dict.fromkeys(trained, "n"), {})
    return frozenset(name for kind in kinds for name in problem.entries(kind))


def implied(hypothesis: Statement, update: Update, trained: Iterable[str]) -> bool:
    """Return whether an update's conditions and stated signs imply a hypothesis, at each entry of a parameter.

    False means only that this is not shown.
    """
    problem = _Shapes(update, dict.fromkeys(trained, "n"), {})
    scalars = [*update.hyperparameters, *([COUNT] if update.counts else [])]
    arrays = [n for a in (THETA, GRADIENT, *update.moments) for n in problem.entries(a)]
    return implies(hypothesis, problem.domain, scalars, arrays)


class _Shapes:
    """The arguments of a step under names that formulas can have: `theta_W`, `g_W`, `m_W`, `t`, `lr`.

    `signature` and `domain` are the shapes and the hypotheses that `equal` takes for functions of these arguments.
    """

    def __init__(self, update: Update, trained: Mapping[str, str], frozen: Mapping[str, str]) -> None:
        """Make the arguments of an update's step from the parameters' shapes. Raises UsageError where names collide."""
        both = [n for n in trained if n in frozen]
        if both:
            raise UsageError(f"{both[0]} is both trained and frozen. Name it once.")
        if not trained:
            raise UsageError("No parameter is trained. Name at least one.")
        self.update = update
        self.keys = _identifiers([*trained, *frozen])
        shapes = {self.keys[n]: spec for n, spec in {**trained, **frozen}.items()}
        moved = {self.keys[n]: spec for n, spec in trained.items()}
        count = {COUNT: ":int"} if update.counts else {}
        hyper = dict.fromkeys(update.hyperparameters, "")
        self.arguments: dict[str, Any] = {THETA: shapes, GRADIENT: moved}
        self.arguments |= dict.fromkeys(update.moments, moved) | count | hyper
        self.signature = tuple(self.arguments.values())
        all_names = [*hyper, *count, *(n for a in (THETA, GRADIENT, *update.moments) for n in self.entries(a))]
        if twice := [n for k, n in enumerate(all_names) if n in all_names[:k]]:
            raise UsageError(
                f"With these parameters '{twice[0]}' stands for two arrays of the update {update.name}. "
                "Give the moment, the hyperparameter or the parameter another name."
            )
        entries = [f"{name} >= 0" for m in update.nonnegative for name in self.entries(m)]
        entries += [f"{name} > 0" for m in update.positive for name in self.entries(m)]
        self.domain = (*update.conditions, *entries)

    def entries(self, kind: str) -> list[str]:
        """Return the names in formulas of the arrays of a kind: `m_W` for every parameter W that has a moment `m`."""
        return [f"{kind}_{key}" for key in self.arguments[kind]]

    def flat(self, step: Callable[..., Any], name: str) -> Callable[..., Any]:
        """Return a step of parameters, gradients, state and hyperparameters as a function of arguments by position.

        `name` is the function's name in messages. Its signature is set by hand, because `equal` names arguments by it.
        """
        parameter_of_key = {key: n for n, key in self.keys.items()}

        def function(*args: Any) -> Any:
            values = dict(zip(self.arguments, args, strict=True))
            trees = {
                k: {parameter_of_key[key]: x for key, x in v.items()} if isinstance(v, dict) else v
                for k, v in values.items()
            }
            state = {k: trees[k] for k in (*self.update.moments, *([COUNT] if self.update.counts else []))}
            hyper = {k: trees[k] for k in self.update.hyperparameters}
            return step(trees[THETA], trees[GRADIENT], state, hyper)

        function.__name__ = name
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        function.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n in self.arguments])  # type: ignore[attr-defined]
        return function

    def result(self, params: Named, state: Named) -> Any:
        """Return the results of a step under their names in formulas. Raises RuleError if the state is no mapping."""
        if not isinstance(state, Mapping):
            raise RuleError("The new state of an update is a dictionary like the old one.")

        def keyed(value: Any) -> Any:
            return {self.keys.get(n, n): x for n, x in value.items()} if isinstance(value, Mapping) else value

        return keyed(params), {k: keyed(v) for k, v in state.items()}


def _identifiers(names: Sequence[str]) -> dict[str, str]:
    """Return a distinct identifier for each name: `params_W1` for `params['W1']`."""
    out: dict[str, str] = {}
    for name in names:
        base = re.sub(r"\W+", "_", name).strip("_") or "x"
        key, k = base, 2
        while key in out.values():
            key, k = f"{base}_{k}", k + 1
        out[name] = key
    return out
