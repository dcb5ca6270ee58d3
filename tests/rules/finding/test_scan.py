"""Which files hold rules, read from their source."""

from pathlib import Path

import pytest

from certgrad.rules.finding.scan import abbreviated_names, scan

RULE = "import jax\n\n\n@jax.custom_vjp\ndef f(x):\n    return x\n"


def write(folder: Path, *names: str, text: str = RULE) -> None:
    for name in names:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def found(folder: Path) -> tuple[list[str], list[str]]:
    scanned = scan(folder)
    return [file.as_posix() for file in scanned.files], list(scanned.targets)


def test_targets_are_packages_by_name_by_path_and_files(tmp_path: Path) -> None:
    write(tmp_path, "losses.py", "pkg/a.py", "pkg/sub/b.py", "src/lib/c.py", "scripts/d.py")
    write(tmp_path, "pkg/__init__.py", "pkg/sub/__init__.py", "src/lib/__init__.py", text="")
    assert found(tmp_path) == (
        ["losses.py", "pkg/a.py", "pkg/sub/b.py", "scripts/d.py", "src/lib/c.py"],
        ["losses.py", "pkg", "scripts/d.py", "src/lib"],
    )


def test_what_is_no_code_of_the_project_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, ".venv/a.py", "env/lib/b.py", "build/c.py", "tests/d.py", "test_e.py", "conftest.py", "f_test.py")
    write(tmp_path, "env/pyvenv.cfg", text="")
    assert found(tmp_path) == ([], [])


@pytest.mark.parametrize(
    "text, makes",
    [
        ("from jax import custom_jvp as rule, custom_jvp\nf = custom_jvp(abs)\n", True),
        ("import equinox as eqx\nf = eqx.filter_custom_vjp(abs)\n", True),
        ("from flax import nnx\n\n@nnx.custom_vjp(nondiff_argnums=(1,))\ndef f(x, n): ...\n", True),
        ("# jax.custom_vjp\n'''jax.custom_vjp'''\n", False),
        ("from jax import custom_vjp\n", False),
        ("def custom_vjp(:\n", False),
        ("x = 1\n", False),
    ],
)
def test_a_name_counts_where_it_is_used(tmp_path: Path, text: str, makes: bool) -> None:
    write(tmp_path, "a.py", text=text)
    assert bool(found(tmp_path)[0]) is makes


def test_a_file_that_is_no_text_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"custom_vjp \x00\xff")
    (tmp_path / "b.py").symlink_to(tmp_path / "gone.py")
    assert found(tmp_path) == ([], [])


def test_of_many_files_the_first_are_named() -> None:
    assert abbreviated_names([Path(f"{k}.py") for k in range(6)]) == "0.py, 1.py, 2.py, 3.py and 2 more"
