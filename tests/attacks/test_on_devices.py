"""Wrong rules of `shard_map`: shown to be wrong in a process with four devices, and proved nowhere."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from .attack import Attack
from .doors import outcome
from .on_devices import ATTACKS_ON_DEVICES


@pytest.mark.slow
def test_they_are_wrong_on_four_devices() -> None:
    devices = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-m", "tests.attacks.on_devices"]
    run = subprocess.run(command, env={**os.environ, **devices}, capture_output=True, text=True, timeout=600)
    assert f"{len(ATTACKS_ON_DEVICES)} rules are wrong on four devices; not wrong: []" in run.stdout, run.stderr


@pytest.mark.one_in(30)
@pytest.mark.parametrize("attack", ATTACKS_ON_DEVICES, ids=lambda attack: attack.name)
def test_none_is_proved(attack: Attack) -> None:
    found = outcome(attack, "check")
    assert not found.verdict.startswith("proved"), found
