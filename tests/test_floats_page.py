"""`docs/floats.md`: what it quotes is what is printed."""

import io
import re
from contextlib import redirect_stdout
from pathlib import Path

from .tutorial import ROOT, agrees

_BLOCK = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)```", re.DOTALL)


def test_the_page_prints_what_it_quotes(tmp_path: Path) -> None:
    ((program, quoted),) = _BLOCK.findall((ROOT / "docs/floats.md").read_text(encoding="utf-8"))
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(program, str(tmp_path / "page.py"), "exec"), {})
    assert agrees(quoted, printed.getvalue()), printed.getvalue()
