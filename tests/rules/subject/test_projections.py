"""Rules that are right for arrays with a property, and along it: symmetric matrices, unit vectors, probabilities."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from functools import partial
from random import Random
from typing import Any

import jax
import jax.numpy as jnp
import msgspec
import numpy as np
import pytest

import certgrad
from certgrad.errors import DomainError
from certgrad.language import tree as t
from certgrad.language.implication import implies
from certgrad.obligations.balls import Input
from certgrad.obligations.balls._draw import draw_direction, draw_input
from certgrad.obligations.certificate import sealed
from certgrad.report.audited import beyond_domain
from certgrad.rules.certificates.verify import verify_rule
from certgrad.rules.finding.find import find
from certgrad.rules.judging.by_name import examined
from certgrad.rules.subject.projections import PROPERTIES

pytestmark = pytest.mark.usefixtures("proofs_alone")


def rule(f: Any, back: Any) -> Any:
    found = jax.custom_vjp(f)
    found.defvjp(lambda *x: (f(*x), x), back)
    return found


def quadratic(factor: float, of_matrix: Any) -> Any:
    """xᵀax, with twice ax for its cotangent of x, as it is where a is symmetric."""
    return rule(lambda a, x: x @ a @ x, lambda r, g: (g * of_matrix(jnp.outer(r[1], r[1])), factor * g * r[0] @ r[1]))


def upper(m: jax.Array) -> jax.Array:
    return 2 * jnp.triu(m, 1) + m * jnp.eye(m.shape[-1])


def form(sign: float) -> Any:
    """xᵀay for an antisymmetric a: the cotangent of x is a·y, or minus that of a's transpose."""
    return rule(
        lambda a, x, y: x @ a @ y,
        lambda r, g: (g * jnp.outer(r[1], r[2]), sign * g * r[0].T @ r[2], g * r[0].T @ r[1]),
    )


def triangular(of_matrix: Any) -> Any:
    """A triangular solve, whose cotangent of the matrix keeps entries beyond the triangle."""
    found = jax.custom_vjp(lambda a, b: jax.scipy.linalg.solve_triangular(a, b, lower=True))

    def back(saved: Any, g: jax.Array) -> Any:
        a, x = saved
        z = jax.scipy.linalg.solve_triangular(a, g, trans=1, lower=True)
        return -of_matrix(jnp.outer(z, x)), z

    found.defvjp(lambda a, b: ((x := jax.scipy.linalg.solve_triangular(a, b, lower=True)), (a, x)), back)
    return found


def entropy(extra: float) -> Any:
    """Of probabilities: a constant in the cotangent is seen by no tangent that sums to 0."""
    return rule(lambda p: -jnp.sum(p * jnp.log(p)), lambda r, g: (-g * (jnp.log(r[0]) + extra),))


def cosine(factor: float) -> Any:
    """⟨x, y⟩/|x|, whose norm is 1 and stays so."""
    return rule(lambda x, y: x @ y / jnp.sqrt(x @ x), lambda r, g: (factor * g * r[1], g * r[0]))


