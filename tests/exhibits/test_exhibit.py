"""What a page shows beside certificates: sides, normal forms by region, plots at seams and along witnesses."""

import jax.numpy as jnp
import pytest

from certgrad import audit_op
from certgrad.exhibits import exhibit, with_plots
from certgrad.exhibits.data import Exhibit, Plot, decode, encode
from certgrad.obligations.auditing.audit import audit
from certgrad.ops import registry
from certgrad.ops._declare import op
from certgrad.ops._registry import Registry


def of(name: str) -> Exhibit:
    return with_plots(exhibit(registry.get(name)), registry.get(name), audit_op(name))


def only(plots: list[Plot], kind: str) -> Plot:
    (found,) = [p for p in plots if p.kind == kind]
    return found


def test_both_sides_of_a_smooth_op_are_one_form() -> None:
    shown = of("softmax")
    assert [s.kind for s in shown.sides] == ["jvp_is_derivative", "vjp_is_adjoint", "rule_runs_forward"]
    for sides in shown.sides:
        for equation in sides.equations:
            assert equation.left_text == equation.right_text == equation.common[0].text
    assert [p.name for p in shown.programs] == ["forward", "JVP", "VJP", "the rule's own forward"]
    assert "0x" not in "".join(p.text for p in shown.programs)


def test_a_piecewise_op_has_a_form_for_each_region() -> None:
    (equation,) = of("max").sides[0].equations
    assert equation.left_text != equation.right_text
    assert {form.where: form.text for form in equation.common} == {"y[i] < x[i]": "dx[i]", "y[i] > x[i]": "dy[i]"}


def test_a_seam_shows_the_function_and_what_the_rule_returns() -> None:
    plot = only(of("relu").plots, "seam")
    function, derivative = plot.curves
    assert plot.marks == [(0.0, "x = 0")]
    assert [(d.x, d.y) for d in plot.dots] == [(0.0, 0.0)]
    assert all(y == max(x, 0) for x, y in filter(None, function.points))
    assert {y for _, y in filter(None, derivative.points)} == {0.0, 1.0}
    assert None in derivative.points, "it jumps at the seam"


def test_a_domain_is_a_seam() -> None:
    plot = only(of("log").plots, "seam")
    assert [m for m, _ in plot.marks] == [0.0]
    function, _ = plot.curves
    assert min(x for x, _ in filter(None, function.points)) > 0


def test_an_exhibit_travels() -> None:
    shown = of("relu")
    assert decode(encode(shown)) == shown
    assert encode(of("relu")) == encode(shown), "it is the same each time"


def test_both_sides_along_the_line_through_a_witness() -> None:
    rules = Registry()

    @op("*s -> *s", registry=rules)
    def cube(x):
        """x³, with a factor of 2 for 3."""
        return x * x * x

    @cube.jvp
    def _(x, dx):
        return 3 * x * x * dx

    @cube.vjp
    def _(x, seed):
        return 2 * x * x * seed

    certificate = audit(cube)
    assert certificate.verdict == "refuted"
    shown = with_plots(exhibit(cube), cube, certificate)
    plot = only(shown.plots, "witness")
    (witness,) = [c.witness for claim in certificate.claims for c in claim.cases if c.witness is not None]
    (curve,) = plot.curves
    points = dict(filter(None, curve.points))
    assert points[0.0] == pytest.approx(float(witness.lhs.midpoint) - float(witness.rhs.midpoint)) != 0
    assert [(dot.x, dot.y) for dot in plot.dots] == [(0.0, points[0.0])]


def test_a_rule_that_does_not_trace_has_an_empty_exhibit() -> None:
    rules = Registry()

    @op("n -> n", registry=rules)
    def odd(x):
        return jnp.sin(x)

    @odd.jvp
    def _(x, dx):
        raise ValueError("no")

    @odd.vjp
    def _(x, seed):
        return seed

    assert with_plots(exhibit(odd), odd, audit_op("sin")) == Exhibit()


@pytest.mark.slow
def test_a_composed_op_is_drawn() -> None:
    composed = next(n for n in registry.names() if type(registry.get(n)).__name__ == "Composed")
    (drawing, *_) = of(composed).drawings
    assert len(drawing.boxes) > 3
    assert drawing.paths
    for box in drawing.boxes:
        assert 0 <= box.x <= box.x + box.width <= drawing.width
