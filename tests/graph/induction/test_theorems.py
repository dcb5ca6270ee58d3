"""The induction steps as statements about matrices: proved as they are, not proved with a part left out."""

from dataclasses import replace

import pytest

from certgrad.graph.induction.theorems import APPEND, SCAN, prove_statement, theorems


def test_the_steps_are_proved() -> None:
    assert [t.verdict for t in theorems({"scan"})] == ["proved", "proved"]
    assert [t.name for t in theorems({"primitive"})] == ["appending a node"]


@pytest.mark.parametrize(
    "statement, sweep",
    [
        (APPEND, lambda m, s, t: [m["A"].T @ (m["J"].T @ t)]),  # overwritten instead of added
        (APPEND, lambda m, s, t: [m["A"].T @ (s + m["J"].T @ t + m["J"].T @ t)]),
        (
            SCAN,
            lambda m, s, u, r: [*SCAN.sweep(m, s, u, r)[:1], m["G"].T @ s + m["L"].T @ r, SCAN.sweep(m, s, u, r)[2]],
        ),
        (SCAN, lambda m, s, u, r: [m["C"].T @ s + m["Y"].T @ u, *SCAN.sweep(m, s, u, r)[1:]]),
    ],
    ids=["overwritten", "added twice", "constants of the last step only", "a step left out"],
)
def test_a_wrong_sweep_is_not(statement, sweep) -> None:
    assert prove_statement(replace(statement, sweep=sweep)).verdict == "unproved"
