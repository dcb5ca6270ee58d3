"""How much of certgrad a rule in a user's code loads."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

SOFTPLUS = """
@jax.custom_vjp
def function(x):
    return jnp.log1p(jnp.exp(x))
function.defvjp(lambda x: (function(x), x), lambda x, g: (g * jax.nn.sigmoid(x),))
shapes = "n"
"""

SQUARES = """
@jax.custom_vjp
def function(x, w):
    return jnp.sum((x @ w) ** 2)
def backward(kept, g):
    x, w = kept
    y = 2 * g * (x @ w)
    return y @ w.T, x.T @ y
function.defvjp(lambda x, w: (function(x, w), (x, w)), backward)
shapes = "n d, d m -> "
"""

DECLARATIONS = {"certgrad.ops", "certgrad.ops._declare"}
"""Of the ops at most the form of their declaration; the library itself never."""


@pytest.mark.one_in(2)
@pytest.mark.parametrize("rule, most", [(SOFTPLUS, 204), (SQUARES, 233)], ids=["softplus", "squares"])
def test_a_check_of_a_users_rule_loads_no_op_and_few_files(rule: str, most: int, tmp_path: Path) -> None:
    file = tmp_path / "rule.py"
    file.write_text(f"""
import sys
import jax, jax.numpy as jnp
{rule}
import certgrad
assert certgrad.check(function, shapes).verdict.startswith("proved")
print(*sorted(name for name in sys.modules if name.split(".")[0] == "certgrad"))
""")
    done = subprocess.run(
        [sys.executable, str(file)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = done.stdout.split()
    assert {name for name in loaded if name.startswith("certgrad.ops")} <= DECLARATIONS
    assert len(loaded) <= most, loaded
