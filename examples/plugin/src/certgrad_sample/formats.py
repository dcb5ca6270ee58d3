"""A format of the audit: a function from the document of `--format json` to text."""

from typing import Any


def csv(document: dict[str, Any]) -> str:
    """One line a claim: the obligation, its verdict, how many hypotheses it has."""
    rows = [
        f"{claim['id']},{claim['verdict']},{len(claim['hypotheses'])}"
        for certificate in document["certificates"]
        for claim in certificate["claims"]
    ]
    return "\n".join(["obligation,verdict,hypotheses", *rows]) + "\n"
