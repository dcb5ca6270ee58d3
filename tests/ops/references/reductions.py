"""References of the reductions and of the softmax family."""

from ._reference import Reference

REFERENCES: dict[str, Reference] = {}
