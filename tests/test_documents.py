"""The documents: links that lead somewhere, examples that run, figures and names that the code has."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from certgrad.cli._errors import ExitCode
from certgrad.obligations.certificate import CODES, Certificate
from certgrad.report.codes import REMARKS

_ROOT = Path(__file__).parents[1]
_PAGES = sorted([*_ROOT.glob("*.md"), *(_ROOT / "docs").rglob("*.md"), *(_ROOT / "reports").glob("*.md")])


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: str(page.relative_to(_ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        if not target.startswith("https://"):
            assert (page.parent / target).exists(), target


@pytest.mark.slow
def test_the_example_of_the_graphs_page_runs() -> None:
    import jax
    import jax.numpy as jnp

    from examples.mlp import loss

    page = (_ROOT / "docs/graphs.md").read_text(encoding="utf-8")
    program, *others = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    for other in others:
        done = subprocess.run([sys.executable, "-"], input=_as_file(other), capture_output=True, text=True, cwd=_ROOT)
        assert done.returncode == 0, done.stderr
    shapes = {"x": (4, 3), "W1": (3, 5), "b1": (5,), "W2": (5, 2), "b2": (2,), "target": (4, 2)}
    keys = jax.random.split(jax.random.key(0), len(shapes))
    arrays = {name: jax.random.normal(key, shape) for key, (name, shape) in zip(keys, shapes.items(), strict=True)}
    scope = {"loss": loss, **arrays}
    exec(program, scope)
    assert jnp.allclose(scope["value"], loss(**arrays), rtol=1e-5)
    assert len(scope["gradients"]) == len(shapes)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("pallas", "what compilers make of a Pallas kernel is not looked at"),
        ("devices", "devices: 4 along i; another number of them is another program"),
    ],
)
def test_the_example_of_a_page_is_proved(page: str, said: str) -> None:
    text = (_ROOT / f"docs/{page}.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    done = subprocess.run([sys.executable, "-"], input=_as_file(program), capture_output=True, text=True, cwd=_ROOT)
    assert done.stdout.splitlines() == ["proved", f"['{said}']"]


def test_the_example_of_the_builder_page_runs() -> None:
    import numpy as np

    page = (_ROOT / "docs/builder.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    shapes = {"W": (3, 2), "b": (3,), "V": (3, 3), "c": (3,), "x": (4, 2), "target": (4, 3)}
    arrays = {
        name: np.sin(np.arange(np.prod(shape)) + k).reshape(shape) for k, (name, shape) in enumerate(shapes.items())
    }
    scope = {"x_values": arrays.pop("x"), "target_values": arrays.pop("target"), "params": arrays}
    exec(program, scope)
    assert np.allclose(scope["value"], scope["same"], rtol=1e-5)
    assert scope["graph"].check() is None


@pytest.mark.slow
def test_the_example_of_the_solvers_page_runs() -> None:
    page = (_ROOT / "docs/solvers.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    printed = subprocess.run([sys.executable, "-"], input=_as_file(program), capture_output=True, text=True, cwd=_ROOT)
    assert printed.returncode == 0, printed.stderr
    assert "proved under hypotheses" in printed.stdout
    assert "inverse solves" in printed.stdout


def _as_file(program: str) -> str:
    """The program, run from a real file: a declaration is read from its source."""
    return (
        "import runpy, tempfile, pathlib\n"
        "with tempfile.TemporaryDirectory() as directory:\n"
        "    path = pathlib.Path(directory, 'example.py')\n"
        f"    path.write_text({program!r}, encoding='utf-8')\n"
        "    runpy.run_path(str(path))\n"
    )


def test_every_code_is_documented() -> None:
    text = (_ROOT / "docs/verdicts.md").read_text(encoding="utf-8")
    for kind, code in CODES.items():
        assert f"| {code} | `OP.{kind}` |" in text
    for remark in REMARKS.values():
        assert f"| {remark.code} | {remark.title} |" in text


def test_every_exit_code_is_documented() -> None:
    text = (_ROOT / "docs/verdicts.md").read_text(encoding="utf-8")
    for code in ExitCode:
        assert f"\n| {code.value} | " in text


def test_every_field_of_a_certificate_is_documented() -> None:
    text = (_ROOT / "docs/certificates.md").read_text(encoding="utf-8")
    for field in Certificate.__struct_fields__:
        assert f"`{field}`" in text


def test_each_large_folder_has_its_reason() -> None:
    roots = [_ROOT / name for name in ("benchmarks", "certgrad", "corpus", "examples", "tests")]
    counts = Counter(file.parent.relative_to(_ROOT).as_posix() for root in roots for file in root.rglob("*.py"))
    page = (_ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.*`) \| .* \|$", page.split("## Folders of more than 25 files")[1], re.MULTILINE)
    listed = [folder.rstrip("/") for row in rows for folder in re.findall("`([^`]+)`", row)]
    assert sorted(listed) == sorted(folder for folder, count in counts.items() if count > 25)
