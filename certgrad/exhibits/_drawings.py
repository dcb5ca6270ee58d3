"""A certified graph as a drawing."""

from __future__ import annotations

from certgrad.graph.certificate import GraphCertificate
from certgrad.graph.views import picture

from .data import Box, Drawing


def drawing(title: str, certificate: GraphCertificate) -> Drawing:
    """Return the graph whole where it is small, else by the functions that its nodes come from."""
    found = picture(certificate)
    boxes = [Box(s.x, s.y, s.width, s.height, s.style, list(s.lines), s.title) for s in found.shapes]
    return Drawing(title, certificate.verdict, found.width, found.height, boxes, list(found.paths))
