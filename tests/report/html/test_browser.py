"""The page in a headless Chromium: keys reach everything, nothing is written to the console, 1,000 rows are quick.

With CERTGRAD_AXE=/path/to/axe.min.js (npm install axe-core) an accessibility checker looks at it as well.
"""

import base64
import os
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from certgrad.exhibits.data import encode
from certgrad.report.audited import Audit, RuleResult
from certgrad.report.html import render
from tests.report.html import browser as b
from tests.report.html.pages import exhibit, hostile, with_exhibits

pytestmark = [pytest.mark.browser, pytest.mark.skipif(bool(b.MISSING), reason=b.MISSING)]

AXE = os.environ.get("CERTGRAD_AXE", "")
OPEN = "document.querySelectorAll('.toggle').forEach((button) => button.click())"
REACHABLE = """
return [...document.querySelectorAll('a[href], button, input, select, summary, [tabindex="0"]')]
  .filter((e) => e.checkVisibility() && getComputedStyle(e).display !== 'none' && e.closest('.skip') === null)
  .map((e, k) => (e.dataset.key = k)).length
"""
FOCUSED = "return document.activeElement.dataset.key ?? null"
AXE_RUN = """
const done = arguments[arguments.length - 1];
axe.run({resultTypes: ['violations']}).then((found) => done(found.violations.map((v) => [v.id, v.nodes[0].html])));
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[b.Browser]:
    with b.started() as found:
        yield found


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("page") / "audit.html"
    file.write_text(render(with_exhibits(), "1.2.3"), encoding="utf-8")
    return file


def many(count: int) -> Audit:
    """Rules of every verdict, each with all that can be shown."""
    few = with_exhibits().certified
    names = (f"pkg.module:rule_{k}" for k in range(count))
    rows: list[RuleResult] = []
    for k, name in enumerate(names):
        one, certificate = few[k % len(few)]
        certificate = msgspec.structs.replace(certificate, op=name)
        rows.append(msgspec.structs.replace(one, certificate=certificate, exhibit=encode(exhibit(f"number {k}"))))
    return Audit(rows, 1.0)


def test_a_keyboard_alone_reaches_everything(browser: b.Browser, page: Path) -> None:
    browser.open(page)
    browser.run(OPEN)
    browser.run("scrollTo(0, 0); document.activeElement.blur()")
    count = browser.run(REACHABLE)
    assert count > 30
    reached = set()
    for _ in range(count + 2):
        browser.press("tab")
        reached.add(browser.run(FOCUSED))
    assert {str(k) for k in range(count)} <= reached


def test_keys_open_a_row_sort_and_find(browser: b.Browser, page: Path) -> None:
    browser.open(page)
    browser.run("document.querySelector('#rule-pkg.losses-relu .toggle, .toggle').focus()")
    browser.press("enter")
    assert browser.run("return document.activeElement.getAttribute('aria-expanded')") == "true"
    assert browser.run("return document.querySelectorAll('.detail math').length") > 3
    browser.press("space")
    assert browser.run("return document.activeElement.getAttribute('aria-expanded')") == "false"
    browser.press("/", "m", "u", "l")
    time.sleep(0.3)
    assert browser.focused() == "input find"
    assert browser.run("return document.getElementById('shown').textContent") == "1 of 5 shown"
    browser.run("document.getElementById('find').form.reset()")
    browser.run("document.querySelector('[data-by=name]').focus()")
    names = "return [...document.querySelectorAll('table.rules > tbody')].map((body) => body.dataset.name)"
    browser.press("enter")
    ascending = browser.run(names)
    assert ascending == sorted(ascending)
    browser.press("enter")
    assert browser.run(names) == ascending[::-1]
    assert browser.run("return document.querySelector('[data-by=name]').parentNode.ariaSort") == "descending"


def test_verdicts_can_be_left_out(browser: b.Browser, page: Path) -> None:
    browser.open(page)
    browser.run("document.querySelector('input[value=refuted]').click()")
    assert browser.run("return document.getElementById('shown').textContent") == "4 of 5 shown"
    browser.run("document.querySelectorAll('input[name=verdict]').forEach((box) => box.checked && box.click())")
    assert browser.run("return document.getElementById('none').hidden") is False


def test_an_address_opens_its_rule(browser: b.Browser, page: Path) -> None:
    browser.open(page, fragment="#rule-pkg.losses-mul")
    assert browser.run("return document.getElementById('rule-pkg.losses-mul').className") == "open"
    assert browser.run("return document.querySelectorAll('tbody.open').length") == 1


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_it_fits_and_says_nothing_in_the_console(browser: b.Browser, page: Path, width: int, dark: bool) -> None:
    browser.console()
    browser.open(page, width, dark)
    browser.run(OPEN)
    assert browser.run("return document.documentElement.scrollWidth") <= width
    assert browser.console() == []
    if AXE:
        browser.devtools("Page.setBypassCSP", enabled=True)
        browser.open(page, width, dark)
        browser.run(OPEN)
        browser.run(Path(AXE).read_text())
        assert browser.wait_for(AXE_RUN) == []
        browser.devtools("Page.setBypassCSP", enabled=False)


def test_what_is_hostile_stays_text(browser: b.Browser, tmp_path: Path) -> None:
    file = tmp_path / "hostile.html"
    file.write_text(render(hostile(), "1.2.3"), encoding="utf-8")
    browser.console()
    browser.open(file)
    browser.run(OPEN)
    assert browser.run("return document.querySelectorAll('img').length") == 0
    assert browser.run("return document.querySelectorAll('script').length") == 1
    assert browser.run("return document.querySelectorAll('.detail').length") == 1
    assert browser.console() == []


def test_without_scripts_all_is_there(browser: b.Browser, page: Path) -> None:
    browser.devtools("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(page)
        browser.devtools("DOM.getDocument", depth=0)
        found = browser.devtools("DOM.performSearch", query=".detail math")
        assert found["resultCount"] > 10
    finally:
        browser.devtools("Emulation.setScriptExecutionDisabled", value=False)


def test_it_prints(browser: b.Browser, page: Path) -> None:
    browser.open(page, fragment="#rule-pkg.losses-relu")
    browser.devtools("Emulation.setEmulatedMedia", media="print")
    assert browser.run("return getComputedStyle(document.querySelector('.tools')).display") == "none"
    paper = browser.devtools("Page.printToPDF", printBackground=False)["data"]
    assert base64.b64decode(paper).startswith(b"%PDF")
    browser.devtools("Emulation.setEmulatedMedia", media="")


@pytest.mark.parametrize(("count", "part"), [(200, "rule_7"), pytest.param(1000, "rule_77", marks=pytest.mark.slow)])
def test_a_thousand_rows_are_quick(browser: b.Browser, tmp_path: Path, count: int, part: str) -> None:
    file = tmp_path / "many.html"
    file.write_text(render(many(count), "1.2.3"), encoding="utf-8")
    browser.devtools("Performance.enable", timeDomain="threadTicks")
    before = _busy(browser)
    browser.open(file)
    opening = _busy(browser) - before
    elements = browser.run("return document.getElementsByTagName('*').length")
    before = _busy(browser)
    browser.run(
        f"document.getElementById('find').value = '{part}';"
        "document.querySelector('.tools').dispatchEvent(new Event('change')); document.body.offsetHeight"
    )
    filtering = _busy(browser) - before
    browser.devtools("Performance.disable")
    assert browser.run("return document.getElementById('shown').textContent") == f"11 of {count} shown"
    print(
        f"{file.stat().st_size / 1e6:.1f} MB, {elements} elements, {opening:.2f} s to open, {filtering:.2f} s to filter"
    )
    assert elements < 40 * count, "details are made when they are opened"
    assert opening < 1 + count / 250, "a second or so of its processor for a thousand, whatever else the machine does"
    assert filtering < 0.2 + count / 1250


def _busy(browser: b.Browser) -> float:
    """Seconds of the processor that the page has taken: those on the clock are of whatever runs beside it."""
    found = browser.devtools("Performance.getMetrics")["metrics"]
    return next(float(m["value"]) for m in found if m["name"] == "TaskDuration")
