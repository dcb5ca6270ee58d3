"""`shard_map` as a program without devices: each axis of the mesh is an axis of the arrays.

A device's part of an array is its entry along that axis, and collectives are sums, moves and copies along it. The mesh
is an object in the program, so that the number of devices is a concrete number.
"""

from typing import TYPE_CHECKING

from certgrad.process.on_demand import door

if TYPE_CHECKING:
    from ._program import devices, program
    from ._shards import DevicesError

_PUBLIC = {
    "DevicesError": "_shards",
    "devices": "_program",
    "program": "_program",
}

__getattr__ = door(__name__, _PUBLIC)
