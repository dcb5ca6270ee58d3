"""Rendering of the HTML page from its template."""

from __future__ import annotations

import base64
import hashlib
from importlib import import_module, resources
from typing import Any

from certgrad.errors import UsageError
from certgrad.report.audited import Audit, summary
from certgrad.report.html._rules import FORMS, Rules
from certgrad.report.html._summary import of_audit
from certgrad.report.trust import MEANINGS, TRUSTED

_NEEDED = "HTML needs jinja2. Install it with: pip install 'certgrad[html]'."


def check_installed() -> None:
    """Raise UsageError if jinja2 is not installed."""
    _jinja()


def _jinja() -> Any:
    try:
        return import_module("jinja2")
    except ImportError:
        raise UsageError(_NEEDED) from None


def render(audit: Audit, version: str, trust: str = "") -> str:
    """Return the page. `trust` is the address of the page on trust; "" if there is none beside the report.

    Raises UsageError if jinja2 is not installed.
    """
    jinja2 = _jinja()
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    files = resources.files(__package__)
    sources = {name: files.joinpath(name).read_text(encoding="utf-8") for name in ("page.html", "parts.html")}
    environment.loader = jinja2.DictLoader(sources)
    style, script = (files.joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    rules = Rules(audit)
    page: str = environment.get_template("page.html").render(
        title=summary(audit.certificates, audit.missing),
        version=version,
        style=style,
        script=script,
        style_hash=_hash(style),
        script_hash=_hash(script),
        summary=of_audit(audit),
        rules=rules.shown,
        failing=rules.failing,
        remarks=rules.remarks,
        problems=audit.problems,
        timed=any(result.seconds for result, _ in audit.certified),
        forms=FORMS,
        trusted=TRUSTED,
        meanings=MEANINGS,
        trust=trust,
    )
    return page + "\n"


def _hash(text: str) -> str:
    """Return the hash of a script or a style as a content security policy names it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
