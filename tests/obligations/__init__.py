"""Attacks on the kernel: wrong rules that must not be proved, beside right ones that must."""
