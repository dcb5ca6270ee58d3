"""What is printed, without Coq: tests/coq/test_accepted.py asks Coq."""

import re
from fractions import Fraction

import pytest

from certgrad.coq import CAN_HOLD_KIND, NotPrintedError, sources
from certgrad.coq._boundaries import off_boundaries
from certgrad.coq._expressions import number, power, printed
from certgrad.coq._names import identifier, of_sizes
from certgrad.coq._points import point
from certgrad.coq._propositions import proposition
from certgrad.language import tree as e
from certgrad.language.build import for_all, for_some, least_over, sum_over
from certgrad.language.parse import parse
from certgrad.specification import program as p
from certgrad.specification.primitives.elementwise import floor_of
from tests.coq.test_accepted import printed as file_of

I, N = e.Index("i0"), e.Size("n")
X = e.SortedEntry("x", (I,), "real")


@pytest.mark.parametrize(
    "expression, text",
    [
        (X + X, "((x i0) + (x i0))"),
        (I - N, "(i0 - n)%Z"),
        (e.Number("-1/3"), "((- 1) / 3)"),
        (sum_over("k0", N, e.SortedEntry("x", (e.Index("k0"),), "real")), "(sum_lt n (fun k0 => (x k0)))"),
        (e.If(e.Compare("<", X, e.ZERO), -X, X), "(if (Rltb (x i0) 0) then (- (x i0)) else (x i0))"),
        (e.Compare("<=", I, N), "(i0 <=? n)%Z"),
        (e.ToReal(floor_of(X)), "(IZR (floor (x i0)))"),
        (e.Power(X, "-2"), "(/ (x i0) ^ 2)"),
        (e.Power(X, "1/2"), "(rpow (x i0) (1 / 2))"),
        (e.Both(()), "true"),
    ],
)
def test_expressions(expression, text):
    assert printed(expression) == text


def test_what_has_no_words_is_refused():
    with pytest.raises(NotPrintedError, match="a node Least"):
        printed(least_over("k0", e.WHILE_A_TEST_HOLDS, e.TRUE))


@pytest.mark.parametrize(
    "formula", [for_all("k0", e.WHILE_A_TEST_HOLDS, e.TRUE), for_some("k0", e.WHILE_A_TEST_HOLDS, e.TRUE)]
)
def test_what_nothing_bounds_is_refused(formula):
    with pytest.raises(NotPrintedError, match="nothing bounds"):
        printed(formula)
    with pytest.raises(NotPrintedError):
        proposition(formula, {})


def test_an_infinity_is_any_number_and_no_output_reads_it():
    derivative = file_of("entr").theorems[0]
    assert "forall (infinite : R)," in derivative.statement
    assert "entr_forward_is_defined infinite s x i0" in derivative.statement


def test_where_programs_are_defined_is_a_theorem_of_its_own():
    where = next(t for t in file_of("log").theorems if t.name == "log_jvp_is_derivative_where_defined")
    assert "log_forward_is_defined s x i0" in where.statement
    assert "log_jvp_is_defined s x dx i0" in where.statement
    texts = [d.text for s in file_of("log").sections for d in s.definitions]
    assert any("(0 < (x i0))" in t for t in texts)
    assert any("(~ ((x i0) = 0))" in t for t in texts)


def test_what_an_equation_determines_is_any_array_that_satisfies_it():
    derivative, *_ = file_of("solve").theorems
    assert "forall (solve_forward_v6 : R -> Z -> Z -> Z -> R)," in derivative.statement
    near_0 = "locally 0 (fun t => (solve_forward_equations b n m (fun i0 i1 i2 => a i0 i1 i2 + t *"
    assert near_0 in derivative.statement
    assert "(invertible n (fun j k => (a i j k)))" in derivative.statement
    equation = "(sum_lt n (fun k0 => ((v1 j0 j2 k0) * (v6 j0 j1 k0)))) = (v5 j0 j1 j2)"
    text = file_of("solve").sections[0].definitions[0].text
    assert "let v1 := fun i0 i1 i2 => (a i0 i1 i2) in" in text
    assert equation in text


def test_that_an_equation_determines_one_array_is_part_of_where_it_is_defined():
    text = file_of("solve").sections[1].definitions[0].text
    assert "(exists (v6 : Z -> Z -> Z -> R), v6_is_determined v6) /\\" in text
    assert "v6_is_determined v6 -> v6_is_determined v6_other ->" in text
    assert "v6 i0 i1 i2 = v6_other i0 i1 i2" in text


def test_entries_that_differ_are_a_hypothesis():
    assert "(distinct_lt n (fun k => (x i k j)))" in file_of("sort").theorems[0].statement


def test_a_loop_is_what_it_carries():
    text = file_of("selective_scan").sections[0].definitions[0].text
    assert "(forall i0 : Z, (0 <= i0 < c)%Z -> v1 0%Z i0 = (h i0))" in text
    assert "(forall t1 i0 : Z, (0 <= t1 < t_)%Z -> (0 <= i0 < c)%Z -> v1 (t1 + 1)%Z i0 = (v3 t1 i0))" in text
    where = file_of("selective_scan").sections[1].theorems
    assert {t.reason for t in where} == {"not printed: a loop"}


