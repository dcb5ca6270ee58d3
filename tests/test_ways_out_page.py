"""The pages on ways out, block by block: what they quote is what is printed."""

import io
import re
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from .tutorial import ROOT, agrees

_BLOCK = re.compile(r"```python\n(.*?)```\n\n(?:```text\n(.*?)```)?", re.DOTALL)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("page", "needs"), [("ways_out", "flatbuffers"), ("exports", "onnxruntime")])
def test_the_page_prints_what_it_quotes(page: str, needs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(needs)
    monkeypatch.chdir(tmp_path)
    scope: dict = {}
    blocks = _BLOCK.findall((ROOT / f"docs/{page}.md").read_text(encoding="utf-8"))
    assert len(blocks) == 3
    for program, quoted in blocks:
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(program, str(tmp_path / "page.py"), "exec"), scope)
        assert agrees(quoted, printed.getvalue()), f"{program}\n{printed.getvalue()}"
