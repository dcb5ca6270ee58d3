"""Verdicts on rules in code are remembered, and never served where anything that they depend on is another."""

from __future__ import annotations

import importlib
import math
import os
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import msgspec
import numpy as np
import pytest

from certgrad.obligations.cache import _key
from certgrad.obligations.cache._identity import Identity
from certgrad.rules.workers import remembered
from certgrad.rules.workers.remembered import Entry
from tests.rules.cached_project import HEAD, Project

pytestmark = pytest.mark.usefixtures("verdicts_alone")

ROOT = Path(__file__).parents[3]
SQUARE = HEAD + "rule = made(lambda x: x * x, lambda x: 2 * x)\n"


def test_an_unchanged_rule_is_served_with_the_same_bytes(project: Project) -> None:
    project.write("rules", SQUARE)
    first = project.audit()["rule"]
    assert project.audited == ["cachedpkg.rules:rule"]
    second = project.audit()["rule"]
    assert project.audited == []
    assert msgspec.structs.replace(second, seconds=0.0) == msgspec.structs.replace(first, seconds=0.0)


CONFIG = """
from dataclasses import dataclass
@dataclass(frozen=True)
class Config:
    c: float
CONFIG = Config({})
"""
CLASSES = """
class Base:
    def slope(self, x):
        return {} * x
class Own(Base):
    pass
OWN = Own()
"""
CHANGES: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "a helper in another module": (
        {
            "help": "def slope(x):\n    return 2 * x\n",
            "rules": HEAD + "from .help import slope\nrule = made(lambda x: x * x, slope)",
        },
        {"help": "def slope(x):\n    return 3 * x\n"},
    ),
    "a helper of a helper, by way of modules": (
        {
            "deep": "def two(x):\n    return 2 * x\n",
            "help": "from . import deep\nclass Kept:\n    pass\n",
            "rules": HEAD + "from . import help\nrule = made(lambda x: x * x, lambda x: help.deep.two(x))",
        },
        {"deep": "def two(x):\n    return 2.5 * x\n"},
    ),
    "a helper that is imported inside the rule": (
        {
            "help": "def slope(x):\n    return 2 * x\n",
            "rules": HEAD
            + "def own(x):\n    from .help import slope\n    return slope(x)\nrule = made(lambda x: x * x, own)",
        },
        {"help": "def slope(x):\n    return 3 * x\n"},
    ),
    "a constant of another module": (
        {
            "help": "SCALE = 2.0\n",
            "rules": HEAD + "from . import help\nrule = made(lambda x: x * x, lambda x: help.SCALE * x)",
        },
        {"help": "SCALE = 3.0\n"},
    ),
    "a closed-over constant": (
        {"rules": HEAD + "def of(c):\n    return made(lambda x: x * x, lambda x: c * x)\nrule = of(2.0)"},
        {"rules": HEAD + "def of(c):\n    return made(lambda x: x * x, lambda x: c * x)\nrule = of(3.0)"},
    ),
    "a default": (
        {"rules": HEAD + "rule = made(lambda x: x * x, lambda x, c=2.0: c * x)"},
        {"rules": HEAD + "rule = made(lambda x: x * x, lambda x, c=3.0: c * x)"},
    ),
    "an entry of an array": (
        {
            "help": "import numpy as np\nW = np.asarray([2.0, 2.0])\n",
            "rules": HEAD + "from .help import W\nrule = made(lambda x: x * x, lambda x: W[0] * x)",
        },
        {"help": "import numpy as np\nW = np.asarray([3.0, 2.0])\n"},
    ),
    "a field of an object": (
        {
            "help": CONFIG.format(2.0),
            "rules": HEAD + "from .help import CONFIG\nrule = made(lambda x: x * x, lambda x: CONFIG.c * x)",
        },
        {"help": CONFIG.format(3.0)},
    ),
    "an inherited method": (
        {
            "help": CLASSES.format(2),
            "rules": HEAD + "from .help import OWN\nrule = made(lambda x: x * x, lambda x: OWN.slope(x))",
        },
        {"help": CLASSES.format(3)},
    ),
    "an entry of a table": (
        {
            "help": "TABLE = {'slope': lambda x: 2 * x}\n",
            "rules": HEAD + "from .help import TABLE\nrule = made(lambda x: x * x, lambda x: TABLE['slope'](x))",
        },
        {"help": "TABLE = {'slope': lambda x: 3 * x}\n"},
    ),
    "a partial": (
        {"rules": HEAD + "def times(c, x):\n    return c * x\nrule = made(lambda x: x * x, partial(times, 2))"},
        {"rules": HEAD + "def times(c, x):\n    return c * x\nrule = made(lambda x: x * x, partial(times, 3))"},
    ),
    "a decorator": (
        {
            "help": "def decorated(f):\n    def run(x):\n        return f(x)\n    return run\n",
            "rules": HEAD + "from .help import decorated\nrule = made(lambda x: x * x, decorated(lambda x: 2 * x))",
        },
        {"help": "def decorated(f):\n    def run(x):\n        return 1.5 * f(x)\n    return run\n"},
    ),
    "a helper that a branch on a size alone comes to": (
        {
            "help": "def other(x):\n    return 2 * x\n",
            "rules": HEAD
            + "from .help import other\ndef slope(x):\n    return other(x) if x.shape == (3,) else 2 * x\n"
            + "rule = made(lambda x: x * x, slope)",
        },
        {"help": "def other(x):\n    return 3 * x\n"},
    ),
    "a library's function that a module replaces": (
        {"rules": HEAD + "rule = made(lambda x: x * x, lambda x: jnp.multiply(x, 2.0))"},
        {
            "rules": HEAD
            + "own = lambda x, c: x + c\njnp.multiply, kept = own, jnp.multiply\n"
            + "rule = made(lambda x: x * x, lambda x: jnp.multiply(x, 2.0))"
        },
    ),
}


