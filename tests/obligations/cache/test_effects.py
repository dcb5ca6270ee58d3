"""What an import does beyond the project is noticed, by whatever way it is done; ordinary modules do nothing."""

from __future__ import annotations

import importlib
import linecache
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import jax
import numpy as np
import pytest

from certgrad.obligations.cache._sources import _effect, beyond_project
from certgrad.obligations.generality.syntax import _functions_in

HEAD = "import functools, jax, jax.numpy as jnp, numpy as np\nfrom functools import partial\n"
OTHER = """
import jax.numpy as jnp
TABLE = {}
OTHERS = []
class Base:
    known = {}
def put(m, f):
    m.effect_of_test = f
def patch():
    jnp.effect_of_test = 1
def call(f):
    f()
def later(f):
    def run():
        return f()
    return run
def chosen(name):
    return TABLE[name]
def keep(f):
    TABLE[f.__name__] = f
    return f
FUNCTIONS = [patch]
from jax._src.lax import lax as hidden
from jax.interpreters.ad import primitive_jvps as RULES
from jax._src.config import config as SETTINGS
"""


OWN = frozenset(["effects"])


@pytest.fixture
def effect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], str]]:
    """The effect of a module of a package that has another one, `other`."""
    folder = tmp_path / "effects"
    folder.mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(jax.numpy, "effect_of_test", None, raising=False)
    before = np.geterr()

    def of(text: str) -> str:
        (folder / "__init__.py").write_text("")
        (folder / "other.py").write_text(OTHER)
        (folder / "outer.py").write_text("import os")
        (folder / "rules.py").write_text(HEAD + text)
        importlib.import_module("effects.rules")
        return _effect("effects.rules", OWN)

    yield of
    for name in [n for n in sys.modules if n.partition(".")[0] == "effects"]:
        del sys.modules[name]
    np.seterr(**before)
    linecache.clearcache()
    _functions_in.cache_clear()


