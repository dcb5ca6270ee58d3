"""A whole audit is served where nothing changed, and never where anything did."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from certgrad.obligations.cache._homes import package_state
from certgrad.report.audited import RuleResult
from certgrad.rules.finding.find import find
from certgrad.rules.project.configuration import nearest
from certgrad.rules.workers.grounds import grounds
from certgrad.rules.workers.remembered import Memory
from certgrad.rules.workers.stamp import Stamps
from certgrad.rules.workers.worker import Request, audited
from tests.rules.cached_project import HEAD, Project

pytestmark = pytest.mark.usefixtures("verdicts_alone")

ROOT = Path(__file__).parents[3]
RULES = (
    HEAD
    + """
from .help import slope

rule = made(lambda x: x * x, slope)
# A comment.
wrong = made(lambda x: x * x, lambda x: 3 * x)

@jax.custom_vjp
def bare(x):
    raise ValueError("of no shape")

bare.defvjp(lambda x: (bare(x), None), lambda _, g: (g,))
"""
)
HELP = 'def slope(x):\n    """Of a square."""\n    return 2 * x  # twice\n'
TEST = "from cachedpkg.stamped import rule\n\ndef test_rule():\n    rule(1.0)\n"


class Whole:
    """A package, its tests, a folder of installed packages and a module beside the project, all of which it uses."""

    def __init__(self, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        self.project, self.root = project, project.root
        self.installed = project.root / "lib" / "site-packages"
        (self.installed / "stampedlib").mkdir(parents=True)
        (self.installed / "stampedlib" / "__init__.py").write_text("TWO = 2.0\n")
        (self.installed / "stampedlib-1.0.dist-info").mkdir()
        self.beside = project.root / "beside"
        self.beside.mkdir()
        (self.beside / "stampedbeside.py").write_text("ONE = 1.0\n")
        # Other tests build the package meanwhile, which makes folders in this repository.
        monkeypatch.setattr(sys, "path", [p for p in sys.path if Path(p).resolve() != ROOT])
        monkeypatch.chdir(self.root)
        monkeypatch.syspath_prepend(self.installed)
        monkeypatch.syspath_prepend(self.beside)
        monkeypatch.syspath_prepend(self.root)  # where it stays
        (project.root / "pyproject.toml").write_text("[tool.certgrad]\n")
        (project.root / "tests").mkdir()
        self.write("tests/test_rules.py", TEST)
        self.write("cachedpkg/help.py", HELP)
        self.write("cachedpkg/other.py", "from stampedlib import TWO\nfrom stampedbeside import ONE\n")
        self.write("cachedpkg/stamped.py", RULES)

    def write(self, name: str, text: str) -> None:
        (self.root / name).write_text(text)

    def replace(self, name: str, old: str, new: str) -> None:
        text = (self.root / name).read_text()
        assert old in text
        self.write(name, text.replace(old, new))

    def request(self, target: str = "cachedpkg") -> Request:
        return Request(target, conformance=False)

    def audit(self, remember: bool = True, meanwhile: Callable[[], None] = lambda: None) -> list[RuleResult]:
        """What comes of all rules, which is kept as a whole, where it may be."""
        stamps, request = Stamps(self.project.folder), self.request()
        key = stamps.key(request)
        self.project.forget()
        for name in ("stampedlib", "stampedbeside"):
            sys.modules.pop(name, None)
        package_state.cache_clear()
        before, since = frozenset(sys.modules), time.time()
        table = nearest(self.root).declarations
        found = find("cachedpkg")
        memory = Memory(self.project.folder, table, False, since) if remember else None
        results = [audited(one, table, False, memory) for one in found.rules]
        meanwhile()
        if memory is not None:
            told = grounds(found, before, since, memory.certain)
            stamps.keep(request, key, b"", results, [told] if told else [])
        return plain(results)

    def served(self, request: Request | None = None) -> list[RuleResult] | None:
        asked = request or self.request()
        stamps = Stamps(self.project.folder)
        stamp = stamps.recall(asked, stamps.key(asked))
        return plain(stamp.results) if stamp else None


def plain(results: list[RuleResult]) -> list[RuleResult]:
    return [msgspec.structs.replace(one, seconds=0.0) for one in results]


@pytest.fixture
def whole(project: Project, monkeypatch: pytest.MonkeyPatch) -> Whole:
    return Whole(project, monkeypatch)


def test_what_did_not_change_is_served(whole: Whole) -> None:
    first = whole.audit()
    assert [one.certificate.verdict if one.certificate else "" for one in first] == ["", "proved", "refuted"]
    assert whole.served() == first
    assert whole.served(whole.request("cachedpkg.stamped")) is None
    assert whole.served(msgspec.structs.replace(whole.request(), order=2)) is None


COMMENTS: dict[str, Callable[[Whole], None]] = {
    "above": lambda w: w.write("cachedpkg/stamped.py", "# Above.\n" + RULES),
    "in the middle": lambda w: w.replace("cachedpkg/stamped.py", "# A comment.\n", "# A longer\n\n# comment.\n\n"),
    "taken away": lambda w: w.replace("cachedpkg/stamped.py", "# A comment.\n", ""),
    "at the end of lines": lambda w: w.write(
        "cachedpkg/stamped.py", re.sub(r"(\* x\))$", r"\1  # so", RULES, flags=re.M)
    ),
    "in what it calls": lambda w: w.replace("cachedpkg/help.py", "twice", "two times"),
    "in a test": lambda w: w.replace("tests/test_rules.py", "rule(1.0)", "rule(1.0)  # at 1"),
    "beside other files": lambda w: w.write("notes.txt", "of no interest"),
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("how", COMMENTS)
def test_comments_may_differ_and_lines_are_those_of_today(whole: Whole, how: str) -> None:
    whole.audit()
    COMMENTS[how](whole)
    served = whole.served()
    assert served is not None
    assert served == whole.audit(remember=False)


def installed(w: Whole, name: str) -> None:
    (w.installed / name).mkdir()


def configured(w: Whole, text: str) -> None:
    w.write("pyproject.toml", text)


EDITS: dict[str, Callable[[Whole], object]] = {
    "the rule": lambda w: w.replace("cachedpkg/stamped.py", "3 * x", "2 * x"),
    "its layout": lambda w: w.replace("cachedpkg/stamped.py", "3 * x", "3*x"),
    "its indentation": lambda w: w.replace("cachedpkg/help.py", "    ", "        "),
    "a line that becomes two": lambda w: w.replace(
        "cachedpkg/stamped.py", "(lambda x: x * x, s", "(lambda x: x * x,\n s"
    ),
    "what it calls": lambda w: w.replace("cachedpkg/help.py", "2 *", "3 *"),
    "a docstring": lambda w: w.replace("cachedpkg/help.py", "square", "square x"),
    "what it does not call": lambda w: w.replace("cachedpkg/other.py", "TWO\n", "TWO as T\n"),
    "the package": lambda w: w.write("cachedpkg/__init__.py", "from . import other\n"),
    "a test": lambda w: w.replace("tests/test_rules.py", "1.0", "2.0"),
    "a new test": lambda w: w.write("tests/test_new.py", TEST),
    "a test that is removed": lambda w: (w.root / "tests" / "test_rules.py").unlink(),
    "a new module": lambda w: w.write("cachedpkg/new.py", RULES),
    "a module that is removed": lambda w: (w.root / "cachedpkg" / "other.py").unlink(),
    "a new package in it": lambda w: (w.root / "cachedpkg" / "new").mkdir(),
    "a compiled module in its place": lambda w: w.write("cachedpkg/help.so", ""),
    "a module of its name": lambda w: w.write("beside/cachedpkg.py", ""),
    "a module of a package's name": lambda w: w.write("beside/stampedlib.py", "TWO = 3.0"),
    "a module beside the project": lambda w: w.write("beside/stampedbeside.py", "ONE = 2.0\n"),
    "an installed package": lambda w: w.write("lib/site-packages/stampedlib/__init__.py", "TWO = 2\n"),
    "another version": lambda w: (w.installed / "stampedlib-1.0.dist-info").rename(
        w.installed / "stampedlib-2.dist-info"
    ),
    "a further package": lambda w: installed(w, "more"),
    "a declaration": lambda w: configured(w, '[tool.certgrad.signatures]\n"cachedpkg.stamped:rule" = "n d -> n d"\n'),
    "what was recorded": lambda w: w.write("certgrad-recorded.toml", '"cachedpkg.stamped:bare" = ["n -> n"]\n'),
    "a comment that ignores": lambda w: w.replace(
        "cachedpkg/stamped.py", "x):\n", "x):  # certgrad: ignore[CG102] so\n"
    ),
    "a project within": lambda w: w.write("cachedpkg/setup.py", ""),
    "a variable of JAX's": lambda w: os.environ.__setitem__("JAX_ENABLE_X64", "1"),
    "some variable": lambda w: os.environ.__setitem__("CONFIGURES_SOMETHING", "1"),
    "where it runs": lambda w: os.chdir(w.root / "tests"),
    "the search path": lambda w: sys.path.append("/somewhere"),
}


@pytest.mark.one_in(12)
@pytest.mark.parametrize("what", EDITS)
def test_nothing_is_served_that_may_be_another(whole: Whole, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    for name in ("JAX_ENABLE_X64", "CONFIGURES_SOMETHING"):
        monkeypatch.setenv(name, "0")  # is put back
    whole.audit()
    assert whole.served() is not None
    EDITS[what](whole)
    assert whole.served() is None


IGNORED = """@jax.custom_vjp
def rule(x):{}
    {}
    return x * x
