"""Code that looks at the rank, the dtype or a size in a roundabout way is not proved for all of them."""

import pytest

from certgrad.errors import CertgradError
from certgrad.obligations import audit
from tests.obligations import hiding
from tests.obligations.traps import declare


def identity(x):
    return x


def rules(table):
    return [pytest.param(r, id=r.__name__) for r in table]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("rule", rules(hiding.RANKS))
def test_ranks(rule):
    certificate = audit(declare("*s -> *s", identity, rule))
    scopes = {case.scope for claim in certificate.claims for case in claim.cases if case.verdict.startswith("proved")}
    assert not certificate.verdict.startswith("proved") or "all shapes, any rank" not in scopes


@pytest.mark.parametrize("rule", rules(hiding.DTYPES))
def test_dtypes(rule):
    assert not audit(declare("n -> n", identity, rule)).verdict.startswith("proved")


@pytest.mark.one_in(2)
@pytest.mark.parametrize("rule", rules(hiding.SIZES))
def test_sizes(rule):
    try:
        verdict = audit(declare("n -> n", identity, rule)).verdict
    except CertgradError:
        return
    assert not verdict.startswith("proved")
