"""Derivative rules in users' code: `jax.custom_vjp`, `jax.custom_jvp`, plain functions, proved like the library's."""

from ._check import check
from ._declaration import declare
from ._report import Report

__all__ = ["Report", "check", "declare"]
