"""The page as text: its structure, what it says, and that whatever a user writes is inert in it."""

import re
from html.parser import HTMLParser
from importlib import resources

import msgspec
import pytest

from certgrad.errors import UsageError
from certgrad.obligations.certificate import ASSUMED, DIFFERS_IN_FLOATS
from certgrad.report.audited import Audit
from certgrad.report.findings import Remark
from certgrad.report.html import _page, check_installed, render
from tests.report import fabricated
from tests.report.audits import result
from tests.report.html.pages import EVIL, hostile, with_exhibits

VOID = {"meta", "br", "input", "line", "rect", "circle", "path", "mspace", "wbr"}


class Page(HTMLParser):
    """Elements with their attributes and their own text; fails where one is not closed. Reads what is in `noscript`, as
    a browser without scripts does.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self._open.pop() == tag, self.getpos()

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] not in ("script", "style"):
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    def all(self, tag: str, **attributes: str) -> list[dict[str, str | None]]:
        wanted = {k.rstrip("_").replace("_", "-"): v for k, v in attributes.items()}
        return [a for t, a in self.elements if t == tag and all(a.get(k) == v for k, v in wanted.items())]


@pytest.fixture(scope="module")
def every() -> Page:
    return Page(render(with_exhibits(), "1.2.3"))


def test_a_row_for_each_rule(every: Page) -> None:
    assert len(every.all("tr", class_="row")) == len(every.all("tr", class_="more")) == 5
    assert [a["data-verdict"] for a in every.all("tbody") if "data-verdict" in a] == [
        "refuted", "under", "under", "unproved", "surrogate",
    ]  # fmt: skip
    assert "4 of 6" not in every.text
    for claimed in ("1 refuted", "What is trusted", "This audit is not complete", "No module named 'pkg.gone'"):
        assert claimed in every.text


def test_it_starts_with_what_is_refuted(every: Page) -> None:
    first = every.text.partition("Verdicts")[0]
    assert "Refuted CG102 pkg.losses:mul (pkg/losses.py:11) : " in first
    (link,) = [a for a in every.all("a") if (a["href"] or "").startswith("#rule-")]
    assert every.all("tbody", id=(link["href"] or "")[1:], data_verdict="refuted")


def test_what_is_said_of_a_rule(every: Page) -> None:
    for said in (
        "no entry of x is zero",
        "excludes a set of measure zero",
        "Both sides as traced",
        "That is their common normal form.",
        "A point where the two sides differ",
        "The mend",
        "relu and its derivative in x",
        "The programs that were traced",
        "JAX",
    ):
        assert said in every.text, said
    assert every.all("math")
    assert len({a["id"] for _, a in every.elements if a.get("id")}) == sum(1 for _, a in every.elements if a.get("id"))


def test_one_file_that_asks_for_nothing(every: Page) -> None:
    (policy,) = every.all("meta", http_equiv="Content-Security-Policy")
    assert (policy["content"] or "").startswith("default-src 'none'; style-src 'sha256-")
    assert not every.all("link")
    assert len(every.all("script")) == len(every.all("style")) == 1
    for tag, attributes in every.elements:
        assert "src" not in attributes, tag
        assert "style" not in attributes, tag
        assert not [name for name in attributes if name.startswith("on")]
        href = attributes.get("href")
        assert href is None or href.startswith("#")


def test_whatever_a_user_writes_is_inert() -> None:
    text = render(hostile(), "1.2.3")
    page = Page(text)
    assert len(page.all("script")) == len(page.all("style")) == 1
    assert not page.all("img")
    for tag, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on")], tag
    assert "49" not in page.text, "it is no template"
    assert text.count("</noscript>") == 1, "what a browser with scripts reads as text ends where it should"
    assert text.count("</script") == 1
    raw = text[text.index("<noscript>") : text.index("</noscript>")]
    assert "<script" not in raw
    shown = " ".join(EVIL.split())
    assert page.text.count(shown) > 20


def test_a_page_says_the_same_each_time(every: Page) -> None:
    assert render(with_exhibits(), "1") == render(with_exhibits(), "1")


def test_coq_is_named_only_where_it_accepted(every: Page) -> None:
    assert "Coq" not in every.text
    accepted = Audit([result(fabricated.RELU, coq="8.20"), result(fabricated.LOG)])
    page = Page(render(accepted, "1"))
    assert "of 2 accepted by Coq 8.20" in page.text
    assert page.text.count("accepted by Coq") == 2


def test_times_are_shown_only_where_there_are_some(every: Page) -> None:
    assert every.all("button", data_by="seconds")
    timeless = Audit([msgspec.structs.replace(one, seconds=0.0) for one in with_exhibits().results])
    assert not Page(render(timeless, "1")).all("button", data_by="seconds")


def test_certificates_alone_make_a_page_and_so_does_nothing() -> None:
    assert len(Page(render(Audit([result(c) for c in fabricated.ALL]), "1")).all("tr", class_="row")) == 6
    assert not Page(render(Audit([], problems=["nothing was found"]), "1")).all("table", class_="rules")


def test_every_control_has_a_name(every: Page) -> None:
    ids = {a["id"] for _, a in every.elements if a.get("id")}
    for toggle in every.all("button", class_="toggle"):
        assert toggle["aria-controls"] in ids
        assert toggle["aria-expanded"] == "false"
    for picture in every.all("svg", role="img"):
        named = (picture.get("aria-labelledby") or "").split()
        assert picture.get("aria-label") or (named and ids >= {*named})
    assert {a.get("scope") for a in every.all("th")} == {"col", "row"}


def test_without_jinja_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(_page, "import_module", absent)
    with pytest.raises(UsageError, match=r"HTML needs jinja2. Install it with: pip install 'certgrad\[html\]'."):
        check_installed()


# --- colours


def _luminance(colour: str) -> float:
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    """As WCAG 2 defines it."""
    high, low = sorted((_luminance(a), _luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


VERDICTS = ("proved", "under", "rounding", "sizes", "surrogate", "unproved", "refuted")


@pytest.mark.parametrize("mode", [0, 1], ids=["light", "dark"])
def test_text_stands_out_from_what_is_behind_it(mode: int) -> None:
    css = resources.files("certgrad.report.html").joinpath("page.css").read_text()
    found = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", css)
    colour = {name: values[mode] for name, *values in found}
    for text in ("ink", "soft", "link"):
        for behind in ("paper", "panel", "row"):
            assert contrast(colour[text], colour[behind]) >= 4.5, (text, behind)
    for verdict in VERDICTS:
        assert contrast(colour[verdict], colour[f"{verdict}-bg"]) >= 4.5, verdict
        for behind in ("paper", "panel"):
            assert contrast(colour[verdict], colour[behind]) >= 3, verdict
    for line in ("c0", "c1", "dot", "focus"):
        assert contrast(colour[line], colour["paper"]) >= 3, line
    for text in ("ink", "soft"):
        for verdict in VERDICTS:
            assert contrast(colour[text], colour[f"{verdict}-bg"]) >= 4.5, (text, verdict)


def test_a_row_shows_what_limits_it() -> None:
    remark = Remark("CG202", "all of it", True, 'proved with "n d" (inferred); with "b n d" it is refuted')
    page = Page(render(Audit([result(fabricated.RELU, remarks=[remark])]), "1.2.3"))
    assert len(page.all("span", class_="limit")) == 1
    assert page.text.index(remark.brief) < page.text.index("all of it")


def test_a_row_says_for_which_shapes_and_that_they_are_inferred() -> None:
    claims = fabricated.both("pkg:f", signature="n d,  -> ")
    inferred = result(fabricated.certificate("pkg:f", *claims), inferred='"n d, ()"')
    page = Page(render(Audit([inferred]), "1.2.3"))
    row = page.text.partition("What is claimed of f")[0]
    assert "n d, scalar (inferred)" in row
    declared = Page(render(Audit([result(fabricated.RELU)]), "1.2.3"))
    assert "inferred" not in declared.text


def test_a_row_says_which_hypotheses_are_assumed() -> None:
    assumed = msgspec.structs.replace(fabricated.POSITIVE, source=ASSUMED)
    both = fabricated.both("f", "proved under hypotheses", (fabricated.NONZERO, assumed))
    row = Page(render(Audit([result(fabricated.certificate("f", *both))]), "1.2.3")).text.partition("What is claimed")[
        0
    ]
    assert row.count("(assumed)") == 1


def test_it_starts_with_what_floats_contradict_too() -> None:
    claim = fabricated.claim("pkg:f", "vjp_is_adjoint", "unproved", reason="too long")
    contradicted = msgspec.structs.replace(claim, contradicted=f"{DIFFERS_IN_FLOATS}: 1 and 2")
    proved = result(fabricated.RELU)
    page = Page(render(Audit([proved, result(fabricated.certificate("pkg:f", contradicted))]), "1.2.3"))
    first = page.text.partition("Verdicts")[0]
    assert "What fails CG102 pkg:f : unproved: a numeric check in floats differs: 1 and 2" in first
    assert [a["data-verdict"] for a in page.all("tbody") if "data-verdict" in a] == ["unproved", "under"]