RIGHT = {
    "the symmetric part": (quadratic(2, lambda m: m), "n n, n -> ", "a is symmetric"),
    "one triangle": (quadratic(2, upper), "n n, n -> ", "a is symmetric"),
    "of a batch": (
        rule(lambda a: jnp.sum(a**2, (-1, -2)), lambda r, g: (2 * g[:, None, None] * upper(r[0]),)),
        "b n n -> b",
        "a is symmetric",
    ),
    "antisymmetric": (form(-1), "n n, n, n -> ", "a is antisymmetric"),
    "lower triangular": (triangular(lambda m: m), "n n, n -> n", "a is lower triangular"),
    "upper triangular": (
        rule(lambda a, x: jnp.triu(a) @ x, lambda r, g: (jnp.outer(g, r[1]), r[0].T @ g)),
        "n n, n -> n",
        "a is upper_triangular",
    ),
    "probabilities": (entropy(7.0), "n -> ", ["p is probabilities", "p > 0"]),
    "unit norm": (cosine(1.0), "n, n -> ", "x is unit norm"),
    "two of them": (
        rule(lambda x, a: x @ a @ x, lambda r, g: (2 * g * r[1] @ r[0], g * jnp.outer(r[0], r[0]))),
        "n, n n -> ",
        "x is unit_norm and a is symmetric",
    ),
    "sorted": (rule(lambda x: jnp.sort(x) ** 2, lambda r, g: (2 * g * r[0],)), "n -> n", "x is sorted"),
    "permutation": (
        rule(lambda x, p: x[p], lambda r, g: (jnp.zeros_like(r[0]).at[r[1]].set(g), None)),
        "n d, n:int -> n d",
        "p is permutation",
    ),
    "its inverse": (
        rule(lambda x, p: x[p], lambda r, g: (g[jnp.argsort(r[1])], None)),
        "n, n:int -> n",
        "p is permutation",
    ),
}
WRONG = {
    "without the factor": (quadratic(1, lambda m: m), "n n, n -> ", "a is symmetric"),
    "the diagonal twice": (quadratic(2, lambda m: 2 * jnp.triu(m)), "n n, n -> ", "a is symmetric"),
    "a triangle solved for another": (triangular(lambda m: m.T), "n n, n -> n", "a is lower triangular"),
    "the sign": (form(1), "n n, n, n -> ", "a is antisymmetric"),
    "the logarithm twice": (
        rule(lambda p: -jnp.sum(p * jnp.log(p)), lambda r, g: (-2 * g * jnp.log(r[0]),)),
        "n -> ",
        ["p is probabilities", "p > 0"],
    ),
    "twice along the sphere": (cosine(2.0), "n, n -> ", "x is unit norm"),
    "from the end": (rule(lambda x: jnp.sort(x) ** 2, lambda r, g: (2 * g[::-1] * r[0],)), "n -> n", "x is sorted"),
    "not the inverse": (rule(lambda x, p: x[p], lambda r, g: (g[r[1]], None)), "n, n:int -> n", "p is permutation"),
    "another property": (quadratic(2, upper), "n n, n -> ", "x is unit norm"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_where_the_property_holds(name: str) -> None:
    function, signature, domain = RIGHT[name]
    report = certgrad.check(function, signature, domain=domain)
    assert report.verdict == "proved under hypotheses"
    assert report.claims[0].cases[0].scope == "all shapes"
    needed = {"lower triangular": ["a[i,i] ≠ 0"], "sorted": ["x[i] differ over i"]}  # which the property does not say
    assert [h.text for h in beyond_domain(report.certificate)] == needed.get(name, [])


@pytest.mark.parametrize("name", [n for n in RIGHT if n != "of a batch"])
def test_wrong_or_more_is_needed_elsewhere(name: str) -> None:
    function, signature, _ = RIGHT[name]
    domain = "p > 0" if name == "probabilities" else ()
    assert certgrad.check(function, signature, domain=domain).verdict == "refuted"


@pytest.mark.parametrize("name", WRONG)
def test_wrong_also_along_the_property(name: str) -> None:
    function, signature, domain = WRONG[name]
    assert certgrad.check(function, signature, domain=domain).verdict == "refuted"


def test_the_certificate_says_what_is_so_of_the_argument() -> None:
    function, signature, domain = RIGHT["one triangle"]
    certificate = certgrad.check(function, signature, domain=domain).certificate
    assert certificate.domain == ["a is symmetric"]
    for claim in certificate.claims:
        (listed,) = claim.hypotheses
        assert listed.text == "a[i,j] = a[j,i]"
        assert listed.prose == "each entry of a, and of its tangents, is the one across the diagonal"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("antisymmetric", "a[i,j,k] + a[i,k,j] = 0"),
        ("lower triangular", "a[i,j,k]·[k > j] = 0"),
        ("upper triangular", "a[i,j,k]·[j > k] = 0"),
        ("unit norm", "(Σk a[i,j,k]^2) = 1"),
    ],
)
def test_a_property_is_said_of_whole_axes(words: str, text: str) -> None:
    square = rule(lambda a: jnp.sum(a**2), lambda r, g: (2 * g * r[0],))
    report = certgrad.check(square, "b n n", domain=f"a is {words}", conformance=False)
    assert (report.verdict, report.hypotheses) == ("proved under hypotheses", [text])


