"""`certgrad run` and `pytest --certgrad-record` as a user runs them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from certgrad.cli import app

ROOT = Path(__file__).parents[2]
RULES = """
import jax
import jax.numpy as jnp

@jax.custom_vjp
def energy(x, w):
    return jnp.sum(x * w, axis=-1) ** 2

def fwd(x, w):
    s = jnp.sum(x * w, axis=-1)
    return s**2, (x, w, s)

def bwd(res, g):
    x, w, s = res
    return 2 * (g * s)[:, None] * w, jnp.sum(2 * (g * s)[:, None] * x, axis=0)

energy.defvjp(fwd, bwd)

@jax.custom_jvp
def wrong(x):
    return x * x

wrong.defjvp(lambda p, t: (p[0] * p[0], p[0] * t[0]))

@jax.custom_jvp
def never(x):
    return x

never.defjvp(lambda p, t: (p[0], t[0]))
"""
TRAIN = """
import sys
import jax, jax.numpy as jnp
from rules import energy, wrong

print(sys.argv, sys.path[0], __name__, __file__, sys.modules["__main__"].energy is energy)
print(jax.grad(lambda x: energy(x, jnp.arange(3.0)).sum())(jnp.ones((2, 3))))
if "fail" in sys.argv:
    wrong("text")
wrong(jnp.ones(2))
sys.exit("the end" if "text" in sys.argv else 7)
"""
FLAG = """
import jax, jax.numpy as jnp

class Net:
    train = False

    def __call__(self, x):
        return jnp.sum(act(x))

net = Net()

@jax.custom_vjp
def act(x):
    return jnp.sin(x)

act.defvjp(lambda x: (act(x), x), lambda x, g: ((2 if net.train else 1) * g * jnp.cos(x),))
jax.grad(net)(jnp.ones(3))
net.train = True
jax.grad(net)(jnp.ones(3))
net.train = False
"""
FIT = """
import jax
import jax.numpy as jnp

def loss(params, x):
    out = jnp.tanh(x @ params["w"]) @ params["v"]
    return (out**2).mean(), out

@jax.jit
def step(params, x):
    (value, out), gradient = jax.value_and_grad(loss, has_aux=True)(params, x)
    return gradient

step({"w": jnp.ones((3, 4)), "v": jnp.ones((4, 2))}, jnp.ones((5, 3)))
print(jax.grad(lambda x: jnp.log(x).sum())(jnp.ones(3)))
print(jax.jit(lambda a: jax.grad(lambda x: a * x)(1.0))(2.0))
"""
TESTS = """
import jax.numpy as jnp
from rules import energy

def test_energy():
    assert energy(jnp.ones((2, 3)), jnp.ones(3)).shape == (2,)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rules.py").write_text(RULES)
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "test_rules.py").write_text(TESTS)
    return tmp_path


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu", "CERTGRAD_FORMAT": "text"}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def certgrad(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    return python(folder, "-m", "certgrad", *arguments)


def test_a_script(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its output and exit code are Python's; the report is on stderr; what is saved serves the next audit."""
    done = certgrad(folder, "run", "--no-conformance", "--save", "certgrad-recorded.toml", "train.py", "-q", "--x=1")
    said = ("['train.py', '-q', '--x=1']", folder, "__main__", folder / "train.py", True)
    gradient = "[[ 0.  6. 12.]\n [ 0.  6. 12.]]"
    assert (done.returncode, done.stdout) == (7, f"{' '.join(map(str, said))}\n{gradient}\n")
    report = done.stderr
    assert 'note: rules:energy (rules.py:5): called once; audited as "n d, d"' in report
    assert "CG101 rules:wrong.jvp_is_derivative: refuted" in report
    assert "CG201 rules:never (rules.py:25): not audited: it was not called in this run" in report
    assert "2 of 3 rules: 1 proved, 0 proved under hypotheses, 0 unproved, 1 refuted" in report
    assert "note: 'certgrad-recorded.toml' has the declarations of 2 rules" in report
    monkeypatch.chdir(folder)
    again = CliRunner().invoke(
        app, ["audit", "--format", "text", "--no-conformance", "--jobs", "1", "--no-cache", "rules.py"]
    )
    assert "CG202 rules:energy" not in again.stderr
    assert "CG202 rules:never" in again.stderr
    assert "note: rules.py: 3 rules found, all audited" in again.stderr


@pytest.mark.slow
def test_a_script_that_fails_is_shown_as_python_shows_it(folder: Path) -> None:
    plain = python(folder, "train.py", "fail")
    done = certgrad(folder, "run", "--no-conformance", "-q", "--strict", "train.py", "fail")
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout) == (1, plain.stdout)
    assert done.stderr.startswith(plain.stderr.rstrip("\n"))
    assert "rules:energy" in done.stderr