BEYOND = {
    "an attribute": "jnp.effect_of_test = 1",
    "an attribute, by a text": "setattr(jnp, 'effect_of_test', 1)",
    "an attribute, by another name": "m = jnp\nm.effect_of_test = 1",
    "an attribute of a class": "from numpy import ma\nma.MaskedArray.effect_of_test = 1",
    "among several": "a, jnp.effect_of_test = 1, 2",
    "in a loop": "for jnp.effect_of_test in (1, 2):\n    pass",
    "deleted": "jnp.effect_of_other_test = 1\ndel jnp.effect_of_other_test",
    "by a function": "def patch():\n    jnp.effect_of_test = 1\npatch()",
    "by a function of a function": "def patch():\n    jnp.effect_of_test = 1\ndef run():\n    patch()\nrun()",
    "by a function inside": "def run():\n    def patch():\n        jnp.effect_of_test = 1\n    patch()\nrun()",
    "by a name of a function's own": "def run():\n    import jax.numpy as m\n    m.effect_of_test = 1\nrun()",
    "by another module's function": "from .other import patch\npatch()",
    "by another module's function, asked for": "from . import other\nother.patch()",
    "by a function for that": "from .other import put\nput(jnp, 1)",
    "by a function that is handed on": "from .other import call, patch\ncall(patch)",
    "by a lambda that is handed on": "from .other import call, patch\ncall(lambda: patch())",
    "by a partial": "from .other import put\npartial(put, jnp)(1)",
    "by a partial that is handed on": "from .other import call, put\ncall(partial(put, jnp, 1))",
    "by a function in a table": "from .other import FUNCTIONS\nfor f in FUNCTIONS:\n    f()",
    "by a function in a table, at once": "from .other import FUNCTIONS\nFUNCTIONS[0]()",
    "by a function in a table, handed on": "from .other import FUNCTIONS, call\ncall(FUNCTIONS[0])",
    "by a function in a table, mapped": "from .other import FUNCTIONS, call\nlist(map(call, FUNCTIONS))",
    "by a function in a table, mapped by a lambda": "from .other import FUNCTIONS\nlist(map(lambda f: f(), FUNCTIONS))",
    "by a function in a table, within": "from .other import FUNCTIONS\n[f() for f in FUNCTIONS]",
    "by a function that is returned": "from .other import later, patch\nlater(patch)()",
    "by a function that is chosen": "from .other import chosen, keep, patch\nkeep(patch)\nchosen('patch')()",
    "by a function that is got": "from .other import FUNCTIONS\nT = dict(enumerate(FUNCTIONS))\nT.get(0)()",
    "by a function that is picked": "from .other import patch\nmax([patch], key=id)()",
    "by a decorator": "from .other import call\n@call\ndef patch():\n    jnp.effect_of_test = 1",
    "by a decorator that is computed": "from .other import FUNCTIONS\n@(lambda f: FUNCTIONS[0]() or f)\n"
    "def g():\n    pass",
    "by a default": "from .other import patch\ndef f(x=patch()):\n    pass",
    "by an annotation": "from .other import patch\ndef f(x: patch()):\n    pass",
    "by a condition": "from .other import patch\nif patch():\n    pass",
    "by a class body": "class A:\n    jnp.effect_of_test = 1",
    "by a class body's call": "from .other import patch\nclass A:\n    x = patch()",
    "by making an object": "class A:\n    def __init__(self):\n        jnp.effect_of_test = 1\nA()",
    "by making an object of a subclass": "class A:\n    def __init__(self):\n        jnp.effect_of_test = 1\n"
    "class B(A):\n    pass\nB()",
    "by a method": "class A:\n    def run(self):\n        jnp.effect_of_test = 1\na = A()\na.run()",
    "by a class's method": "class A:\n    @classmethod\n    def run(cls):\n        jnp.effect_of_test = 1\nA.run()",
    "by a default that is called": "def patch():\n    jnp.effect_of_test = 1\ndef run(f=patch):\n    f()\nrun()",
    "by a partial with a name": "from .other import patch\ng = partial(patch)\ng()",
    "by a partial of a partial": "from .other import call, patch\ng = partial(call, patch)\ng()",
    "by a mapped function with a name": "def f(x):\n    jnp.effect_of_test = 1\n    return x\n"
    "g = np.vectorize(f)\ng(np.ones(2))",
    "by a ufunc": "def f(x):\n    jnp.effect_of_test = 1\n    return x\ng = np.frompyfunc(f, 1, 1)\ng(1.0)",
    "by a compiled function that is lowered": "def f(x):\n    jnp.effect_of_test = 1\n    return x\n"
    "jax.jit(f).lower(1.0)",
    "by a method with a common name": "class A:\n    def get(self):\n        jnp.effect_of_test = 1\nA().get()",
    "by an operator": "class A:\n    def __add__(self, _):\n        jnp.effect_of_test = 1\na = A()\na + 1",
    "by a property": "class A:\n    @property\n    def x(self):\n        jnp.effect_of_test = 1\na = A()\na.x",
    "by an enumeration": "from enum import Enum\nclass A(Enum):\n    X = 1\n    def __init__(self, _):\n"
    "        jnp.effect_of_test = 1",
    "by what follows the making": "from dataclasses import dataclass\n@dataclass\nclass A:\n"
    "    def __post_init__(self):\n"
    "        jnp.effect_of_test = 1\nA()",
    "by a name that is imported in two ways": "from .other import *\npatch()\nfrom math import *",
    "by a partial in a mapped function": "def f(n, x):\n    jnp.effect_of_test = 1\n    return x\n"
    "jax.vmap(partial(f, 1))(jnp.ones(2))",
    "by a function in a table, compiled": "from .other import FUNCTIONS\njax.jit(FUNCTIONS[0])()",
    "by a function that a method of this name hides": "from .other import patch\nclass A:\n    def patch(self):\n"
    "        pass\n    def __init__(self):\n        patch()\nA()",
    "by an object with a function": "class A:\n    def __call__(self):\n        jnp.effect_of_test = 1\na = A()\n"
    "a.fun = lambda: 1\na()",
    "a table, added to": "from .other import RULES\nRULES |= {}",
    "a table, added to by a function": "from .other import RULES\ndef run(to):\n    to |= {}\nrun(RULES)",
    "a table, added to by another name": "from .other import RULES\nT = RULES\nT |= {}",
    "by making a subclass": "class A:\n    def __init_subclass__(cls):\n        jnp.effect_of_test = 1\n"
    "class B(A):\n    pass",
    "by a metaclass": "class M(type):\n    def __init__(cls, *_):\n        jnp.effect_of_test = 1\n"
    "class A(metaclass=M):\n    pass",
    "by a name in a class": "class A:\n    def __set_name__(self, *_):\n        jnp.effect_of_test = 1\n"
    "class B:\n    a = A()",
    "by a compiled function": "@jax.jit\ndef f(x):\n    jnp.effect_of_test = 1\n    return x\nf(1.0)",
    "by a mapped function": "def f(x):\n    jnp.effect_of_test = 1\n    return x\njax.vmap(f)(jnp.ones(2))",
    "by a function of numpy's": "def f(x):\n    jnp.effect_of_test = 1\n    return x\nnp.vectorize(f)(np.ones(2))",
    "by a name that means something else later": "from .other import patch\npatch()\ndef patch():\n    pass",
    "by a context": "import contextlib\n@contextlib.contextmanager\ndef c():\n    jnp.effect_of_test = 1\n    yield\n"
    "with c():\n    pass",
    "a table": "from jax.interpreters import ad\nad.primitive_jvps[jax.lax.sin_p] = ad.primitive_jvps[jax.lax.sin_p]",
    "a table, by another name": "from .other import RULES\nRULES[jax.lax.sin_p] = RULES[jax.lax.sin_p]",
    "a table, by a method": "from .other import RULES\nRULES.update({})",
    "a table of an own class": "from .other import RULES\nclass A:\n    rules = RULES\nA.rules.update({})",
    "a table of an own class, an entry": "from .other import RULES\nclass A:\n    rules = RULES\n"
    "A.rules[jax.lax.sin_p] = RULES[jax.lax.sin_p]",
    "settings, by another name": "from .other import SETTINGS\nSETTINGS.effect_of_test = 1",
    "a class of JAX's, taken apart": "class A:\n    pass\n"
    "jax.tree_util.register_pytree_with_keys(A, lambda a: ((), None), lambda *_: A())",
    "numpy's settings": "np.seterr(divide='ignore')",
    "numpy's settings, by another name": "s = np.seterr\ns(divide='ignore')",
    "random numbers": "np.random.seed(1)",
    "warnings": "import warnings\nwarnings.filterwarnings('default', message='effect of test')",
    "the environment": "import os\nos.environ['EFFECT_OF_TEST'] = '1'",
    "modules": "import sys\nsys.modules['effects.third'] = jnp",
    "a virtual subclass": "from abc import ABC\nclass A(ABC):\n    pass\nA.register(int)",
    "code of a text": "exec('jnp.effect_of_test = 1')",
    "its own variables": "globals()['f'] = lambda: None",
    "something printed": "print('here')",
}