@pytest.mark.parametrize("words", PROPERTIES)
def test_projections_leave_what_has_the_property(words: str) -> None:
    """The text in a script is the function, P∘P is P, and dP∘dP is dP where the property holds."""
    known = PROPERTIES[words]
    rng = np.random.default_rng(0)
    x, dx = (jnp.asarray(rng.uniform(0.1, 1, (2, 3, 3))) for _ in range(2))
    y = known.project(jnp, x)
    np.testing.assert_allclose(eval(known.code.format("x"), {"x": x, "jnp": jnp}), y, rtol=1e-6)
    np.testing.assert_allclose(known.project(jnp, y), y, atol=1e-6)
    if "int" in known.dtypes:
        return
    project = partial(known.project, jnp)
    along = jax.jvp(project, (y,), (dx,))[1]
    np.testing.assert_allclose(jax.jvp(project, (y,), (along,))[1], along, atol=1e-6)
    assert np.allclose(along, dx) == (words == "sorted")  # entries that differ stay sorted along any tangent


@pytest.mark.parametrize("words", PROPERTIES)
@pytest.mark.parametrize("style", ["plain", "special", "eighths"])
def test_points_are_drawn_with_the_property(words: str, style: str) -> None:
    """Exactly; one with the property stays as it is, and tangents are those that the projection leaves."""
    known, rng = PROPERTIES[words], Random(words)
    kind = "int" if "int" in known.dtypes else "float"
    x = known.structured(draw_input(Input("x", kind=kind), (2, 3, 3), style, rng, 3))  # type: ignore[arg-type]
    assert np.array_equal(known.structured(x), x)
    floats = jnp.asarray(x.astype(float))
    np.testing.assert_allclose(known.project(jnp, floats), floats, atol=1e-6)
    if kind == "int":
        return
    assert all(isinstance(entry, Fraction | int) for entry in x.flat)
    dx = known.along(x, draw_direction(x.shape, rng))
    assert np.array_equal(known.along(x, dx), dx)
    if words != "sorted":  # entries that are equal move in an order of their own
        tangent = jnp.asarray(dx.astype(float))
        along = jax.jvp(partial(known.project, jnp), (floats,), (tangent,))[1]
        np.testing.assert_allclose(along, tangent, atol=1e-5)


def _has(words: str, x: np.ndarray) -> bool:
    if words == "unit norm":
        return sum(x**2) == 1
    if words == "probabilities":
        return sum(x) == 1
    wanted = {
        "symmetric": lambda: x.T,
        "antisymmetric": lambda: -x.T,
        "lower triangular": lambda: np.tril(x),
        "sorted": lambda: np.sort(x),
        "permutation": lambda: np.argsort(np.argsort(x)),
    }
    return np.array_equal(x, wanted[words]())


@pytest.mark.parametrize("name", WRONG)
def test_a_witness_has_the_property(name: str) -> None:
    function, signature, domain = WRONG[name]
    witness = certgrad.check(function, signature, domain=domain).witness
    assert witness is not None
    array, _, words = (domain if isinstance(domain, str) else domain[0]).partition(" is ")
    of = {"the point": witness.inputs[array]}
    if words in ("symmetric", "antisymmetric", "lower triangular"):
        of["the tangent"] = witness.tangents[array]
    for value in of.values():
        assert _has(words, np.vectorize(Fraction, otypes=[object])(np.array(value, dtype=object)))


