"""Which rules a target has, and what its modules are."""
