"""Processes and threads: imports on demand, the number of processors, state that is shared, files and loggers."""
