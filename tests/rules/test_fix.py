"""Bounds written into declarations: the source is changed there, and nowhere else."""

import pytest

from certgrad.rules._fix import with_domain

RULE = "@jax.custom_vjp\ndef f(x, delta): ...\n"
CASES = {
    "no domain": ('@certgrad.declare("n, ")\n', '@certgrad.declare("n, ", domain="delta > 0")\n'),
    "another name": ('@declare("n, ")\n', '@declare("n, ", domain="delta > 0")\n'),
    "several lines": (
        '@certgrad.declare(\n    "n, ",  # δ\n    differentiable=["x"],\n)\n',
        '@certgrad.declare(\n    "n, ",  # δ\n    differentiable=["x"], domain="delta > 0",\n)\n',
    ),
    "a text": (
        '@certgrad.declare("n, ", domain="x > 1", order=2)\n',
        '@certgrad.declare("n, ", domain=["x > 1", "delta > 0"], order=2)\n',
    ),
    "a list": (
        '@certgrad.declare("ä, ", domain=["x > 1", "x < 2"])\n',
        '@certgrad.declare("ä, ", domain=["x > 1", "x < 2", "delta > 0"])\n',
    ),
    "line ends": ('@certgrad.declare("n, ")\r\n', '@certgrad.declare("n, ", domain="delta > 0")\r\n'),
}
LEFT = {
    "no declaration": "",
    "a computed domain": '@certgrad.declare("n, ", domain=DOMAIN)\n',
    "options from elsewhere": '@certgrad.declare("n, ", **OPTIONS)\n',
    "in parentheses": '@certgrad.declare(("n, "))\n',
    "no syntax": '@certgrad.declare("n, "\n',
}


@pytest.mark.parametrize("name", CASES)
def test_the_domain_is_written(name: str) -> None:
    before, after = CASES[name]
    first = "import certgrad\n\n"
    found = with_domain((first + before + RULE).encode(), 3, "f", ["delta > 0"])
    assert found == (first + after + RULE).encode()


@pytest.mark.parametrize("name", LEFT)
def test_what_cannot_take_it_is_left(name: str) -> None:
    assert with_domain((LEFT[name] + RULE).encode(), 1, "f", ["delta > 0"]) is None


def test_another_function_is_left() -> None:
    source = f'@certgrad.declare("n, ")\n{RULE}'.encode()
    assert with_domain(source, 2, "f", ["delta > 0"]) is None
    assert with_domain(source, 1, "g", ["delta > 0"]) is None
