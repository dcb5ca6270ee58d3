"""The kinds of primitives are what the rules of the specification say by their form, and what JAX does with numbers."""

import ast
import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export, lax

from benchmarks.pages.examples import calls
from certgrad.jaxpr import kinds
from certgrad.jaxpr.programs import equations_of
from certgrad.language import tree as t
from certgrad.language.tree import walk
from certgrad.specification.program import Defined
from certgrad.specification.reading import meaning
from certgrad.specification.rule import RULES

ROOT = Path(__file__).parents[2] / "certgrad"
BINDERS = (t.Fold, t.Minimum, t.ForAll, t.Exists, t.Chosen, t.Least)


def traced(call, arguments):
    with jax.enable_x64(False):
        return jax.make_jaxpr(call)(*arguments)


def definition(name):
    """What an entry is by the rule, and the variables of its place; None of what is several equations or results."""
    program = traced(*EXAMPLES[name])
    found = [d for d in meaning(program).definitions if isinstance(d, Defined) and d.primitive == name]
    return found[0] if len(program.eqns) == len(found) == 1 else None


EXAMPLES = calls(*export.symbolic_shape("n, m", constraints=["n >= 4", "m >= 4"]))
DEFINED = {name: found for name in EXAMPLES if (found := definition(name)) is not None}


def test_most_rules_have_a_form_to_look_at() -> None:
    assert len(DEFINED) > 80


def at_its_own_place(entry, variables):
    """An entry that is read at the place of the one that is defined, or a number."""
    return not entry.index or [*map(t.Index, variables)] == [*entry.index]


@pytest.mark.parametrize("name", DEFINED)
def test_pointwise_and_moving_are_what_the_specification_says_so_of(name: str) -> None:
    found = DEFINED[name]
    nodes = list(walk(found.entry))
    reads = [x for x in nodes if isinstance(x, t.Entry)]
    pointwise = bool(reads) and not any(isinstance(x, BINDERS) for x in nodes)
    assert (pointwise and all(at_its_own_place(x, found.variables) for x in reads)) == (name in kinds.POINTWISE)
    assert (isinstance(found.entry, t.Entry) and name != "sort") == (name in kinds.MOVES_ENTRIES)
    contracts = any(isinstance(x, t.Fold) for x in nodes) and len({x.name for x in reads}) == 2
    assert contracts == (name in kinds.CONTRACTS)


def drawn(shape, dtype, seed):
    numbers = np.random.default_rng(seed).permutation(max(1, int(np.prod(shape)))).reshape(shape) + 1
    return jnp.asarray(numbers % 2 if dtype == np.bool_ else numbers * (1 if dtype == np.int32 else 10), dtype)


def numbers(name, seed):
    call, arguments = calls(4, 5)[name]
    return call, [drawn(x.shape, x.dtype, seed + k) for k, x in enumerate(arguments)]


def runs_alone(name):
    return name in calls(4, 5) and [e.primitive.name for e in equations_of(traced(*calls(4, 5)[name]))] == [name]


@pytest.mark.parametrize("name", [n for n in sorted(kinds.ENTRIES) if runs_alone(n)])
def test_entries_are_those_of_the_operands_or_none(name: str) -> None:
    call, arguments = numbers(name, 1)
    known = {float(v) for x in arguments for v in np.ravel(x)}
    for out in jax.tree.leaves(call(*arguments)):
        assert {float(v) for v in np.ravel(out) if np.isfinite(v)} <= known


@pytest.mark.parametrize("name", [n for n in sorted(kinds.LINEAR) if runs_alone(n)])
def test_what_is_linear_maps_sums_to_sums(name: str) -> None:
    call, x = numbers(name, 1)
    y = [b if b.dtype == np.float32 else a for a, b in zip(x, numbers(name, 7)[1], strict=True)]
    both = [2 * a - 3 * b if a.dtype == np.float32 else a for a, b in zip(x, y, strict=True)]
    for out, a, b in zip(*(jax.tree.leaves(call(*z)) for z in (both, x, y)), strict=True):
        np.testing.assert_allclose(out, 2 * a - 3 * b)


@pytest.mark.parametrize("name", ["abs", "mul", "max", "reduce_max", "cumprod", "dot_general"])
def test_what_is_not_linear_is_in_no_list_of_linear(name: str) -> None:
    assert name not in kinds.LINEAR


def test_an_array_of_one_number_is_handed_on_as_that_number() -> None:
    x = jnp.full((2, 1, 3), 7.0)
    for made in (lax.squeeze(x, (1,)), lax.expand_dims(x, (0,)), lax.reshape(x, (6,)), lax.stop_gradient(x)):
        assert (made == 7).all()


LIMITS = {"dot_general": 13, "broadcast_in_dim": 9, "select_n": 19}
"""In so many files of the package, outside of `exports/`, a primitive is named by code."""
NAMINGS = 236
"""So often is a primitive whose name is no word of English named by a file outside of `WHERE`."""
WHERE = {"jaxpr", "specification", "exports", "jax_rules"}
OUTSIDE = [f for f in sorted(ROOT.rglob("*.py")) if "exports" not in f.relative_to(ROOT).parts]


def names_in(file: Path) -> set[str]:
    """The words of the texts in a module that are no documentation, of texts that are lists of names."""
    tree = ast.parse(file.read_text())
    said = {id(x.value) for x in ast.walk(tree) if isinstance(x, ast.Expr)}
    texts = (x.value for x in ast.walk(tree) if isinstance(x, ast.Constant) and id(x) not in said)
    lists = (x.split() for x in texts if isinstance(x, str) and re.fullmatch(r"[\w\s-]*", x))
    return {word for words in lists for word in words}


NAMED = {file: names_in(file) for file in OUTSIDE}


@pytest.mark.parametrize("name", LIMITS)
def test_a_primitive_is_named_in_few_files(name: str) -> None:
    found = [str(file.relative_to(ROOT)) for file, names in NAMED.items() if name in names]
    assert len(found) <= LIMITS[name], found


def test_few_files_name_primitives() -> None:
    known = {name for name in RULES if "_" in name}
    found = {
        str(file.relative_to(ROOT)): sorted(names & known)
        for file, names in NAMED.items()
        if names & known and file.relative_to(ROOT).parts[0] not in WHERE
    }
    assert sum(map(len, found.values())) <= NAMINGS, found
