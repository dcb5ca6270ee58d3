"""Signatures, the forms of a function that they describe, and whether shapes fit them.

This package is below the calculus and the ops: rules in users' code have signatures as ops do.
"""
