"""Certificates as JSON: deterministic, and decoded strictly."""

import json as standard
import os
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import pytest

from certgrad.report import json
from tests.report import fabricated
from tests.report.audits import BASE, EVERY, result


def test_the_document_names_the_versions_the_certificates_and_their_places() -> None:
    document = standard.loads(json.render(EVERY, "1.2.3", BASE))
    assert list(document) == ["format", "certgrad", "certificates", "rules", "remarks", "problems"]
    assert (document["format"], document["certgrad"]) == (1, "1.2.3")
    names = [certificate.op for certificate in EVERY.certificates]
    assert [entry["op"] for entry in document["certificates"]] == names
    assert [rule["name"] for rule in document["rules"]] == names
    assert document["rules"][4] == {
        "name": "pkg.losses:straight_through",
        "file": "pkg/losses.py",
        "line": 41,
        "baseline": ["CG101"],
        "limits": [],
    }
    assert [rule["limits"] for rule in document["rules"]][1] == ["CG206 the signature has 2 arrays | not 1"]
    assert document["remarks"][2]["rule"] == "pkg.broken"


def test_the_schema_of_an_audit_is_published_and_describes_it() -> None:
    page = Path(__file__).parents[2] / f"docs/schemas/audit-{json.FORMAT}.json"
    if os.environ.get("CERTGRAD_UPDATE_GOLDEN") == "1":
        page.write_bytes(json.audit_schema())
    assert page.read_bytes() == json.audit_schema(), "where the meaning of a field changes, so does FORMAT"
    schema = standard.loads(page.read_bytes())
    validator = jsonschema_rs.validator_for(schema)
    validator.validate(standard.loads(json.render(EVERY, "1.2.3", BASE)))
    document = {"format": 1, "certgrad": "1", "certificates": [], "rules": [], "remarks": [], "problems": []}
    assert validator.is_valid(document)
    assert not validator.is_valid({**document, "rules": [{}]})


@pytest.mark.parametrize("certificate", fabricated.ALL, ids=lambda entry: entry.op)
def test_a_certificate_survives_the_round_trip(certificate: Any) -> None:
    encoded = json.encode(certificate)
    assert json.decode(encoded) == certificate
    assert json.encode(json.decode(encoded)) == encoded


def test_the_order_of_a_mapping_does_not_show() -> None:
    first = fabricated.certificate("f", *fabricated.both("f"), versions={"jax": "1", "certgrad": "2"})
    second = fabricated.certificate("f", *fabricated.both("f"), versions={"certgrad": "2", "jax": "1"})
    assert json.encode(first) == json.encode(second)


def test_unknown_fields_are_refused() -> None:
    document = standard.loads(json.encode(fabricated.RELU)) | {"approved": True}
    with pytest.raises(msgspec.ValidationError, match="approved"):
        json.decode(standard.dumps(document).encode())


def test_the_schema_describes_a_certificate() -> None:
    schema = standard.loads(json.schema())
    shown = set(standard.loads(json.encode(fabricated.RELU)))
    assert shown | {"without_gradient", "sizes", "ignored"} == set(schema["$defs"]["Certificate"]["properties"])


def test_what_is_set_for_a_report_is_neither_handed_on_nor_cached() -> None:
    assert not {"covered", "coq"} & {*msgspec.to_builtins(result(fabricated.LOG))}
