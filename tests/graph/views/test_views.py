"""GraphViz text and the page: every node with its verdict and hypotheses, and nothing of the user's unescaped."""

import html.parser
import sys
from xml.etree import ElementTree

import jax
import jax.numpy as jnp
import pytest

from certgrad.errors import UsageError
from certgrad.graph import GraphCertificate, certify, trace
from certgrad.graph.views import render_dot, render_html
from certgrad.graph.views._groups import edges, groups
from tests.graph.models import MLP, mlp, mlp_with, scaled_op

pytestmark = pytest.mark.usefixtures("proofs_alone")

NAME = '<b onclick="x">&\\n'


def looping(x, c):
    step = lambda h, row: (jnp.tanh(h * c + row), jnp.abs(h))
    carry, rows = jax.lax.scan(step, jnp.zeros_like(c), x)
    return jnp.sum(carry) + jnp.sum(rows)


@pytest.fixture(scope="module")
def perceptron() -> GraphCertificate:
    return certify(trace(mlp, *MLP))


@pytest.fixture(scope="module")
def refuted() -> GraphCertificate:
    return certify(trace(mlp_with(scaled_op), *MLP, name=NAME))


@pytest.fixture(scope="module")
def loop() -> GraphCertificate:
    return certify(trace(looping, "x: n d", "c: d"))


class Page(html.parser.HTMLParser):
    """Tags, anchors and links of a page. Checks that what is opened is closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.events: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.tags.append(tag)
        if tag not in ("meta", "path", "rect"):
            self.open.append(tag)
        self.handle_attributes(attrs)

    def handle_startendtag(self, tag: str, attrs: list) -> None:
        self.tags.append(tag)
        self.handle_attributes(attrs)

    def handle_attributes(self, attrs: list) -> None:
        for name, value in attrs:
            self.events += [name] if name.startswith("on") else []
            self.ids += [value] if name == "id" else []
            self.links += [value] if name in ("href", "src") else []

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ["perceptron", "refuted", "loop"])
def test_the_page_stands_alone(name: str, request: pytest.FixtureRequest) -> None:
    certificate = request.getfixturevalue(name)
    text = render_html(certificate)
    page = Page(text)
    assert page.open == []
    assert not {"script", "link", "img", "iframe", "b"} & set(page.tags)
    assert page.events == []
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    assert len(page.ids) == len(set(page.ids))
    assert page.tags.count("svg") == 1 + sum(len(n.bodies) for n in certificate.graph.nodes)
    assert text == render_html(certificate)


def test_what_a_node_shows(perceptron: GraphCertificate) -> None:
    text = render_html(perceptron)
    assert '<h1>mlp <span class="badge under">proved under hypotheses</span></h1>' in text
    assert '<g class="under"><title>%9 max: the greater of x and y; of booleans, or\nwritten at models.py:' in text
    assert ">needs x ≠ 0</text>" in text
    assert "needs maximum at models.py:" in text
    assert "<td><code>x @ W1 + b1</code></td>" in text


def test_what_fails_is_seen(refuted: GraphCertificate) -> None:
    text = render_html(refuted)
    assert '<span class="badge refuted">refuted</span>' in text
    assert '<g class="refuted">' in text
    assert ">✗ refuted</text>" in text
    assert "%9 relu at models.py:" in text
    assert NAME not in text
    assert "&lt;b onclick=&#34;x&#34;&gt;&amp;" in text


def test_a_large_graph_shows_runs_of_nodes() -> None:
    def first(x):
        for _ in range(40):
            x = jnp.sin(x) * 1.5
        return x

    def second(x):
        for _ in range(40):
            x = jnp.abs(x) + 1.0
        return x

    certificate = certify(trace(lambda x: second(first(x)), "n"))
    found = groups(certificate.graph, certificate.steps)
    assert [g.title for g in found] == ["inputs", "first", "second"]
    assert [len(g.nodes) for g in found] == [1, 80, 80]
    assert edges(found) == [(0, 1), (1, 2)]
    assert [len(g.hypotheses) for g in found] == [0, 0, 1]
    page = Page(render_html(certificate))
    assert page.tags.count("svg") == 3
    assert {"ng1", "ng2", "n7"} <= set(page.ids)
    fewer = groups(certificate.graph, certificate.steps, most=2)
    assert [g.title for g in fewer] == ["inputs, first", "second"]


def test_dot(perceptron: GraphCertificate, refuted: GraphCertificate) -> None:
    text = render_dot(perceptron)
    assert text.startswith('digraph "mlp" {\n  label="mlp: proved under hypotheses"')
    assert '  n9 [label="%9 max\\nf32[n, h]\\nx ≠ 0" fillcolor="#fdf0c4" tooltip="%9 max: the greater of x' in text
    assert "\n  n8 -> n9;\n" in text
    assert text.endswith("  n18 -> out0;\n}\n")
    assert "f32[n, h]\\nrefuted" in render_dot(refuted)
    assert 'fillcolor="#f7c8c8" penwidth=2' in render_dot(refuted)
    assert 'digraph "<b onclick=\\"x\\">&\\\\n" {' in render_dot(refuted)


def test_dot_of_a_loop(loop: GraphCertificate) -> None:
    text = render_dot(loop)
    (scan,) = [n.id for n in loop.graph.nodes if n.kind == "scan"]
    assert f'subgraph cluster_n{scan}_0 {{\n    label="body of %{scan}"; style=dashed;' in text
    assert f" -> n{scan} [style=dashed];" in text
    assert text.count("{") == text.count("}")


def test_the_drawing_is_svg(loop: GraphCertificate) -> None:
    text = render_html(loop)
    start = 0
    for _ in range(2):
        start = text.index("<svg", start + 1)
        root = ElementTree.fromstring(text[start : text.index("</svg>", start) + 6])
        assert len(root.findall("path")) > 0
        assert all(len(g.findall("title")) == 1 for g in root.iter("g"))


def test_without_jinja2(perceptron: GraphCertificate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(UsageError, match=r"HTML needs jinja2\. Install it with: pip install 'certgrad\[html\]'"):
        render_html(perceptron)
