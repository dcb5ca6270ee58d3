"""A rule in code as the audit sees it: what its object is made of, its arguments, its traces."""
