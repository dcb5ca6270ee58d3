"""The rules that a target has, and its modules."""
