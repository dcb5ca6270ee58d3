"""Parts of libraries, certified one by one: layers, losses, optimisers and log-probabilities, as they stand.

`python -m benchmarks.libraries` makes `reports/libraries.md`. Each library is a module with two things: `public()`, the
names of its parts as the library itself lists them, and `PARTS`, how each is called and at which shapes. A public name
that has no entry is a row of the report, "not tried".
"""
