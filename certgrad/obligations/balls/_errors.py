"""Errors of the ball evaluator. None of them is a verdict."""


class BallError(Exception):
    """Base of everything that this package raises on purpose."""


class Unsupported(BallError):
    """The program uses a primitive, or a form of one, that has no semantics here."""


class Undecided(BallError):
    """A comparison of two real numbers that the balls, at this precision, cannot decide."""


class NotDifferentiable(BallError):
    """The point is a kink, a jump or outside the domain: no derivative to compare with."""


class OutOfTime(BallError):
    """The time that was given to evaluations is used up."""


class MalformedRule(BallError):
    """A rule that does not trace, or returns the wrong number or shape of outputs."""
