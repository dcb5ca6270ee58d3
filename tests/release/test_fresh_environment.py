"""The wheel where nothing else is installed: every command works, and what an extra is needed for says so in a line.

These tests install certgrad and what it needs from the package index.
"""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

import certgrad
from certgrad.cli._app import app

from .building import ROOT, build, copy

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Fresh:
    """An environment with the wheel, and a folder to work in."""

    python: Path
    wheel: Path
    folder: Path

    def run(self, *arguments: str, seconds: int = 300, **variables: str) -> subprocess.CompletedProcess[str]:
        """`certgrad ARGUMENTS`, from the environment's own script."""
        bare = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "CERTGRAD_", "PYTEST"))}
        return subprocess.run(
            [str(self.python.parent / "certgrad"), *arguments],
            cwd=self.folder,
            env={**bare, "JAX_PLATFORMS": "cpu", "COLUMNS": "100", **variables},
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Fresh:
    folder = tmp_path_factory.mktemp("fresh")
    (wheel,) = build(copy(folder / "source"), folder / "dist", "--wheel")
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    python = folder / "venv/bin/python"
    constraints = str(ROOT / "constraints.txt")
    subprocess.run([str(python), "-m", "pip", "install", "-q", "-c", constraints, str(wheel)], check=True)
    work = folder / "work"
    work.mkdir()
    shutil.copy(ROOT / "examples/mlp.py", work / "mlp.py")
    (work / "rules.py").write_text(_RULES)
    (work / "program.py").write_text("import jax, rules\nprint(jax.grad(rules.double)(1.0))\n")
    return Fresh(python, wheel, work)


_RULES = """
import certgrad
import jax


@certgrad.declare("*s -> *s")
@jax.custom_vjp
def double(x):
    return 2 * x


double.defvjp(lambda x: (double(x), None), lambda _, g: (2 * g,))
"""
_SPECS = [f"--spec={one}" for one in ("x: n d", "W1: d h", "b1: h", "W2: h c", "b2: c", "target: n c")]
_SMOKE = {
    "list": (["list"], "relu "),
    "explain": (["explain", "relu"], "relu.jvp_is_derivative"),
    "audit": (["audit", "rules.py", "--strict"], "1 rule: 1 proved"),
    "init": (["init"], "certgrad audit"),
    "baseline": (["baseline", "rules.py"], "certgrad-baseline.json: 0 findings"),
    "diff": (["diff", "audit.json", "audit.json"], ""),
    "verify": (["verify", "audit.json", "--target", "rules.py"], "verified"),
    "export": (["export", "relu", "--coq", "--output", "proofs"], "2 theorems"),
    "graph": (["graph", "mlp.py:loss", *_SPECS], "proved"),
    "run": (["run", "program.py"], "2.0"),
    "conform": (["conform", "relu", "--ordinary", "--dtype", "float32"], "relu"),
    "lsp": (["lsp", "--help"], "certgrad[lsp]"),
    "watch": (["watch", "--help"], "audit"),
    "table": (["table", "--help"], "Markdown"),
    "report": (["report", "--help"], "--check"),
}
"""Each command with what it must print. Those of the library as a whole, and those that do not end, are only asked what
they take: they run what `audit` runs."""


def test_every_command_is_smoked() -> None:
    assert {command.name for command in app.registered_commands} == set(_SMOKE)


@pytest.mark.parametrize("command", _SMOKE)
def test_a_command_from_the_wheel(command: str, fresh: Fresh) -> None:
    arguments, said = _SMOKE[command]
    if "audit.json" in arguments and not (fresh.folder / "audit.json").exists():
        assert fresh.run("audit", "rules.py", "--output", "json=audit.json").returncode == 0
    done = fresh.run(*arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    assert said in done.stdout
    assert "Traceback" not in done.stderr


def test_the_version_of_the_wheel(fresh: Fresh) -> None:
    assert fresh.run("--version").stdout == f"certgrad {certgrad.__version__}\n"


_HTML = "needs jinja2. Install it with: pip install 'certgrad[html]'."
_MISSING = {
    "html of a graph": (["graph", "mlp.py:loss", *_SPECS, "--format", "html"], _HTML),
    "html of an audit": (["audit", "rules.py", "--output", "html=page.html"], _HTML),
    "lsp": (["lsp"], "Install it with: pip install 'certgrad[lsp]'."),
    "coq": (["verify", "audit.json", "--kernel", "coq"], "apt-get install coq libcoq-coquelicot"),
}
"""What cannot be done in it, with the end of the one line that says what to install."""


@pytest.mark.parametrize("missing", _MISSING)
def test_what_is_missing_is_named_in_one_line(missing: str, fresh: Fresh) -> None:
    """Coq is no package of Python's: it is looked for on PATH, where it is not."""
    arguments, said = _MISSING[missing]
    if "audit.json" in arguments:
        fresh.run("audit", "rules.py", "--output", "json=audit.json")
    done = fresh.run(*arguments, PATH="/nowhere")
    assert done.returncode == 2
    assert said in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


_IN_CODE = {
    "train": "from certgrad.training import curves; curves({}, 'log.png')",
    "export": "from certgrad.accel import export_graph; export_graph(None, 'model.zip')",
}


@pytest.mark.parametrize("extra", _IN_CODE)
def test_what_a_function_misses_is_named_in_the_last_line(extra: str, fresh: Fresh) -> None:
    done = subprocess.run([str(fresh.python), "-c", _IN_CODE[extra]], cwd=fresh.folder, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith(f"pip install 'certgrad[{extra}]'.")


@pytest.mark.parametrize("module", ["testing", "graph", "accel", "training", "special"])
def test_a_public_module_of_the_wheel(module: str, fresh: Fresh) -> None:
    subprocess.run([str(fresh.python), "-c", f"import certgrad.{module}"], cwd=fresh.folder, check=True)


def test_the_sample_plugin_in_the_environment(fresh: Fresh) -> None:
    """Last of those that use the environment, as it changes what it holds."""
    wheels = fresh.folder.parent / "plugin"
    (plugin,) = build(ROOT / "examples/plugin", wheels, "--wheel")
    zipfile.ZipFile(plugin).testzip()
    subprocess.run([str(fresh.python), "-m", "pip", "install", "-q", "--no-deps", str(plugin)], check=True)
    assert fresh.run("list").stdout.splitlines()[-1].startswith("certgrad_sample.ops:xlogx ")
    done = fresh.run("audit", "certgrad_sample.ops", "--format", "csv", "--no-cache")
    assert done.stdout.splitlines()[:2] == [
        "obligation,verdict,hypotheses",
        "certgrad_sample.ops:xlogx.jvp_is_derivative,proved under hypotheses,1",
    ], done.stderr


def test_uvx_audits_a_file_from_the_bare_wheel(fresh: Fresh) -> None:
    uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")
    assert uv is not None, "the extra `dev` has uv"
    done = subprocess.run(
        [uv, "tool", "run", "--python", sys.executable, "--from", str(fresh.wheel), "certgrad", "audit", "rules.py"],
        cwd=fresh.folder,
        env={**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "1 rule: 1 proved" in done.stdout


def test_the_bill_of_materials(fresh: Fresh, tmp_path: Path) -> None:
    """As `make sbom` writes it: CycloneDX, the same bytes each time."""
    texts = []
    for k in range(2):
        file = tmp_path / f"{k}.json"
        command = [str(Path(sys.executable).parent / "cyclonedx-py"), "environment", str(fresh.python)]
        options = ["--pyproject", str(ROOT / "pyproject.toml"), "--mc-type", "library", "--output-reproducible"]
        subprocess.run([*command, *options, "--output-file", str(file)], check=True, capture_output=True)
        texts.append(file.read_text())
    assert texts[0] == texts[1]
    bill = json.loads(texts[0])
    schema = pytest.importorskip("cyclonedx.schema").SchemaVersion.from_version(bill["specVersion"])
    validation = pytest.importorskip("cyclonedx.validation.json")
    assert validation.JsonStrictValidator(schema).validate_str(texts[0]) is None
    assert (bill["bomFormat"], bill["metadata"]["component"]["name"]) == ("CycloneDX", "certgrad")
    names = {one["name"] for one in bill["components"]}
    assert names >= {"jax", "jaxlib", "numpy", "scipy", "sympy", "islpy", "python-flint", "msgspec", "typer", "rich"}
    assert not names & {"jinja2", "pytest", "mkdocs"}
