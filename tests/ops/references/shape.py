"""References of the ops that move entries."""

from ._reference import Reference

REFERENCES: dict[str, Reference] = {}
