"""What every format says of an audit: hypotheses, each once."""

import pytest

from certgrad.language import tree as t
from certgrad.language.prose import prose
from certgrad.language.text import text
from certgrad.obligations.certificate import Hypothesis
from certgrad.report.audited import as_written, conditions, listed, merged_hypotheses
from certgrad.report.wording import in_words
from tests.language.test_once import AXIS, counted, kept, squares
from tests.report import fabricated


def hypothesis(tree: t.Statement) -> Hypothesis:
    words, inputs = text(tree, inputs=["x", "eps"]), ["x", "eps"]
    latex = text(tree, "latex", inputs)
    return Hypothesis(words, latex, prose(tree, inputs), source="sqrt", negligible=False, tree=tree)


SCALED = t.Mul((t.Size("d"), t.Entry("eps")))
BY_RANK = tuple(hypothesis(squares(rank, SCALED)) for rank in (3, 4, 1, 2))


def test_a_hypothesis_of_all_ranks_is_listed_once_in_the_words_of_the_audit() -> None:
    certificate = fabricated.certificate("f", *fabricated.both("f", "proved under hypotheses", BY_RANK))
    assert conditions(certificate) == listed(certificate) == ["d·eps + (Σj x[…,j]^2) > 0"]
    (said,) = merged_hypotheses(BY_RANK)
    assert in_words(said) == "at every entry, d·eps + (Σj x[…,j]^2) is greater than 0"
    assert r"x_{\dots,j}^{2}" in said.latex


def test_what_always_holds_is_not_listed_beside_what_does_not() -> None:
    several = (hypothesis(counted(">", AXIS, kept("i", "j"))), BY_RANK[0])
    certificate = fabricated.certificate("f", *fabricated.both("f", "proved under hypotheses", several))
    assert conditions(certificate) == [BY_RANK[0].text]


@pytest.mark.parametrize(
    ("signature", "inferred", "shown"),
    [
        ("n 2, ,  -> ", "", "n 2, scalar, scalar"),
        ("n d:held, :int -> n, ", "", "n d, scalar:int -> n, scalar"),
        ("n d, m -> n  axis=-1  k=2", "", "n d, m -> n  axis=-1  k=2"),
        ("n d,  -> ", '"{w: n d, b: ()}"', "{w: n d, b: scalar}"),
        ("n d,  -> ", '{ signature = "P(w: n d, b: ())", static = { c = 1 } }', "P(w: n d, b: scalar)"),
        ("n d, n -> ", '"n d, ()"', "n d, n"),
    ],
)
def test_a_signature_as_people_read_it(signature: str, inferred: str, shown: str) -> None:
    assert as_written(signature, inferred) == shown
