"""What recording costs: seconds a call of a rule takes with and without it, run as `python benchmarks/recording.py`."""

import time

import jax
import jax.numpy as jnp

from certgrad.recording import Notes, noticed

COUNT = 100


@jax.custom_vjp
def rule(p, x):
    return x * p["w"] + p["b"]


rule.defvjp(lambda p, x: (rule(p, x), (p, x)), lambda r, g: ({"w": g * r[1], "b": g}, g * r[0]["w"]))


def make(k):
    made = jax.custom_jvp(lambda x: x * k)
    made.defjvp(lambda p, t: (p[0] * k, t[0] * k))
    return made


def main():
    x = jnp.ones(8)
    p = {"w": x, "b": x}
    jitted = jax.jit(rule)
    jitted(p, x)
    work = {
        "call without jit": lambda: rule(p, x),
        "gradient without jit": lambda: jax.grad(lambda x: rule(p, x).sum())(x),
        "rule made and called": lambda: make(2.0)(x),
        "call of a compiled function": lambda: jitted(p, x),
    }
    for name, run in work.items():
        plain = min(seconds(run) for _ in range(3))
        with noticed(Notes().note):
            noted = min(seconds(run) for _ in range(3))
        print(f"{name:28} {1e6 * plain:6.0f} µs, recorded {1e6 * noted:6.0f} µs ({1e6 * (noted - plain):+.0f} µs)")


def seconds(run):
    for _ in range(20):
        run()
    started = time.process_time()
    for _ in range(COUNT):
        run()
    return (time.process_time() - started) / COUNT


if __name__ == "__main__":
    main()
