"""Models of libraries as they stand, in the dtypes that they run in: certified, and the sweep compared with `jax.grad`.

They are entries of the corpus: `python -m benchmarks.corpus library_models` certifies them, and
`reports/library_models.md` is made of its records. Nothing of a model is changed for it: training mode with its
random keys, statistics of batches, half precision and schedules are as the libraries have them.
"""
