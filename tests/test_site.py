"""The site builds without a warning and without a network, its links lead somewhere, and no page is left out."""

import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
import yaml

_ROOT = Path(__file__).parents[1]


class _Page(HTMLParser):
    """What a page refers to, and the anchors that it has."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.links: list[tuple[str, str]] = []
        self.anchors: set[str] = set()
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = dict(attrs)
        self.anchors.add(said.get("id") or "")
        self.links += [(tag, link) for name in ("href", "src") if (link := said.get(name))]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, _Page]:
    pytest.importorskip("mkdocs", reason="the packages of the extra `docs` build the site")
    place = tmp_path_factory.mktemp("site").resolve()
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(place)],
        cwd=_ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": "", "http_proxy": "http://127.0.0.1:9"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return {file: _Page(file) for file in place.rglob("*.html")}


@pytest.mark.slow
def test_nothing_is_loaded_from_elsewhere(site: dict[Path, _Page]) -> None:
    for file, page in site.items():
        assert not [link for tag, link in page.links if tag != "a" and link.startswith(("http", "//"))], file


@pytest.mark.slow
def test_links_and_anchors_lead_somewhere(site: dict[Path, _Page]) -> None:
    for file, page in site.items():
        for _, link in page.links:
            if link.startswith(("http", "data:", "/")):
                continue
            path, _, anchor = unquote(link).partition("#")
            target = (file.parent / path).resolve() if path else file
            assert target.exists(), f"{file.name}: {link}"
            assert not anchor or target not in site or anchor in site[target].anchors, f"{file.name}: {link}"


@pytest.mark.slow
def test_every_public_name_is_in_the_reference(site: dict[Path, _Page]) -> None:
    import certgrad

    (page,) = (page for file, page in site.items() if file.parts[-2:] == ("reference", "certgrad.html"))
    for name in set(certgrad.__all__) - {"__version__", "registry"}:
        assert f"certgrad.{name}" in page.anchors


def test_every_page_is_in_the_navigation() -> None:
    text = (_ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    named = set(_leaves(yaml.safe_load(text)["nav"]))
    pages = {str(page.relative_to(_ROOT / "docs")) for page in (_ROOT / "docs").rglob("*.md")}
    reports = {f"reports/{page.name}" for page in (_ROOT / "reports").glob("*.md")}
    notebooks = {f"notebooks/{page.stem}.md" for page in (_ROOT / "docs/notebooks").glob("*.ipynb")}
    assert named == {*pages, *reports, *notebooks, "CONTRIBUTING.md", "CHANGELOG.md"}


def _leaves(nav: object) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    return [leaf for one in (nav.values() if isinstance(nav, dict) else nav) for leaf in _leaves(one)]  # type: ignore
