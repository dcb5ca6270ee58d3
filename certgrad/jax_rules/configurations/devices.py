"""Maps over three devices, with the collectives by which devices exchange values. No machine needs to have the devices:
the mesh of a map may be a description, and the program is what is audited.

JAX marks in types what devices hold: own values ("varying"), equal ones ("invarying"; "reduced", if cotangents are
yet to be summed), or parts of a sum ("unreduced"). A rule that hides the sum is the transpose of one that asks for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AbstractMesh, AxisType
from jax.sharding import PartitionSpec as P

from .._configuration import Configuration, configurations, forms

COUNT = 3
ON, ALL = P("i"), P()
"""`ON`: an array in blocks, one on each device. `ALL`: an array that each device has as a whole."""
TURN = [(j, (j + 1) % COUNT) for j in range(COUNT)]


def _mapped(ins: Any, outs: Any, body: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    mesh = AbstractMesh((COUNT,), ("i",), axis_types=(AxisType.Auto,))
    return jax.shard_map(body, mesh=mesh, in_specs=ins, out_specs=outs, **options)


def _cast(x: Any, to: str) -> Any:
    return lax.pcast(x, "i", to=to)


_SUM = "3*n", _mapped(ON, ALL, lambda x: lax.psum(jnp.sum(x * x), "i"))
_TYPES_UNCHECKED = "3*n", _mapped(ON, ALL, lambda x: lax.psum(jnp.sum(x * x), "i"), check_vma=False)
_VARIED = "3*n, n", _mapped((ON, ALL), ON, lambda x, y: x * _cast(y * y, "varying"))
_PARTS_SUMMED = "3*n", _mapped(ON, ALL, lambda x: lax.psum(_cast(x * x, "unreduced"), "i"))
_PARTS_SCATTERED = "9*n", _mapped(ON, ON, lambda x: lax.psum_scatter(_cast(x * x, "unreduced"), "i", tiled=True))
_REDUCED = "n, 3*n", _mapped((ALL, ON), ON, lambda x, y: y * _cast(_cast(x * x, "reduced"), "varying"))
_GATHERED_REDUCED = (
    "3*n, 9*n",
    _mapped((ON, ON), ON, lambda x, y: y * _cast(lax.all_gather(x * x, "i", tiled=True, to="reduced"), "varying")),
)
_STACKED = "3*n", _mapped(ON, ON, lambda x: x * jnp.sum(lax.all_gather(x * x, "i"), 0))
_TILED = "3*n, 9*n", _mapped((ON, ON), ON, lambda x, y: y * lax.all_gather(x * x, "i", tiled=True))
_GATHERED_FOR_ALL = "6 n", _mapped(ON, ALL, lambda x: lax.all_gather(x * x, "i", tiled=True, to="invarying"))
_NUMBER_OF_ONE = _mapped(ON, ON, lambda x: x * lax.pbroadcast(jnp.sum(x * x), "i", 1))


def _name(cast: str) -> str:
    """Return the primitive's name in this JAX: from 0.12 on its function's name, before with a `_p`."""
    return cast if jax.__version_info__ >= (0, 12) else f"{cast}_p"


DEVICES: list[Configuration] = [
    *forms(
        "shard_map",
        ("a sum", *_SUM),
        ("types that are not checked", *_TYPES_UNCHECKED),
        ("of columns", "n 3*m", _mapped(P(None, "i"), P(None, "i"), lambda a: a * jnp.sum(a, 0))),
    ),
    *configurations("psum", _TYPES_UNCHECKED[1], _TYPES_UNCHECKED[0]),
    *configurations("psum_invariant", _SUM[1], _SUM[0]),
    *configurations("pvary", _VARIED[1], _VARIED[0]),
    *forms("all_gather", ("stacked", *_STACKED), ("one after another", *_TILED)),
    *configurations("all_gather_invariant", _GATHERED_FOR_ALL[1], _GATHERED_FOR_ALL[0]),
    *configurations("all_gather_reduced", _GATHERED_REDUCED[1], _GATHERED_REDUCED[0]),
    *configurations("preduced", _REDUCED[1], _REDUCED[0]),
    *configurations(_name("reduced_vary_cast"), _REDUCED[1], _REDUCED[0]),
    *configurations("unreduced_psum", _PARTS_SUMMED[1], _PARTS_SUMMED[0]),
    *configurations(_name("vary_unreduced_cast"), _PARTS_SUMMED[1], _PARTS_SUMMED[0]),
    *configurations("unreduced_reduce_scatter", _PARTS_SCATTERED[1], _PARTS_SCATTERED[0]),
    *forms(
        "reduce_scatter",
        ("entries", "9 n", _mapped(ON, ON, lambda x: lax.psum_scatter(x * x, "i"))),
        ("blocks", "9*n", _mapped(ON, ON, lambda x: lax.psum_scatter(x * x, "i", tiled=True))),
    ),
    *forms(
        "all_to_all",
        ("along one axis", "9*n", _mapped(ON, ON, lambda x: lax.all_to_all(x * x, "i", 0, 0, tiled=True))),
        ("rows to columns", "3*n 3*m", _mapped(ON, ON, lambda x: lax.all_to_all(x * x, "i", 1, 0, tiled=True))),
    ),
    *forms(
        "ppermute",
        ("a turn", "3*n", _mapped(ON, ON, lambda x: lax.ppermute(x * x, "i", TURN))),
        ("some send nothing", "3*n", _mapped(ON, ON, lambda x: lax.ppermute(x * x, "i", [(0, 2)]))),
    ),
    *configurations(
        "pbroadcast", _NUMBER_OF_ONE, "3 n", form="of a number, as JAX fails to transpose that of an array"
    ),
]
