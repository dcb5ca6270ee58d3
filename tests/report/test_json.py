"""Certificates as JSON: deterministic, and decoded strictly."""

import json as standard
from typing import Any

import msgspec
import pytest

from certgrad.report import json
from tests.report import fabricated


def test_the_document_names_the_version_and_the_certificates() -> None:
    document = standard.loads(json.render(fabricated.ALL, "1.2.3"))
    assert list(document) == ["certgrad", "certificates"]
    assert document["certgrad"] == "1.2.3"
    assert [entry["op"] for entry in document["certificates"]] == [entry.op for entry in fabricated.ALL]


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
    assert shown | {"without_gradient", "sizes"} == set(schema["$defs"]["Certificate"]["properties"])
