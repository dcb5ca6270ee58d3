"""The changes between two audits as text, as JSON, and as Markdown for a pull request."""

from collections.abc import Sequence

import msgspec

from certgrad.language import coding
from certgrad.report.diff import FORMAT, GAINS, Change
from certgrad.report.markdown import code, tabulated


class Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `certgrad diff --format json` prints."""

    format: int
    certgrad: str
    compared: int
    """The number of rules in the new audit."""
    losses: list[Change]
    others: list[Change]
    gains: list[Change]


def as_text(found: Sequence[Change], compared: int, *, quiet: bool = False) -> str:
    """Return a line for each change; with `quiet`, for the losses alone. `compared` is the number of rules."""
    shown = [one for one in found if one.loss or not quiet]
    lines = [f"{one.rule}: {one.kind}: {one.text}" for one in shown]
    return "\n".join(lines or ([] if quiet else [f"no change in {_counted_noun(compared, 'rule')}"])) + (
        "\n" if lines or not quiet else ""
    )


def as_json(found: Sequence[Change], compared: int, version: str) -> str:
    """Return the document as JSON; equal changes give equal bytes."""
    losses, others, gains = _grouped(found)
    return _encoded(Document(FORMAT, version, compared, losses, others, gains))


def as_markdown(found: Sequence[Change], compared: int) -> str:
    """Return a comment for a pull request: losses, other changes and gains; one line if there are none."""
    losses, others, gains = _grouped(found)
    head = f"**certgrad**: {_counted_noun(len(losses), 'loss', 'losses')} in {_counted_noun(compared, 'rule')}."
    if not found:
        return f"**certgrad**: no change in {_counted_noun(compared, 'rule')}.\n"
    groups = (("Losses", losses), ("Other changes", others), ("Gains", gains))
    parts = [head, *(f"### {title}\n\n{_table(members)}" for title, members in groups if members)]
    return "\n\n".join(parts) + "\n"


def schema() -> str:
    """Return the JSON Schema of the document, which is published in `docs/schemas/`."""
    return _encoded({"title": f"certgrad diff, format {FORMAT}", **coding.schema(Document)})


def _grouped(found: Sequence[Change]) -> tuple[list[Change], list[Change], list[Change]]:
    """Return the losses, the other changes, and the gains."""
    gains = [one for one in found if one.kind in GAINS]
    return [one for one in found if one.loss], [one for one in found if not one.loss and one not in gains], gains


def _table(found: Sequence[Change]) -> str:
    return tabulated(("rule", "", "what changed"), [(code(one.rule), one.kind, code(one.text)) for one in found])


def _counted_noun(number: int, word: str, words: str = "") -> str:
    return f"{number} {word if number == 1 else words or word + 's'}"


def _encoded(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value, order="deterministic"), indent=2).decode() + "\n"
