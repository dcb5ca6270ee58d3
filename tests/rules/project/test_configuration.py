"""`[tool.certgrad]`: what it may say, and what is said of what it may not."""

from pathlib import Path

import pytest

from certgrad.errors import UsageError
from certgrad.rules.project.configuration import nearest


def configured(folder: Path, text: str):
    (folder / "pyproject.toml").write_text(text)
    return nearest(folder)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[tool.certgrad]\ntarget = []", "'target'; it knows .* Did you mean 'targets'"),
        ("[tool.certgrad]\nper_file_ignores = {}", "Did you mean 'per-file-ignores'"),
        ("[tool.certgrad]\ntargets = 'x'", "'targets' of .* is no list of texts"),
        ("[tool]\ncertgrad = 3", "is no table"),
        ("[tool.certgrad]\nstrict = 1", "'strict' .* neither true nor false"),
        ("[tool.certgrad]\nstrict = ['all']", "'strict' .* has 'all'; a list knows assumed, exact, and true means all"),
        ("[tool.certgrad]\nbaseline = ''", "'baseline' .* no name of a file"),
        ("[tool.certgrad]\nignore = ['CG9']", "'ignore' of .* has 'CG9', which begins no code; those are CG101"),
        ("[tool.certgrad]\nselect = ['relu']", "'select' of .* has 'RELU'"),
        ("[tool.certgrad]\nfail-on = ['proved']", "'fail-on' of .* has 'proved'; it knows refuted"),
        ("[tool.certgrad]\nper-file-ignores = 3", "per-file-ignores] .* is no table"),
        ("[tool.certgrad.per-file-ignores]\n'a.py' = ['CG301']", r"'a.py' of \[tool.certgrad.per-file-ignores]"),
        ("[tool.certgrad.signatures]\nf = 3", "no text"),
        ("[tool.certgrad.signatures]\nf = {signature = 'n', shape = 1}", "'shape'"),
        ("[tool.certgrad.signatures]\nf = {signature = 'n', static = 1}", "'static' of the signature of 'f'"),
        (
            "[tool.certgrad.signatures]\nf = {signature = 'n', differentiable = 'x'}",
            "'differentiable' of the signature",
        ),
        ("[tool", "Cannot read"),
    ],
)
def test_what_is_wrong_is_named_with_the_file(tmp_path, text, said):
    with pytest.raises(UsageError, match=said) as caught:
        configured(tmp_path, text)
    assert "pyproject.toml" in str(caught.value)


PER_FILE = """
[tool.certgrad]
select = ["CG1"]
ignore = ["CG103", "cg204"]
[tool.certgrad.per-file-ignores]
"legacy/*.py" = ["CG102"]
"norms.py" = ["CG2"]
"!mypkg/*" = ["CG101"]
"""


@pytest.mark.parametrize(
    ("file", "wanted"),
    [
        ("mypkg/losses.py", {"CG101", "CG102", "CG201"}),
        ("legacy/deep/losses.py", {"CG201"}),
        ("mypkg/legacy/losses.py", {"CG101", "CG102", "CG201"}),
        ("mypkg/norms.py", {"CG101", "CG102"}),
        ("elsewhere.py", {"CG102", "CG201"}),
    ],
)
def test_ignores_by_path(tmp_path, file, wanted):
    found = configured(tmp_path, PER_FILE)
    codes = ("CG101", "CG102", "CG103", "CG201", "CG204")
    assert {code for code in codes if found.wants(code, str(tmp_path / file))} == wanted


def test_nothing_is_said_without_a_file(tmp_path):
    found = nearest(tmp_path)
    assert (found.folder, found.has_baseline) == (tmp_path, False)
    assert found.wants("CG101", "")


def test_the_baseline_stands_beside_the_file(tmp_path):
    found = configured(tmp_path, "[tool.certgrad]\nbaseline = 'ci/known.json'")
    assert (found.baseline_file, found.has_baseline) == (tmp_path / "ci/known.json", True)
    (tmp_path / "sub").mkdir()
    assert nearest(tmp_path / "sub").baseline_file == tmp_path / "ci/known.json"


def test_the_environment_says_where_verdicts_are_remembered_before_the_file(tmp_path, monkeypatch):
    """To `certgrad baseline` and pytest too, which have no flag for it."""
    monkeypatch.delenv("CERTGRAD_CACHE_DIR", raising=False)
    assert configured(tmp_path, "[tool.certgrad]").cache_folder == tmp_path / ".certgrad_cache"
    assert configured(tmp_path, "[tool.certgrad]\ncache-dir = 'there'").cache_folder == tmp_path / "there"
    monkeypatch.setenv("CERTGRAD_CACHE_DIR", "elsewhere")
    found = configured(tmp_path, "[tool.certgrad]\ncache-dir = 'there'").cache_folder
    assert found == Path.cwd() / "elsewhere"


@pytest.mark.parametrize(
    "there, root",
    [
        ([], "a/b"),
        ([".git"], ""),
        (["a/pyproject.toml"], "a"),
        ([".git", "a/pyproject.toml"], ""),
        ([".git", "a/pyproject.toml with a table"], "a"),
    ],
    ids=["nothing", "repository", "pyproject", "repository and pyproject", "configuration"],
)
def test_what_is_remembered_is_in_the_root_of_the_project(tmp_path, monkeypatch, there, root):
    """Wherever inside of it an audit is started."""
    monkeypatch.delenv("CERTGRAD_CACHE_DIR", raising=False)
    (tmp_path / "a/b").mkdir(parents=True)
    for name in there:
        file, _, table = name.partition(" ")
        (tmp_path / file).write_text("[tool.certgrad]" if table else "")
    assert nearest(tmp_path / "a/b").cache_folder == tmp_path / root / ".certgrad_cache"
