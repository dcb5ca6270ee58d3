"""Pairs of derivative rules as people write them, a right one and a wrong twin, by someone who did not see the kernel.

`python -m benchmarks.corpus pairs/functions pairs/corners:huber` audits them; `python -m benchmarks.pairs.numbers
functions` checks by floats that the right rules are right and the wrong ones wrong.
"""

CLASSES = {
    "functions": "Functions beside each other",
    "corners": "Corners",
    "indices": "Indices that are not affine",
    "recurrences": "Recurrences",
    "linear_algebra": "Linear algebra",
    "complex_numbers": "Complex numbers",
    "devices": "Many devices",
    "size": "Size",
    "subtle": "Right almost everywhere",
}
"""By module: what the pairs are about."""
