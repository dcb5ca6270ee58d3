"""Drawings of certified graphs: GraphViz text, and a page that stands alone.

render_dot(certificate)  # for `dot -Tsvg`
render_html(certificate)  # one file, no scripts; needs the extra `html`
"""

from certgrad.graph.views._dot import render_dot
from certgrad.graph.views._html import render_html

__all__ = ["render_dot", "render_html"]
