"""An edit of what a rule does not reach proves nothing anew, also where the package imports everything."""

from __future__ import annotations

import pytest

from tests.rules.cached_project import HEAD, TWO, Files, Project, at_9

pytestmark = pytest.mark.usefixtures("verdicts_alone")

DOC = '"""What it is."""\n'
PLAIN = at_9("from .help import slope", "slope()")
PACKAGE = {
    "__init__": "from . import apart, help, rules\nfrom .rules import rule\n__all__ = ['rule']\n__version__ = '1.0'\n",
    "apart": HEAD
    + "SCALE = 2.0\ndef unused(x):\n    return SCALE * x\nrule = made(lambda x: x * x, lambda x: 2 * x)\n",
    "help": TWO + "def unused():\n    return 1.0\n",
    "rules": PLAIN,
}
ELSEWHERE: dict[str, Files] = {
    "a comment": {"rules": "# A comment.\n\n" + PLAIN},
    "a comment in what it calls": {"help": PACKAGE["help"].replace("2.0\n", "2.0  # a comment\n")},
    "the layout": {"rules": PLAIN.replace("x * x", "(x*x)")},
    "a docstring of the module": {"rules": DOC + PLAIN},
    "a docstring of what it calls": {"help": PACKAGE["help"].replace("slope():\n", f"slope():\n    {DOC}")},
    "a function that it does not call": {"help": PACKAGE["help"].replace("1.0", "5.0")},
    "a new function beside the rule": {"rules": PLAIN + "def new(x):\n    return jnp.sin(x)\n"},
    "a new rule beside the rule": {
        "rules": PLAIN.replace(
            "@certgrad.declare",
            "@jax.custom_vjp\ndef _new(x): return x\n_new.defvjp(lambda x: (x, None), lambda _, g: (2 * g,))\n"
            "@certgrad.declare",
        )
    },
    "a rule in another module": {"apart": PACKAGE["apart"].replace("2 * x)", "3 * x)")},
    "a constant in another module": {"apart": PACKAGE["apart"].replace("2.0", "3.0")},
    "a class in another module": {
        "apart": PACKAGE["apart"] + "from dataclasses import dataclass, field\n@dataclass(frozen=True)\nclass New:\n"
        "    a: int = 1\n    b: list = field(default_factory=list)\n    @property\n    def c(self):\n"
        "        return self.a\n"
    },
    "names of types in another module": {
        "apart": PACKAGE["apart"] + "import logging\nfrom typing import TypeVar, NamedTuple\nT = TypeVar('T')\n"
        "logger = logging.getLogger(__name__)\nclass Pair(NamedTuple):\n    a: int\n    b: float = 1.0\n"
    },
    "a table in another module": {
        "apart": PACKAGE["apart"] + "TABLE = {}\nfor k in range(3):\n    TABLE[k] = k * jnp.pi\n"
    },
    "a rule for a class in another module": {
        "apart": PACKAGE["apart"] + "@jax.tree_util.register_pytree_node_class\nclass Pair:\n"
        "    def tree_flatten(self):\n        return (), None\n"
        "    @classmethod\n    def tree_unflatten(cls, _, parts):\n        return cls()\n"
    },
    "a compiled function in another module": {
        "apart": PACKAGE["apart"] + "@partial(jax.jit, static_argnums=0)\ndef new(n, x):\n    return n * jnp.sum(x)\n"
    },
    "a module": {"__init__": PACKAGE["__init__"] + "from . import new\n", "new": "import math\nTAU = 2 * math.pi\n"},
    "an import of Python's": {"apart": "import json\n" + PACKAGE["apart"]},
    "a test": {"test_rules": "from .rules import rule\n"},
    "the version": {"__init__": PACKAGE["__init__"].replace("1.0", "1.1")},
    "what is imported where it is there": {
        "apart": PACKAGE["apart"] + "try:\n    from math import cbrt\nexcept ImportError:\n    cbrt = None\n"
        "if SCALE > 1:\n    ROOT = np.sqrt(8.0)\nassert SCALE > 0\n"
    },
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("case", ELSEWHERE)
def test_an_edit_of_what_a_rule_does_not_reach_is_none(project: Project, case: str) -> None:
    """Also where the package imports everything."""
    for name, text in PACKAGE.items():
        project.write(name, text)
    first = project.key()
    for name, text in ELSEWHERE[case].items():
        project.write(name, text)
    second = project.key()
    assert first is not None
    assert second is not None
    assert (first.digest, first.traces) == (second.digest, second.traces)


def test_what_was_proved_is_served_after_an_edit_elsewhere(project: Project) -> None:
    for name, text in PACKAGE.items():
        project.write(name, text)
    assert project.verdict() == "proved"
    project.write("apart", PACKAGE["apart"].replace("2 * x)", "3 * x)"))
    assert project.verdict() == "proved"
    assert project.audited == []
    project.write("help", PACKAGE["help"].replace("2.0", "3.0"))
    assert project.verdict() == "refuted"
    assert project.audited == ["cachedpkg.rules:rule"]
    project.write("apart", PACKAGE["apart"] + "jnp.put_by_a_test = 1\ndel jnp.put_by_a_test\n")
    project.audit()
    project.write("apart", PACKAGE["apart"] + "jnp.put_by_a_test = 2\ndel jnp.put_by_a_test\n")
    project.audit()
    assert project.audited == ["cachedpkg.rules:rule"]


@pytest.mark.parametrize(("module", "known"), [("", True), ("help", False)])
def test_a_class_that_is_flattened_by_its_dict(project: Project, module: str, known: bool) -> None:
    """The dictionary of an object is its state, which is read; that of a module is anything that it has."""
    project.write("help", "TWO = 2.0\n")
    entries = f"tuple({module}.__dict__[n] for n in ('TWO', 'TWO'))" if module else "tuple(p.__dict__.values())"
    text = (
        "from dataclasses import dataclass\nfrom typing import Any\nimport jax, jax.numpy as jnp\nfrom . import help\n"
    )
    text += "@dataclass\nclass Pair:\n    a: Any\n    b: Any\n"
    text += f"def flat(p):\n    taken = {entries}\n    return (p.a, p.b), None\n"
    text += "jax.tree_util.register_pytree_node(Pair, flat, lambda _, parts: Pair(*parts))\n"
    text += "@jax.custom_vjp\ndef rule(p: Pair):\n    return p.a * p.b\n"
    text += "rule.defvjp(lambda p: (rule(p), p), lambda p, g: (Pair(g * p.b, g * p.a),))\n"
    project.write("rules", text)
    for again in (False, True):
        assert project.verdict() == "proved"
        assert bool(project.audited) is not (again and known)
