"""Everything that touches JAX's internals: tracing, programs as texts, primitives, symbolic sizes."""
