"""The site has the pages of docs/, its notebooks as pages, and the files outside of it that they link to.

On GitHub a page of docs/ links to `../reports/jax.md`. mkdocs knows nothing outside of docs/, so each such file
becomes a file of the site under its path from the root of the repository, and the links are written anew.
"""

import json
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

_ROOT = Path(__file__).parents[2]
_LINK = re.compile(r"(?<=\]\()(?!https?://|#|mailto:)([^)#\s]+)")
_FENCED = re.compile(r"^(```.*?^```)", re.DOTALL | re.MULTILINE)
_PAGES = [*_ROOT.glob("*.md"), *(_ROOT / "reports").glob("*.md")]
_HOME = "README.md"
"""The page of the repository; that of the site is `docs/index.md`."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages outside of docs/, and every file that a page links to."""
    outside = {str(page.relative_to(_ROOT)) for page in _PAGES} - {_HOME}
    sources = [*(_ROOT / "docs").rglob("*.md"), *_PAGES]
    for source in sources:
        here = str(source.parent.relative_to(_ROOT))
        outside |= {path for path in (_resolved(here, link) for link in _links(source)) if _exists(path)}
    for path in sorted(outside):
        if not path.startswith("docs/") and path != _HOME and (_ROOT / path).is_file():
            level = InclusionLevel.INCLUDED if (_ROOT / path) in _PAGES else InclusionLevel.NOT_IN_NAV
            files.append(File.generated(config, path, abs_src_path=str(_ROOT / path), inclusion=level))
    for notebook in (_ROOT / "docs/notebooks").glob("*.ipynb"):
        files.append(File.generated(config, f"notebooks/{notebook.stem}.md", content=_as_page(notebook)))
    return files


def _as_page(notebook: Path) -> str:
    """A notebook as Markdown: its texts, its code, and under each cell what that printed."""
    parts = []
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        printed = "".join("".join(one.get("text", "")) for one in cell.get("outputs", []))
        parts += [f"```text\n{printed.rstrip()}\n```"] if printed.strip() else []
    parts.append("The file is `docs/notebooks/" + notebook.name + "`.")
    return "\n\n".join(parts) + "\n"


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """The links of a page, from where it is on the site."""
    source = page.file.src_uri
    path = source if (_ROOT / source).is_file() else f"docs/{source}"
    parts = _FENCED.split(markdown)
    parts[::2] = [_LINK.sub(lambda link: _anew(path, link[1]), part) for part in parts[::2]]
    return "".join(parts)


def _anew(page: str, link: str) -> str:
    target = _resolved(posixpath.dirname(page), link)
    if not _exists(target):
        return link
    if (_ROOT / target).is_dir():
        target = posixpath.join(target, "README.md")
    place = "index.md" if target == _HOME else target.removeprefix("docs/").replace(".ipynb", ".md")
    return posixpath.relpath(place, posixpath.dirname(page.removeprefix("docs/")) or ".")


def _resolved(folder: str, link: str) -> str:
    return posixpath.normpath(posixpath.join(folder, link))


def _exists(path: str) -> bool:
    return not path.startswith("..") and (_ROOT / path).exists()


def _links(page: Path) -> list[str]:
    return _LINK.findall("".join(_FENCED.split(page.read_text(encoding="utf-8"))[::2]))
