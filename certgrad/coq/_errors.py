"""The error for what cannot be printed for Coq."""


class NotPrintedError(Exception):
    """A statement that the printer has no words for. The message is why: it becomes the reason of "not accepted"."""
