"""Drawings of certified graphs: GraphViz text, and a page that stands alone.

render_dot(certificate)  # for `dot -Tsvg`
render_html(certificate)  # one file, no scripts; needs the extra `html`
picture(certificate)  # its drawing as boxes and paths
"""

from certgrad.graph.views._dot import render_dot
from certgrad.graph.views._html import picture, render_html

__all__ = ["picture", "render_dot", "render_html"]
