"""What the key of a verdict holds: whatever another run of the rule could read or run, and nothing else.

Every rule here comes to what is edited at n = 9 alone, so that its traces at sizes left open are the same.
"""

from __future__ import annotations

import pytest

from tests.rules.cached_project import HEAD, TWO, Files, Project, at_9, put_back

THREE = "def slope():\n    return 3.0\n"


def edited(before: str, slope: str, text: str = TWO, to: str = "3.0", old: str = "2.0", **more: str) -> tuple:
    """The files of a package, and what becomes of `help` where a number in it is another."""
    files = {"help": text, **more, "rules": at_9(before, slope)}
    return files, {"help": text.replace(old, to)}


HELPS, ALL = "from . import help\n", "from . import help, rules\n"
TAKES = "def take(m):\n    return m.slope()\n"

REACHED: dict[str, tuple[Files, Files]] = {
    # A module is handed about as a value.
    "a module handed to a function": edited(f"from . import help\n{TAKES}", "take(help)"),
    "a module of a module, handed on": edited(f"import cachedpkg\n{TAKES}", "take(cachedpkg.help)", __init__=HELPS),
    "a module by another name": edited("from . import help\ndef f():\n    m = help\n    return m.slope()", "f()"),
    "a module as a default": edited("from . import help\ndef take(m=help):\n    return m.slope()", "take()"),
    "a module in a closure": edited(
        "from . import help\ndef of(m):\n    return lambda: m.slope()\ntake = of(help)", "take()"
    ),
    "a module in a list": edited(f"from . import help\n{TAKES}ALL = [help]", "[take(m) for m in ALL][0]"),
    "a module in a tuple of code": edited("from . import help", "[m.slope() for m in (help,)][0]"),
    "a module that an object holds": edited(
        "from . import help\nclass Of:\n    def __init__(self, m):\n        self.m = m\nOF = Of(help)", "OF.m.slope()"
    ),
    "a module that a class holds": edited("from . import help\nclass Of:\n    m = help", "Of.m.slope()"),
    "a module imported inside, handed on": edited(
        f"{TAKES}def f():\n    from . import help\n    return take(help)", "f()", __init__=HELPS
    ),
    "a module imported inside by its full name": edited(
        f"{TAKES}def f():\n    import cachedpkg.help as h\n    return take(h)", "f()", __init__=HELPS
    ),
    "a package imported inside": edited(
        "def take(m):\n    return m.help.slope()\ndef f():\n    import cachedpkg.help\n    return take(cachedpkg)",
        "f()",
        __init__=HELPS,
    ),
    "a module that one condition of two gives": edited(
        f"from . import help, other\n{TAKES}", "take(help if x.shape[0] > 5 else other)", other=TWO
    ),
    "a module that a pattern takes apart": edited(
        "from types import ModuleType\nfrom . import help\n"
        "def f(m):\n    match m:\n        case ModuleType(slope=s):\n            return s()\n    return 2.0",
        "f(help)",
    ),
    "a table in a module handed on": edited(
        "from . import help\ndef take(m):\n    return m.TABLE['slope']()",
        "take(help)",
        TWO + "TABLE = {'slope': slope}\n",
    ),
    "a name that a module is asked for by text": edited("from . import help", "getattr(help, 'slope')()"),
    "a name that a module is asked for by an operator": edited(
        "import operator\nfrom . import help\nget = operator.attrgetter('slope')", "get(help)()"
    ),
    "the variables of a module": edited("from . import help", "vars(help)['slope']()"),
    "a module that is imported by a text": edited(
        "import importlib", "importlib.import_module('cachedpkg.help').slope()"
    ),
    "the own module": edited(f"import sys\nfrom .help import slope\n{TAKES}me = sys.modules[__name__]", "take(me)"),
    "what a module makes when it is asked": edited(
        "from . import help",
        "help.slope()",
        "TABLE = {'slope': lambda: 2.0}\ndef __getattr__(name):\n    if name in TABLE:\n        return TABLE[name]\n"
        "    raise AttributeError(name)\n",
    ),
    "what a module makes when it is asked, each time anew": edited(
        "from . import help",
        "help.slope",
        "COUNT = [0]\ndef __getattr__(name):\n    if name != 'slope':\n        raise AttributeError(name)\n"
        "    COUNT[0] += 1\n    return 2.0 if COUNT[0] < 7 else 5.0\n",
        "6.0",
        "5.0",
    ),
    # A table, a class or an object is changed by another module.
    "a table that another module fills": edited(
        "from .registry import TABLE",
        "TABLE['slope']()",
        f"from .registry import TABLE\n{TWO}TABLE['slope'] = slope\n",
        registry="TABLE = {}\n",
        __init__=ALL,
    ),
    "a table that a decorator fills": edited(
        "from .registry import TABLE",
        "TABLE['slope']()",
        f"from .registry import register\n@register('slope')\n{TWO}",
        registry="TABLE = {}\ndef register(name):\n    def put(f):\n        TABLE[name] = f\n        return f\n"
        "    return put\n",
        __init__=ALL,
    ),
    "a class attribute that another module replaces": edited(
        "from .kinds import Own\nOWN = Own()",
        "OWN.slope()",
        "from .kinds import Own\nOwn.slope = lambda self: 2.0\n",
        kinds="class Own:\n    def slope(self):\n        return 1.0\n",
        __init__=ALL,
    ),
    "a function that another module replaces": edited(
        "from . import other",
        "other.slope()",
        f"from . import other\n{TWO}other.slope = slope\n",
        other="def slope():\n    return 1.0\n",
        __init__=ALL,
    ),
    "a function that another module replaces by a text": edited(
        "from . import other",
        "other.slope()",
        f"from . import other\n{TWO}setattr(other, 'slo' + 'pe', slope)\n",
        other="def slope():\n    return 1.0\n",
        __init__=ALL,
    ),
    "defaults that another module replaces": edited(
        "from .other import slope",
        "slope()",
        "from .other import slope\nslope.__defaults__ = (2.0,)\n",
        other="def slope(c=1.0):\n    return c\n",
        __init__=ALL,
    ),
    "an attribute of a function": edited(
        "from .other import slope",
        "slope.c",
        "from .other import slope\nslope.c = 2.0\n",
        other="def slope():\n    return 1.0\n",
        __init__=ALL,
    ),
    "entries of an array that another module writes": edited(
        "from .other import W",
        "W[0]",
        "from .other import W\nW[0] = 2.0\n",
        other="import numpy as np\nW = np.zeros(3)\n",
        __init__=ALL,
    ),
    "a subclass that registers itself": edited(
        "from .kinds import Base\nONE = Base.known['Own']()",
        "Base.known['Own']().slope()",
        "from .kinds import Base\nclass Own(Base):\n    def slope(self):\n        return 2.0\n",
        kinds="class Base:\n    known = {}\n    def __init_subclass__(cls):\n        Base.known[cls.__name__] = cls\n",
        __init__=ALL,
    ),
    "an implementation for a type": edited(
        "from .kinds import slope, Own\nOWN = Own()",
        "slope(OWN)",
        "from .kinds import slope, Own\n@slope.register(Own)\ndef _(own):\n    return 2.0\n",
        kinds="from functools import singledispatch\nclass Own:\n    pass\n@singledispatch\ndef slope(own):\n"
        "    return 1.0\n",
        __init__=ALL,
    ),
    # Functions that the code does not name.
    "a decorator that consults a table at each call": edited(
        "from .help import looked_up\n@looked_up\ndef slope():\n    return 1.0",
        "slope()",
        "TABLE = {'slope': 2.0}\ndef looked_up(f):\n    def run():\n        return TABLE[f.__name__]\n    return run\n",
    ),
    "a decorator that consults a table once": edited(
        "from .help import looked_up\n@looked_up\ndef slope():\n    return 1.0",
        "slope()",
        "TABLE = {'slope': lambda: 2.0}\ndef looked_up(f):\n    return TABLE[f.__name__]\n",
    ),
    "a property": edited(
        "from .help import OWN",
        "OWN.slope",
        "class Own:\n    @property\n    def slope(self):\n        return 2.0\nOWN = Own()\n",
    ),
    "what an object answers when it is asked": edited(
        "from .help import OWN",
        "OWN.slope",
        "class Own:\n    def __getattr__(self, name):\n        return 2.0\nOWN = Own()\n",
    ),
    "a descriptor": edited(
        "from .help import Own",
        "Own().slope",
        "class Of:\n    def __get__(self, *_):\n        return 2.0\nclass Own:\n    slope = Of()\n",
    ),
    "an operator of a class": edited(
        "from .help import OWN", "OWN + 1", "class Own:\n    def __add__(self, _):\n        return 2.0\nOWN = Own()\n"
    ),
    "a metaclass": edited(
        "from .help import Own",
        "Own.slope",
        "class Meta(type):\n    @property\n    def slope(cls):\n        return 2.0\nclass Own(metaclass=Meta):\n"
        "    pass\n",
    ),
    "a context": edited(
        "from .help import setting\ndef f():\n    with setting() as s:\n        return s",
        "f()",
        "from contextlib import contextmanager\n@contextmanager\ndef setting():\n    yield 2.0\n",
    ),
    "a member of an enumeration": edited(
        "from .help import Kind", "Kind.OWN.value", "from enum import Enum\nclass Kind(Enum):\n    OWN = 2.0\n"
    ),
    "a field of a data class": edited(
        "from .help import Own",
        "Own().slope",
        "from dataclasses import dataclass\n@dataclass\nclass Own:\n    slope: float = 2.0\n",
    ),
    "a name in a namespace": edited(
        "from .help import NAMES",
        "NAMES.slope()",
        f"from types import SimpleNamespace\n{TWO}NAMES = SimpleNamespace(slope=slope)\n",
    ),
    # Values that an import computes.
    "what a loop at import computes": edited(
        "from .help import SLOPE",
        "SLOPE",
        "SLOPE = 0.0\nfor k in range(2):\n    SLOPE += 1.0\n",
        "range(3)",
        "range(2)",
    ),
    "which function an import chooses": edited(
        "from .help import slope",
        "slope()",
        "A = True\nif A:\n    def slope():\n        return 2.0\nelse:\n    def slope():\n        return 3.0\n",
        "A = False",
        "A = True",
    ),
    "what is offered from elsewhere": edited(
        "from .help import *",
        "slope()",
        "from .other import *\n",
        "from .third import *",
        "from .other import *",
        other=TWO,
        third=THREE,
    ),
    "a global that a function sets at import": edited(
        "from . import help",
        "help.SLOPE",
        "SLOPE = 1.0\ndef set_up():\n    global SLOPE\n    SLOPE = 2.0\nset_up()\n",
    ),
    # Objects of libraries that hold what the project gives them.
    "an attribute of a partial": edited(
        "from .other import slope\n",
        "slope.c",
        "from .other import slope\nslope.c = 2.0\n",
        other="from functools import partial\nslope = partial(max, 1.0)\n",
        __init__=ALL,
    ),
    "an attribute of a function with a memory": edited(
        "from .other import slope\n",
        "slope.c",
        "from .other import slope\nslope.c = 2.0\n",
        other="from functools import lru_cache\n@lru_cache\ndef slope():\n    return 1.0\n",
        __init__=ALL,
    ),
    "an attribute of a compiled function": edited(
        "from .other import slope\n",
        "slope.c",
        "from .other import slope\nslope.c = 2.0\n",
        other="import jax\n@jax.jit\ndef slope():\n    return 1.0\n",
        __init__=ALL,
    ),
    "what a compiled function is told": edited(
        "from .help import slope",
        "slope(2.0)",
        "import jax\nslope = jax.jit(lambda x: x, compiler_options={'xla_cpu_enable_fast_math': True})\n",
        "False",
        "True",
    ),
    "a function that is compiled": edited("from .help import f", "f()", f"import jax\n{TWO}f = jax.jit(slope)\n"),
    "a function that JAX holds": edited(
        "from .help import f", "f()", f"import jax\n{TWO}f = jax.tree_util.Partial(slope)\n"
    ),
    "the rule of a function that is called": edited(
        "from .help import f",
        "jax.grad(f)(1.0)",
        "import jax\n@jax.custom_jvp\ndef f(x):\n    return x\nf.defjvp(lambda p, t: (p[0], 2.0 * t[0]))\n",
    ),
    "the backward of a function that is called": edited(
        "from .help import f",
        "jax.grad(f)(1.0)",
        "import jax\n@jax.custom_vjp\ndef f(x):\n    return x\n"
        "f.defvjp(lambda x: (x, None), lambda _, g: (2.0 * g,))\n",
    ),
    "a field of an Equinox module": edited(
        "from .help import OWN",
        "OWN.slope",
        "import equinox as eqx\nclass Own(eqx.Module):\n    slope: float = eqx.field(static=True)\nOWN = Own(2.0)\n",
    ),
    "how much is logged": edited(
        "from .help import logger",
        "2.0 if logger.isEnabledFor(20) else 3.0",
        "import logging\nlogger = logging.getLogger(__name__)\nlogger.setLevel(10)\n",
        "30",
        "10",
    ),
    # Ways to an object's code that no name shows.
    "an entry of an object": edited(
        "from .help import OWN",
        "OWN[0]",
        "class Own:\n    def __getitem__(self, _):\n        return 2.0\nOWN = Own()\n",
    ),
    "the truth of an object": edited(
        "from .help import OWN",
        "2.0 if OWN else 3.0",
        "class Own:\n    def __bool__(self):\n        return True\nOWN = Own()\n",
        "False",
        "True",
    ),
    "a field that is computed once": edited(
        "from .help import Own",
        "Own().slope",
        "from functools import cached_property\nclass Own:\n    @cached_property\n    def slope(self):\n"
        "        return 2.0\n",
    ),
    "a default that a function makes": edited(
        "from .help import Own",
        "Own().slope[0]",
        "from dataclasses import dataclass, field\ndef some():\n    return [2.0]\n@dataclass\nclass Own:\n"
        "    slope: list = field(default_factory=some)\n",
    ),
    "a builtin that a module replaces": edited(
        "from .help import *", "max(1.0, 2.0)", "def other(*_):\n    return 3.0\n", "def max(*_)", "def other(*_)"
    ),
    "a method that a subclass replaces": edited(
        "from .help import Own",
        "Own().slope()",
        "class Base:\n    def slope(self):\n        return 2.0\nclass Own(Base):\n    def other(self):\n"
        "        return 3.0\n",
        "def slope(self):\n        return 3.0",
        "def other(self):\n        return 3.0",
    ),
    "a base that is another one": edited(
        "from .help import Own",
        "Own().slope()",
        "class A:\n    def slope(self):\n        return 2.0\nclass B:\n    def slope(self):\n        return 3.0\n"
        "class Own(A):\n    pass\n",
        "Own(B)",
        "Own(A)",
    ),
    "the class of an object": edited(
        "from .help import OWN",
        "OWN.slope()",
        "class A:\n    def slope(self):\n        return 2.0\nclass B:\n    def slope(self):\n        return 3.0\n"
        "OWN = A()\nOWN.__class__ = A\n",
        "__class__ = B",
        "__class__ = A",
    ),
    "the code of a function": edited(
        "from .other import slope",
        "slope()",
        f"from .other import slope as f\n{TWO}f.__code__ = slope.__code__\n",
        other="def slope():\n    return 1.0\n",
        __init__=ALL,
    ),
    # What reaches beyond the project.
    "a function put into a library": edited(
        "",
        "jnp.slope_of_test()",
        f"import jax.numpy as jnp\n{TWO}jnp.slope_of_test = slope\n",
        __init__=ALL,
    ),
    "a function of a library's, replaced inside of it": edited(
        "",
        "float(jax.nn.silu(2.0))",
        "import jax._src.nn.functions as f\nold = f.sigmoid\nf.sigmoid = lambda x: 2.0 * old(x)\n",
        __init__=ALL,
    ),
    "a function of a library's, replaced by a function for that": edited(
        "",
        "float(jax.nn.silu(2.0))",
        "import jax._src.nn.functions as f\nfrom .other import put\nold = f.sigmoid\nput(f, lambda x: 2.0 * old(x))\n",
        other="def put(m, f):\n    m.sigmoid = f\n",
        __init__=ALL,
    ),
    "a rule of JAX's for a primitive": edited(
        "",
        "jax.jvp(jax.lax.sin, (1.0,), (1.0,))[1]",
        "from jax.interpreters import ad\nfrom jax._src.lax import lax\n"
        "ad.primitive_jvps[lax.sin_p] = lambda p, t: (p[0], 2.0 * t[0])\n",
        __init__=ALL,
    ),
    "a table of JAX's by another name": edited(
        "",
        "jax.jvp(jax.lax.sin, (1.0,), (1.0,))[1]",
        "from .other import RULES\nfrom jax.lax import sin_p\nRULES[sin_p] = lambda p, t: (p[0], 2.0 * t[0])\n",
        other="from jax.interpreters.ad import primitive_jvps as RULES\n",
        __init__=ALL,
    ),
    "how JAX is set": edited(
        "",
        "jnp.ones(2, 'float32') + jnp.ones((2, 2), 'float32')",
        "import jax\njax.config.update('jax_numpy_rank_promotion', 'allow')\n",
        "'warn'",
        "'allow'",
        __init__=ALL,
    ),
    "how JAX takes a class apart": edited(
        "from .kinds import Own",
        "jax.tree_util.tree_leaves(Own())[0]",
        "import jax\nfrom .kinds import Own\n"
        "jax.tree_util.register_pytree_node(Own, lambda own: ((2.0,), None), lambda _, parts: Own())\n",
        kinds="class Own:\n    pass\n",
        __init__=ALL,
    ),
    "numpy's handling of errors": edited(
        "",
        "float(np.divide(1.0, 0.0) > 1) + 1",
        "import numpy as np\nnp.seterr(divide='ignore')\n",
        "'raise'",
        "'ignore'",
        __init__=ALL,
    ),
    "a virtual subclass": edited(
        "from .kinds import Base, Own\nOWN = Own()",
        "2.0 if isinstance(OWN, Base) else 3.0",
        "from .kinds import Base, Own\nBase.register(Own)\n",
        "pass",
        "Base.register(Own)",
        kinds="from abc import ABC\nclass Base(ABC):\n    pass\nclass Own:\n    pass\n",
        __init__=ALL,
    ),
    # What certgrad itself reads of a rule.
    "an ideal that a text names": edited(
        "from .other import f",
        "f(2.0)",
        "def exact(x):\n    return 2.0 * x\n",
        other="import certgrad\n@certgrad.declare('n -> n', approximates='cachedpkg.help:exact')\ndef f(x):\n"
        "    return x\n",
        __init__=ALL,
    ),
    "what an annotation means": (
        {
            "help": "from typing import Literal\nKind = Literal[1, 2]\n",
            "rules": HEAD
            + "from .help import Kind\n@certgrad.declare('n -> n')\n@partial(jax.custom_vjp, nondiff_argnums=(1,))\n"
            "def rule(x, c: Kind = 1):\n    return c * x\n"
            "rule.defvjp(lambda x, c: (c * x, None), lambda c, _, g: (c * g,))\n",
        },
        {"help": "from typing import Literal\nKind = Literal[1, 3]\n"},
    ),
    "what an annotation in a text means": (
        {
            "help": "from typing import Literal\nKind = Literal[1, 2]\n",
            "rules": HEAD
            + "from .help import Kind\n@certgrad.declare('n -> n')\n@partial(jax.custom_vjp, nondiff_argnums=(1,))\n"
            "def rule(x, c: 'Kind' = 1):\n    return c * x\n"
            "rule.defvjp(lambda x, c: (c * x, None), lambda c, _, g: (c * g,))\n",
        },
        {"help": "from typing import Literal\nKind = Literal[1, 3]\n"},
    ),
    "what an annotation in a text means, of a module": (
        {
            "help": "from typing import Literal\nKind = Literal[1, 2]\n",
            "rules": HEAD + "from . import help\n@certgrad.declare('n -> n')\n"
            "@partial(jax.custom_vjp, nondiff_argnums=(1,))\ndef rule(x, c: 'help.Kind' = 1):\n    return c * x\n"
            "rule.defvjp(lambda x, c: (c * x, None), lambda c, _, g: (c * g,))\n",
        },
        {"help": "from typing import Literal\nKind = Literal[1, 3]\n"},
    ),
    "shapes in an annotation by another name": (
        {
            "help": "from jaxtyping import Array, Float\nVector = Float[Array, 'n']\n",
            "rules": "import jax\nfrom .help import Vector\n@jax.custom_vjp\ndef rule(x: Vector) -> Vector:\n"
            "    return x * x\n"
            "rule.defvjp(lambda x: (x * x, x), lambda x, g: (2 * x * g,))\n",
        },
        {"help": "from jaxtyping import Array, Float\nVector = Float[Array, 'n 3']\n"},
    ),
}


NOT_KEPT = (
    "a module that a pattern takes apart; a name that a module is asked for by text; the variables of a module; "
    "a name that a module is asked for by an operator; a module that is imported by a text; the own module; "
    "an implementation for a type; a field of an Equinox module; a field that is computed once"
).split("; ")
"""What nobody can say of another process."""


@pytest.mark.one_in(8)
@pytest.mark.parametrize("case", REACHED)
def test_what_a_run_could_reach_is_in_the_key(project: Project, case: str) -> None:
    """The verdict that was given before the edit is not served after it."""
    before, after = REACHED[case]
    for name, text in before.items():
        project.write(name, text)
    with put_back():
        first = project.key()
    assert (first is None) == (case in NOT_KEPT)
    for name, text in after.items():
        assert before[name] != text, "it is an edit"
        project.write(name, text)
    with put_back():
        second = project.key()
    assert not (first and second and (first.digest, first.traces) == (second.digest, second.traces))
