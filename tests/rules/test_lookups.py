"""What is looked up is found again: in a moved folder, whatever JAX keeps, and where an audit found no shapes."""

import shutil
import time

import pytest

from certgrad.obligations.cache import Folder
from certgrad.rules.finding.find import find
from certgrad.rules.project.configuration import nearest
from certgrad.rules.workers.remembered import Memory
from certgrad.rules.workers.worker import remembered
from tests.rules.cached_project import HEAD, Project

pytestmark = pytest.mark.usefixtures("verdicts_alone")

WRONG = HEAD + "rule = made(lambda x: x * x, lambda x: 3 * x)\n"
TABLE = """
import jax
import certgrad

@certgrad.declare("n d, m k:int")
@jax.custom_vjp
def rule(table, ids):
    return table[ids.reshape(-1)]

rule.defvjp(
    lambda table, ids: (table[ids.reshape(-1)], (ids, table.shape[0])),
    lambda r, g: (jax.ops.segment_sum(g, r[0].reshape(-1), num_segments=r[1]), None),
)
"""
SHAPELESS = """
import jax

@jax.custom_vjp
def rule(x):
    return x.never_there

rule.defvjp(lambda x: (rule(x), None), lambda _, g: (g,))
"""


def test_a_copied_project_proves_nothing_anew(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what is refuted, of which a report names lines."""
    project.write("rules", WRONG)
    first = project.audit()["rule"]
    assert first.certificate is not None
    assert first.certificate.verdict == "refuted"
    assert project.audited == ["cachedpkg.rules:rule"]
    copy = project.root / "elsewhere"
    for folder in ("cachedpkg", "cache"):
        shutil.copytree(project.root / folder, copy / folder)
    monkeypatch.syspath_prepend(copy)
    monkeypatch.chdir(copy)
    project.root, project.folder = copy, Folder(copy / "cache")
    second = project.audit()["rule"]
    assert project.audited == []
    assert second.certificate == first.certificate
    assert (second.file, second.where) == (str(copy / "cachedpkg" / "rules.py"), first.where)


def test_what_jax_asks_once_is_in_every_key(project: Project) -> None:
    """Whether k·m is 1 is asked by JAX, where an array is flattened, and not again for the same sizes."""
    project.write("rules", TABLE)
    first, second = project.key(), project.key()
    assert first is not None
    assert second is not None
    assert first.traces == second.traces


def test_that_there_are_no_shapes_is_remembered(project: Project) -> None:
    project.write("rules", SHAPELESS)
    first = project.audit()["rule"]
    assert [r.code for r in first.remarks] == ["CG201"]
    project.forget()
    since = time.time()
    (found,) = find("cachedpkg.rules").rules
    memory = Memory(project.folder, nearest(project.root).declarations, False, since)
    second = remembered(found, memory)
    assert second is not None
    assert [r.text for r in second.remarks] == [r.text for r in first.remarks]
    assert memory.certain == {"cachedpkg.rules:rule"}
    project.write("rules", SHAPELESS.replace("never_there", "nor_there"))
    project.forget()
    (found,) = find("cachedpkg.rules").rules
    assert remembered(found, Memory(project.folder, nearest(project.root).declarations, False, time.time())) is None
