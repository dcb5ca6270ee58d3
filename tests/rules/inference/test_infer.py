"""Shapes of a rule whose author says nothing: what was tried is told where nothing traces."""

import jax
import jax.numpy as jnp
import pytest
from jaxtyping import Array, Float, Int

import certgrad
from certgrad.rules.declared.statics import each, real
from certgrad.rules.finding.find import FoundRule
from certgrad.rules.inference.infer import inferred
from certgrad.rules.judging.by_name import examined
from certgrad.rules.judging.choices import AT_INFERRED

pytestmark = pytest.mark.usefixtures("verdicts_alone")


def rule(value):
    made = jax.custom_vjp(value)
    made.defvjp(lambda *args: (value(*args), args), lambda args, g: tuple(g * jnp.ones_like(x) for x in args))
    return made


def of_five_axes(x):
    _, _, _, _, _ = x.shape
    return x.sum((2, 3))


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("function", "said"),
    [
        (of_five_axes, 'none of the 4 that were tried traces ("n d": ValueError: not enough values to unpack'),
        (lambda x, table: x * dict(table)["scale"], 'none of the 68 that were tried traces ("n d, m k": '),
        (lambda a, b, c, d, e, f, g, h, i: a, "shapes are tried for at most 8 arrays, and it takes a, b, c, d, e"),
        (lambda k=3: jnp.ones(k), "it takes no argument without a default, of which a shape could be tried"),
    ],
)
def test_what_was_tried_and_how_it_failed(function, said):
    tried = inferred(rule(function))
    assert tried.found == []
    assert said in tried.why_none


def test_reasons_are_told_once_and_in_short():
    def long(x):
        raise ValueError("so " * 200 + f"{x.ndim}")

    why = inferred(rule(long)).why_none
    assert why.count("ValueError") == 1
    assert len(why) < 300


def signatures(function):
    return [str(d.signature) for d in inferred(function).found]


def of_jax(value):
    """A rule whose cotangents are those that JAX makes."""
    made = jax.custom_vjp(value)
    made.defvjp(lambda *args: (value(*args), args), lambda args, g: jax.vjp(value, *args)[1](g))
    return made


def attend(q, k, v):
    return jax.nn.softmax(q @ k.T / jnp.sqrt(q.shape[-1]), -1) @ v


def recurrence(a, x, h):
    return jax.lax.scan(lambda h, t: (t[0] * h + t[1],) * 2, h, (a, x))[1]


def linear_attention(q, k, v, a, state):
    def step(s, row):
        s = row[3][:, None] * s + jnp.outer(row[1], row[2])
        return s, row[0] @ s

    return jax.lax.scan(step, state, (q, k, v, a))[1]


def rotated(x, c, s):
    a, b = x[..., ::2], x[..., 1::2]
    return jnp.stack([a * c - b * s, a * s + b * c], -1).reshape(x.shape)


def of_three(v):
    x, y, z = v
    return x * y + z