BAD = {
    "no such array": ("b is symmetric", "names no array"),
    "no such property": ("a is orthogonal", "the properties are symmetric, antisymmetric, lower triangular, "),
    "a vector": ("x is symmetric", "is about its last axes"),
    "two properties": ("a is symmetric and a is antisymmetric", "say one"),
    "not square": ("m is symmetric", "not equally long"),
    "integers": ("k is unit norm", "dtype int"),
    "one of two": ("x > 0 or x < -1 and a is symmetric", "put what 'or' joins in brackets, or say 'a is symmetric' "),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_is_said(name: str) -> None:
    domain, message = BAD[name]
    f = rule(lambda a, x, m, k: x, lambda r, g: (0 * r[0], g, 0 * r[2], None))
    with pytest.raises(DomainError, match=message):
        certgrad.check(f, "n n, n, n d, d:int -> n", domain=domain)


def test_no_claim_where_no_array_meets_all() -> None:
    """A lower triangular matrix of positive entries has one at most; probabilities are not above 2."""
    square = rule(lambda a: jnp.sum(a**2), lambda r, g: (2 * g * r[0],))
    for signature, domain in (
        ("n n -> ", ["a is lower triangular", "a > 0"]),
        ("n -> ", ["a is probabilities", "a > 2"]),
    ):
        report = certgrad.check(square, signature, domain=domain)
        assert report.verdict == "unproved"
        assert "no array was found that has the property" in report.reason
    right = certgrad.check(square, "n n -> ", domain=["a is lower triangular", "a >= 0"])
    assert right.verdict == "proved under hypotheses"


def test_a_point_that_leaves_the_domain_refutes_nothing() -> None:
    """p = (5/16, 0) is below 1/2, and (1, 0), which is what has its proportions and sums to 1, is not."""
    kinked = rule(lambda p: jnp.sum(jnp.where(p < 0.5, p**2, p)), lambda r, g: (2 * g * r[0],))
    report = certgrad.check(kinked, "n -> ", domain=["p is probabilities", "p < 1/2"])
    assert report.verdict == "unproved"
    wrong = rule(lambda p: jnp.sum(p**2), lambda r, g: (3 * g * r[0],))
    assert certgrad.check(wrong, "n -> ", domain=["p is probabilities", "p < 3/4"]).verdict == "refuted"


@pytest.mark.parametrize("domain", [["a is symmetric", 3], [3], [None]])
def test_a_condition_is_a_text(domain: Any) -> None:
    f = rule(lambda a: jnp.sum(a), lambda r, g: (g * jnp.ones_like(r[0]),))
    with pytest.raises(DomainError, match="a condition of a domain is a text, and not"):
        certgrad.check(f, "n n -> ", domain=domain)


@pytest.mark.parametrize("name", ["sorted", "permutation"])
def test_a_property_is_looked_at_again(name: str, tmp_path: Any) -> None:
    back = {"sorted": "(2 * g * r[0],)", "permutation": "(jnp.zeros_like(r[0]).at[r[1]].set(g), None)"}[name]
    body = {"sorted": "x: jnp.sort(x) ** 2", "permutation": "x, p: x[p]"}[name]
    (tmp_path / "so.py").write_text(
        f"import jax, jax.numpy as jnp, certgrad\nf = jax.custom_vjp(lambda {body})\n"
        f"f.defvjp(lambda *a: (f(*a), a), lambda r, g: {back})\n"
        f"f = certgrad.declare({RIGHT[name][1]!r}, domain={RIGHT[name][2]!r})(f)\n"
    )
    (found,) = find(str(tmp_path / "so.py")).rules
    certificate = examined(found, {})[0].certificate
    assert certificate is not None
    assert verify_rule(certificate, found).outcome == "verified"


SOURCE = """
import jax, jax.numpy as jnp, certgrad

def rule(factor):
    f = jax.custom_vjp(lambda a, x: x @ a @ x)
    f.defvjp(lambda a, x: (x @ a @ x, (a, x)),
             lambda r, g: (g * jnp.outer(r[1], r[1]), factor * g * r[0] @ r[1]))
    return certgrad.declare("n n, n -> ", domain="a is symmetric")(f)

right, wrong = rule(2), rule(3)
"""


def test_what_is_verified_and_what_a_script_shows(tmp_path: Any, monkeypatch: Any) -> None:
    (tmp_path / "of_symmetric.py").write_text(SOURCE)
    found = {f.name.rpartition(":")[2]: f for f in find(str(tmp_path / "of_symmetric.py")).rules}
    certificate = examined(found["right"], {})[0].certificate
    assert certificate is not None
    assert certificate.verdict == "proved under hypotheses"
    assert verify_rule(certificate, found["right"]).outcome == "verified"
    claims = [
        msgspec.structs.replace(
            c, hypotheses=[], cases=[msgspec.structs.replace(k, hypotheses=[], verdict="proved") for k in c.cases]
        )
        for c in certificate.claims
    ]
    forged = verify_rule(sealed(msgspec.structs.replace(certificate, claims=claims)), found["right"])
    assert forged.outcome == "failed"
    report = examined(found["wrong"], {})[1]
    assert report is not None
    assert report.verdict == "refuted"
    script = tmp_path / "shown.py"
    script.write_text(report.reproduction)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True, cwd=tmp_path)
    expected, returned = (float(word) for word in done.stdout.split()[1::2])
    assert abs(expected - returned) > 1e-3


