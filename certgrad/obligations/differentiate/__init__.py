"""Derivatives of terms, and where piecewise terms have one."""
