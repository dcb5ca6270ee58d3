"""How much of an audit is spent on what, where nothing is declared."""

import time
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import pytest

from certgrad import rules
from certgrad.obligations.terms.budget import auditing, budget
from certgrad.rules.declared.declaration import Declaration
from certgrad.rules.finding.find import FoundRule
from certgrad.rules.inference.known_functions import SpecialFunction
from certgrad.rules.judging.by_name import SHORT, _of_known


@pytest.mark.parametrize("cut_short", [False, True])
def test_more_time_is_given_to_what_was_cut_short_and_not_to_what_took_long(monkeypatch, cut_short):
    rule = jax.custom_vjp(jnp.tanh)
    rule.defvjp(lambda x: (jnp.tanh(x), x), lambda x, g: (g,))
    monkeypatch.setattr(rules, "is_long", lambda program: True)
    monkeypatch.setattr(rules, "known_as", lambda subject, program: SpecialFunction("certgrad.special:lambertw", ()))
    monkeypatch.setattr(rules, "known_beside", lambda subject: [])
    shares = []

    def checked(declared, share=1, beside=()):
        shares.append((declared.approximates, share))
        until = time.thread_time() + 0.1
        while time.thread_time() < until:
            pass
        budget.cut_short += cut_short
        return SimpleNamespace(verdict="unproved", assumed=[])

    with auditing(0.5):
        _of_known(FoundRule("m:f", rule), Declaration("n"), checked)
    own = [share for approximates, share in shares if approximates is None]
    assert own == ([SHORT, 1] if cut_short else [SHORT])
