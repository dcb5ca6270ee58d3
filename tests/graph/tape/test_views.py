"""Views of a tape: text that is stable, a page whose texts are escaped."""

import re
from html.parser import HTMLParser
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from certgrad.graph.tape import Sweep, Tape, gradients_text, html, sweep_text, text


@pytest.fixture(scope="module")
def sweep() -> Sweep:
    tape = Tape()
    x, w = tape.input("x", jnp.array([1.0, 2.0])), tape.input("w", 3.0)
    y = x * w
    return tape.backward(np.sum(y * y, axis=0))


def without_lines(view: str) -> str:
    return re.sub(r" +test_views\.py:\d+", "", view)


def test_the_tape(sweep: Sweep) -> None:
    assert without_lines(text(sweep.tape)) == (
        "node  operation        type        value    vjp     line\n"
        "%0    input x          float32[2]  [1, 2]\n"
        "%1    input w          float32     3\n"
        "%2    mul(%0, %1)      float32[2]  [3, 6]   %0, %1\n"
        "%3    mul(%2, %2)      float32[2]  [9, 36]  %2, %2\n"
        "%4    sum(%3, axis=0)  float32     45       %3\n"
    )
    assert str(sweep.tape) == text(sweep.tape)


def test_the_sweep_step_by_step(sweep: Sweep) -> None:
    assert sweep_text(sweep) == (
        "step  operation  cotangent  to  adds      so far\n"
        "seed             1          %4  1         1\n"
        "1     %4 sum     1          %3  [1, 1]    [1, 1]\n"
        "2     %3 mul     [1, 1]     %2  [3, 6]    [3, 6]\n"
        "                            %2  [3, 6]    [6, 12]\n"
        "3     %2 mul     [6, 12]    %0  [18, 36]  [18, 36]\n"
        "                            %1  30        30\n"
    )
    assert str(sweep) == sweep_text(sweep)


def test_the_gradients(sweep: Sweep) -> None:
    assert gradients_text(sweep) == (
        "input  type        gradient  norm\nx      float32[2]  [18, 36]  40.2492\nw      float32     30        30\n"
    )


def test_values_that_are_many_integers_or_truths() -> None:
    tape = Tape()
    x = tape.input("x", jnp.arange(6))
    assert len(x > 2) == 6
    tape.apply(lambda v: (v[0] > 3, v[:0]), x)
    view = text(tape)
    assert "int32[6]  0 … 5, mean 2.5" in view
    assert "3 of 6 true" in view
    assert "%2.1" in view
    assert "%2    <lambda>(%0)  bool      False" in view


class Tags(HTMLParser):
    """The tags of a page, checked to close, and the places that links lead to."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: set[str] = set()
        self.links: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, Any]]) -> None:
        found = dict(attrs)
        self.ids |= {found["id"]} if "id" in found else set()
        self.links |= {found["href"].removeprefix("#")} if "href" in found else set()
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_and_its_texts_are_escaped(sweep: Sweep) -> None:
    page = html(sweep.tape, sweep, title="<script>alert(1)</script> & more")
    assert "<script>" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; more" in page
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert tags.links == tags.ids == {"n0", "n1", "n2", "n3", "n4"}
    assert page.count("<details>") == 3
    assert "%2</a> so far" in page
    assert "<h2>Gradients</h2>" not in html(sweep.tape)


def test_large_arrays_are_cut_on_the_page() -> None:
    tape = Tape()
    x = tape.input("x", jnp.ones((10, 3, 8)))
    page = html(tape, tape.backward(np.sum(x)))
    assert "float32[10, 3, 8], the first 6 × 6" in page