rule.defvjp(lambda x: (x * x, x), lambda x, g: (3 * x * g,))
"""
IGNORE = "  # certgrad: ignore[CG102] so"


@pytest.mark.parametrize("after", [("", ""), ("", IGNORE), (IGNORE + " it is", "")])
def test_comments_for_certgrad_count(whole: Whole, after: tuple[str, str]) -> None:
    whole.write("cachedpkg/stamped.py", HEAD + IGNORED.format(IGNORE, ""))
    whole.audit()
    assert whole.served() is not None
    whole.write("cachedpkg/stamped.py", HEAD + IGNORED.format(*after))
    assert whole.served() is None


UNKNOWN = {
    "the environment": "import os\nX = os.environ.get('HOME')\n",
    "a file": "X = open(__file__).read()\n",
    "an effect": "import jax.numpy as jnp\njnp.put_by_a_test = 1\ndel jnp.put_by_a_test\n",
    "a rule whose code reads a file": HEAD + "rule = made(lambda x: x * x, lambda x: float(open('x').read()) * x)\n",
    "a module that does not import": "1 / 0\n",
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("what", UNKNOWN)
def test_nothing_is_kept_of_what_nobody_can_say(whole: Whole, what: str) -> None:
    (whole.root / "x").write_text("2")
    whole.write("cachedpkg/apart.py", UNKNOWN[what])
    whole.audit()
    assert whole.served() is None


def test_nothing_is_kept_of_files_that_change_meanwhile(whole: Whole) -> None:
    for file in ("cachedpkg/other.py", "tests/test_rules.py", "pyproject.toml"):
        whole.audit(meanwhile=lambda: whole.write(file, (whole.root / file).read_text() + "# so\n"))  # noqa: B023
        assert whole.served() is None


QUOTED = """
@jax.custom_vjp
def rule(v):
    return v * 2.0
