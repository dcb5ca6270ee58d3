"""Pages of the documentation that are made from what the package says: `docs/semantics.md` and `docs/laws.md`."""
