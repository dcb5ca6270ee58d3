"""Certified graphs as code for PyTorch."""