def test_numbers_that_a_forward_compares_differ():
    derivative, *_ = file_of("mlp").theorems
    assert derivative.hypotheses.endswith(
        "let v4 : Z -> Z -> R := fun i0 i1 => ((v2 i0 i1) + (v3 0%Z i1)) in\n"
        "  (forall i0 i1 : Z, (0 <= i0 < n)%Z -> (0 <= i1 < h)%Z -> (v4 i0 i1) <> 0))"
    )


def test_a_comparison_of_a_number_with_itself_is_no_hypothesis():
    x, out = p.Tensor("x", (N,), "real"), p.Tensor("out0", (N,), "real")
    entry = e.If(e.Compare("=", X, X), X, e.ZERO)
    with pytest.raises(NotPrintedError, match="with itself"):
        off_boundaries(p.Program((x,), (p.Defined(out, ("i0",), entry, "select"),), (out,)))


def test_an_index_of_a_hypothesis_hides_no_size():
    derivative, *_ = file_of("amax").theorems
    assert "(unique_at (fun '(l, a_) => (0 <= l < n)%Z /\\ (0 <= a_ < m)%Z) (fun '(l, a_) => (x i l j a_ k)))" in (
        derivative.statement
    )


def test_sizes_that_only_a_program_mentions_are_named():
    first = file_of("pad").sections[0]
    assert "(a n c q p : Z)" in first.definitions[0].text


def test_a_parameter_with_the_name_of_a_size_is_another_one():
    derivative = file_of("local_response_norm").theorems[0]
    assert "(k_ > 0)" in derivative.hypotheses
    assert "(k > 0)" not in derivative.hypotheses


def test_what_nothing_reads_has_its_type_beside_its_condition():
    texts = [d.text for s in file_of("copysign").sections for d in s.definitions]
    assert any("let v8 : Z -> R := fun i0 =>" in t for t in texts)


def test_of_functions_that_are_not_defined_a_hypothesis_speaks():
    derivative = file_of("i0").theorems[0]
    assert "(forall x : R, is_derive (fun y => exp (Rabs y) * bessel_i0e y) x" in derivative.statement


def test_numbers_and_powers():
    assert number(Fraction(7)) == "7"
    assert power("x", Fraction(3)) == "(x ^ 3)"


@pytest.mark.parametrize("name, word", [("t", "t_"), ("exp", "exp_"), ("x", "x"), ("μ", "_u3bc_")])
def test_names_that_are_taken(name, word):
    assert identifier(name) == word


def test_a_theorem_is_named_as_its_obligation():
    assert [t.name for t in file_of("log").theorems] == [
        "log_jvp_is_derivative",
        "log_vjp_is_adjoint",
        "log_rule_runs_forward",
        "log_hypotheses_can_hold",
        "log_jvp_is_derivative_where_defined",
        "log_vjp_is_adjoint_where_defined",
        "log_rule_runs_forward_where_defined",
    ]


def test_a_point_is_shown_where_all_hypotheses_hold():
    (there,) = [t for t in file_of("xlogy").theorems if t.kind == CAN_HOLD_KIND]
    (together,) = there.statement.splitlines()[-1:]
    for theorem in file_of("xlogy").theorems:
        assert all(h in together for h in theorem.hypotheses.split(" /\\ "))
    assert all("can_hold" in way for way in there.ways)
    assert not [t for t in file_of("tanh").theorems if t.kind == CAN_HOLD_KIND]


def test_no_point_is_chosen_where_hypotheses_exclude_each_other():
    x = p.Tensor("x", (N,), "real")
    assert point([parse("x > 1", ("x",))], {"x": x}, ["n"]) is not None
    assert point([parse("x > 1", ("x",)), parse("x < 0", ("x",))], {"x": x}, ["n"]) is None


def test_the_hypotheses_are_those_of_the_certificate():
    derivative, adjoint, *_ = file_of("log").theorems
    assert "((x i0) > 0)" in derivative.hypotheses
    assert "((x i0) <> 0)" in adjoint.hypotheses


@pytest.mark.parametrize(
    ("names", "written"),
    [
        (["n", "d"], ["n", "d"]),
        (["i0", "k1", "v3", "t2", "out0"], ["i0_", "k1_", "v3_", "t2_", "out0_"]),
        (["v3_is_defined", "v3_other"], ["v3_is_defined_", "v3_other_"]),
        (["fun", "forall", "end", "Z", "t"], ["fun_", "forall_", "end_", "Z_", "t_"]),
        (["sum_lt", "max_where", "rpow", "operation", "locally"], None),
    ],
)
def test_no_size_has_a_name_that_is_printed(names, written):
    found = of_sizes(names)
    assert found == (written or [f"{n}_" for n in names])


def test_two_sizes_that_would_be_written_alike_are_refused():
    with pytest.raises(NotPrintedError, match="the sizes i0 and i0_, which Coq would write alike"):
        of_sizes(["i0", "i0_"])


def test_every_word_of_the_library_is_taken():
    defined = re.compile(r"^(?:Definition|Fixpoint) ([\w']+)", re.MULTILINE)
    words = [w for file in sources().glob("*.v") for w in defined.findall(file.read_text())]
    assert len(words) > 100
    assert [w for w in words if identifier(w) == w] == []
