"""A certified graph as a drawing."""

from __future__ import annotations

from certgrad.graph.certificate import GraphCertificate
from certgrad.graph.views import picture

from .data import Box, Drawing


def drawing(title: str, certificate: GraphCertificate) -> Drawing:
    """Return a drawing of all nodes if the graph is small, else of the functions that its nodes come from."""
    graph_picture = picture(certificate)
    boxes = [Box(s.x, s.y, s.width, s.height, s.style, list(s.lines), s.title) for s in graph_picture.shapes]
    return Drawing(
        title, certificate.verdict, graph_picture.width, graph_picture.height, boxes, list(graph_picture.paths)
    )
