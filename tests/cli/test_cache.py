"""The cache of the command: the same bytes with and without it, one warning where it cannot be written."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Result
from tests.cli.test_process import run

_OPS = ("relu", "log", "softmax", "matmul")


@pytest.mark.slow
def test_the_same_bytes_cold_warm_and_without(tmp_path: Path) -> None:
    audit = ("audit", "--format", "json", *_OPS)
    folder = str(tmp_path / "cache")
    runs = [
        run(*audit, "--no-cache", PYTHONHASHSEED="1"),
        run(*audit, "--cache-dir", folder, "--jobs", "2", PYTHONHASHSEED="2"),
    ]
    names = sorted(p.name for p in Path(folder).iterdir())
    runs += [
        run(*audit, "--cache-dir", folder, PYTHONHASHSEED="3"),
        run(*audit, "--cache-dir", folder, "--jobs", "2", PYTHONHASHSEED="4"),
    ]
    assert [result.returncode for result in runs] == [0] * 4, [result.stderr for result in runs]
    assert len({result.stdout for result in runs}) == 1
    assert len(names) == len(_OPS) + 1
    assert sorted(p.name for p in Path(folder).iterdir()) == names
    assert not any("warning" in result.stderr for result in runs)


def test_one_warning_where_it_cannot_be_written(tmp_path: Path, certgrad: Callable[..., Result]) -> None:
    (tmp_path / "file").write_text("no folder")
    result = certgrad("audit", "relu", "log", "--jobs", "1", "--cache-dir", str(tmp_path / "file"))
    assert result.code == 0
    assert "2 ops: 0 proved, 2 proved under hypotheses" in result.out
    assert result.err.count("warning: the cache could not be written") == 1
