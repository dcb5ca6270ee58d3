"""Which theorems Coq accepts: right rules, and no wrong one."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from certgrad.coq import AXIOMS, File, export
from certgrad.obligations.certificate import Certificate
from certgrad.ops import registry

REPORTS = Path(__file__).parents[2] / "reports" / "certificates"
OPS = (
    *("log", "relu", "tanh", "elu", "softplus", "celu", "softmax", "transpose"),
    *("acosh", "entr", "logsumexp", "logaddexp", "atan2", "flip", "slice", "concatenate", "glu", "pow"),
    *("hinge", "mae", "smooth_l1", "max", "i1", "polygamma", "fmod", "integer_pow", "where", "cumsum", "repeat"),
    *("solve", "mish"),
)
FURTHER = (
    *("elman_cell", "elman_two_steps", "layer_norm", "inverse", "triangular_solve"),
    *("max_pool1d", "max_pool2d", "amax", "ptp", "norm", "broadcast_to", "pad", "take_along_axis", "avg_pool1d"),
    *("mlp", "conv_transpose1d", "hypot", "focal", "mlp_mse"),
    *("masked_softmax", "cumlogsumexp", "cummax", "cummin"),
)
"""Whose theorems take longer."""


def printed(name: str) -> File:
    certificate = msgspec.json.decode((REPORTS / f"{name}.json").read_bytes(), type=Certificate)
    return export(registry.get(name), certificate)


@pytest.mark.slow  # `make coq` compiles all of them
@pytest.mark.parametrize("names", [OPS[k::10] for k in range(10)], ids="abcdefghij")
def test_right_rules_are_accepted(kernel, names):
    _all_accepted(kernel, names)


@pytest.mark.slow
@pytest.mark.parametrize("name", FURTHER)
def test_further_right_rules_are_accepted(kernel, name):
    _all_accepted(kernel, [name])


def _all_accepted(kernel, names):
    results = list(kernel.judge_all([printed(name) for name in names], 1))
    left = {j.name: j.reason for r in results for j in r.judged if j.stated and not j.accepted}
    assert left == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sort", pytest.param("top_k", marks=pytest.mark.slow)])
def test_sorted_entries_move_and_are_given_back(kernel, name):
    file = printed(name)
    file = replace(file, sections=file.sections[:1])
    assert all(j.accepted for j in kernel.judge(file).judged)


@pytest.mark.slow
def test_what_loops_carry_moves_and_is_carried_back(kernel):
    results = list(kernel.judge_all([printed("selective_scan"), printed("elman")], 1))
    left = {j.name: j.reason for r in results for j in r.judged if j.stated and not j.accepted}
    assert set(left.values()) == {"not printed: a loop"}
    assert all(name.endswith("where_defined") for name in left)


WRONG = [
    ("log", "log_jvp", "((dx i0) / (x i0))", "((dx i0) * (x i0))"),
    ("log", "log_jvp", "((dx i0) / (x i0))", "((dx i0) / ((x i0) + (1 / 1000000)))"),
    ("relu", "relu_jvp", "(Rltb 0 (x i0))", "(Rltb (x i0) 0)"),
    ("tanh", "tanh_jvp", "(1 - (", "(1 + ("),
    ("elu", "elu_jvp", "(exp (v4 i0))", "(exp (- (v4 i0)))"),
    ("softplus", "softplus_jvp", "(exp (- (x i0)))", "(exp (x i0))"),
    ("softmax", "softmax_vjp", "((seed i0 i1 i2) - ", "((seed i0 i1 i2) + "),
    ("mish", "mish_jvp", "(1 / (1 + (exp (- (x i0)))))", "(1 / (1 + (exp (x i0))))"),
]
WRONG_TOO = [
    ("solve", "solve_vjp_0", "((v1 j0 k0 j2) * (v9 j0 j1 k0))", "((v1 j0 j2 k0) * (v9 j0 j1 k0))"),
    ("take_along_axis", "take_along_axis_vjp", "(k2 =? i2)%Z", "(k2 <=? i2)%Z"),
    ("avg_pool1d", "avg_pool1d_case_1_vjp", "(((-1)%Z * ph)%Z + kh)%Z", "(((-1)%Z * ph)%Z + 1%Z)%Z"),
    ("conv1d", "conv1d_case_1_vjp_0", "((kh - 1%Z)%Z - i2)%Z", "i2"),
    ("elman_cell", "elman_cell_vjp_1", "(w_h k0 i1)", "(w_h i1 k0)"),
    ("sort", "sort_vjp", "(k2 =? i2)%Z", "(i2 =? i2)%Z"),
    ("elman_cell", "elman_cell_jvp", "(1 - (v22 i0 i1))", "(1 + (v22 i0 i1))"),
    ("elman_cell", "elman_cell_jvp", "((dh_ i0 k0) *", "((h_ i0 k0) *"),
    ("elman_cell", "elman_cell_vjp_3", "(v11 k0 i0)", "(v10 k0 i0)"),
    ("dot_product_attention", "dot_product_attention_case_1_jvp", "((v14 i0 i1 i2 i3) - ", "((v14 i0 i1 i2 i3) + "),
    ("dot_product_attention", "dot_product_attention_case_1_vjp_1", "(v29 i0 i1 k0 i3)", "(v28 i0 i1 k0 i3)"),
    ("dot_product_attention", "dot_product_attention_case_1_vjp_2", "(v16 i0 i1 k0 i2)", "(v13 i0 i1 k0 i2)"),
    ("mlp", "mlp_jvp", "(Rltb 0 (v4 i0 i1))", "(Rltb (v4 i0 i1) 0)"),
    ("mlp", "mlp_vjp_2", "(Rltb 0 (v4 i0 i1))", "(Rltb (v4 i0 i1) 0)"),
    ("mlp_mse", "mlp_mse_jvp", "(Rltb 0 (v4 i0 i1))", "(Rltb (v4 i0 i1) 0)"),
    ("masked_softmax", "masked_softmax_jvp", "((dx i0 i1 i2) - ", "((dx i0 i1 i2) + "),
    ("masked_softmax", "masked_softmax_jvp", "(exp (v7 i0 i1 i2)) else 0", "(exp (v7 i0 i1 i2)) else 1"),
    ("cumlogsumexp", "cumlogsumexp_case_1_jvp", "(v6 i0 i1 i2 i3) <=? ", "(v6 i0 i1 i2 i3) <? "),
    ("cummax", "cummax_jvp", "(Rleb (v10 i0 i1 0%Z i3)", "(Rltb (v10 i0 i1 0%Z i3)"),
    ("cummin", "cummin_vjp", "(v17 i0 i1 i2 i3) / ", "(v17 i0 i2 i1 i3) / "),
    ("hypot", "hypot_jvp", "((x i0) / (v26 i0))", "((y i0) / (v26 i0))"),
    ("solve", "solve_jvp", "(db_ i0 i1 i2) - ", "(db_ i0 i1 i2) + "),
    ("amax", "amax_jvp", "((v7 i0 i1 i2 i3 i4) *", "((v4 i0 i1 i2 i3 i4) / 2 *"),
    ("amax", "amax_vjp", "((v7 i0 i1 i2 i3 i4) *", "((v4 i0 i1 i2 i3 i4) / 2 *"),
    ("max_pool1d", "max_pool1d_case_1_jvp", "(dx ((", "(x (("),
    ("sort", "sort_jvp", "(dx i0", "(dx (a - 1 - i0)%Z"),
    ("selective_scan", "selective_scan_jvp", "(v8 i0 i1) + (db i0 i1)", "(v8 i0 i1) - (db i0 i1)"),
    ("selective_scan", "selective_scan_vjp_0", "((a ((t_ - 1%Z)%Z - t2)%Z i0) * ", "((a t2 i0) * "),
    ("inverse", "inverse_jvp", "(- (v15 i0 i1 i2))", "(v15 i0 i1 i2)"),
    ("inverse", "inverse_vjp", "(v14 i0 i1 k0)", "(v13 i0 i1 k0)"),
]


def wrong(name: str, program: str, right: str, other: str) -> File:
    """The file of an op, with one program otherwise."""
    file = printed(name)
    section = file.sections[0]
    definitions = [
        replace(d, text=d.text.replace(right, other)) if d.name == program else d for d in section.definitions
    ]
    assert [d.text for d in definitions] != [d.text for d in section.definitions], "the mistake is not in the program"
    kinds = ("vjp_is_adjoint",) if "_vjp" in program else ("jvp_is_derivative",)
    theorems = tuple(t for t in section.theorems if t.kind in kinds)
    return replace(file, sections=(replace(section, definitions=tuple(definitions), theorems=theorems),))


@pytest.mark.one_in(8)
@pytest.mark.parametrize(
    "name, program, right, other",
    [*WRONG, *(pytest.param(*one, marks=pytest.mark.slow) for one in WRONG_TOO)],
)
def test_a_wrong_rule_is_not_accepted(kernel, name, program, right, other):
    (judged,) = kernel.judge(wrong(name, program, right, other)).judged
    assert not judged.accepted
    assert judged.reason.startswith("no proof was found")


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "name", ["log", "solve", *(pytest.param(n, marks=pytest.mark.slow) for n in ("amax", "mlp", "sort"))]
)
def test_a_hypothesis_that_is_needed_is_missed(kernel, name):
    file = printed(name)
    section, _ = file.sections
    theorem = next(t for t in section.theorems if t.kind == "jvp_is_derivative")
    bare = theorem.statement.replace(f"  {theorem.hypotheses} ->\n", "")
    assert bare != theorem.statement
    without = replace(theorem, statement=bare)
    file = replace(file, sections=(replace(section, theorems=(without,)),))
    (judged,) = kernel.judge(file).judged
    assert not judged.accepted


def test_an_axiom_of_ones_own_is_found(kernel):
    file = printed("log")
    section, _ = file.sections
    theorem = next(t for t in section.theorems if t.kind == "jvp_is_derivative")
    definition = section.definitions[0]
    assumed = replace(definition, text=f"{definition.text}\nAxiom anything : forall P : Prop, P.\n")
    definitions = (assumed, *section.definitions[1:])
    by_axiom = replace(theorem, ways=("intros; apply anything",))
    file = replace(file, sections=(replace(section, definitions=definitions, theorems=(by_axiom,)),))
    (judged,) = kernel.judge(file).judged
    assert not judged.accepted
    assert "anything" in judged.reason
    assert "anything" not in AXIOMS


@pytest.mark.slow
def test_a_definition_that_is_not_accepted_takes_its_theorems_along(kernel):
    file = printed("log")
    section, _ = file.sections
    broken = replace(section.definitions[0], text="Definition log_forward := undefined_word.")
    file = replace(file, sections=(replace(section, definitions=(broken, *section.definitions[1:])),))
    assert not any(j.accepted for j in kernel.judge(file).judged)


def test_nothing_is_admitted():
    from certgrad.coq import sources

    for source in sources().glob("*.v"):
        words = source.read_text().split()
        assert not {"Admitted.", "admit.", "Axiom", "Parameter"} & set(words), source.name
