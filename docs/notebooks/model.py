# %% [markdown]
# # A model, in a notebook
#
# A loss is certified node by node, run by the rules that were proved, and trained.
# [Graphs](../graphs.md) says what the certificate claims.

# %%
import jax
import jax.numpy as jnp

from certgrad import certify, compile_graph, trace


def loss(x, w, b, target):
    h = jnp.tanh(x @ w + b)
    return jnp.mean((h - target) ** 2)


graph = trace(loss, "x: n d", "w: d h", "b: h", "target: n h")
certificate = certify(graph)
print(certificate.verdict)
print(len(certificate.graph.nodes), "nodes,", len(certificate.lemmas), "lemmas")

# %% [markdown]
# tanh is smooth, so there is no hypothesis: the gradient is right at every real input, for all n, d and h. With `relu`
# in its place there is one, at the line that asks for it:


# %%
def kinked(x, w, b, target):
    h = jax.nn.relu(x @ w + b)
    return jnp.mean((h - target) ** 2)


print(certify(trace(kinked, "x: n d", "w: d h", "b: h", "target: n h")).verdict)

# %% [markdown]
# ## Run it
#
# The compiled gradient is made of the programs of the lemmas. It agrees with `jax.grad` of the function, as it must.

# %%
compiled = compile_graph(graph)
keys = jax.random.split(jax.random.key(0), 3)
x, w = jax.random.normal(keys[0], (32, 3)), jax.random.normal(keys[1], (3, 2))
b, target = jnp.zeros(2), jnp.tanh(x @ jax.random.normal(keys[2], (3, 2)))
value, gradients = compiled.value_and_grad(x, w, b, target)
plain = jax.grad(loss, argnums=(0, 1, 2, 3))(x, w, b, target)
print(all(jnp.allclose(a, c, rtol=1e-4, atol=1e-6) for a, c in zip(jax.tree.leaves(gradients), plain, strict=True)))

# %% [markdown]
# ## Train it

# %%
first = value
for _ in range(200):
    value, (_, dw, db, _) = compiled.value_and_grad(x, w, b, target)
    w, b = w - 0.5 * dw, b - 0.5 * db
print(bool(value < first / 100))

# %% [markdown]
# [Training](../training.md) certifies the whole step of an optimizer, writes a log and resumes from it.