UNTIED = {
    "a product": (lambda x, w, b: x @ w + b, "n d, d m, n m"),
    "attention": (attend, "n d, m d, m l"),
    "by einsum": (lambda x, w, y: jnp.einsum("nd,de,ne->n", x, w, y), "n d, d m, n m"),
    "rows and columns": (lambda x, y: jnp.concatenate([x, y]), "n d, m d"),
    "distances": (lambda x, y: jnp.sum((x[:, None] - y[None]) ** 2, -1), "n d, m d"),
    "what is compared by a hash": (lambda x, y: jnp.stack([x, y]), "n d, n d"),
    "a scan": (recurrence, "n d, n d, m d"),
    "a scan with a state of other sizes": (linear_attention, "n d, n d, n m, n d, d m"),
    "a scan of three": (
        lambda a, x, y: jax.lax.scan(lambda h, t: (t[0] * h + t[1], h @ t[2]), x[0], (a, x, y))[1],
        "n d, n d, n d",
    ),
    "heads": (lambda q, k: jnp.einsum("bhnd,bhmd->bhnm", q, k), "b h n d, b h m d"),
    "flat": (lambda x, w: x.reshape(-1) @ w, "n d, n*d m"),
    "a square": (lambda a, b: jnp.trace(a @ a) * b, "n n, d m"),
    "a system": (lambda a, b: jnp.linalg.inv(a) @ b[:, None], "n n, n"),
    "halves": (lambda x: jnp.multiply(*jnp.split(x, 2, axis=-1)), "n 2*d"),
    "even and odd": (rotated, "n 2*d, n d, n d"),
    "groups of four": (lambda x: x.reshape(x.shape[0], 4, x.shape[1] // 4).sum(1), "n 4*d"),
    "as many groups as rows": (lambda x, w: x.reshape(w.shape[0], -1) * jnp.sum(w), "n*d m, d k"),
    "a window": (lambda x: x[2:] - x[:-2], "n+1 d"),
    "the three largest": (lambda x: jax.lax.top_k(x, 3)[0], "n d+2"),
    "one": (lambda x: jnp.squeeze(x, 1), "n 1"),
    "three": (of_three, "(n d, n d, n d)"),
}


@pytest.mark.one_in(8)
@pytest.mark.parametrize("case", UNTIED)
def test_sizes_are_tied_where_the_function_asks_and_nowhere_else(case):
    function, found = UNTIED[case]
    assert signatures(of_jax(function))[0] == found


def with_backward(value, backward):
    made = jax.custom_vjp(value)
    made.defvjp(lambda *args: (value(*args), args), backward)
    return made


def normalised(x, w, eps):
    return x / jnp.sqrt(jnp.mean(x * x, -1, keepdims=True) + eps) * w


def of_normalised(r, g):
    x, w, eps = r
    s = 1 / jnp.sqrt(jnp.mean(x * x, -1, keepdims=True) + eps)
    h = g * w
    return s * h - x * s**3 * jnp.mean(h * x, -1, keepdims=True), jnp.sum(g * x * s, 0), -0.5 * jnp.sum(h * x * s**3)


def wrong_scale(r, g):
    q, k, v = r
    p = jax.nn.softmax(q @ k.T / jnp.sqrt(q.shape[-1]), -1)
    dp = g @ v.T
    ds = p * (dp - jnp.sum(dp * p, -1, keepdims=True)) / jnp.sqrt(v.shape[-1])
    return ds @ k, ds.T @ q, p.T @ g


def smoothed(logits, labels):
    return -jnp.mean(jnp.sum(targets(logits, labels) * jax.nn.log_softmax(logits), axis=-1))


def targets(logits, labels):
    return 0.9 * jax.nn.one_hot(labels, logits.shape[-1], dtype=logits.dtype) + 0.1 / logits.shape[-1]


def of_smoothed(r, g):
    logits, labels = r
    return g * (jax.nn.softmax(logits) - targets(logits, labels)) / logits.shape[0], None


def tempered(x, t):
    return jax.nn.softmax(x / t, -1)


def mean_of_squares(x):
    return jnp.mean(x**2)


def softmax(x):
    e = jnp.exp(x)
    return e / jnp.sum(e, -1, keepdims=True)


def of_segments(x, w, sizes):
    """The rows of each segment by a matrix of its own."""

    def add(total, k):
        return total + jnp.where(rows_of(k, x, sizes), x @ w[k], 0), None

    return jax.lax.scan(add, jnp.zeros((x.shape[0], w.shape[2])), jnp.arange(sizes.shape[0]))[0]


def rows_of(k, x, sizes):
    starts = jnp.cumsum(jnp.concatenate([jnp.zeros(1, sizes.dtype), sizes[:-1]]))
    rows = jnp.arange(x.shape[0], dtype=sizes.dtype)
    return ((rows >= starts[k]) & (rows < starts[k] + sizes[k]))[:, None]


def back_to_segments(upto=rows_of):
    def backward(r, g):
        x, w, sizes = r

        def of_matrix(k):
            return jnp.where(upto(k, x, sizes), x, 0).T @ jnp.where(upto(k, x, sizes), g, 0)

        dw = jax.vmap(of_matrix)(jnp.arange(sizes.shape[0]))
        return of_segments(g, jnp.swapaxes(w, 1, 2), sizes), dw, None

    return backward


AT_RANKS = {
    "sizes of segments, as many as matrices": (of_segments, back_to_segments(), "n d, m d k, m:int", "proved", ""),
    "a segment too far": (
        of_segments,
        back_to_segments(lambda k, x, sizes: rows_of(k, x, sizes + 1)),
        "n d, m d k, m:int",
        "refuted",
        "",
    ),
    "a sum is the cotangent of a number": (normalised, of_normalised, "n d, d, ()", "proved under hypotheses", ""),
    "a number without a gradient": (
        normalised,
        lambda r, g: (*of_normalised(r, g)[:2], None),
        "n d, d, ()",
        "proved under hypotheses",
        'with "n d, d, n d" it is refuted',
    ),
    "labels without a gradient": (smoothed, of_smoothed, "n d, n:int", "proved under hypotheses", ""),
    "labels by another name": (
        lambda logits, wanted: smoothed(logits, wanted),
        of_smoothed,
        "n d, n:int",
        "proved under hypotheses",
        'with "n d, n" it is refuted',
    ),
    "the second of two": (
        lambda a, b: a * b,
        lambda r, g: (g * r[1], g * r[0]),
        "n d, n d",
        "proved",
        'the function also runs with "n d, d"',
    ),
    "another size of the same name at tied sizes": (attend, wrong_scale, "n d, m d, m l", "refuted", ""),
    "broadcasting that the rule does not undo": (
        lambda x, y: x * y,
        lambda r, g: (g * r[1], g * r[0]),
        "n d, n d",
        "proved",
        '"n d, d" and "n d, ()", where its rule fails: the cotangent of y has the shape n d, and not d',
    ),
    "a sum is missing for what is named as a parameter": (
        lambda x, w: x * w,
        lambda r, g: (g * r[1], g * r[0]),
        "n d, n d",
        "proved",
        'with "n d, d" its rule fails and the function runs: the cotangent of w has the shape n d, and not d; its',
    ),
    "a sum is missing for a bias": (
        lambda x, w, b: x @ w + b,
        lambda r, g: (g @ r[1].T, r[0].T @ g, g),
        "n d, d m, n m",
        "proved",
        'with "n d, d m, m" its rule fails and the function runs: the cotangent of b has the shape n m, and not m; ',
    ),
    "an axis that the rule forgets to add": (
        lambda x: jax.nn.logsumexp(x, axis=-1),
        lambda r, g: (g * jax.nn.softmax(r[0], axis=-1),),
        "n",
        "proved",
        'with "n d" its rule fails and the function runs: ValueError: Incompatible shapes for broadcasting',
    ),
    "halves of a cotangent": (
        lambda x, y: jnp.concatenate([x, y], 1),
        lambda r, g: tuple(jnp.split(g, 2, 1)),
        "n d, n d",
        "proved",
        'with "b n d, b m d" its rule fails and the function runs: ValueError: array split does not result in an equal',
    ),
    "transposed": (lambda x, w: x @ w, lambda r, g: (g @ r[1].T, g.T @ r[0]), "n d, d d", "refuted", ""),
    "a mean over the first axis": (
        mean_of_squares,
        lambda r, g: (2 * g * r[0] / r[0].shape[0],),
        "n",
        "proved",
        'with "n d" it is refuted',
    ),
    "an axis is forgotten that the function names": (
        softmax,
        lambda r, g: (softmax(r[0]) * (g - jnp.sum(g * softmax(r[0]))),),
        "n d",
        "refuted",
        "",
    ),
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("case", AT_RANKS)
def test_the_verdict_is_that_of_the_best_choice_of_ranks(case):
    value, backward, signature, verdict, said = AT_RANKS[case]
    found, _ = examined(FoundRule("m:f", with_backward(value, backward)), {}, conformance=False)
    assert (found.inferred, found.certificate.verdict) == (f'"{signature}"', verdict)
    assert said in found.remarks[0].text


def some_annotated(x: Float[Array, "rows columns"], w, eps: float):  # noqa: F722
    return x @ w + eps


def dtype_annotated(x: Float[Array, "..."], k: Int[Array, "..."]):
    return x * jnp.sum(k)


def numbers(x: jax.Array, a: float):
    return jnp.sum(jnp.sqrt(x * x + a * a))


@pytest.mark.parametrize(
    ("function", "found"),
    [
        (some_annotated, "rows columns, columns n, ()"),
        (dtype_annotated, "n d, m:int"),
        (numbers, "n d, ()"),
    ],
)
def test_an_annotation_is_never_dropped(function, found):
    assert signatures(of_jax(function))[0] == found


def test_an_argument_with_a_gradient_is_not_taken_for_integers():
    made = jax.custom_vjp(lambda c, x: c[0] + x * c[1])
    made.defvjp(
        lambda c, x: (c[0] + x * c[1], (c, x)), lambda r, g: (jnp.stack([jnp.sum(g), 0 * jnp.sum(g)]), g * r[0][1])
    )
    assert signatures(made) == ["2, n d"]
    rows = jax.custom_vjp(lambda x, ids: x[ids])
    rows.defvjp(lambda x, ids: (x[ids], (x, ids)), lambda r, g: (jnp.zeros_like(r[0]).at[r[1]].add(g), None))
    assert signatures(rows) == ["n d, m:int", "n d, m k:int", "n d, ():int"]


def test_a_refutation_at_inferred_shapes_says_so():
    wrong = jax.custom_vjp(lambda x: x**2)
    wrong.defvjp(lambda x: (x**2, x), lambda x, g: (3 * x * g,))
    _, found = examined(FoundRule("m:square", wrong), {}, conformance=False)
    assert (found.verdict, AT_INFERRED in " ".join(str(found).split())) == ("refuted", True)
    declared = certgrad.declare("n")(wrong)
    _, found = examined(FoundRule("m:square", declared), {}, conformance=False)
    assert (found.verdict, AT_INFERRED in " ".join(str(found).split())) == ("refuted", False)


def refused(backward):
    made = jax.custom_vjp(lambda x, y: jnp.sin(x) * y)
    made.defvjp(lambda x, y: (jnp.sin(x) * y, (x, y)), backward)
    return made


def summed_over_the_rows(residuals, g):
    x, gain = residuals
    return g * gain, jnp.sum(g * x, 0), jnp.sum(g, 1)


def test_where_a_rule_fails_everywhere_it_is_refuted_where_the_fewest_cotangents_are_misshapen():
    made = jax.custom_vjp(lambda x, gain, shift: x * gain[None] + shift[None])
    made.defvjp(lambda *args: (made.fun(*args), args[:2]), summed_over_the_rows)
    result, report = examined(FoundRule("m:f", made), {})
    assert result.certificate.signature == ["2 3, 3, 3 -> "]
    assert report.verdict == "refuted"
    assert "at output[2] the bwd rule produced" in report.claims[0].cases[0].reason


def raises_two_lines(residuals, g):
    raise ValueError("the first line\nand what to do about it")


REFUSED = {
    "a cotangent too few": (lambda r, g: (g * r[1] * jnp.cos(r[0]),), "must produce a tuple of length equal to"),
    "no such function": (lambda r, g: (g * jnp.cosine(r[0]), g), "module 'jax.numpy' has no attribute 'cosine'"),
    "another shape": (lambda r, g: (g[..., None], g), "so the shapes do not match"),
    "not a tuple": (lambda r, g: g, "Custom VJP bwd rule"),
    "all of the message": (raises_two_lines, "ValueError: the first line\nand what to do about it"),
}


@pytest.mark.one_in(5)
@pytest.mark.parametrize("case", REFUSED)
def test_a_rule_that_is_refused_wherever_its_function_runs_is_refuted(case):
    backward, said = REFUSED[case]
    found, _ = examined(FoundRule("m:f", refused(backward)), {})
    assert found.certificate.verdict == "refuted"
    (reason,) = {c.reason for claim in found.certificate.claims for c in claim.cases if c.verdict == "refuted"}
    assert reason.startswith("the function runs and its rule fails: ")
    assert said in reason


def energy(pos, edges, stiffness, rest):
    """Springs along edges: one column of `edges` is the one end, the next one the other."""
    d = pos[edges[:, 0]] - pos[edges[:, 1]]
    return 0.5 * jnp.sum(stiffness * (jnp.sqrt(jnp.sum(d * d, -1)) - rest) ** 2)


def one_loss_a_pair(image, text, log_scale):
    """Of images and their texts, as many: the diagonal is what belongs together."""
    return jnp.sum(jnp.diagonal(jax.nn.log_softmax(jnp.exp(log_scale) * (image @ text.T), 1)))


def forces(residuals, g):
    pos, edges, stiffness, rest = residuals
    d = pos[edges[:, 0]] - pos[edges[:, 1]]
    length = jnp.sqrt(jnp.sum(d * d, -1))
    f = (g * stiffness * (length - rest) / length)[:, None] * d  # one number for each edge
    pulled = jnp.zeros_like(pos).at[edges[:, 0]].add(f).at[edges[:, 1]].add(-f)
    return pulled, None, 0.5 * g * (length - rest) ** 2, -g * stiffness * (length - rest)


def of_pairs(residuals, g):
    image, text, log_scale = residuals
    logits = jnp.exp(log_scale) * (image @ text.T)
    d = g * (jnp.eye(image.shape[0]) - jax.nn.softmax(logits, 1))  # so there are as many texts as images
    return jnp.exp(log_scale) * (d @ text), jnp.exp(log_scale) * (d.T @ image), jnp.sum(d * logits)


MEANT = {
    "numbers of edges": (energy, forces, "n d, m k:int, m, m"),
    "as many of both, and a number": (one_loss_a_pair, of_pairs, "n d, n d, ()"),
}


@pytest.mark.parametrize("case", MEANT)
def test_shapes_at_which_the_rule_runs_are_meant_where_the_function_runs_with_more(case):
    function, backward, signature = MEANT[case]
    made = jax.custom_vjp(function)
    made.defvjp(lambda *args: (function(*args), args), backward)
    assert [d.signature for d in inferred(made).declarations] == [signature]


def test_a_rule_that_runs_somewhere_is_not_refuted_elsewhere():
    def of_vectors(residuals, g):
        (x,) = residuals
        if x.ndim != 1:
            raise ValueError("a vector is wanted")
        return (jnp.stack([jnp.sum(g[k:]) for k in range(x.shape[0])]),)

    made = jax.custom_vjp(lambda x: jnp.cumsum(x, axis=0))
    made.defvjp(lambda x: (jnp.cumsum(x, axis=0), (x,)), of_vectors)
    found = examined(FoundRule("m:f", made), {})[0].certificate
    assert (found.verdict, found.signature) == ("proved at sizes", ["n -> "])


def test_a_rule_for_arrays_of_four_axes_is_tried_there():
    def of_images(x, g):
        _, _, _, _ = x.shape
        return (2 * x * g,)

    made = jax.custom_vjp(lambda x: x * x)
    made.defvjp(lambda x: (x * x, x), of_images)
    assert [d.signature for d in inferred(made).found] == ["b h n d"]


def handed_on(value, backward):
    """A rule whose second argument JAX hands on as it is; the backward takes it first."""
    made = jax.custom_vjp(value, nondiff_argnums=(1,))
    made.defvjp(lambda x, k: (value(x, k), x), lambda k, x, g: (backward(k, x, g),))
    return made


def softmax(x, axis):
    return jax.nn.softmax(x, axis=axis)


def softmax_backward(summed):
    def backward(axis, x, g):
        y = jax.nn.softmax(x, axis=axis)
        return y * (g - jnp.sum(y * g, axis=summed(axis), keepdims=True))

    return backward


def blocks(x, kernel_size):
    return x.reshape(-1, kernel_size).sum(1)


def in_groups(x, groups):
    n, c = x.shape
    return jnp.repeat(x.reshape(n, groups, c // groups).sum(2), c // groups, axis=1) * x


def of_groups(groups, x, g):
    n, c = x.shape

    def summed(y):
        return jnp.repeat(y.reshape(n, groups, c // groups).sum(2), c // groups, axis=1)

    return summed(x) * g + summed(g * x)


def running(x, reverse):
    return jax.lax.cumsum(x, reverse=reverse)


HANDED_ON = {
    "an axis": (softmax, softmax_backward(lambda axis: axis), "proved", "axis=-1; axis=0; axis=1"),
    "an axis that is forgotten": (softmax, softmax_backward(lambda axis: -1), "refuted", None),
    "a number of entries": (
        blocks, lambda k, x, g: jnp.repeat(g, k), "proved", "kernel_size=2; kernel_size=1"),
    "a count of groups": (in_groups, of_groups, "proved", "groups=2; groups=1"),
    "a choice": (running, lambda r, x, g: jax.lax.cumsum(g, reverse=not r), "proved", "reverse=True; reverse=False"),
    "a choice that is ignored": (running, lambda r, x, g: jax.lax.cumsum(g), "refuted", None),
    "a number": (lambda x, scale: x * scale, lambda k, x, g: g * k, "proved", None),
    "a dtype": (
        lambda x, out_dtype: x.astype(out_dtype), lambda d, x, g: g.astype(x.dtype), "proved",
        "out_dtype=jax.numpy.float32"),
    "dimension numbers": (
        lambda x, dimension_numbers: jax.lax.dot_general(x, x.T, dimension_numbers),
        lambda d, x, g: (g + g.T) @ x, "proved", "dimension_numbers=(((1,), (0,)), ((), ()))"),
}  # fmt: skip


@pytest.mark.parametrize(("value", "backward", "verdict", "values"), HANDED_ON.values(), ids=HANDED_ON)
def test_an_argument_that_is_no_array_has_the_values_of_its_kind(value, backward, verdict, values):
    result, _ = examined(FoundRule("m:f", handed_on(value, backward)), {}, conformance=False)
    assert result.certificate.verdict == verdict
    statics = [", ".join(f"{k}={v}" for k, v in case.statics.items()) for case in result.certificate.claims[0].cases]
    assert values is None or "; ".join(statics) == values


def test_of_two_numbers_only_that_has_values_which_the_code_needs():
    def value(x, axis, eps):
        return x * jnp.sum(x, axis=axis, keepdims=True) * eps

    def backward(axis, eps, x, g):
        return ((g * jnp.sum(x, axis=axis, keepdims=True) + jnp.sum(g * x, axis=axis, keepdims=True)) * eps,)

    made = jax.custom_vjp(value, nondiff_argnums=(1, 2))
    made.defvjp(lambda x, axis, eps: (value(x, axis, eps), x), backward)
    assert inferred(made).found[0].static == {"axis": each(-1, 0, 1), "eps": real()}


def test_an_argument_that_is_a_random_key_and_a_number_of_which_nothing_is_proved_while_it_is_open():
    def value(key, x: Float[Array, "n d"], rate):  # noqa: F722
        return jnp.where(jax.random.bernoulli(key, 1 - rate, x.shape), x / (1 - rate), 0)

    def kept(key, x, rate):
        return value(key, x, rate), jax.random.bernoulli(key, 1 - rate, x.shape)

    dropout = jax.custom_vjp(value, nondiff_argnums=(2,))
    dropout.defvjp(kept, lambda rate, keep, g: (None, jnp.where(keep, g / (1 - rate), 0)))
    result, _ = examined(FoundRule("m:dropout", dropout), {}, conformance=False)
    assert result.certificate.verdict == "proved"
    cases = result.certificate.claims[0].cases
    assert [(c.signature.strip(), c.statics["rate"]) for c in cases] == [
        (":key, n d ->", "0.5"),
        (":key, n d ->", "0.25"),
    ]


@pytest.mark.parametrize(("summed", "verdict"), [(lambda axis: -1, "refuted"), (lambda axis: axis, "proved")])
def test_a_rule_is_tried_along_other_axes_than_its_default(summed, verdict):
    def along(x, axis=-1):
        return jax.nn.softmax(x, axis=axis)

    result, _ = examined(FoundRule("m:f", handed_on(along, softmax_backward(summed))), {}, conformance=False)
    assert result.certificate.verdict == verdict


@pytest.mark.parametrize(("forgets", "verdict"), [(False, "proved"), (True, "refuted")])
def test_a_rule_that_forgets_a_factor_of_1_is_tried_at_another_default(forgets, verdict):
    softplus = jax.custom_jvp(lambda x, beta=1.0: jnp.log1p(jnp.exp(beta * x)) / beta)

    def tangent(primals, tangents):
        x, beta = primals
        return softplus(x, beta), jax.nn.sigmoid(x if forgets else beta * x) * tangents[0]

    softplus.defjvp(tangent)
    result, _ = examined(FoundRule("m:softplus", softplus), {}, conformance=False)
    assert result.certificate.verdict == verdict
    assert {c.statics["beta"] for c in result.certificate.claims[0].cases} == {"0.5" if forgets else "1.0"}


def taps(store):
    """A sum of entries that lie two apart; its backward stores what each tap is given, or adds it."""
    value = jax.custom_vjp(lambda x: x[: x.shape[0] - 4] + x[2 : x.shape[0] - 2] + x[4:])

    def bwd(x, g):
        n, d = g.shape[0], jnp.zeros_like(x)
        for k in range(3):
            d = store(d.at[2 * k : 2 * k + n], g)
        return (d,)

    value.defvjp(lambda x: (value(x), x), bwd)
    return value


@pytest.mark.parametrize(
    ("store", "verdict"), [(lambda at, g: at.add(g), "proved"), (lambda at, g: at.set(g), "refuted")]
)
def test_a_size_is_long_enough_for_what_is_cut_off(store, verdict):
    """At two rows it has no entry, and every rule is right: that is no shape that is meant."""
    _, report = examined(FoundRule("m:f", taps(store)), {})
    assert report.certificate.signature[0].startswith("n+3 d ")
    assert report.verdict == verdict