@pytest.mark.parametrize("how", BEYOND)
def test_what_reaches_beyond_the_project_is_noticed(effect: Callable[[str], str], how: str) -> None:
    assert effect(BEYOND[how])


RULE_MAKER = (
    "def made():\n    @jax.custom_vjp\n    def f(x):\n        return x\n    def back(_, g):\n"
    "        jnp.effect_of_test = 1\n        return (g,)\n    f.defvjp(lambda x: (x, None), back)\n    return "
)
"""A function that gives a rule a backward with an effect; what it returns follows."""
RUNS_THE_BACKWARD = {
    "differentiated where it is made": "jax.grad(f)(1.0)\nmade()",
    "its derivative is called": "jax.grad(f)\nG = made()\nG(1.0)",
    "differentiated later": "f\njax.grad(made())(1.0)",
    "its result is differentiated": "f\nF = made()\njax.vjp(F, 1.0)",
    "compiled and differentiated": "f\nF = jax.jit(made())\njax.grad(F)(1.0)",
    "returned too": "f, back\nmade()[1](None, 1.0)",
    "called beside": "back(None, 1.0)\nmade()",
    "called by a function beside": "f\ndef other():\n    def run(x):\n        return made()(x)\n"
    "    return jax.grad(run)(1.0)\nother()",
}


@pytest.mark.parametrize("how", RUNS_THE_BACKWARD)
def test_a_backward_that_the_import_runs_is_read(effect: Callable[[str], str], how: str) -> None:
    assert effect(RULE_MAKER + RUNS_THE_BACKWARD[how])


