"""The test suites of packages that write derivative rules, run as they are and under `certgrad run`.

`python -m benchmarks.suites` makes `reports/suites.md`. Each suite runs plain and recorded, in processes of their own;
what its tests say, its exit code and its output are compared, and what the audit said of its rules is kept.
"""
