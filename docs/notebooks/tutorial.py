# %% [markdown]
# # The tutorial, in a notebook
#
# `pip install certgrad`, and then everything happens in Python. The [tutorial](../tutorial.md) does the same from the
# command line.

# %%
import jax
import jax.numpy as jnp

import certgrad

# %% [markdown]
# ## A rule that is wrong
#
# The author of this softmax remembered that the derivative of exp is exp.


# %%
@jax.custom_vjp
def softmax(x):
    e = jnp.exp(x - jnp.max(x, axis=-1, keepdims=True))
    return e / jnp.sum(e, axis=-1, keepdims=True)


softmax.defvjp(lambda x: (softmax(x),) * 2, lambda y, g: (y * g,))

report = certgrad.check(softmax, "n d -> n d")
print(report)

# %% [markdown]
# `refuted` comes with a point at which both sides were computed rigorously. The likely cause is named, and what to add.
#
# ## A rule that is right


# %%
@jax.custom_vjp
def softmax(x):
    e = jnp.exp(x - jnp.max(x, axis=-1, keepdims=True))
    return e / jnp.sum(e, axis=-1, keepdims=True)


softmax.defvjp(lambda x: (softmax(x),) * 2, lambda y, g: (y * (g - jnp.sum(y * g, axis=-1, keepdims=True)),))

report = certgrad.check(softmax, "n d -> n d")
print(report.verdict)

# %% [markdown]
# Proved: for every n and d, at every real input, with no tolerance. The claims are data:

# %%
for claim in report.certificate.claims:
    print(claim.code, claim.statement, [case.scope for case in claim.cases], claim.hypotheses)

# %% [markdown]
# ## A rule with a hypothesis
#
# |x| has a kink at 0. The claim is about arrays without a 0, and the hypothesis says so. At 0 nothing is claimed.


# %%
@jax.custom_jvp
def magnitude(x):
    return jnp.abs(x)


@magnitude.defjvp
def _(primals, tangents):
    return magnitude(primals[0]), jnp.sign(primals[0]) * tangents[0]


report = certgrad.check(magnitude, "*s -> *s")
print(report.verdict)
for claim in report.certificate.claims:
    print(claim.code, [(h.text, h.prose) for h in claim.hypotheses])

# %% [markdown]
# ## Two functions that are equal
#
# No rule is needed to ask whether two ways to compute something agree everywhere:

# %%
print(certgrad.equal(lambda x: jnp.log(jnp.sum(jnp.exp(x))), lambda x: jax.nn.logsumexp(x), "n"))
