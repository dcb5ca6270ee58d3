"""Mutants of rules in code: one equation changed where it stands, whatever it stands in; none is proved."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from certgrad.obligations import audit
from tests.mutation._asked import _within, answered
from tests.mutation._changes import Mutation
from tests.mutation._lines import Lines, read
from tests.mutation._rules_mutated import Right
from tests.mutation._runs import MUTANT, RULE, ordered, run
from tests.mutation._sources import Subject, as_audited, said
from tests.mutation._surgery import CannotMakeError, changed, sites


def in_a_loop(x):
    return lax.scan(lambda c, a: (c + jnp.sin(a) * c, None), 1.0, x)[0]


def by_branch(x):
    return lax.cond(x[0] > 0, lambda y: jnp.sin(y).sum(), lambda y: jnp.cos(y).sum(), x)


def value(program, x):
    (out,) = jax.core.eval_jaxpr(program.jaxpr, program.consts, x)
    return float(out)


@pytest.mark.parametrize(
    "function, key, change, expected",
    [
        (in_a_loop, ("sin", 0), "sign flipped", lambda x: np.prod(1 - np.sin(x))),
        (in_a_loop, ("mul", 0), "first term only", lambda x: 1 + np.sin(x).sum()),
        (by_branch, ("cos", 0), "doubled", lambda x: np.sin(x).sum()),
        (by_branch, ("sin", 0), "doubled", lambda x: 2 * np.sin(x).sum()),
        (by_branch, ("cond", 0), "the other branch", lambda x: np.cos(x).sum()),
        (by_branch, ("cond", 0), "sign flipped", lambda x: -np.sin(x).sum()),
    ],
)
@pytest.mark.one_in(2)
def test_the_change_is_made_where_it_is_said(function, key, change, expected):
    x = np.array([0.3, -1.2, 2.0], "float32")
    program = jax.make_jaxpr(function)(x)
    assert key in [s.key for s in sites(program)]
    assert value(program, x) == pytest.approx(float(function(x)))
    assert value(changed(program, Mutation("forward", key, change)), x) == pytest.approx(float(expected(x)), rel=1e-5)


def test_a_change_that_cannot_be_made_says_so():
    program = jax.make_jaxpr(in_a_loop)(np.ones(3, "float32"))
    with pytest.raises(CannotMakeError):
        changed(program, Mutation("forward", ("sin", 7), "doubled"))
    with pytest.raises(CannotMakeError):
        changed(program, Mutation("forward", ("sin", 0), "operand summed", (0, 3)))


def cube():
    f = jax.custom_vjp(lambda x: x * x * x)
    f.defvjp(lambda x: (f(x), x), lambda x, g: (3 * x * x * g,))
    return f


def subject(at="names"):
    return Subject("tests", "cube", at, lambda: as_audited(*said("cube", cube(), "n -> n", {})))


def test_a_broken_rule_is_refuted_and_a_change_of_nothing_is_seen():
    right = Right(subject().make())
    mutations = right.mutations()
    assert {m.role for m in mutations} == {"forward", "primal", "vjp"}
    *_, doubled = (m for m in mutations if m.role == "vjp" and m.change == "doubled")
    for whole in (False, True):
        answer = answered(right, doubled, whole=whole)
        assert (answer.outcome, answer.laws) == ("refuted", ("vjp_is_adjoint",))
    assert len([m for m in mutations if m.role == "vjp" and m.change == "doubled"]) == 3  # none of what the value needs
    off = next(m for m in mutations if m.role == "primal" and m.change == "plus 1e-6")
    assert answered(right, off).laws == ("rule_runs_forward",)


@pytest.mark.usefixtures("uncompared")
def test_a_condition_that_excludes_where_it_breaks_is_told_apart():
    right = Right(subject().make())
    *_, logged = (m for m in right.mutations() if m.role == "vjp" and m.change == "plus 0 times a logarithm")
    answer = answered(right, logged)
    assert answer.outcome == "narrowed"
    assert "x ≠ 0" in answer.detail  # the logarithm is that of 3·x²


@pytest.mark.usefixtures("uncompared")
def test_points_are_drawn_from_the_hypotheses_of_what_is_proved():
    right = Right(subject().make())
    *_, logged = (m for m in right.mutations() if m.role == "vjp" and m.change == "plus 0 times a logarithm")
    (claim,) = (c for c in audit(right.subject(logged)).claims if c.kind == "vjp_is_adjoint")
    trees = [h.tree for h in claim.hypotheses]
    assert trees
    assert not [*_within(right, logged, "vjp_is_adjoint", trees)]
    assert [*_within(right, logged, "vjp_is_adjoint", [])]
    *_, doubled = (m for m in right.mutations() if m.role == "vjp" and m.change == "doubled")
    inside = next(_within(right, doubled, "vjp_is_adjoint", trees))
    assert all(x != 0 for x in inside.point.inputs[0].flat)


def test_a_run_goes_on_where_it_was(tmp_path):
    path = tmp_path / "lines.jsonl"
    run(subject(), Lines(path), wanted=2, seconds=20.0)
    first = list(read(path))
    assert [line["kind"] for line in first].count(RULE) == 1
    assert sum(bool(line.get("laws")) for line in first) == 2
    path.write_text(path.read_text() + '{"kind": "mut')  # what a run that was killed leaves
    run(subject(), Lines(path), wanted=2, seconds=20.0)
    assert list(read(path)) == first
    assert len({line["mutant"] for line in first if line["kind"] == MUTANT}) == sum(
        line["kind"] == MUTANT for line in first
    )
    assert all(len(line["code"]) == 16 for line in first)


def test_what_ends_the_process_is_a_line(tmp_path):
    path = tmp_path / "lines.jsonl"
    lines = Lines(path)
    assert not lines.ended("nothing was begun")
    lines.begin({"kind": MUTANT, "source": "tests", "rule": "cube", "at": "names", "mutant": "m", "seconds": 0.0})
    assert Lines(path).ended("it ended the process by SIGFPE")
    (line,) = read(path)
    assert (line["outcome"], line["laws"]) == ("ended", [])


def test_the_order_is_drawn_and_takes_each_kind_in_turn():
    mutations = Right(subject().make()).mutations()
    found = ordered(subject(), mutations)
    assert sorted(map(str, found)) == sorted(map(str, mutations))
    kinds = len({(m.role, m.change) for m in mutations})
    assert len({(m.role, m.change) for m in found[:kinds]}) == kinds
    assert ordered(subject(), mutations) == found
    assert ordered(subject(), mutations, "another") != found


@pytest.mark.slow
def test_the_command(tmp_path):
    path = tmp_path / "lines.jsonl"
    command = [sys.executable, "-m", "tests.mutation.rules", "classes", "--lines", str(path), "--wanted", "2"]
    root = Path(__file__).resolve().parents[2]
    env = {**os.environ, "PYTHONPATH": str(root), "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([*command, "--rule", "soft_cap_by_logistic"], cwd=root, env=env, check=False)
    assert done.returncode == 0
    found = [json.loads(line) for line in path.read_text().splitlines()]
    assert {line["at"] for line in found} == {"names", "numbers"}
    assert all(line["outcome"] != "proved" for line in found if line["kind"] == MUTANT)
    assert signal.getsignal(signal.SIGPROF) == signal.SIG_DFL
