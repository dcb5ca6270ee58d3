"""Signatures, the forms of a function that they describe, and whether shapes fit them.

They stand below the calculus and below the ops: a rule in a user's code has them as an op does.
"""
