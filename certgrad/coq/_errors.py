"""The error for a statement that cannot be printed for Coq."""


class NotPrintedError(Exception):
    """A statement cannot be written in Coq. The message says why: it becomes the reason of "not accepted"."""
