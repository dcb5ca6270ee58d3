"""The examples of `examples/train`: the certificate comes first, and what they train falls."""

import importlib
import sys
from typing import Any

import pytest

_EXAMPLES = {"digits mlp": 200, "digits cnn": 200, "characters": 200, "recurrent": 200, "pinn": 300}


@pytest.mark.slow
@pytest.mark.parametrize("example", _EXAMPLES)
def test_an_example_prints_its_certificate_and_trains(
    example: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("optax", *(["sklearn"] if "digits" in example else [])):
        pytest.importorskip(package)
    name, *network = example.split()
    monkeypatch.setattr(sys, "argv", [name])
    run: Any = importlib.import_module(f"examples.train.{name}").main(*network, steps=_EXAMPLES[example])
    assert capsys.readouterr().out.startswith("training step of loss by adam")
    first, last = run.log.entries[0], run.log.entries[-1]
    assert last.loss < first.loss
    assert last.metrics.get("right", 1) > 0.6
