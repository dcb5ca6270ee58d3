"""Rules of maps over devices, on a machine with one: right ones are proved, their wrong twins refuted."""

from functools import partial

import jax
import jax.numpy as jnp
import pytest
from jax import lax
from jax.sharding import AbstractMesh, AxisType
from jax.sharding import PartitionSpec as P

from certgrad import check

pytestmark = pytest.mark.usefixtures("proofs_alone")

TURN, BACK = ([(j, (j + by) % 3) for j in range(3)] for by in (1, -1))


def on(ins, outs, **options):
    mesh = AbstractMesh((3,), ("i",), axis_types=(AxisType.Auto,))
    return partial(jax.shard_map, mesh=mesh, in_specs=ins, out_specs=outs, **options)


def rule(forward, backward):
    f = jax.custom_vjp(forward)
    f.defvjp(lambda *x: (forward(*x), x), lambda x, g: backward(*x, g))
    return f


def log_mean(x):
    return on(P("i"), P())(lambda x: jnp.log(lax.pmean(jnp.mean(jnp.exp(x)), "i")))(x)


def weights(x, total):
    return jnp.exp(x) / (total(jnp.sum(jnp.exp(x))) if total else jnp.sum(jnp.exp(x)))


def log_mean_rule(everywhere):
    total = partial(lax.psum, axis_name="i") if everywhere else None
    back = on((P("i"), P()), P("i"))(lambda x, g: g * weights(x, total))
    return rule(log_mean, lambda x, g: (back(x, g),)), "3*k n -> "


def turned_product(x):
    return on(P("i"), P("i"))(lambda x: x * lax.ppermute(x, "i", TURN))(x)


def turned_product_rule(where):
    def back(x, g):
        return g * lax.ppermute(x, "i", TURN) + lax.ppermute(g * x, "i", where)

    return rule(turned_product, lambda x, g: (on((P("i"), P("i")), P("i"))(back)(x, g),)), "3 n -> 3 n"


def scattered(x, w):
    """Rows of a product whose inner sum is split over devices."""
    ins = P(None, "i"), P("i")
    return on(ins, P("i"))(lambda x, w: lax.psum_scatter(x @ w, "i", scatter_dimension=0, tiled=True))(x, w)


def scattered_rule(tiled):
    def back(x, w, g):
        g = lax.all_gather(g, "i", tiled=True) if tiled else jnp.concatenate([g, g, g])
        return g @ w.T, x.T @ g

    specs = P(None, "i"), P("i")
    return rule(scattered, on((*specs, P("i")), specs)(back)), "3*n 3*d, 3*d m -> 3*n m"


def exchanged(x):
    return on(P("i"), P("i"))(lambda x: jnp.sin(lax.all_to_all(x, "i", 1, 0, tiled=True)))(x)


def exchanged_rule(undone):
    def back(x, g):
        y = jnp.cos(lax.all_to_all(x, "i", 1, 0, tiled=True)) * g
        return lax.all_to_all(y, "i", 0, 1, tiled=True) if undone else jnp.concatenate(jnp.split(y, 3), 1)

    return rule(exchanged, lambda x, g: (on((P("i"), P("i")), P("i"))(back)(x, g),)), "3 3*n -> 9 n"


def summed_outside(x):
    return on(P("i"), P())(lambda x: lax.psum(x**3, "i"))(x)


def summed_outside_rule(shared):
    """The cotangent of what all devices hold goes to all; a part of it where it is cut."""

    def back(x, g):
        return 3 * x**2 * (g if shared else g * lax.axis_index("i"))

    return rule(summed_outside, lambda x, g: (on((P("i"), P()), P("i"))(back)(x, g),)), "3 n -> 1 n"


def shared_weight(w, x):
    return on((P(), P("i")), P("i"), check_vma=False)(lambda w, x: jnp.tanh(w * x))(w, x)


def shared_weight_rule(summed):
    """An output that is said to be the same everywhere, and is no number where it is not."""

    def back(w, x, g):
        d = g * (1 - jnp.tanh(w * x) ** 2)
        dw = jnp.sum(d * x, 0)
        return lax.psum(dw, "i") if summed else dw, d * w

    return rule(shared_weight, on((P(), P("i"), P("i")), (P(), P("i")), check_vma=False)(back)), "n, 3 n -> 3 n"


MADE = [log_mean_rule, turned_product_rule, scattered_rule, exchanged_rule, summed_outside_rule, shared_weight_rule]


@pytest.mark.one_in(7)
@pytest.mark.parametrize("make", MADE)
@pytest.mark.parametrize("right", [True, False])
def test_rules(make, right):
    given = right if make is not turned_product_rule else BACK if right else TURN
    f, signature = make(given)
    report = check(f, signature)
    assert report.verdict == ("proved" if right else "refuted"), report
    if right:
        assert "devices: 3 along i; another number of them is another program" in report.claims[0].idealisations


def said_to_be_the_same(f, shape):
    mesh = AbstractMesh((2,), ("i",), axis_types=(AxisType.Auto,))
    shared = jax.shard_map(f, mesh=mesh, in_specs=P("i"), out_specs=P(), check_vma=False)
    return check(rule(shared, lambda x, g: (jnp.broadcast_to(g, x.shape),)), f"2 n -> {shape}")


def test_what_is_the_same_on_all_devices_is_shown_not_taken():
    swapped = [(0, 1), (1, 0)]
    assert said_to_be_the_same(lambda x: x + lax.ppermute(x, "i", swapped), "1 n").verdict == "proved"
    assert said_to_be_the_same(lambda x: 2 * x, "1 n").verdict == "unproved"