@pytest.mark.one_in(14)
@pytest.mark.parametrize("change", CHANGES)
def test_what_a_rule_reaches_is_part_of_the_key(project: Project, monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    monkeypatch.setattr(jnp, "multiply", jnp.multiply)  # is put back
    before, after = CHANGES[change]
    for name, text in before.items():
        project.write(name, text)
    first = project.verdict()
    assert project.verdict() == first
    assert project.audited == [], "unchanged, it is served"
    for name, text in after.items():
        project.write(name, text)
    assert project.verdict() in ("refuted", "unproved")
    assert project.audited == ["cachedpkg.rules:rule"]
    for name, text in before.items():
        project.write(name, text)


def test_another_declaration(project: Project) -> None:
    project.write("rules", SQUARE)
    project.audit()
    project.write("rules", SQUARE.replace("2 * x)\n", '2 * x, "x > 0")\n'))
    project.audit()
    assert project.audited == ["cachedpkg.rules:rule"]


def test_a_declaration_in_the_configuration_and_its_ideal(project: Project) -> None:
    undeclared = SQUARE.replace(
        'certgrad.declare("n -> n", domain=domain)(jax.custom_vjp(value))', "jax.custom_vjp(value)"
    )
    project.write("rules", undeclared)
    configuration = project.root / "pyproject.toml"
    for said in ('"n -> n"', '{ signature = "n -> n", domain = "x > 0" }', '"n d -> n d"'):
        configuration.write_text(f'[tool.certgrad.signatures]\n"cachedpkg.rules:rule" = {said}\n')
        project.audit()
        assert project.audited == ["cachedpkg.rules:rule"]
        project.audit()
        assert project.audited == []


def test_another_flag_of_jax(project: Project) -> None:
    project.write("rules", SQUARE)
    project.audit()
    with jax.numpy_rank_promotion("raise"):
        project.audit()
        assert project.audited == ["cachedpkg.rules:rule"]
    project.audit()
    assert project.audited == []
    project.conformance = True
    project.audit()
    assert project.audited == ["cachedpkg.rules:rule"], "with more compared it is another verdict"


def test_another_certgrad(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write("rules", SQUARE)
    project.audit()
    with monkeypatch.context() as patch:
        patch.setattr(_key, "package_source", lambda: "another text")
        project.audit()
    assert project.audited == ["cachedpkg.rules:rule"]
    entries = len([*project.folder.path.glob("*.entry")])
    monkeypatch.setattr(remembered, "package_is_as_it_was", lambda: False)
    project.write("rules", SQUARE.replace("2 * x)", "x + x)"))
    project.audit()
    assert len([*project.folder.path.glob("*.entry")]) == entries, "what an edited certgrad proved is not known"


NEVER = {
    "the environment": ("import os", "float(os.environ.get('SLOPE', 2)) * x"),
    "the environment, by another name": ("from os import environ as E", "float(E.get('SLOPE', 2)) * x"),
    "a file": ("", "float(open('slope').read()) * x"),
    "a file of arrays": ("", "(float(jnp.load('slope.npy')) if x.shape[0] == 9 else 2.0) * x"),
    "a name that is computed": ("import cachedpkg.help as h", "getattr(h, 'SL' + 'OPE') * x"),
    "all globals": ("SLOPE = 2.0", "globals()['SLOPE'] * x"),
    "the clock": ("import time", "2 * x + 0 * time.time()"),
    "a generator": ("slopes = (2.0 for _ in range(10**9))", "next(slopes) * x"),
    "code of a text": ("", "eval('2 * x')"),
}


@pytest.mark.one_in(5)
@pytest.mark.parametrize("outside", NEVER)
def test_what_nobody_can_say_of_another_process_is_not_kept(
    project: Project, monkeypatch: pytest.MonkeyPatch, outside: str
) -> None:
    monkeypatch.setenv("SLOPE", "2")
    (project.root / "slope").write_text("2")
    project.write("help", "SLOPE = 2.0\n")
    before, slope = NEVER[outside]
    project.write("rules", f"{HEAD}{before}\nrule = made(lambda x: x * x, lambda x: {slope})\n")
    for _ in range(2):
        project.audit()
        assert project.audited == ["cachedpkg.rules:rule"]
    assert not [*project.folder.path.glob("*.entry")]


def test_what_a_module_read_from_the_environment_when_it_was_imported(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write("help", "import os\nSLOPE = float(os.environ['SLOPE'])\n")
    project.write("rules", HEAD + "from .help import SLOPE\nrule = made(lambda x: x * x, lambda x: SLOPE * x)")
    monkeypatch.setenv("SLOPE", "2")
    assert project.verdict() == "proved"
    monkeypatch.setenv("SLOPE", "3")
    assert project.verdict() == "refuted"
    monkeypatch.setenv("SLOPE", "2")
    assert project.verdict() == "proved"
    assert project.audited == []


PAIR = (
    "import jax, copyreg\nclass Pair:\n    pass\ndef flat(p):\n    return (p.a,), None\n"
    "def unflat(_, parts):\n    p = Pair()\n    p.a = parts[0]\n    return p\n"
)
SLOPE_OF_PAIR = "def slope(x):\n    p = Pair()\n    p.a = 2 * x\n"


def test_code_that_runs_and_is_not_in_the_key_is_noticed(project: Project) -> None:
    """Python's registry of reducers leads to code that no name in the rule leads to."""
    project.write("help", PAIR + "copyreg.pickle(Pair, lambda p: (unflat, (None, [p.a])))\n")
    rule = HEAD + "import copy\nfrom .help import Pair\n" + SLOPE_OF_PAIR + "    return {}\n"
    for returned in ("copy.copy(p).a", "copy.copy(p).a if x.shape[0] == 17 else 2 * x"):
        project.write("rules", rule.format(returned) + "rule = made(lambda x: x * x, slope)")
        for _ in range(2):
            assert project.verdict() == "proved"
            assert project.audited == ["cachedpkg.rules:rule"]


def test_what_is_registered_with_jax_for_a_class_is_in_the_key(project: Project) -> None:
    """Wherever that is done: here in a module that the rule's does not import."""
    project.write("help", PAIR)
    registers = "from .help import *\njax.tree_util.register_pytree_node(Pair, {}, unflat)\n"
    project.write("registers", registers.format("flat"))
    rule = HEAD + "from .help import Pair\n" + SLOPE_OF_PAIR + "    return jax.tree_util.tree_leaves(p)[0]\n"
    project.write("rules", rule + "rule = made(lambda x: x * x, slope)")

    def register() -> None:
        importlib.import_module("cachedpkg.registers")

    assert project.verdict(before=register) == "proved"
    assert project.verdict(before=register) == "proved"
    assert project.audited == []
    project.write("registers", registers.format("lambda p: ((2 * p.a,), None)"))
    assert project.verdict(before=register) == "refuted"


def test_an_edit_of_one_file_leaves_what_comes_from_others(project: Project) -> None:
    project.write("rules", SQUARE)
    project.write("users", HEAD + "from .rules import rule as of_rules\nother = made(lambda x: 3 * x, lambda x: 3.0)\n")
    project.write("apart", HEAD + "rule = made(lambda x: 3 * x, lambda x: 3.0)\n")
    modules = ("rules", "users", "apart")
    for module in modules:
        project.audit(module)
    for module in modules:
        project.audit(module)
        assert project.audited == []
    project.write("rules", SQUARE + "print('edited')\n")
    again = {}
    for module in modules:
        project.audit(module)
        again[module] = project.audited.copy()
    assert again["rules"] == ["cachedpkg.rules:rule"]
    assert again["users"] == ["cachedpkg.users:other"], "it imports what was edited"
    assert again["apart"] == []


HANDED = """
def slope(settings, n):
    return settings.slope() if n == 9 else 2.0
"""


def test_what_a_module_that_is_handed_about_holds(project: Project) -> None:
    """No name in the code leads to it, and no trace with sizes left open runs it."""
    project.write("settings", "def slope():\n    return 2.0\n")
    slope = "slope(settings, x.shape[0]) * x"
    project.write("rules", f"{HEAD}from . import settings\n{HANDED}rule = made(lambda x: x * x, lambda x: {slope})\n")
    assert project.verdict() == "proved"
    project.write("settings", "def slope():\n    return 3.0\n")
    project.audit()
    assert project.audited == ["cachedpkg.rules:rule"]


WRONG = SQUARE.replace("2 * x)", "3 * x)")
COMMENTED = "# A comment,\n\n# and a blank line.\n"


def test_a_comment_proves_nothing_anew(project: Project) -> None:
    for text in (SQUARE, COMMENTED + SQUARE, SQUARE.replace("x * x", "(x*x)") + "# at the end\n"):
        project.write("rules", text)
        assert project.verdict() == "proved"
        assert project.audited == (["cachedpkg.rules:rule"] if text is SQUARE else [])


def test_a_comment_above_what_a_finding_names_by_its_line(project: Project) -> None:
    """The finding says where the mistake is, as it is now."""
    for text in (WRONG, WRONG + "# at the end\n", COMMENTED + WRONG):
        project.write("rules", text)
        (result,) = project.audit().values()
        line = 1 + next(k for k, said in enumerate(text.splitlines()) if "f.defvjp" in said)
        assert result.certificate is not None
        assert any(f"see rules.py:{line}" in c.reason for m in result.certificate.claims for c in m.cases)
        assert bool(project.audited) is (text is WRONG)


def test_a_comment_for_certgrad_counts(project: Project) -> None:
    text = HEAD + "@jax.custom_vjp\ndef rule(x):  # {0}\n    return x * x\n"
    text += "rule.defvjp(lambda x: (x * x, x), lambda x, g: (3 * x * g,))\n"
    for comment in ("", "certgrad: ignore[CG102] meant", "certgrad: ignore[CG102] why"):
        project.write("rules", text.format(comment))
        project.audit()
        assert "cachedpkg.rules:rule" in project.audited


@pytest.mark.parametrize("read", ["float(open('slope').read())", "float(Path('slope').read_text())"])
def test_a_module_that_reads_a_file_when_it_is_imported_is_not_remembered(project: Project, read: str) -> None:
    (project.root / "slope").write_text("2")
    project.write("help", f"from pathlib import Path\nclass Of:\n    slope = {read}\n")
    project.write("rules", HEAD + "from . import help\nrule = made(lambda x: x * x, lambda x: 2 * x)")
    for _ in range(2):
        assert project.verdict() == "proved"
        assert project.audited == ["cachedpkg.rules:rule"]


def test_a_file_that_is_written_while_it_is_in_use_is_not_remembered(project: Project) -> None:
    project.write("rules", SQUARE)
    for _ in range(2):
        project.audit(before=lambda: project.write("rules", SQUARE))
        assert project.audited == ["cachedpkg.rules:rule"]
    project.audit()
    project.audit()
    assert project.audited == []


def test_an_op_in_code(project: Project) -> None:
    op = 'import certgrad\nfrom certgrad.ops._registry import Registry\n@certgrad.op("*s -> *s", registry=Registry())\n'
    op += 'def twice(x):\n    """2·x."""\n    return 2 * x\n'
    op += "@twice.jvp\ndef _(x, dx):\n    return {0} * dx\n@twice.vjp\ndef _(x, seed):\n    return {0} * seed\n"
    project.write("rules", op.format(2))
    assert project.verdict("twice") == "proved"
    assert project.verdict("twice") == "proved"
    assert project.audited == []
    project.write("rules", op.format(3))
    assert project.verdict("twice") == "refuted"


@pytest.mark.one_in(3)
@pytest.mark.parametrize("how", ["cut", "foreign", "of another rule", "of another trace"])
def test_a_damaged_or_foreign_entry_is_none(project: Project, how: str) -> None:
    project.write("rules", SQUARE)
    project.audit()
    (path,) = project.folder.path.glob("*.entry")
    entry = msgspec.msgpack.decode(project.folder.read(path.stem) or b"", type=Entry)
    if how == "cut":
        path.write_bytes(path.read_bytes()[:-5])
    else:
        forged = {
            "foreign": b"\x90",
            "of another rule": msgspec.msgpack.encode(
                msgspec.structs.replace(
                    entry, result=msgspec.structs.replace(entry.result, name="cachedpkg.rules:other")
                )
            ),
            "of another trace": msgspec.msgpack.encode(msgspec.structs.replace(entry, traces=["0"])),
        }[how]
        project.folder.write(path.stem, forged)
    assert project.verdict() == "proved"
    assert project.audited == ["cachedpkg.rules:rule"]
    assert project.verdict() == "proved"
    assert project.audited == [], "it was replaced"


@pytest.mark.slow
def test_a_second_audit_of_the_examples_takes_under_a_fifth(tmp_path: Path) -> None:
    import resource
    import subprocess

    def seconds() -> tuple[float, bytes]:
        """Of all processors: other work on the machine has little part in it."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = ["audit", "examples/rules", "--cache-dir", str(tmp_path), "--format", "json"]
        done = subprocess.run(
            [sys.executable, "-m", "certgrad", *command],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            check=False,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime - before.ru_utime, done.stdout

    first, second = seconds(), seconds()
    assert second[1] == first[1]
    assert second[0] < first[0] / 5


UNDECLARED = """
import jax

@jax.custom_vjp
def rule(x):
    return x * x

rule.defvjp(lambda x: (x * x, x), lambda x, g: (2 * x * g,))

@jax.custom_vjp
def strange(x):
    return x["a"] + x["b"]

strange.defvjp(lambda x: (strange(x), None), lambda _, g: ({"a": g, "b": g},))
"""


@pytest.mark.slow
def test_shapes_are_inferred_once(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also that there are none; and anew where the code is another."""
    names: list[str] = []
    infer = remembered.inferred
    monkeypatch.setattr(remembered, "inferred", lambda f, calls: names.append(f.__name__) or infer(f, calls))
    project.write("rules", UNDECLARED)
    first = project.audit()
    assert names == ["rule", "strange"]
    second = project.audit()
    assert names == ["rule", "strange"]
    assert [r.text for r in second["strange"].remarks] == [r.text for r in first["strange"].remarks]
    assert second["rule"].certificate == first["rule"].certificate
    project.write("rules", UNDECLARED.replace("2 * x * g", "3 * x * g"))
    assert project.audit()["rule"].certificate != first["rule"].certificate
    assert names == ["rule", "strange", "rule"], "what strange reaches is the same"


CALLED = """
import jax.numpy as jnp
from cachedpkg.rules import rule

def test_rule():
    rule(jnp.ones(SHAPE))
"""


def test_what_tests_call_a_rule_with_is_part_of_the_key(project: Project) -> None:
    """A comment in a test, or another size, is none."""
    project.write("rules", UNDECLARED)
    test = project.root / "tests" / "test_rules.py"
    test.parent.mkdir()
    inferred = []
    for shape in ("3, 4", "3, 5", "2, 3, 4", "2, 3, 4"):
        test.write_text(f"# shape: {shape}\n{CALLED.replace('SHAPE', f'({shape})')}")
        inferred.append((project.audit()["rule"].inferred, "cachedpkg.rules:rule" in project.audited))
    assert [shapes for shapes, _ in inferred] == ['"n d"', '"n d"', '"b n d"', '"b n d"']
    assert [anew for _, anew in inferred] == [True, False, True, False]


@pytest.mark.parametrize("put", ["2.0", "np.float64(2)", "[2.0]", "partial(float, 2)"])
def test_what_others_put_into_a_module_of_a_library_counts(put, monkeypatch):
    """A rule that reads `math.slope` at one size alone has the same traces whatever it is."""

    def rule(x):
        return math.slope

    digests = []
    for text in (put, put.replace("2", "3"), put):
        monkeypatch.setattr(math, "slope", eval(text, {"np": np, "partial": partial}), raising=False)
        digests.append(Identity([rule]).digest)
    assert digests[0] == digests[2] != digests[1]
