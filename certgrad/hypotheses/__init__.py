"""Hypotheses: statements about real numbers as one typed tree, with one parser, printers and one evaluator."""

from typing import TYPE_CHECKING

from certgrad.process.on_demand import door

if TYPE_CHECKING:
    from . import evaluate, prose, text

__getattr__ = door(__name__, modules="evaluate prose text")
