"""What certgrad costs, each figure of the public call with its defaults and beside its peer: `make bench`.

A file is a group of figures: its `figures(short)` yields them, in a process of its own.
"""
