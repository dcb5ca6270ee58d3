"""The eager tape: what ran, its reverse sweep, and views of both; a tape becomes the graph that `trace` makes."""

from certgrad.graph.tape._html import html
from certgrad.graph.tape._sweep import Contribution, Sweep, SweepStep
from certgrad.graph.tape._tape import Record, Tape
from certgrad.graph.tape._value import Value
from certgrad.graph.tape._views import gradients_text, sweep_text, text

__all__ = [
    "Contribution",
    "Record",
    "Sweep",
    "SweepStep",
    "Tape",
    "Value",
    "gradients_text",
    "html",
    "sweep_text",
    "text",
]
