"""Attacks that come out wrongly today, and what comes out. Empty is the aim."""

KNOWN: dict[tuple[str, str], str] = {}