def test_a_sum_that_is_known_is_its_number() -> None:
    axis, i, j = t.Axis("p", 0), t.Index("i"), t.Index("j")
    of = lambda v: t.Fold("sum", (t.Range(v.name, axis),), t.Entry("p", (v,)))
    one = t.Compare("=", t.sum_of_terms([of(i), t.Number("-1")]), t.ZERO)
    assert implies([one], t.Compare(">", of(j), t.ZERO))
    assert implies([one], t.Compare("!=", of(j), t.ZERO))
    assert not implies([one], t.Compare("<", of(j), t.ZERO))
    assert not implies([one], t.Compare("=", t.sum_of_terms([of(j), t.Number("-2")]), t.ZERO))
    share = t.ForAll((t.Range("i", axis),), t.Compare(">", t.Mul((t.Entry("p", (i,)), of(j))), t.ZERO))
    positive = t.Compare(">", t.Array("p"), t.ZERO)
    assert implies([one, positive], share)
    assert not implies([one], share)
    assert not implies([positive], share)
    of_entry = t.ForAll((t.Range("i", axis),), t.Compare(">", t.Entry("p", (i,)), t.ZERO))
    assert implies([positive], of_entry)
    beside = t.Compare(">", t.Array("p"), t.Array("q"))  # at the same places
    assert not implies([beside], t.ForAll((t.Range("i", axis),), t.Compare(">", t.Entry("p", (i,)), t.Array("q"))))


def scaled(factor: float) -> Any:
    """|q|²·v with the cotangent of v that it has for unit quaternions, times a factor."""
    return rule(lambda q, v: q @ q * v, lambda r, g: (2 * r[0] * (r[1] @ g), factor * g))


def test_where_a_rule_is_right_is_said() -> None:
    function, signature, _ = RIGHT["the symmetric part"]
    report = certgrad.check(function, signature)
    assert report.verdict == "refuted"
    assert report.right_where == "a is symmetric"
    assert "right where a is symmetric: declare domain=" in report.reason
    function, signature, _ = WRONG["without the factor"]
    assert certgrad.check(function, signature).right_where == ""
    assert certgrad.check(scaled(1.0), "4, 3 -> 3").right_where == "q is unit norm"
    assert certgrad.check(scaled(2.0), "4, 3 -> 3").right_where == ""