@pytest.mark.slow
def test_what_is_differentiated(folder: Path) -> None:
    """Under jit and with an auxiliary output; the program is as ever, and what closes over a traced value is named."""
    (folder / "fit.py").write_text(FIT)
    plain = python(folder, "fit.py")
    done = certgrad(folder, "run", "--graphs", "--strict", "fit.py")
    assert (done.returncode, done.stdout) == (1, plain.stdout)
    report = done.stderr
    assert "fit:loss (fit.py:5): proved at float32[4, 2], float32[3, 4], float32[5, 3], called once" in report
    assert "(fit.py:15): proved under hypotheses at float32[3], called" in report
    assert "\n  log at fit.py:15: every element of `x` > 0: holds for your arrays\n" in report
    assert "not certified at no arrays, called once" in report
    assert "it closes over a traced value (float32[])" in report
    assert report.endswith("2 of 3 certified\n")
    assert certgrad(folder, "run", "--graphs", "fit.py").returncode == plain.returncode == 0


@pytest.mark.slow
@pytest.mark.slow
def test_a_flag_that_is_set_back_before_the_end(folder: Path) -> None:
    """The rule is wrong while it is set, and right at the end; `--strict` fails for the rule and for what holds it."""
    (folder / "flag.py").write_text(FLAG)
    assert certgrad(folder, "run", "--graphs", "flag.py").returncode == 0
    done = certgrad(folder, "run", "--graphs", "--strict", "flag.py")
    assert done.returncode == 1
    assert "note: CG204 flag:act (flag.py:12): no claim is made about some calls: " in done.stderr
    assert "net.train (False, later True)" in done.stderr
    assert "Net.train (True, later False)" in " ".join(done.stderr.split())


@pytest.mark.slow
def test_functions_of_jax_alone_are_nothing_to_certify(folder: Path) -> None:
    (folder / "sine.py").write_text("import jax, jax.numpy as jnp\njax.grad(jnp.sin)(1.0)\n")
    assert certgrad(folder, "run", "--graphs", "sine.py").stderr.endswith("certgrad: nothing was differentiated\n")


@pytest.mark.slow
def test_a_module(folder: Path) -> None:
    """The tests of a package, unchanged; findings fail where they are asked to."""
    done = certgrad(folder, "run", "--no-conformance", "-q", "--strict", "-m", "pytest", "-q", "test_rules.py")
    assert done.returncode == 1, "a rule was not called, and --strict fails on it"
    assert "1 passed" in done.stdout
    assert "Module already imported" not in done.stdout
    assert "1 of 3 rules: 1 proved" in done.stderr


@pytest.mark.slow
def test_the_option_of_pytest(folder: Path) -> None:
    done = python(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--certgrad-record", "test_rules.py")
    assert done.returncode == 0, done.stdout
    assert "derivative rules that were called" in done.stdout
    assert "1 of 3 rules: 1 proved" in done.stdout


def test_wrong_usage(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    for arguments, said in (
        ((), "Name what to run"),
        (("nothing.py",), "There is no file 'nothing.py' to run."),
        (("--save", "no/where.toml", "train.py"), "no is no folder"),
    ):
        done = CliRunner().invoke(app, ["run", *arguments])
        assert done.exit_code == 2
        assert said in " ".join(done.stderr.split())
