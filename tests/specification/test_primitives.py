"""Each primitive means what JAX computes: at every drawn shape, entry and parameter."""

from __future__ import annotations

import numpy as np
import pytest

from certgrad.specification.reading import meaning
from certgrad.specification.rule import RULES, STRUCTURED, UnreadableError
from tests.obligations.meaning.semantics.example import DTYPES, Example
from tests.obligations.meaning.semantics.numerics import traced
from tests.obligations.meaning.semantics.table import EXAMPLES
from tests.specification.numerics import at_arrays, check_sorts, compared, run

OUTSIDE = frozenset(
    # Primitives that neither the op library nor the models use.
    "clz mulhi nextafter population_count reduce reduce_window reduce_xor tie empty_ref empty empty2".split()
)
PARTIAL = frozenset(
    # Where the specification says less than JAX computes: reals out of a narrow type's range have a value, indices that
    # are promised to be in range are clamped, powers of negative numbers have one at an exponent that is integral, and
    # negative integers are shifted as if they had no sign.
    "pow gather convert_element_type shift_right_logical".split()
)


@pytest.mark.one_in(108)
@pytest.mark.parametrize("example", [pytest.param(x, id=x.id) for x in EXAMPLES if x.primitive not in OUTSIDE])
def test_a_primitive(example: Example) -> None:
    rng = np.random.default_rng(len(example.id))
    count = sum(_at_a_point(example, rng) for _ in range(8 if example.primitive in PARTIAL else 2))
    assert count or example.refused, "no entry was compared"


def _at_a_point(example: Example, rng: np.random.Generator) -> int:
    parameters = {name: list(v)[int(rng.integers(len(list(v))))] for name, v in example.choices.items()}
    program, _ = traced(example, parameters)
    found = meaning(program, [a.name for a in example.arguments])
    check_sorts(found)
    sizes = {d: int(rng.integers(example.smallest, example.largest + 1)) for d in example.dims}
    arrays = []
    for a in example.arguments:
        steps = 4 if a.kind == "float" else 1
        numbers = rng.integers(round(a.low * steps), round(a.high * steps) + 1, a.shape(sizes)) / steps
        arrays.append(np.asarray(numbers).astype(DTYPES[a.kind]))
    outputs = run(lambda *xs: example.program(*xs, **parameters), arrays)
    return compared(at_arrays(found, arrays, sizes), outputs, example.primitive in PARTIAL)


def test_what_has_no_rule_is_said() -> None:
    example = next(x for x in EXAMPLES if x.primitive == "nextafter")
    with pytest.raises(UnreadableError, match="primitive nextafter"):
        meaning(traced(example, {})[0])


def test_every_rule_has_an_example() -> None:
    """A rule without a test is not trusted."""
    tested = {x.primitive for x in EXAMPLES} | ELSEWHERE
    assert {name for name in (*RULES, *STRUCTURED) if name not in tested} == set()


ELSEWHERE = frozenset(
    # Names of other versions of JAX, of primitives with the same rule as a tested one, of opaque ones, what has no
    # value, and those among the corners; solutions of equations: tests/exact.
    """lu platform_index random_bits random_fold_in random_seed random_split random_unwrap random_wrap
    bitcast_convert_type stack add_any lt_to le_to log2 one_minus_square threefry2x32
    random_clone random_gamma_grad empty empty2 tridiagonal_solve certgrad_solution""".split()
)
