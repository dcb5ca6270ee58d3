"""Errors that a user can cause. Each message is one paragraph: what is wrong, where, and what to do."""


def first_line(error: BaseException, most: int | None = None) -> str:
    """The first line of what an error says, without a stop, up to `most` characters; its type, if it says nothing."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)[:most].rstrip(" .:")


class CertgradError(Exception):
    """Base of every error that certgrad raises for bad input. `exit_code` is what the command line exits with."""

    exit_code = 2
    of_function = False
    """Where something does not trace: it is the function, not its derivative."""

    def __init__(self, message: str = "", brief: str = "") -> None:
        super().__init__(message)
        self.brief = brief or message
        """The reason alone, where the message says more around it."""


class UsageError(CertgradError):
    """A wrong option, path or combination of options."""


class UnknownOpError(UsageError):
    """A name that is neither an op of the library nor a code."""


class SignatureError(CertgradError):
    """A signature that does not parse, or does not fit the function."""


class DomainError(CertgradError):
    """A domain or constraint that does not parse, or names something the op does not have."""


class DeclarationError(CertgradError):
    """An op declared without its rules, or declared twice."""


class RuleError(CertgradError):
    """A rule that returns the wrong number, shape or dtype of outputs."""


class TraceError(CertgradError):
    """A function that JAX cannot trace at symbolic dimensions."""
