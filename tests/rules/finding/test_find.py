"""Where the rules of a module are found, under which names, and that what is not found is named."""

import sys

import pytest

from certgrad.errors import UsageError
from certgrad.rules.finding import named_objects
from certgrad.rules.finding.find import find

BEGIN = """
import collections, functools, types
import jax, jax.numpy as jnp

def made(c):
    f = jax.custom_vjp(lambda x: c * x)
    f.defvjp(lambda x: (c * x, None), lambda _, g: (c * g,))
    return f

def timed(fn):
    def wrapper(*args):
        return fn(*args)
    return wrapper

class Timed:
    __slots__ = ("fn",)
    def __init__(self, fn):
        self.fn = fn
    def __call__(self, *args):
        return self.fn(*args)

def named(x):
    return x

class Config:
    pass

"""
AT_EACH_CALL, NO_NAME = "it makes a rule at each call", "a rule is made here by the text"
HELD = {
    "a decorator without wraps": ("f = timed(made(2))", ["f.<closure>.fn"]),
    "two decorators": ("f = timed(timed(made(2)))", ["f.<closure>.fn.<closure>.fn"]),
    "a decorator that is a class": ("f = Timed(made(2))", ["f.fn"]),
    "its own name is gone": (
        "@jax.custom_jvp\ndef _f(x):\n    return x\n_f.defjvp(lambda p, t: (p[0], t[0]))\nf = timed(_f)\ndel _f\n"
        "g = made(1)",
        ["f.<closure>.fn", "g"],
    ),
    "a table three deep": ("T = {'a': [('x', made(1)), ('y', made(3))]}", ["T['a'][0][1]", "T['a'][1][1]"]),
    "a table nine deep": ("T = [[[[[[[[[made(1)]]]]]]]]]", ["T[0][0][0][0][0][0][0][0][0]"]),
    "a default": ("def g(x, *, rule=made(1)):\n    return rule(x)", ["g.<default>.rule"]),
    "a default by position": ("def g(x, y=1, rule=made(1)):\n    return rule(x)", ["g.<default>.rule"]),
    "a namespace": ("ns = types.SimpleNamespace(act=made(1))", ["ns.act"]),
    "an attribute": ("c = Config()\nc.parts = {'act': made(1)}", ["c.parts['act']"]),
    "of a class": (
        "Config.act = made(1)\nConfig.Inner = type('Inner', (), {'act': made(2)})",
        ["Config.Inner.act", "Config.act"],
    ),
    "of a function": ("def g(x):\n    return x\ng.rule = made(1)", ["g.rule"]),
    "a partial's argument": ("g = functools.partial(map, made(1))", ["g.<argument>.0"]),
    "a method's object": ("c = Timed(made(1))\nm = c.__call__\ndel c", ["m.<argument>.0.fn"]),
    "an ordered dict": ("T = collections.OrderedDict(a=made(1))", ["T['a']"]),
    "a default dict": ("T = collections.defaultdict(list)\nT[named].append(made(1))", ["T[named][0]"]),
    "a set": ("S = {made(1)}", None),
    "inside a rule": (
        "def outer():\n    inner = made(1)\n    return jax.custom_jvp(lambda x: inner(x))\n"
        "f = outer()\nf.defjvp(lambda p, t: (p[0], t[0]))",
        ["f", "f.<closure>.inner"],
    ),
    "a cycle": ("c = Config()\nc.me = c\nc.act = made(1)", ["c.act"]),
    "two names": ("f = made(1)\nT = [f]\ng = timed(f)", ["f"]),
    "behind jit": ("f = timed(jax.jit(made(1)))", ["f.<closure>.fn"]),
    "beside many numbers": ("T = [*range(100_000), made(1)]", ["T[100000]"]),
}


def _found(tmp_path, monkeypatch, text, name):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / f"{name}.py").write_text(text)
    found = find(str(tmp_path / f"{name}.py"))
    return {one.name.partition(":")[2]: one for one in found.rules}


@pytest.mark.parametrize("case", HELD)
def test_where_rules_are_held(tmp_path, monkeypatch, case):
    text, names = HELD[case]
    module = f"held_{list(HELD).index(case)}"
    found = _found(tmp_path, monkeypatch, BEGIN + text, module)
    assert [name for name, one in found.items() if one.problem] == []
    assert [*found] == names or (names is None and len(found) == 1)
    for name in found:
        (again,) = find(f"{tmp_path / module}.py:{name}").rules
        assert again.name == f"{module}_py:{name}", "the file is imported anew, beside the first"


