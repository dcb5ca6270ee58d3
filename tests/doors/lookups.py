"""Rows, entries and columns at indices, at rank 0 of these too: the wrong rules are wrong there, or everywhere."""

import jax.numpy as jnp

from tests.doors.examples import Variant, twins

ROWS, ENTRIES, ROW, COLUMN = "v d, *b:int -> *b d", "v, *b:int -> *b", "v d, :int -> d", "d v, :int -> d"


def at(table, ids):
    return table[ids]


def column(table, i):
    return table[:, i]


def back(factor=lambda ids: 1.0):
    return lambda table, ids, g: (jnp.zeros_like(table).at[ids].add(factor(ids) * g), None)


def twice(ids):
    return 2.0


def twice_at_rank_0(ids):
    return 1.0 if ids.ndim else 2.0


rows, wrong_rows = twins(ROWS, at, back(), back(twice))
rows_at_one, wrong_rows_at_one = twins(ROWS, at, back(), back(twice_at_rank_0))
entries, wrong_entries = twins(ENTRIES, at, back(), back(twice_at_rank_0))
columns, wrong_columns = twins(
    COLUMN,
    column,
    lambda table, i, g: (jnp.zeros_like(table).at[:, i].add(g), None),
    lambda table, i, g: (jnp.zeros_like(table).at[:, i].add(2 * g), None),
)


def at_0(rule):
    return lambda table: jnp.sum(jnp.sin(rule(table, jnp.array(0))))


VARIANTS = [
    Variant("rows", ROWS, at, at_0, ("table: v d",)),
    Variant("rows_at_one", ROWS, at, at_0, ("table: v d",)),
    Variant("entries", ENTRIES, at, at_0, ("table: v",)),
    Variant("columns", COLUMN, column, at_0, ("table: d v",)),
]
