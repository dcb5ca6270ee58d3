"""What is served of a rule that stands at other lines now names the lines of today."""

from __future__ import annotations

import msgspec
import pytest

from certgrad.obligations.cache import Folder
from tests.rules.cached_project import Project

pytestmark = pytest.mark.usefixtures("verdicts_alone")

PLAIN_WRONG = """
import jax, jax.numpy as jnp

@jax.custom_vjp
def rule(x):
    return jnp.sum(x * x)

def _bwd(x, g):
    return (3.0 * g * x,)

rule.defvjp(lambda x: (rule(x), x), _bwd)
"""


def test_lines_above_what_a_finding_names_move_it(project: Project) -> None:
    """The finding that is served is the one that an audit would come to."""
    texts = [PLAIN_WRONG, "SCALE = 2.0\ndef new(x):\n    return SCALE * x\n" + PLAIN_WRONG]
    texts += [PLAIN_WRONG.replace("3.0 * g", "(3.0) * g"), PLAIN_WRONG.replace("x,)", "x,)  # three")]
    for k, text in enumerate(texts):
        project.write("rules", text)
        (served,) = project.audit().values()
        assert bool(project.audited) is (k != 1)
        project.folder = Folder(project.root / f"cache{k}")
        (fresh,) = project.audit().values()
        project.folder = Folder(project.root / "cache")
        assert project.audited
        line = 1 + text.splitlines().index("def _bwd(x, g):")
        assert f"rules.py:{line}" in msgspec.json.encode(fresh).decode()
        plain = msgspec.structs.replace(fresh, seconds=served.seconds)
        assert msgspec.json.encode(served) == msgspec.json.encode(plain)


def test_lines_of_one_of_two_files_of_a_name_are_not_moved(project: Project) -> None:
    """Which of them a finding means is not known."""
    (project.root / "cachedpkg" / "sub").mkdir()
    project.write("sub/__init__", "")
    project.write("sub/rules", "def three(x):\n    return 3.0 * x\n")
    text = PLAIN_WRONG.replace("3.0 * g * x", "g * three(x)").replace(
        "numpy as jnp\n", "numpy as jnp\nfrom .sub.rules import three\n"
    )
    for above in ("", "# A comment.\n"):
        project.write("rules", above + text)
        project.audit()
        assert project.audited == ["cachedpkg.rules:rule"]