WITHIN = {
    "a backward that nothing runs": RULE_MAKER + "f\nF = made()",
    "factories whose backward calls what they are given": "def made(write):\n"
    "    f = jax.custom_vjp(lambda x, k: x[k])\n"
    "    def back(kept, g):\n        return write(jnp.zeros_like(kept[0]).at[kept[1]], g), None\n"
    "    f.defvjp(lambda x, k: (x[k], (x, k)), back)\n    return f\n"
    "rule = made(lambda at, g: at.add(g))",
    "functions": "def f(x, y: int = 2, *, z=(1, 2)):\n    jnp.effect_of_test = 1\n    return x",
    "rules": "@jax.custom_vjp\ndef f(x):\n    return x\nf.defvjp(lambda x: (x, None), lambda _, g: (g,))",
    "rules with options": "@partial(jax.custom_jvp, nondiff_argnums=(1,))\ndef f(x, n):\n    return x\n"
    "@f.defjvp\ndef _(n, p, t):\n    return p[0], t[0]\n",
    "declared rules": "import certgrad\n@certgrad.declare('n -> n')\n@jax.custom_vjp\ndef f(x):\n    return x\n",
    "compiled functions": "@partial(jax.jit, static_argnums=0)\ndef f(n, x):\n    return x\ng = jax.vmap(jax.grad(f))",
    "constants": "EPS = float(jnp.finfo(jnp.float32).eps)\nA = jnp.arange(4.0).reshape(2, 2) @ np.eye(2)\n"
    "W = A.at[0].set(1)",
    "classes": "from typing import NamedTuple, Generic, TypeVar\nfrom dataclasses import dataclass, field\n"
    "T = TypeVar('T')\n"
    "class A(NamedTuple):\n    x: int = 1\n@dataclass(frozen=True)\nclass B(Generic[T]):\n"
    "    x: list = field(default_factory=list)\n"
    "    @property\n    def y(self):\n        return self.x\n    @y.setter\n    def y(self, to):\n        pass\n"
    "b = B([1])",
    "enumerations": "from enum import Enum, auto\nclass A(Enum):\n    X = auto()\n    Y = 'y'\nx = A('y')",
    "objects": "class A:\n    def __init__(self, x):\n        super().__init__()\n        self.x = x\na = A(2.0)",
    "equinox": "import equinox as eqx\nclass A(eqx.Module):\n    x: float\n    @eqx.filter_jit\n"
    "    def __call__(self, y):\n"
    "        return y\n",
    "types of arrays": "from jaxtyping import Array, Float, jaxtyped\nfrom beartype import beartype\n"
    "X = Float[Array, 'n d']\n"
    "@jaxtyped(typechecker=beartype)\ndef f(x: X) -> X:\n    return x\n",
    "factories": "def made(value, slope):\n    f = jax.custom_vjp(value)\n"
    "    f.defvjp(lambda x: (value(x), x), lambda x, g: (g * slope(x),))\n"
    "    return f\nrule = made(jnp.sin, jnp.cos)\nother = made(lambda x: x * x, lambda x: 2 * x)",
    "decorators": "from .other import keep\n@keep\ndef f(x):\n    return jnp.sin(x)\n",
    "wrapping decorators": "def twice(f):\n    @functools.wraps(f)\n    def run(*args):\n"
    "        return f(f(*args))\n    return run\n"
    "@twice\ndef f(x):\n    return jnp.sin(x)\n",
    "decorators with options": "def scaled(by):\n    def decorate(f):\n        def run(x):\n"
    "            return by * f(x)\n        return run\n"
    "    return decorate\n@scaled(2.0)\ndef f(x):\n    return jnp.sin(x)\n",
    "tables": "T = {}\nfor k in range(3):\n    T[k] = k * jnp.pi\nT.update(a=1)\nN = [k for k in T]\nN.append(1)",
    "sums": "TOTAL, NAMES = 0, []\nCOUNT = 0\nALL = ['a']\nfor k in range(3):\n    COUNT += k\nALL += ['b']\n"
    "def f():\n    n = 1\n    n += 1\n    return n\nN = f()",
    "tables of others": "from .other import TABLE, OTHERS, Base\nfrom . import other\nTABLE['a'] = 1\n"
    "other.TABLE['b'] = 2\n"
    "Base.known['a'] = int\nBase.x = 1\n",
    "settings of JAX": "jax.config.update('jax_numpy_rank_promotion', 'allow')",
    "classes known to JAX": "@jax.tree_util.register_pytree_node_class\nclass A:\n    def tree_flatten(self):\n"
    "        return (), None\n"
    "    @classmethod\n    def tree_unflatten(cls, *_):\n        return cls()\nclass B:\n    pass\n"
    "jax.tree_util.register_pytree_node(B, lambda b: ((), None), lambda *_: B())\n",
    "data classes known to JAX": "from dataclasses import dataclass\n"
    "@partial(jax.tree_util.register_dataclass, data_fields=['x'], meta_fields=[])\n@dataclass\nclass A:\n"
    "    x: float\n",
    "what depends on others": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from jax import Array\n"
    "try:\n    import nothing_such\n"
    "except ImportError:\n    nothing_such = None\n__all__ = ['f']\n__version__ = '1.0'",
    "logs": "import logging\nlogger = logging.getLogger(__name__)\nlogger.addHandler(logging.NullHandler())",
}


