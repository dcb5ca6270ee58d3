"""The corpus by exact evaluation alone: how many right rules agree, how many wrong ones differ, why others do not.

`python -m benchmarks.exact pairs ordinary` runs the entries that begin so; `--write` writes `reports/exact.md`.
"""
