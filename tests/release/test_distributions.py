"""The wheel and the sdist: what is in them, what they say of themselves, and that they are the same bytes each time."""

import email
import re
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import certgrad

from .building import ROOT, build, copy

pytest.importorskip("build", reason="the packages of the extra `dev` build the archives")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    (file,) = build(copy(folder / "source"), folder / "dist", "--wheel")
    return zipfile.ZipFile(file)


def test_the_wheel_holds_the_package_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    names = {name for name in wheel.namelist() if not name.startswith(f"certgrad-{certgrad.__version__}.dist-info/")}
    modules = {str(file.relative_to(ROOT)) for file in (ROOT / "certgrad").rglob("*.py")}
    proofs = {f"certgrad/coq/proofs/{file.name}" for file in (ROOT / "proofs").glob("*.v")}
    others = {"certgrad/py.typed", "certgrad/coq/coq.json"}
    assert names - modules == {*others, *map(str, _data()), *proofs}
    assert modules <= names


def _data() -> list[Path]:
    """The files of the package that are no modules: templates that it reads when it runs."""
    files = [f for f in (ROOT / "certgrad").rglob("*") if f.is_file() and f.suffix not in (".py", ".pyc")]
    data = [file.relative_to(ROOT) for file in files if file.name != "py.typed"]
    assert all(file.suffix in (".html", ".css", ".js") for file in data), data
    return data


def test_what_the_wheel_says_of_itself(wheel: zipfile.ZipFile) -> None:
    folder = f"certgrad-{certgrad.__version__}.dist-info"
    said = email.message_from_string(wheel.read(f"{folder}/METADATA").decode())
    assert (said["Name"], said["Version"], said["License-Expression"]) == (
        "certgrad",
        certgrad.__version__,
        "Apache-2.0",
    )
    assert said["License-File"] == "LICENSE"
    needed = {re.split(r"[<>=\[]", line)[0] for line in said.get_all("Requires-Dist") if "extra" not in line}
    assert needed == {*"jax numpy scipy sympy islpy python-flint msgspec typer rich watchfiles".split()}
    entries = wheel.read(f"{folder}/entry_points.txt").decode()
    assert "certgrad = certgrad.cli:main" in entries
    assert "certgrad = certgrad.pytest_plugin" in entries
    assert wheel.read(f"{folder}/WHEEL").decode().count("Tag: py3-none-any") == 1
    assert f"{folder}/licenses/LICENSE" in wheel.namelist()


@pytest.mark.slow
def test_two_builds_are_the_same_bytes_and_the_sdist_builds_the_wheel(tmp_path: Path) -> None:
    first = build(copy(tmp_path / "first"), tmp_path / "dist-1")
    second = build(copy(tmp_path / "elsewhere/second"), tmp_path / "dist-2")
    assert [file.name for file in first] == [
        f"certgrad-{certgrad.__version__}-py3-none-any.whl",
        f"certgrad-{certgrad.__version__}.tar.gz",
    ]
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes(), one.name
    with tarfile.open(first[1]) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
        sdist.extractall(tmp_path / "unpacked", filter="data")
    for name in ("certgrad/py.typed", "tests/tutorial.py", "docs/tutorial.md", "examples/mlp.py", "constraints.txt"):
        assert name in names
    assert not any(part in name.split("/") for name in names for part in ("__pycache__", ".git", ".venv"))
    (again,) = build(tmp_path / "unpacked" / first[1].name.removesuffix(".tar.gz"), tmp_path / "dist-3", "--wheel")
    assert again.read_bytes() == first[0].read_bytes()


def test_the_page_on_versions_names_every_extra() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    text = (ROOT / "docs/versions.md").read_text(encoding="utf-8")
    assert [name for name in extras if f"`certgrad[{name}]`" not in text] == []
