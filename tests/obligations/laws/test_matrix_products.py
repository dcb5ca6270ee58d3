"""Products of matrices that determine each other: the normal form is worth what numpy computes."""

import random

import jax.numpy as jnp
import numpy as np
import pytest
from flint import fmpq

from tests.obligations.meaning.semantics.example import example, real
from tests.obligations.meaning.semantics.numerics import Point, compare_values, meaning

inverse, cholesky = jnp.linalg.inv, jnp.linalg.cholesky


def definite(a):
    return a @ a.T + 2 * jnp.eye(a.shape[0])


FACTORS = {
    "A": lambda a: a,
    "Aᵀ": lambda a: a.T,
    "A⁻¹": lambda a: inverse(a),
    "A⁻ᵀ": lambda a: inverse(a).T,
    "A + Aᵀ": lambda a: a + a.T,
    "(A + Aᵀ)⁻¹": lambda a: inverse(a + a.T),
    "S": lambda a: definite(a),
    "S⁻¹": lambda a: inverse(definite(a)),
    "L": lambda a: cholesky(definite(a)),
    "Lᵀ": lambda a: cholesky(definite(a)).T,
    "L⁻¹": lambda a: inverse(cholesky(definite(a))),
    "L⁻ᵀ": lambda a: inverse(cholesky(definite(a))).T,
    "lower A": lambda a: jnp.tril(a),
    "strictly upper A": lambda a: jnp.triu(a, 1),
    "(lower A)⁻¹": lambda a: inverse(jnp.tril(a)),
}
MASKS = {"": lambda x: x, "lower": jnp.tril, "strictly lower": lambda x: jnp.tril(x, -1), "upper": jnp.triu}


def chains(count, seed=3):
    rng = random.Random(seed)
    for _ in range(count):
        names = [rng.choice(list(FACTORS)) for _ in range(rng.randint(2, 4))]
        yield names, rng.choice(list(MASKS)), rng.randrange(len(names))


def product(names, mask, place):
    """The product, with a mask on what its first factors make."""

    def program(a):
        total = FACTORS[names[0]](a)
        for k, name in enumerate(names[1:]):
            total = (MASKS[mask](total) if k == place else total) @ FACTORS[name](a)
        return total

    return program


@pytest.mark.one_in(12)
@pytest.mark.parametrize(
    ("names", "mask", "place"),
    [pytest.param(*c, id=f"{'·'.join(c[0])} {c[1]} {c[2]}") for c in chains(14)],
)
def test_products(names, mask, place):
    one = example("custom_linear_solve", product(names, mask, place), real("s", "n n"), name="a product", largest=3)
    known = meaning(one, {})
    rng = np.random.default_rng(1)
    compared = 0
    for n in (1, 2, 3):
        entries = {("s", at): fmpq(int(rng.integers(-8, 9)) * 2 + 1, 8) for at in np.ndindex(n, n)}
        compared += compare_values(known, Point(one, {"n": n}, entries))
    assert compared
