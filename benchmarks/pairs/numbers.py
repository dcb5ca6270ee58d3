"""Checks by floats that right rules are right, and wrong ones wrong: `python -m benchmarks.pairs.numbers functions`."""

from __future__ import annotations

import functools
import importlib
import os
import sys
import warnings

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.pairs.form import Pair


def gap(rule, reference, args, seed) -> float:
    """The largest relative difference of value and cotangents, or of tangents where the rule is in forward mode."""
    leaves, tree = jax.tree.flatten(args)
    leaves = [jnp.asarray(leaf) for leaf in leaves]
    places = [i for i, leaf in enumerate(leaves) if jnp.issubdtype(leaf.dtype, jnp.inexact)]

    def outputs(function, inputs):
        full = list(leaves)
        for place, value in zip(places, inputs, strict=True):
            full[place] = value
        made = jax.tree.leaves(function(*jax.tree.unflatten(tree, full)))
        return [out for out in made if jnp.issubdtype(jnp.asarray(out).dtype, jnp.inexact)]

    inputs = [leaves[i] for i in places]
    rng = np.random.default_rng(seed)

    def draw(like):
        value = rng.normal(size=like.shape)
        if jnp.issubdtype(like.dtype, jnp.complexfloating):
            value = value + 1j * rng.normal(size=like.shape)
        return jnp.asarray(value, like.dtype)

    def pulled(function):
        value, back = jax.vjp(lambda *xs: outputs(function, xs), *inputs)
        return value, back

    value, back = pulled(reference)
    seeds = [draw(out) for out in value]
    cotangents = back(seeds)
    mine, mine_back = pulled(rule)
    got = mine_back(seeds)
    worst = 0.0
    pairs = [*zip(value, mine, strict=True), *zip(value, outputs(rule, inputs), strict=True)]
    pairs += zip(cotangents, got, strict=True)
    for place, cotangent in enumerate(cotangents):  # each alone, which symbolic zeros see

        def alone(x, place=place):
            return outputs(rule, [*inputs[:place], x, *inputs[place + 1 :]])

        pairs.append((cotangent, jax.vjp(alone, inputs[place])[1](seeds)[0]))
    for a, b in pairs:
        if a.shape != b.shape:
            return np.inf
        a, b = np.asarray(a), np.asarray(b)
        d = np.max(np.abs(a - b), initial=0.0)
        worst = max(worst, float(d / (1 + np.max(np.abs(a), initial=0.0))) if np.isfinite(d) else np.inf)
    return worst


def examine(pair: Pair) -> str:
    """The empty text, or what does not hold."""
    right, wrong, *rest = pair.make()
    reference = rest[0] if rest else right.fun
    wrong_reference = rest[0] if rest else wrong.fun
    static = pair.options.get("static", {})
    right, wrong, reference, wrong_reference = (
        functools.partial(made, **static) for made in (right, wrong, reference, wrong_reference)
    )
    said = []
    far = 0.0
    for seed in range(6):
        args = pair.sample(np.random.default_rng(seed))
        off = gap(right, reference, args, seed)
        if not off < 1e-8:
            said.append(f"right is off by {off:.2g} at seed {seed}")
        at = pair.seam() if pair.seam else args
        try:
            off = gap(wrong, wrong_reference, at, seed)
        except (TypeError, ValueError) as error:
            said.append(f"(wrong raises {type(error).__name__})")
            off = np.inf
        far = max(far, off)
    if not far > 1e-7:
        said.append(f"wrong is off by {far:.2g} only")
    return "; ".join(dict.fromkeys(said))


def main() -> int:
    jax.config.update("jax_enable_x64", True)
    warnings.simplefilter("ignore")
    bad = 0
    for name in sys.argv[1:]:
        name, _, only = name.partition(":")
        for pair in importlib.import_module(f"benchmarks.pairs.{name}").PAIRS:
            if only and only not in pair.name:
                continue
            try:
                said = examine(pair)
            except Exception as error:
                said = f"{type(error).__name__}: {str(error)[:400]}"
            bad += bool(said) and not said.startswith("(")
            print(f"{name}:{pair.name}: {said or 'fine'}", flush=True)
    return bool(bad)


if __name__ == "__main__":
    raise SystemExit(main())
