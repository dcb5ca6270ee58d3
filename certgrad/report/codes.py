"""The meaning of each code, for `certgrad explain CODE` and the documentation. A code never changes its meaning."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Code:
    """A code, the obligation that it names, and an example of a rule that breaks it."""

    code: str
    kind: str
    title: str
    statement: str
    meaning: str
    example: str


CODES: dict[str, Code] = {
    entry.code: entry
    for entry in (
        Code(
            code="CG101",
            kind="jvp_is_derivative",
            title="the JVP is the derivative of the forward",
            statement="for all x in the domain and all dx: jvp(x, dx) = d/dt forward(x + t·dx) at t = 0",
            meaning=(
                "The JVP (forward mode) maps a tangent dx to the change of the output. certgrad traces the forward at "
                "symbolic dimensions, differentiates the traced program along dx, and proves that the JVP computes the "
                "same real number at every index, for every shape. At a point that the hypotheses exclude (a kink, the "
                "edge of the domain) nothing is claimed; what the rule returns there is its convention."
            ),
            example=(
                "@op('*s -> *s')\n"
                "def square(x):\n"
                "    return x * x\n"
                "\n"
                "@square.jvp\n"
                "def _(x, dx):\n"
                "    return x * dx          # refuted: the derivative is 2 * x * dx"
            ),
        ),
        Code(
            code="CG102",
            kind="vjp_is_adjoint",
            title="the VJP is the adjoint of the JVP",
            statement="for all x, dx and seed: ⟨jvp(x, dx), seed⟩ = ⟨dx, vjp(x, seed)⟩",
            meaning=(
                "The VJP (reverse mode) maps a seed, the cotangent of the output, to one cotangent for every argument. "
                "The inner products sum over all entries, so the law fixes the VJP completely once the JVP is known: "
                "together with CG101 it says that reverse mode returns the gradient. Alone it says nothing about the "
                "derivative, because a JVP and a VJP that share a mistake still satisfy it."
            ),
            example=(
                "@op('n, n -> n')\n"
                "def mul(x, y):\n"
                "    return x * y\n"
                "\n"
                "@mul.vjp\n"
                "def _(x, y, seed):\n"
                "    return seed * x, seed * y    # refuted: the two cotangents are swapped"
            ),
        ),
        Code(
            code="CG103",
            kind="rule_runs_forward",
            title="the rule returns the value of the forward",
            statement="for all x in the domain: the primal output of the rule = forward(x)",
            meaning=(
                "A rule with residuals computes the output again (its fwd). JAX does not check that it equals the "
                "function: if it does not, value_and_grad returns another value than the call itself. An op without "
                "a fwd of its own runs the forward as it is, and the claim is immediate."
            ),
            example=(
                "@softplus.fwd\n"
                "def _(x):\n"
                "    e = jnp.exp(x)\n"
                "    return jnp.log(e), e      # refuted: the forward is log(1 + exp(x))"
            ),
        ),
        Code(
            code="CG104",
            kind="forward_equals_reference",
            title="the forward computes what the reference says",
            statement="for all x in the domain: forward(x) = reference(x)",
            meaning=(
                "An op that computes a function in another order (in tiles, by a scan) can state the plain function "
                "beside it (its reference). Both are traced and proved equal, at every index and for every shape, "
                "however many tiles there are. The reference never runs when the op is called. Only an op that "
                "declares one has this obligation."
            ),
            example=(
                "@op('n d -> n')\n"
                "def total(x):\n"
                "    return jax.lax.scan(lambda c, column: (c + column, None), jnp.ones(x.shape[0]), x.T)[0]\n"
                "\n"
                "@total.reference\n"
                "def _(x):\n"
                "    return jnp.sum(x, axis=1)    # refuted: the scan starts at 1"
            ),
        ),
    )
}

REMARKS: dict[str, Code] = {
    entry.code: entry
    for entry in (
        Code(
            code="CG201",
            kind="rule_is_audited",
            title="a rule was found and not audited",
            statement="nothing is claimed of the rule, and the reason is given",
            meaning=(
                "The module does not import, the rule is not finished (a custom_vjp without defvjp), nothing says its "
                "shapes and none was found that traces, or its audit ended its process. Fails with --strict."
            ),
            example="@jax.custom_vjp\ndef f(x):          # CG201: a custom_vjp without defvjp\n    return x",
        ),
        Code(
            code="CG202",
            kind="shapes_are_declared",
            title="the shapes were inferred",
            statement="the verdict is about shapes that were found to trace; the author did not state them",
            meaning=(
                "Shapes are stated by certgrad.declare, by jaxtyping annotations, or in [tool.certgrad.signatures]. "
                "Where nothing does, certgrad infers the most general sizes at which the function runs, for each "
                "choice of ranks that the code allows, and reports the best choice; the remark names those at which "
                "the rule fails. `certgrad audit --fix` writes the shapes beside the rule, marked as inferred: they "
                "count when the mark is removed. Fails with --strict."
            ),
            example='@certgrad.declare("n d -> n")   # then there is nothing to infer\n@jax.custom_vjp\ndef f(x): ...',
        ),
        Code(
            code="CG203",
            kind="argument_has_a_gradient",
            title="the rule returns None for a float argument",
            statement="nothing is proved of the derivative in this argument",
            meaning=(
                "A backward function that returns None for an argument says that it has no gradient there; JAX then "
                "uses zeros. The verdict then says 'no gradient for' it. If that is meant, leave the argument out by "
                "`differentiable`; an argument that is named there is claimed to have the derivative 0. It is not "
                "said of one that the function only compares, as it does a mask: there is no gradient to lose. Fails "
                "with --strict."
            ),
            example="def bwd(residuals, g):\n    return g * residuals, None    # CG203: no gradient for the second",
        ),
        Code(
            code="CG204",
            kind="claim_is_about_all_arguments",
            title="the claim leaves something out",
            statement="some arguments, values of an option, sizes or calls are no part of what is claimed",
            meaning=(
                "By `differentiable` the declaration says which arguments the claim is about: the cotangents of the "
                "others may be anything. An option of which nothing is said is tried at its other values, and a size "
                "that was given as a number: where nothing is proved there, the reason stands in the remark. Fails "
                "with --strict, unless it is ignored; `static` and `sizes` say what is meant."
            ),
            example='@certgrad.declare("n, n -> n", differentiable=["x"])   # CG204: no claim is made about w',
        ),
        Code(
            code="CG205",
            kind="ignore_is_needed",
            title="an ignore comment is wrong, or nothing needs it",
            statement="a comment `# certgrad: ignore[CG102] reason` has no effect",
            meaning=(
                "It names no code, gives no reason, or ignores what is proved. Fails with --strict, so that comments "
                "go when what they excuse is mended."
            ),
            example="def f(x):  # certgrad: ignore[CG102] outdated since the rule was mended",
        ),
        Code(
            code="CG206",
            kind="declaration_fits",
            title="the declaration does not fit the rule",
            statement="the rule was not audited, because what is said of it is wrong",
            meaning=(
                "The signature does not parse, has another number of arrays than the function, or names an argument "
                "that it does not have. Always fails: otherwise a renamed argument would end the audit in silence."
            ),
            example='@certgrad.declare("n d -> n")   # CG206: takes 2 array arguments (x, w), but ... has 1\n'
            "@jax.custom_vjp\ndef f(x, w): ...",
        ),
        Code(
            code="CG207",
            kind="derivative_is_of_the_function",
            title="the derivative is that of an ideal function",
            statement="the declaration says by `approximates` which function the rule is the derivative of",
            meaning=(
                "CG101 and CG102 are then about that function, and CG103 about the one that runs. How far apart the "
                "two are is measured at drawn points, in ball arithmetic, and not proved. Fails with --strict, unless "
                "it is ignored."
            ),
            example='@certgrad.declare("n -> n", approximates=jnp.exp)   # CG207: f approximates jax.numpy.exp\n'
            "@jax.custom_jvp\ndef f(x): ...",
        ),
        Code(
            code="CG208",
            kind="module_imports",
            title="a module does not import",
            statement="the rules of a module were not audited, because it does not parse or import",
            meaning=(
                "A module of a package has a syntax error, raises an error, needs what is not installed, or ends the "
                "process. Always fails: otherwise all its rules would leave the audit in silence. A module that is not "
                "meant to be audited is left out by `per-file-ignores`."
            ),
            example="import tensorflow   # CG208: No module named 'tensorflow'",
        ),
        Code(
            code="CG209",
            kind="bounds_are_declared",
            title="bounds of an argument are assumed",
            statement="the rule is wrong elsewhere, and proved under bounds of an argument without a gradient",
            meaning=(
                "Nobody says where a width, a label or a probability lies, and the rule is right for delta > 0 alone. "
                "Such a half-line or range is taken and listed as a hypothesis, of arguments without a gradient of "
                "which no domain speaks, where no code of the rule handles the values outside. `domain` declares it. "
                'Fails with --strict, and with strict = ["assumed"].'
            ),
            example='@certgrad.declare("n, -> n", domain="delta > 0")   # without the domain: CG209\n'
            "@jax.custom_vjp\ndef huber(x, delta): ...",
        ),
        Code(
            code="CG210",
            kind="exact_evaluation_agrees",
            title="exact evaluation does not agree",
            statement="the rule is proved, and the second prover takes it not, or not alone",
            meaning=(
                "What is proved is evaluated over a finite field as well (docs/exact.md), without the calculus, where "
                '--strict=exact or strict = ["exact"] asks for it. Programs that are not followed there, and '
                "what is proved up to rounding or at sizes, have the verdict of the proof alone. It is no doubt of "
                "the proof. Fails where it is asked for."
            ),
            example="$ certgrad audit mypkg --strict=exact",
        ),
    )
}
"""What is said of rules in code beside their obligations. They have no place in a certificate."""
