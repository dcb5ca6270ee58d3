"""Declarations written beside rules: the source is changed there, and nowhere else."""

import pytest

from certgrad.rules.declared.declaration import Declaration, declaration_of, marked_on
from certgrad.rules.declared.fix import Beside, with_declarations
from certgrad.rules.declared.statics import each, real

TOP = "import certgrad\n\n"
RULE = "@jax.custom_vjp\ndef f(x, delta): ...\n"
SHAPES = Declaration("n, ()")
BOUNDED = Declaration("", domain=["delta > 0"])
MARK = '@certgrad.declare("n, ()", inferred=True)\n'

WHOLE = {
    "above the rule": (TOP, RULE, TOP + MARK + RULE),
    "by its name": (
        "import certgrad as cg\n\n",
        RULE,
        "import certgrad as cg\n\n@cg" + MARK.partition("certgrad")[2] + RULE,
    ),
    "with the import": ("import jax\n\n", RULE, "import certgrad\nimport jax\n\n" + MARK + RULE),
    "after the docstring": (
        '"""ä"""\nfrom __future__ import annotations\nfrom jax import custom_vjp\n',
        "f = 1\n" + RULE,
        '"""ä"""\nfrom __future__ import annotations\nfrom jax import custom_vjp\nimport certgrad\nf = 1\n'
        + MARK
        + RULE,
    ),
    "line ends": (
        "import jax\r\n",
        RULE.replace("\n", "\r\n"),
        ("import certgrad\nimport jax\n" + MARK + RULE).replace("\n", "\r\n"),
    ),
    "a method": (
        TOP + "class C:\n",
        "    @staticmethod\n    @jax.custom_vjp\n    def f(x): ...\n",
        TOP + f"class C:\n    @staticmethod\n    {MARK}    @jax.custom_vjp\n    def f(x): ...\n",
    ),
    "a function that is given to the maker": (TOP, "@other\ndef f(x): ...\n", TOP + f"@other\n{MARK}def f(x): ...\n"),
    "again": (TOP, MARK + RULE, TOP + MARK + RULE),
    "another one that is marked": (TOP, '@certgrad.declare("n d", inferred=True)\n' + RULE, TOP + MARK + RULE),
    "of its author": (TOP, '@certgrad.declare("n d")\n' + RULE, None),
    "another certgrad": ("import jax\ncertgrad = 3\n", RULE, None),
    "no import": ("", RULE, None),
    "a lambda": (TOP, "f = jax.custom_vjp(lambda x: x)\n", None),
    "no syntax": (TOP + "(", RULE, None),
}
BOUNDS = {
    "no domain": ('"n, "', '"n, ", domain="delta > 0", inferred=["delta > 0"]'),
    "several lines": (
        '\n    "n, ",  # δ\n    differentiable=["x"],\n',
        '\n    "n, ",  # δ\n    differentiable=["x"], domain="delta > 0", inferred=["delta > 0"],\n',
    ),
    "a text": (
        '"n, ", domain="x > 1", order=2',
        '"n, ", domain=["x > 1", "delta > 0"], order=2, inferred=["delta > 0"]',
    ),
    "a list": ('"ä, ", domain=["x > 1"]', '"ä, ", domain=["x > 1", "delta > 0"], inferred=["delta > 0"]'),
    "marked ones": (
        '"n", domain="x > 1", inferred=["x > 1"]',
        '"n", domain=["x > 1", "delta > 0"], inferred=["x > 1", "delta > 0"]',
    ),
    "again": ('"n", domain="delta > 0", inferred=["delta > 0"]', '"n", domain="delta > 0", inferred=["delta > 0"]'),
    "a computed domain": ('"n, ", domain=DOMAIN', None),
    "options from elsewhere": ('"n, ", **OPTIONS', None),
    "in parentheses": ('("n, ")', None),
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_declaration_is_written(name: str) -> None:
    top, below, after = WHOLE[name]
    line = top.count("\n") + 1 + below.startswith("f = 1\n")
    found, done = with_declarations((top + below).encode(), [Beside(line, SHAPES)])
    assert found.decode() == (top + below if after is None else after)
    assert done == (set() if after is None else {line})


@pytest.mark.parametrize("name", BOUNDS)
def test_bounds_are_added_to_the_declaration_of_the_author(name: str) -> None:
    before, after = (f"{TOP}@certgrad.declare({own})\n{RULE}" for own in BOUNDS[name])
    found, done = with_declarations(before.encode(), [Beside(3, BOUNDED, whole=False)])
    kept = BOUNDS[name][1] is None
    assert found.decode() == (before if kept else after)
    assert done == (set() if kept else {3})


def test_several_at_once_and_what_a_declaration_says() -> None:
    static = {"k": each(1, "a"), "c": real("c > 0"), "p": real()}
    wanted = [
        Beside(2, Declaration("n", static, domain=("x > 0", "y > 0"), surrogate='it "clips"')),
        Beside(4, SHAPES),
    ]
    found, done = with_declarations(("import jax\n" + RULE * 2).encode(), wanted)
    assert found.decode() == (
        "import certgrad\nimport jax\n"
        '@certgrad.declare("n", static={"k": certgrad.each(1, "a"), "c": certgrad.real("c > 0"), "p": certgrad.real()},'
        ' domain=["x > 0", "y > 0"], surrogate="it \\"clips\\"", inferred=True)\n' + RULE + MARK + RULE
    )
    assert done == {2, 4}
    scope: dict = {"jax": __import__("jax")}
    exec(found, scope)
    assert declaration_of(scope["f"], scope["f"]) is None
    assert marked_on(scope["f"]) == SHAPES


def test_what_is_marked_does_not_count() -> None:
    import certgrad

    declared = certgrad.declare("n", domain=["x > 0", "y > 0"], surrogate="so", inferred=["y > 0", "surrogate"])
    function = declared(lambda x: x)
    assert declaration_of(function, function) == Declaration("n", domain=("x > 0",))
