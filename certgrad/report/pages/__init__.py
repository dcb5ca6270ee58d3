"""Pages that are generated and committed: of `docs/` and `reports/`, each rendered as text by one module."""
