"""Declaring an op: what is refused, and what it then knows of itself."""

import jax.numpy as jnp
import pytest

from certgrad.errors import DeclarationError, DomainError, SignatureError
from certgrad.ops import Registry, axis_of, case, op, relu, softmax


def declare(*cases, **options):
    def forward(x, *, k=1.0):
        """Doubtful."""
        return k * x

    return op(*cases, registry=Registry(), **options)(forward)


def test_op_without_rules_says_what_is_missing():
    bare = declare("*s -> *s")
    with pytest.raises(DeclarationError) as caught:
        bare(1.0)
    assert str(caught.value) == (
        f"Op 'forward' (test_declare.py:{bare.line}) is declared without its jvp and vjp. "
        "Add @forward.jvp and @forward.vjp below it: an op without rules cannot be proved, and is not registered."
    )
    bare.jvp(lambda x, dx: dx)
    with pytest.raises(DeclarationError, match=r"is declared without its vjp\. Add @forward\.vjp below it"):
        bare.check_complete()
    bare.vjp(lambda x, seed: seed)
    assert bare(2.0) == 2.0


@pytest.mark.parametrize(
    "cases, options, message",
    [
        ((), {}, "has no signature; write one"),
        (("*s, *s -> *s",), {}, r"takes 1 arrays \(x\), but its signature '\*s, \*s -> \*s' takes 2; numbers and axes"),
        (("*s -> *s:int",), {}, "has an output that is no float in its signature"),
        ((case("*s -> *s", axis=0),), {}, "has a case with 'axis', which is no structural keyword argument"),
        ((case("*s -> *s", k=2.0),), {"params": {"k": None}}, "has a case with 'k', which is no structural"),
        (("*s -> *s",), {"params": {"eps": None}}, "has the parameter 'eps', which is no keyword-only argument"),
        (("*s -> *s",), {"params": {"k": ["k > 0"]}}, r"has \['k > 0'\] as the constraint of 'k', which is no text"),
    ],
)
def test_declaration_that_does_not_fit_the_function(cases, options, message):
    with pytest.raises(DeclarationError, match=r"^Op 'forward' \(test_declare.py:\d+\) " + message):
        declare(*cases, **options)


def test_signature_and_constraint_must_parse():
    with pytest.raises(SignatureError):
        declare("n m")
    with pytest.raises(DomainError, match="The condition 'k' of 'forward' has a part that is not a comparison"):
        declare("*s -> *s", params={"k": "k"})


def test_op_knows_its_declaration():
    assert (relu.name, relu.__name__, relu.arg_names, relu.domain) == ("relu", "relu", ("x",), ("x != 0",))
    assert relu.doc == "The positive part max(x, 0), elementwise."
    assert relu.file.endswith("activations_piecewise.py")
    assert (softmax.defaults, softmax.params) == ({"axis": -1}, {})
    assert str(softmax.cases[0]) == "*a n *c -> *a n *c  axis=position of n"
    assert repr(relu) == "<op relu: *s -> *s>"
    assert relu.fwd_rule is None
    assert softmax.fwd_rule is not None


def test_axis_of_gives_the_axis_at_each_rank():
    signature = case("*a n *b 2*m *c -> *a *b *c").signature
    ranks = {"a": 1, "b": 2, "c": 0}
    assert axis_of("n").position(signature, ranks) == 1
    assert axis_of("n", "m").position(signature, ranks) == (1, 4)
    with pytest.raises(SignatureError, match=r"has no dim 'k'\. Name one of its dims"):
        axis_of("k").position(signature, ranks)


def test_call_rule_passes_the_keywords_that_a_rule_accepts():
    one = declare("*s -> *s")
    statics = {"k": 2.0, "other": 3.0}
    assert one.call_rule(lambda x: x, 1.0, statics=statics) == 1.0
    assert one.call_rule(lambda x, *, k: k * x, 1.0, statics=statics) == 2.0
    assert one.call_rule(lambda x, **kw: kw, 1.0, statics=statics) == statics
    with pytest.raises(DeclarationError, match="is used without all of its rules"):
        one.call_rule(None, 1.0, statics={})


def test_copy_with_other_rules_leaves_the_op_alone():
    other = relu.with_rules(vjp=lambda x, seed: jnp.zeros_like(seed))
    assert other.vjp_rule is not relu.vjp_rule
    assert other.jvp_rule is relu.jvp_rule


def test_an_op_of_what_is_no_python_function():
    with pytest.raises(DeclarationError, match=r"declared of a function written in Python, and log is of type \w+"):
        op("*s -> *s")(jnp.log)
