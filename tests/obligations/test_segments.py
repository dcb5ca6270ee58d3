"""Maxima of segments: of the entries that a scatter takes to one place, of which there may be none."""

import jax
import jax.numpy as jnp
import pytest

from certgrad import check

SEGMENTS = ["seg >= 0", "seg < 3"]


def largest(x, seg):
    return jax.ops.segment_max(x, seg, num_segments=3)


def or_zero(x, seg):
    m = largest(x, seg)
    return jnp.where(jnp.isfinite(m), m, 0.0)


def rule(forward, backward):
    f = jax.custom_vjp(forward)
    f.defvjp(lambda x, seg: (forward(x, seg), (x, seg)), lambda r, g: (backward(*r, g), None))
    return f


def to_the_largest(x, seg, g):
    return jnp.where(x == largest(x, seg)[seg], g[seg], 0.0)


def verdict(forward, backward, domain=SEGMENTS):
    return check(rule(forward, backward), "n, n:int -> 3", domain=domain).verdict


def test_the_largest_of_each_segment():
    found = check(rule(or_zero, to_the_largest), "n, n:int -> 3", domain=SEGMENTS)
    assert found.verdict == "proved under hypotheses"
    assert "argmax of x[j] over j where [i-seg[j] = 0] = 1 is unique wherever (Σ{j<n} [i-seg[j] = 0]) > 0 for i<3" in (
        "\n".join(found.hypotheses)
    )


def smallest(x, seg):
    m = jax.ops.segment_min(x, seg, num_segments=3)
    return jnp.where(jnp.isfinite(m), m, 0.0)


@pytest.mark.slow
def test_the_smallest_of_each_segment():
    def backward(x, seg, g):
        return jnp.where(x == jax.ops.segment_min(x, seg, num_segments=3)[seg], g[seg], 0.0)

    assert verdict(smallest, backward) == "proved under hypotheses"
    assert verdict(smallest, to_the_largest) == "refuted"


def or_sum(x, seg):
    """What stands for an empty segment depends on the entries."""
    m = largest(x, seg)
    return jnp.where(jnp.isfinite(m), m, jnp.sum(x))


def first_in_place_of_none(x, seg, g):
    """The arg-maximum of nothing is the first entry."""
    masked = jnp.where(seg[None, :] == jnp.arange(3)[:, None], x[None, :], -1e9)
    places = jnp.argmax(masked, axis=1)
    return jnp.zeros_like(x).at[places].add(g)


