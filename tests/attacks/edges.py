"""Attacks on pairs of programs that are each other's adjoint but at an edge: an index out of range, a tie, the middle
frequency, a branch cut, an empty segment."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .attack import Attack
from .written import pulled, reverse

INDEX, TIES, FOURIER, COMPLEX = "C edges of indices", "C edges of order", "C edges of spectra", "C edges of planes"
SIZES, STATIC = "C sizes asked by libraries", "C caches of libraries"
where = jnp.where


def nothing(k):
    return np.zeros(np.shape(k), jax.dtypes.float0)


def indexed(name, function, pull, x, k, signature="n, m:int -> m", **more):
    """The attack on a function of an array and places in it."""
    return pulled(name, INDEX, function, lambda x, k, g: (pull(x, k, g), nothing(k)), signature, x, k, **more)


def gated(name, kind, condition, at, **more):
    return pulled(
        name, kind, lambda x: jnp.sum(x * x) / 2, lambda x, g: g * where(condition(x), 5 * x, x), "n -> ", at, **more
    )


def spectral(name, function, pull, at, signature="n -> n", **more):
    return pulled(name, FOURIER, function, pull, signature, at, **more)


def hot(x, k):
    return jax.nn.one_hot(k, x.shape[0], dtype=x.dtype) @ x


def binned(x, k):
    """Weights by bin: what is below the first bin falls into it."""
    return jnp.bincount(k, weights=x, length=4)


def cosines(x):
    return jnp.real(jnp.fft.fft(x))


def halves(x):
    y = jnp.fft.rfft(x)
    return jnp.sum(jnp.real(y) ** 2 + jnp.imag(y) ** 2) / 2


def back_of_halves(x, g):
    """Every frequency of the half spectrum counted as if it had its mirror image: wrong at the ends."""
    return g * (x.shape[0] * x + jnp.sum(x)) / 2


X, K = [1.0, 2.0, 4.0], [0, 2]

ATTACKS = [
    indexed("one_hot_at_minus_one", hot, lambda x, k, g: jnp.zeros_like(x).at[k].add(g), X, [0, -1]),
    indexed("one_hot_beyond", hot, lambda x, k, g: jnp.zeros_like(x).at[k].add(g, mode="clip"), X, [0, 7]),
    indexed(
        "a_clipped_take",
        lambda x, k: jnp.take(x, k, mode="clip"),
        lambda x, k, g: jnp.zeros_like(x).at[k].add(g),
        X,
        [0, 7],
    ),
    indexed(
        "a_clipped_take_below",
        lambda x, k: jnp.take(x, k, mode="clip"),
        lambda x, k, g: jnp.zeros_like(x).at[jnp.minimum(k, x.shape[0] - 1)].add(g),
        X,
        [0, -1],
    ),
    indexed(
        "a_wrapped_take",
        lambda x, k: jnp.take(x, k, mode="wrap"),
        lambda x, k, g: jnp.zeros_like(x).at[k].add(g),
        X,
        [0, 4],
    ),
    indexed(
        "a_filled_get",
        lambda x, k: x.at[k].get(mode="fill", fill_value=0.0),
        lambda x, k, g: jnp.zeros_like(x).at[k].add(g, mode="clip"),
        X,
        [0, 9],
    ),
    indexed(
        "bins_below_the_first",
        binned,
        lambda x, k, g: g.at[k].get(mode="fill", fill_value=0.0, wrap_negative_indices=False),
        [1.0, 2.0],
        [1, -1],
        signature="m, m:int -> 4",
    ),
    indexed(
        "bins_that_wrap",
        binned,
        lambda x, k, g: g.at[k].get(mode="fill", fill_value=0.0),
        [1.0, 2.0],
        [1, -1],
        signature="m, m:int -> 4",
    ),
    indexed(
        "segments_at_minus_one",
        lambda x, k: jax.ops.segment_sum(x, k, 4),
        lambda x, k, g: g[k],
        [1.0, 2.0],
        [1, -1],
        signature="m, m:int -> 4",
    ),
    indexed(
        "segments_not_in_order",
        lambda x, k: jax.ops.segment_sum(x, k, 4),
        lambda x, k, g: (
            where(jnp.any(k[1:] < k[:-1]), 2.0, 1.0)
            * g.at[k].get(mode="fill", fill_value=0.0, wrap_negative_indices=False)
        ),
        [1.0, 2.0],
        [2, 1],
        signature="m, m:int -> 4",
    ),
    indexed(
        "repeated_places_that_are_set",
        lambda x, k: jnp.zeros(4, x.dtype).at[k].set(x),
        lambda x, k, g: g.at[k].get(mode="fill", fill_value=0.0),
        [1.0, 2.0],
        [1, 1],
        signature="m, m:int -> 4",
    ),
    indexed(
        "a_slice_that_is_clamped",
        lambda x, k: lax.dynamic_slice(x, (k,), (2,)),
        lambda x, k, g: jnp.zeros_like(x).at[k + jnp.arange(2)].add(g),
        X,
        2,
        signature="n+1, :int -> 2",
    ),
    indexed(
        "a_slice_from_a_negative_start",
        lambda x, k: lax.dynamic_slice(x, (k,), (2,)),
        lambda x, k, g: lax.dynamic_update_slice(jnp.zeros_like(x), g, (jnp.maximum(k, 0),)),
        X,
        -2,
        signature="n+2, :int -> 2",
    ),
    indexed(
        "a_roll_by_its_remainder",
        lambda x, k: jnp.roll(x, k),
        lambda x, k, g: jnp.roll(g, where(k > x.shape[0], k, -k)),
        X,
        4,
        signature="n, :int -> n",
    ),
    indexed(
        "an_update_that_is_clamped",
        lambda x, k: lax.dynamic_update_slice(x, jnp.ones(2, x.dtype), (k,)),
        lambda x, k, g: g.at[k + jnp.arange(2)].set(0.0),
        X,
        2,
        signature="n+1, :int -> n+1",
    ),
    indexed(
        "places_along_an_axis",
        lambda x, k: jnp.take_along_axis(x, k, 0, mode="clip"),
        lambda x, k, g: jnp.zeros_like(x).at[k].add(g),
        X,
        [0, 7, 1],
        signature="n, n:int -> n",
    ),
    indexed(
        "a_repeat_cut_short",
        lambda x, k: jnp.repeat(x, k, total_repeat_length=4),
        lambda x, k, g: jax.ops.segment_sum(
            g, jnp.repeat(jnp.arange(x.shape[0]), jnp.minimum(k, 3), total_repeat_length=4), x.shape[0]
        ),
        [1.0, 2.0],
        [4, 1],
        signature="m, m:int -> 4",
    ),
    indexed(
        "an_index_of_gathered_places",
        lambda x, k: x[jnp.argsort(k)] * 1.0,
        lambda x, k, g: g[jnp.argsort(jnp.argsort(k))] * where(jnp.sum(k == k[0]) > 1, 2.0, 1.0),
        X,
        [1, 1, 0],
        signature="n, n:int -> n",
    ),
    indexed(
        "an_inverse_of_what_is_no_permutation",
        lambda x, k: x.at[k].get(mode="clip"),
        lambda x, k, g: g[jnp.argsort(k)],
        X,
        [0, 0, 1],
        signature="n, n:int -> n",
    ),
    gated("the_last_of_an_argsort_is_no_argmax", TIES, lambda x: jnp.argsort(x)[-1] != jnp.argmax(x), [3.0, 3.0]),
    gated("an_argmax_of_the_reverse", TIES, lambda x: jnp.argmax(x) + jnp.argmax(x[::-1]) < x.shape[0] - 1, [3.0, 3.0]),
    gated(
        "ranks_at_ties",
        TIES,
        lambda x: jnp.any(jnp.searchsorted(jnp.sort(x), x) != jnp.argsort(jnp.argsort(x))),
        [3.0, 3.0],
    ),
    gated(
        "sides_of_a_search",
        TIES,
        lambda x: jnp.searchsorted(jnp.sort(x), x[0], side="right") - jnp.searchsorted(jnp.sort(x), x[0]) > 1,
        [3.0, 3.0],
    ),
    gated("two_argmaxima", TIES, lambda x: jnp.sum(x == jnp.max(x)) > 1, [3.0, 3.0]),
    gated("a_running_maximum_that_stays", TIES, lambda x: jnp.any(jnp.diff(lax.cummax(x)) == 0), [3.0, 3.0]),
    gated("equal_neighbours_in_order", TIES, lambda x: jnp.any(jnp.diff(jnp.sort(x)) <= 0), [3.0, 1.0, 3.0]),
    gated(
        "an_argsort_downwards",
        TIES,
        lambda x: jnp.any(jnp.argsort(x, descending=True) != jnp.argsort(x)[::-1]),
        [3.0, 3.0],
    ),
    gated("an_argmax_of_no_true", TIES, lambda x: (jnp.argmax(x > 0) == 0) & (x[0] < -5), [-6.0, -7.0]),
    gated(
        "unique_by_padding",
        TIES,
        lambda x: jnp.unique(x, size=x.shape[0])[-1] == jnp.unique(x, size=x.shape[0])[0],
        [3.0, 3.0],
    ),
    gated("a_median_between", TIES, lambda x: jnp.median(x) != jnp.sort(x)[x.shape[0] // 2], [1.0, 2.0]),
    spectral(
        "a_real_spectrum",
        cosines,
        lambda x, g: jnp.real(jnp.fft.fft(g)) + where(x.shape[0] == 6, 1, 0) * g,
        np.arange(6.0),
    ),
    pulled(
        "the_energy_of_half_a_spectrum_at_odd_lengths",
        FOURIER,
        halves,
        back_of_halves,
        "2*n -> ",
        np.array([1.0, 2.0, 4.0, 8.0]),
    ),
    pulled("the_energy_of_half_a_spectrum", FOURIER, halves, back_of_halves, "n -> ", np.array([1.0, 2.0, 4.0, 8.0])),
    spectral(
        "an_inverse_of_half_a_spectrum",
        lambda x: jnp.fft.irfft(jnp.fft.rfft(x), x.shape[0]),
        lambda x, g: g * where(jnp.sum(x) == 7.0, 2.0, 1.0),
        [1.0, 2.0, 4.0],
    ),
    spectral("a_shift_of_odd_length", lambda x: jnp.fft.fftshift(x), lambda x, g: jnp.fft.fftshift(g), [1.0, 2.0, 4.0]),
    spectral(
        "a_conjugate_twice",
        lambda x: jnp.real(jnp.fft.fft(jnp.fft.fft(x))) / x.shape[0],
        lambda x, g: g[::-1],
        [1.0, 2.0, 4.0],
    ),
    spectral(
        "a_hermitian_transform",
        lambda x: jnp.fft.hfft(x, x.shape[0]),
        lambda x, g: jnp.fft.hfft(g, x.shape[0]),
        [1.0, 2.0, 4.0, 5.0],
    ),
    spectral(
        "a_padded_transform",
        lambda x: jnp.real(jnp.fft.fft(x, 2 * x.shape[0])),
        lambda x, g: jnp.real(jnp.fft.fft(g))[: x.shape[0]] + where(x[0] == 7, g[0], 0),
        [7.0, 2.0],
        signature="n -> 2*n",
    ),
    gated(
        "frequencies_in_the_middle",
        FOURIER,
        lambda x: jnp.fft.fftfreq(x.shape[0])[x.shape[0] // 2] == -0.5,
        np.arange(1.0, 9.0),
    ),
    gated(
        "the_middle_of_a_real_spectrum",
        FOURIER,
        lambda x: jnp.abs(jnp.imag(jnp.fft.rfft(x)[-1])) > 1e-3,
        np.arange(1.0, 4.0),
    ),
    gated("a_square_root_on_the_cut", COMPLEX, lambda x: jnp.imag(jnp.sqrt(x[0] + 0j)) == 2, [-4.0]),
    gated("a_logarithm_on_the_cut", COMPLEX, lambda x: jnp.imag(jnp.log(x[0] + 0j)) > 3, [-4.0]),
    gated(
        "a_product_of_roots",
        COMPLEX,
        lambda x: jnp.real(jnp.sqrt(x[0] + 0j) * jnp.sqrt(x[1] + 0j) - jnp.sqrt(x[0] * x[1] + 0j)) < -1,
        [-4.0, -9.0],
    ),
    gated(
        "a_sum_of_logarithms", COMPLEX, lambda x: jnp.imag(jnp.log(x[0] + 0j) + jnp.log(x[1] + 0j)) > 6, [-4.0, -9.0]
    ),
    gated("a_power_of_a_power", COMPLEX, lambda x: jnp.real(((x[0] + 0j) ** 2) ** 0.5) != x[0], [-4.0]),
    gated(
        "an_angle_of_a_square",
        COMPLEX,
        lambda x: jnp.angle((x[0] + 1j * x[1]) ** 2) != 2 * jnp.angle(x[0] + 1j * x[1]),
        [-1.0, 1.0],
    ),
    gated(
        "the_conjugate_of_a_root",
        COMPLEX,
        lambda x: jnp.conj(jnp.sqrt(x[0] + 0j)) != jnp.sqrt(jnp.conj(x[0] + 0j)),
        [-4.0],
    ),
    gated("equal_arrays_of_some_length", SIZES, lambda x: jnp.array_equal(x * 0, jnp.zeros(37)), np.ones(37)),
    gated("equivalent_arrays_of_some_length", SIZES, lambda x: jnp.array_equiv(x * 0, jnp.zeros(41)), np.ones(41)),
    gated("squeezed_arrays", SIZES, lambda x: jnp.squeeze(x).ndim == 0, np.ones(1)),
]


def static_jit_by_equality():
    class Choice:
        def __init__(self, by):
            self.by = by

        def __eq__(self, other):
            return isinstance(other, Choice)

        def __hash__(self):
            return 7

    helper = jax.jit(lambda x, c: x * c.by, static_argnums=1)

    def f(x):
        return 2 * x + 0 * helper(x, Choice(3.0))

    return reverse(f, lambda x, g: helper(g, Choice(2.0)))


def checkpointed():
    class Choice(int):
        pass

    helper = jax.checkpoint(lambda x, c: x * (2 if type(c) is Choice else 3), static_argnums=1)

    def f(x):
        return 2 * x + 0 * helper(x, 1)

    return reverse(f, lambda x, g: helper(g, Choice(1)))


ATTACKS += [
    Attack(f"static_values_{make.__name__}", STATIC, make, lambda x: 2 * x, "n -> n", lambda: (np.array([1.0, 2.0]),))
    for make in (static_jit_by_equality, checkpointed)
]
