"""The committed report's statement on trust, on its first page. `docs/trust.md` says more about each row."""

TRUSTED: list[tuple[str, str]] = [
    ("both laws, for all shapes, over ℝ", "proved by certgrad's kernel, under the listed hypotheses"),
    ("the witness of a refutation", "checked by ball arithmetic, without the proof's calculus"),
    (
        "the rules that run are the rules that are proved",
        "by construction: the proof traces the very callables that run",
    ),
    ("the kernel: semantics of JAX's primitives, differentiation, normal form", "trusted; tests and mutants attack it"),
    ("sympy: derivatives of scalar functions", "trusted"),
    ("flint: exact rationals and polynomials, ball arithmetic", "trusted"),
    ("JAX's tracing: the traced program is what the function computes", "trusted"),
    ("JAX's and numpy's functions treat every rank and every dimension alike", "trusted"),
    ("JAX's transformations and XLA's compilation of that program", "outside"),
    ("floating point: rounding, overflow, reassociation", "outside"),
    (
        "conventions: what a rule returns at an excluded point",
        "computed from the rule and stated, no part of the theorem",
    ),
]
"""What is trusted, and at which level of assurance."""
MEANINGS: list[tuple[str, str]] = [
    (
        "proved",
        "the JVP is the derivative of the forward and the VJP is the adjoint of the JVP, for every shape that fits "
        "the signature (dimensions are at least 1) and every real input",
    ),
    (
        "proved under hypotheses",
        "the same, at every input that satisfies the conditions listed beside it",
    ),
    (
        "proved up to rounding",
        "the same of the program with its long literals read as the exact numbers listed (√2/2 for 0.7071067811865476)",
    ),
    (
        "refuted",
        "a concrete shape and rational input are given at which the two sides provably differ",
    ),
    (
        "unproved",
        "the proof did not close, and the certificate says why. It is not a claim in either direction",
    ),
    (
        "surrogate",
        "the author declared that the rule is deliberately not the derivative",
    ),
]
"""What each verdict says, for a page without the introduction."""
_INTRODUCTION = """\
# What certgrad proves about its op library

`certgrad report` writes this directory, and `certgrad report --check` says whether it is current. Do not edit it by
hand.

## What a verdict means

Every op ships a forward, a JVP and a VJP written by hand.

- `proved`: the JVP is the derivative of the forward and the VJP is the adjoint of the JVP, for **every shape** that
  fits the op's signature (dimensions are at least 1) and **every real input**.
- `proved under hypotheses`: the same, at every input that satisfies the conditions listed beside it.
- `proved up to rounding`: the same of the program with its long literals read as the exact numbers listed (√2/2 for
  0.7071067811865476).
- `refuted`: a concrete shape and rational input are given at which the two sides provably differ.
- `unproved`: the proof did not close, and the certificate says why. It is not a claim in either direction.
- `surrogate`: the author declared that the rule is deliberately not the derivative.

The theorem is about real numbers, **not about float32**: it says nothing of rounding, overflow or underflow. The
derivative is taken along a direction; it is the Fréchet derivative, because on the open set that the hypotheses
describe each op is a composition of continuously differentiable functions.

## What is trusted

{trusted}

[docs/trust.md](../docs/trust.md) says more about each row."""
INTRODUCTION = _INTRODUCTION.format(
    trusted="\n".join(["| what | level of assurance |", "| --- | --- |", *(f"| {a} | {b} |" for a, b in TRUSTED)])
)

OPS = """\
## Ops

The name of an op links to its certificate, which follows [schema.json](schema.json). `jvp`: the JVP is the derivative
of the forward. `vjp`: the VJP is the adjoint of the JVP. `fwd`: the rule returns the forward's value. A convention is
what the rule returns where nothing is claimed."""