LOST = {
    "deleted": ("f = jax.custom_vjp(named)\ndel f", {"f": NO_NAME}),
    "decorated and deleted": ("@jax.custom_jvp\ndef f(x):\n    return x\ndel f", {"f": NO_NAME}),
    "another name of the maker": (
        "from jax import custom_jvp as cj\n@cj\ndef f(x):\n    return x\nf = 1",
        {"f": NO_NAME},
    ),
    "kept by nothing": ("print(jax.custom_vjp(named))", {"<statement>.custom_vjp": NO_NAME}),
    "in a generator": ("g = (r for r in [jax.custom_vjp(named)])", {"g": NO_NAME}),
    "one of two": ("f = timed(made(1))\ng = jax.custom_vjp(named)\ndel g", {"g": NO_NAME}),
    "in a branch that was not taken": (
        "try:\n    f = 1\nexcept ValueError:\n    f = jax.custom_vjp(named)",
        {"f": NO_NAME},
    ),
    "at each call": ("def layer(x):\n    return jax.custom_vjp(named)(x)", {"layer": AT_EACH_CALL}),
    "by an object of a class": (
        "class Layer:\n    def __init__(self):\n        self.f = jax.custom_vjp(self.value)\n"
        "        self.f.defvjp(self.value, self.value)\n"
        "    def value(self, x):\n        return x\nlayer = Layer()",
        {},
    ),
    "by a class without an object": (
        "class Layer:\n    def __init__(self):\n        self.f = jax.custom_vjp(self.value)\n"
        "    def value(self, x):\n        return x",
        {"Layer.__init__": AT_EACH_CALL},
    ),
    "the same in a set": ("S = {made(1), made(2)}", None),
    "only asked for": ("print(isinstance(named, jax.custom_vjp))", {}),
    "an alias": ("vjp = functools.partial(jax.custom_vjp, nondiff_argnums=(1,))", {}),
    "in a loop": ("T = []\nfor k in (1, 2):\n    T.append(jax.custom_vjp(lambda x: k * x))", {}),
    "registered": ("T = {}\nT.setdefault('f', jax.custom_vjp(named))", {}),
}


@pytest.mark.parametrize("case", LOST)
def test_what_makes_rules_that_are_not_found(tmp_path, monkeypatch, case):
    text, problems = LOST[case]
    found = _found(tmp_path, monkeypatch, f"{BEGIN}kept = made(0)\n{text}\n", f"lost_{list(LOST).index(case)}")
    unseen = {name: one.problem for name, one in found.items() if one.problem and not one.rule}
    if problems is None:
        assert [p.startswith("2 rules have this name") for p in unseen.values()] == [True]
        return
    assert unseen.keys() == problems.keys()
    assert all(unseen[name].startswith(problem) for name, problem in problems.items())


def test_the_limit_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(named_objects, "MOST_OBJECTS", 20)
    found = _found(tmp_path, monkeypatch, f"{BEGIN}T = [[k] for k in range(50)]\nT.append([made(1)])\n", "large_table")
    (one,) = (one for name, one in found.items() if name.startswith("<objects"))
    assert "and the others were not searched for rules" in one.problem


RULE = "import jax\nf = jax.custom_vjp(lambda x: 2 * x)\nf.defvjp(lambda x: (2 * x, None), lambda _, g: (2 * g,))\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project in the folder `src`, whose package has folders without `__init__.py`."""
    for name, text in {
        "src/laid/__init__.py": "",
        "src/laid/rules.py": RULE,
        "src/laid/kernels/fast.py": RULE,
        "src/laid/kernels/deep/er/fast.py": RULE,
        "src/laid/with-dash/fast.py": RULE,
        "src/laid/v1.2/fast.py": RULE,
        "src/laid/old.rules.py": "x = 1",
        "src/laid/.hidden/fast.py": "raise RuntimeError",
        "src/laid/test_fast.py": RULE,
        "src/laid/fast_test.py": "raise RuntimeError",
        "src/laid/tests/unit/fast.py": RULE,
        "setup.py": "raise RuntimeError",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "src"), *sys.path])
    yield tmp_path
    for name in [n for n in sys.modules if n.partition(".")[0] == "laid"]:
        del sys.modules[name]


@pytest.mark.parametrize("target", ["laid", "src/laid", "src/laid/", "src", "."])
def test_folders_without_init_are_audited_with_their_package(project, target):
    found = find(target)
    assert [one.name for one in found.rules if not one.problem] == [
        "laid.kernels.deep.er.fast:f",
        "laid.kernels.fast:f",
        "laid.rules:f",
        "laid.with-dash.fast:f",
    ]
    assert {one.name: one.file for one in found.rules if one.problem} == {
        "laid.v1.2": str(project / "src/laid/v1.2/fast.py")
    }
    passed_over = ["fast_test.py", "old.rules.py", "test_fast.py", "tests/unit/fast.py"]
    files = [f"src/laid/{name}" for name in passed_over] + ["setup.py"] * (target == ".")
    assert sorted(found.passed_over) == sorted(str(project / name) for name in files)


def test_a_folder_that_is_imported_as_another_package_is_refused(tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere" / "shadowed"
    elsewhere.mkdir(parents=True)
    (elsewhere / "__init__.py").write_text("")
    folder = tmp_path / "project" / "shadowed"
    folder.mkdir(parents=True)
    (folder / "rules.py").write_text("")
    monkeypatch.setattr(sys, "path", [*sys.path, str(elsewhere.parent)])
    monkeypatch.chdir(folder.parent)
    with pytest.raises(UsageError, match=r"imported as 'shadowed', and that is .*elsewhere"):
        find("shadowed")


def test_a_package_in_src_is_known_by_its_name(tmp_path, monkeypatch):
    folder = tmp_path / "src" / "in_src"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(f"{BEGIN}kept = made(0)\n")
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    assert [one.name for one in find("in_src").rules] == ["in_src:kept"]
