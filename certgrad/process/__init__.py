"""Processes and threads: imports on demand, the number of processors, turns at shared state."""
