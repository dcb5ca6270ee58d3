"""A module that rules read a setting of."""

SCALE = 2.0
