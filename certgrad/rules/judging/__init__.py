"""The verdict on a rule: attempts at it, at which sizes and values, and what is said of them together."""
