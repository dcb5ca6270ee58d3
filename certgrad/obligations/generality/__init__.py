"""Which shapes, ranks and dtypes were looked at, and why they stand for all others."""
