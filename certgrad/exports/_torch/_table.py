"""Primitives of JAX in torch: a table with a row for each primitive, in the files that are named here."""

from __future__ import annotations

from certgrad.exports._torch import _control, _elementwise, _indexing, _products, _shapes
from certgrad.exports._torch._code import Rule

TABLE: dict[str, str | Rule] = {
    **_elementwise.TABLE,
    **_shapes.TABLE,
    **_products.TABLE,
    **_indexing.TABLE,
    **_control.TABLE,
}
