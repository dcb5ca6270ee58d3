"""Models of libraries as they stand, in the dtypes that they run in: certified, and the sweep compared with `jax.grad`.

`python -m benchmarks.library_models` makes `reports/library_models.md`. Nothing of a model is changed for it: training
mode with its random keys, statistics of batches, half precision and schedules are as the libraries have them.
"""
