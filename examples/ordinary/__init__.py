"""Ordinary rules, all of them right: activations, losses, layers, reductions, indexing. `certgrad audit
examples/ordinary` proves each, and `reports/coq_rules.md` says which of them Coq accepts.
"""
