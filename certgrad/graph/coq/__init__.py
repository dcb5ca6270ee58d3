"""A certified graph as a file of Coq."""
