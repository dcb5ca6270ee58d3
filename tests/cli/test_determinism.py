"""The same bytes whatever the hash seed, the number of processes, the order, and the neighbours in the audit."""

import json
from collections.abc import Callable

import pytest

from tests.cli.conftest import Result
from tests.cli.test_process import run

_AUDIT = ("audit", "--no-cache", "--format", "json")
_OPS = ("log", "softmax")


def test_certificates_do_not_depend_on_hash_seed_or_jobs(certgrad: Callable[..., Result]) -> None:
    here = certgrad(*_AUDIT, *_OPS, "--jobs", "1")  # in this process, which has a hash seed of its own and a past
    apart = run(*_AUDIT, *reversed(_OPS), "--jobs", "2", PYTHONHASHSEED="2")
    assert [here.code, apart.returncode] == [0, 0], here.err + apart.stderr
    first, second = (json.loads(text)["certificates"] for text in (here.out, apart.stdout))
    assert [entry["op"] for entry in first] == [*_OPS]
    assert first == second[::-1], "the rows are in the order asked for"


@pytest.mark.slow
def test_an_op_alone_gets_the_certificate_that_it_gets_in_company() -> None:
    alone = json.loads(run(*_AUDIT, "softmax", PYTHONHASHSEED="3").stdout)["certificates"]
    company = json.loads(run(*_AUDIT, *_OPS).stdout)["certificates"]
    assert alone == [entry for entry in company if entry["op"] == "softmax"]
