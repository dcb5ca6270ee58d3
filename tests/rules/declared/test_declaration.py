"""Declarations in a project's file: static arguments that are objects, by their names."""

import sys

import pytest

from certgrad.rules.finding.find import find
from certgrad.rules.judging.by_name import examined
from certgrad.rules.project.configuration import nearest

pytestmark = pytest.mark.usefixtures("proofs_alone")

MODEL = """
from functools import partial
import jax, jax.numpy as jnp

class Spring:
    def __init__(self, k):
        self.k = k

soft, stiff = Spring(2.0), Spring(3.0)

@partial(jax.custom_vjp, nondiff_argnums=(0,))
def energy(model, x):
    return model.k * jnp.sum(x * x)

energy.defvjp(lambda model, x: (energy(model, x), x), lambda model, x, g: ((g * 4.0 * x),))
"""


def in_a_project(folder, monkeypatch, static):
    """What comes of a rule whose static argument the project's file gives."""
    (folder / "springs.py").write_text(MODEL)
    (folder / "pyproject.toml").write_text(
        f'[tool.certgrad.signatures]\n"springs:energy" = {{ signature = "n", static = {{ model = {static} }} }}\n'
    )
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "springs", raising=False)
    (found,) = find("springs").rules
    return examined(found, nearest(folder).declarations)[0]


@pytest.mark.parametrize(
    ("static", "verdict"),
    [
        ('{ object = "springs:soft" }', "proved"),
        ('{ object = "springs:stiff" }', "refuted"),  # its slope is 6 x, and the rule's 4 x
        ('{ each = [{ object = "springs:soft" }, { object = "springs:stiff" }] }', "refuted"),
    ],
)
def test_a_file_gives_an_object_by_its_name(tmp_path, monkeypatch, static, verdict):
    certificate = in_a_project(tmp_path, monkeypatch, static).certificate
    assert certificate is not None
    assert certificate.verdict == verdict


@pytest.mark.parametrize(
    ("static", "said"),
    [
        ('"springs:soft"', """also names an object: write model = { object = "springs:soft" } for that"""),
        ('"springs.soft"', """or model = { each = ["springs.soft"] } for the text"""),
        ('{ object = "springs:hard" }', "'springs:hard' names no object such as"),
        ('{ object = "nowhere:soft" }', "'nowhere:soft' names no object such as"),
    ],
)
def test_a_name_that_may_be_a_text_or_leads_nowhere_is_refused(tmp_path, monkeypatch, static, said):
    result = in_a_project(tmp_path, monkeypatch, static)
    assert result.certificate is None
    assert said in result.remarks[0].text