WRONG = {
    "of all entries": (or_zero, lambda x, seg, g: jnp.where(x == jnp.max(x), g[seg], 0.0)),
    "to every entry": (or_zero, lambda x, seg, g: g[seg]),
    "twice": (or_zero, lambda x, seg, g: 2 * to_the_largest(x, seg, g)),
    "of another segment": (or_zero, lambda x, seg, g: jnp.where(x == largest(x, seg)[seg], g[2 - seg], 0.0)),
    "wrong for empty segments alone": (or_sum, to_the_largest),
    "the first entry for an empty segment": (or_zero, first_in_place_of_none),
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", WRONG)
def test_mistakes(name):
    assert verdict(*WRONG[name]) in ("refuted", "unproved")


def raised(y, x, seg):
    """With a number to begin with, of which there is always one."""
    return y.at[seg].max(x)


def raised_rule(backward):
    f = jax.custom_vjp(raised)
    f.defvjp(lambda *a: (raised(*a), a), lambda r, g: (*backward(*r, g), None))
    return f


@pytest.mark.slow
def test_with_a_number_to_begin_with():
    def backward(y, x, seg, g):
        out = raised(y, x, seg)
        return jnp.where(out == y, g, 0.0), jnp.where(x == out[seg], g[seg], 0.0)

    def without(y, x, seg, g):
        return g, backward(y, x, seg, g)[1]

    for mistake in (without, lambda y, x, seg, g: (backward(y, x, seg, g)[0], g[seg])):
        assert check(raised_rule(mistake), "3, n, n:int -> 3", domain=SEGMENTS).verdict in ("refuted", "unproved")


@pytest.mark.one_in(2)
@pytest.mark.parametrize("start", [-jnp.inf, jnp.inf])
def test_entries_that_are_masked_take_no_part(start):
    """Nothing is claimed where the mask leaves one out: it is not read as what it would be without the mask."""
    segment, of = (jax.ops.segment_max, largest) if start < 0 else (jax.ops.segment_min, smallest)

    def masked(x, kept, seg):
        m = segment(jnp.where(kept, x, start), seg, num_segments=3)
        return jnp.where(jnp.isfinite(m), m, 0.0)

    f = jax.custom_vjp(masked)
    f.defvjp(
        lambda x, kept, seg: (masked(x, kept, seg), (x, seg)),
        lambda r, g: (jnp.where(r[0] == of(*r)[r[1]], g[r[1]], 0.0), None, None),
    )
    found = check(f, "n, n:bool, n:int -> 3", domain=SEGMENTS)
    assert "kept > 0" in [str(h) for h in found.hypotheses] or not found.proved, found


SOFTMAX = ["seg >= 0", "seg < 4"]


def weights(scores, seg):
    """Softmax over the entries of each of 4 segments."""
    w = jnp.exp(scores - jax.ops.segment_max(scores, seg, 4)[seg])
    return w / jax.ops.segment_sum(w, seg, 4)[seg]


def pooled(scores, values, seg):
    return jax.ops.segment_sum(weights(scores, seg)[:, None] * values, seg, 4)


def pooling(backward):
    f = jax.custom_vjp(pooled)
    f.defvjp(lambda *args: (pooled(*args), args), lambda residuals, g: (*backward(*residuals, g), None))
    return f


def right_pooling(scores, values, seg, g):
    a = weights(scores, seg)
    return a * jnp.sum((values - pooled(scores, values, seg)[seg]) * g[seg], -1), a[:, None] * g[seg]


def without_the_mean(scores, values, seg, g):
    a = weights(scores, seg)
    return a * jnp.sum(values * g[seg], -1), a[:, None] * g[seg]


def with_the_mean_of_all(scores, values, seg, g):
    a = weights(scores, seg)
    mean = jnp.sum(a[:, None] * values, axis=0)
    return a * jnp.sum((values - mean) * g[seg], -1), a[:, None] * g[seg]


def to_the_next_segment(scores, values, seg, g):
    a = weights(scores, seg)
    return a * jnp.sum((values - pooled(scores, values, seg)[seg]) * g[seg], -1), a[:, None] * g[(seg + 1) % 4]


def test_softmax_over_segments():
    """What is subtracted is the same in a segment: it cancels; and a segment with an entry has a positive sum."""
    found = check(pooling(right_pooling), "n, n d, n:int -> 4 d", domain=SOFTMAX)
    assert found.verdict == "proved under hypotheses"
    assert sorted(found.hypotheses) == ["seg < 4", "seg ≥ 0"]


@pytest.mark.parametrize("backward", [without_the_mean, with_the_mean_of_all, to_the_next_segment])
def test_wrong_softmax_over_segments(backward):
    assert check(pooling(backward), "n, n d, n:int -> 4 d", domain=SOFTMAX).verdict == "refuted"


def test_one_entry_and_its_segment():
    """A scatter of one update to −∞ is the update, where it goes."""
    assert check(pooling(right_pooling), "1, 1 d, 1:int -> 4 d", domain=SOFTMAX).verdict == "proved under hypotheses"


def test_bounds_that_the_code_says_by_a_length_are_assumed():
    # It takes most of an audit's seconds, and more on a slower machine: what is left then lists more hypotheses.
    report = check(pooling(right_pooling), "n, n d, n:int -> 4 d", seconds=120)
    assert report.verdict == "proved under hypotheses"
    assert sorted(report.hypotheses) == ["seg < 4", "seg ≥ 0"]
