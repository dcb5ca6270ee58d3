"""Counts of a long run leave the device as it goes, in order, and none is lost."""

import jax.numpy as jnp

from certgrad.accel._monitor import MOST_WAITING, Monitor


def test_the_numbers_of_a_long_run_do_not_stay_on_the_device():
    monitor = Monitor(["x > 0"])
    calls = 2 * MOST_WAITING + 3
    for k in range(calls):
        monitor.add(monitor.names, jnp.array([k]), jnp.array(k % 2 == 0))
        assert len(monitor._waiting) < MOST_WAITING
    assert monitor.series("x > 0") == list(range(calls))
    assert monitor.metrics() == {"x > 0": calls - 1, "not finite": (calls - 1) % 2}