def bwd(_, g):
    return (jnp.sum(
        g) * jnp.ones_like(g),)
rule.defvjp(lambda v: (rule(v), None), bwd)
"""


def test_a_comment_that_a_finding_quotes(whole: Whole) -> None:
    whole.write("cachedpkg/stamped.py", HEAD + QUOTED)
    first = whole.audit()
    assert whole.served() == first
    whole.write("cachedpkg/stamped.py", HEAD + QUOTED.replace("sum(\n", "sum(  # of all\n"))
    served = whole.served()
    assert served is None or served == whole.audit(remember=False)


def test_a_name_that_two_files_have_says_no_line(whole: Whole) -> None:
    (whole.root / "cachedpkg" / "deep").mkdir()
    whole.write("cachedpkg/deep/stamped.py", "ONE = 1.0\n")
    whole.write("cachedpkg/other.py", "from .deep.stamped import ONE\n")
    first = whole.audit()
    assert whole.served() == first
    COMMENTS["above"](whole)
    assert whole.served() is None


@pytest.mark.parametrize("damage", ["cut", "foreign"])
def test_a_damaged_stamp_is_none(whole: Whole, damage: str) -> None:
    whole.audit()
    (path,) = whole.project.folder.path.glob("all-of-*.entry")
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-5])
    else:
        whole.project.folder.write(path.stem, b"\x90")
    assert whole.served() is None


@pytest.mark.slow
def test_a_warm_audit_imports_neither_the_code_nor_jax(whole: Whole) -> None:
    def run(*options: str) -> tuple[str, set[str]]:
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "certgrad", "audit", "cachedpkg", "--quiet", *options],
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *map(str, (whole.installed, whole.beside))])},
            capture_output=True,
            text=True,
            check=False,
        )
        loaded = re.findall(r"\|\s+([\w.]+)$", done.stderr, re.M)
        return re.sub(r"\([\d.]+ m?s\)", "", done.stdout), {name.partition(".")[0] for name in loaded}

    for options in (("--format", "json"), ("--format", "json", "--jobs", "2"), ("--format", "text")):
        unremembered, _ = run("--no-cache", *options)
        first, _ = run(*options)
        second, loaded = run(*options)
        assert first == second == unremembered
        assert loaded.isdisjoint({"jax", "numpy", "sympy", "cachedpkg", "stampedlib"})
    text, _ = run("--format", "json")
    whole.write("cachedpkg/stamped.py", "# Above.\n" + RULES)
    moved, loaded = run("--format", "json")
    assert loaded.isdisjoint({"jax", "cachedpkg"})
    assert text != moved == run("--format", "json", "--no-cache")[0]
