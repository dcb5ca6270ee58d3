"""What docs/exact.md shows is what happens."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/exact.md"


def test_the_example_prints_what_it_says(capsys: object) -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    said = code.rpartition("# ")[2].strip()
    exec(compile(code, str(PAGE), "exec"), {"__name__": "page"})
    assert capsys.readouterr().out.strip() == said  # type: ignore[attr-defined]


def test_the_numbers_of_the_page() -> None:
    from certgrad.exact import _at_shape, _primes

    text = PAGE.read_text("utf-8")
    assert f"a prime of {_primes.P.bit_length()} bits" in text
    assert f"two primes of {_primes.OF_EXP.bit_length()} bits" in text
    assert f"more than {_at_shape.MAX_WIDTH} independent exponents" in text
    assert _at_shape.LOG2_ERROR == -80
