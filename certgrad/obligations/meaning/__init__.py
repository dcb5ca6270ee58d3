"""What programs mean: the semantics of primitives, of literals and of declared domains."""
