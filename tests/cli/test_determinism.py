"""The same bytes whatever the hash seed, the number of processes, the order, and the neighbours in the audit."""

import json

import pytest

from tests.cli.test_process import run

_AUDIT = ("audit", "--no-cache", "--format", "json")
_OPS = ("log", "softmax")


def test_certificates_do_not_depend_on_hash_seed_or_jobs() -> None:
    runs = [
        run(*_AUDIT, *_OPS, PYTHONHASHSEED="1"),
        run(*_AUDIT, *reversed(_OPS), "--jobs", "2", PYTHONHASHSEED="2"),
    ]
    assert [result.returncode for result in runs] == [0, 0], runs[0].stderr + runs[1].stderr
    first, second = (json.loads(run.stdout)["certificates"] for run in runs)
    assert [entry["op"] for entry in first] == [*_OPS]
    assert first == second[::-1], "the rows are in the order asked for"


@pytest.mark.slow
def test_an_op_alone_gets_the_certificate_that_it_gets_in_company() -> None:
    alone = json.loads(run(*_AUDIT, "softmax", PYTHONHASHSEED="3").stdout)["certificates"]
    company = json.loads(run(*_AUDIT, *_OPS).stdout)["certificates"]
    assert alone == [entry for entry in company if entry["op"] == "softmax"]