@pytest.mark.parametrize("what", WITHIN)
def test_an_ordinary_module_does_nothing_beyond_the_project(effect: Callable[[str], str], what: str) -> None:
    assert effect(WITHIN[what]) == ""
    assert beyond_project(["effects.rules"], OWN) == ""


READS = {
    "a variable of the environment": "import os\nX = os.environ['HOME']",
    "by a method": "import os\nX = os.environ.get('HOME', '')",
    "by another name": "from os import environ as E\nX = E.get('HOME')",
    "by a name of a library's": "import logging\nX = logging.os.environ['HOME']",
    "in a function that is called": "import os\ndef f():\n    return os.environ.get('HOME')\nX = f()",
    "by an import in it": "def f():\n    import os\n    return os.environ.get('HOME')\nX = f()",
    "by an import in a class": "class A:\n    import os\n    x = os.environ.get('HOME')",
    "by a name that is taken back": "import os\nX = os.environ.get('HOME')\nos = None",
    "by a name that may be another": "try:\n    import os\nexcept ImportError:\n    os = None\n"
    "X = os.environ.get('HOME')",
    "by way of another module": "from .outer import os as o\nX = o.environ.get('HOME')",
    "by a function handed on": "import os\nF = os.getenv",
    "a value": "from sys import platform",
    "all values": "from sys import *",
    "arguments": "import sys\nX = len(sys.argv)",
    "in a decorator": "import sys\n@partial(jax.jit, inline=bool(sys.argv))\ndef f(x):\n    return x",
    "in a default": "import sys\ndef f(x=sys.argv):\n    return x",
    "in a class": "import sys\nclass A:\n    x = sys.platform",
    "in a condition": "import sys\nif sys.platform == 'linux':\n    X = 1",
    "a file": "X = open(__file__).read()",
    "a file of numbers": "X = np.genfromtxt(['1'])",
    "the clock": "import time\nX = time.time()",
    "chance": "import random\nX = random.random()",
    "chance of numpy's": "X = np.random.rand()",
    "a path": "from pathlib import Path\nX = Path(__file__).read_text()",
}


@pytest.mark.parametrize("what", READS)
def test_what_an_import_reads_of_the_outside_is_noticed(effect: Callable[[str], str], what: str) -> None:
    effect(READS[what])
    assert beyond_project(["effects.rules"], OWN)


KEPT = {
    "modules that functions use": "import os, sys, time\ndef f():\n    return os.environ, sys.argv, time.time()",
    "types": "from pathlib import Path\nfrom os import PathLike\ndef f(p: Path) -> Path:\n    return p",
    "versions": "from importlib.metadata import version\nimport importlib.metadata\n__version__ = version('jax')\n"
    "X = importlib.metadata.version('jax')",
    "a version that may be missing": "from importlib.metadata import PackageNotFoundError, version\n"
    "try:\n    __version__ = version('effects')\nexcept PackageNotFoundError:\n    __version__ = '0'",
    "where it stands": "from pathlib import Path\nHERE = Path(__file__).parent",
    "names for type checkers": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from os import environ",
}


@pytest.mark.parametrize("what", KEPT)
def test_what_is_imported_and_not_read(effect: Callable[[str], str], what: str) -> None:
    effect(KEPT[what])
    assert beyond_project(["effects.rules"], OWN) == ""
