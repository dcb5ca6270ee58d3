"""What a `shard_map` computes, as a program without devices: each axis of the mesh is an axis of the arrays.

A device's part of an array is its block along that axis, and collectives are sums, moves and copies along it. The mesh
is an object of the program, so the number of its devices is a number.
"""

from ._program import devices, program
from ._shards import DevicesError

__all__ = ["DevicesError", "devices", "program"]
