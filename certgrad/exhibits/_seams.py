"""Plots of a function and its derivative around seams: the points that hypotheses exclude."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from certgrad._subject import Subject
from certgrad.language import tree as t
from certgrad.obligations.auditing.conventions import sample
from certgrad.obligations.auditing.witnesses import rule_of
from certgrad.obligations.balls import Dims, Programs, evaluate
from certgrad.obligations.certificate import Certificate
from certgrad.obligations.generality.instances import family
from certgrad.obligations.points import inputs_of

from ._evaluated import BITS, curve, number, steps
from .data import Curve, Dot, Plot

AROUND = Fraction(2)
"""Plot range beyond the outermost seam."""
NEAR = Fraction(1, 1000)
"""The distance from a seam up to which a curve is drawn."""
_SEAMS = ("!=", ">", ">=", "<", "<=")


def seam_plots(subject: Subject, certificate: Certificate) -> list[Plot]:
    """Return a plot for each argument with seams.

    [] if there are no seams, or if the subject with all sizes 1 is no function of single numbers.
    """
    seams = list(_of_conventions(subject)) or list(_of_hypotheses(subject, certificate))
    if not seams:
        return []
    entry = _Entry.of(subject)
    if entry is None:
        return []
    arguments = dict.fromkeys(argument for argument, _, _ in seams)
    return [p for a in arguments if (p := entry.plot(a, [(v, r) for n, v, r in seams if n == a])) is not None]


Seam = tuple[str, Fraction, dict[str, Fraction]]
"""The argument that moves, its value at the seam, and the values of all arguments there."""


def _of_conventions(subject: Subject) -> Iterator[Seam]:
    """Yield the seams at single points for which the subject states a convention (`x = 0`)."""
    for point in subject.convention:
        values = sample(subject, point)
        if values is None or "<" in point or ">" in point:
            continue
        name = point.partition("=")[0].strip()
        at = dict(zip(subject.arg_names, values, strict=True))
        if name in at:
            yield name, at[name], at


def _of_hypotheses(subject: Subject, certificate: Certificate) -> Iterator[Seam]:
    """Yield the seams that hypotheses exclude or end at: x = 3 for x ≠ 3 or x > 3, each once.

    All other arguments are 1 there.
    """
    seen = set()
    at = dict.fromkeys(subject.arg_names, Fraction(1))
    for claim in certificate.claims:
        for h in claim.hypotheses:
            seam = _number_of(h.tree)
            if seam is not None and seam[0] in at and seam not in seen:
                seen.add(seam)
                yield seam[0], seam[1], {**at, seam[0]: seam[1]}


def _number_of(s: t.Statement) -> tuple[str, Fraction] | None:
    """Return (`x`, 3) for `x ≠ 3`, `2·x > 6` and the like; None for a statement of another form."""
    if isinstance(s, t.ForAll):
        s = s.holds
    if not isinstance(s, t.Compare) or s.relation not in _SEAMS or s.right != t.ZERO:
        return None
    name, slope, rest = "", Fraction(0), Fraction(0)
    for c, factors in t.linear(s.left):
        if not factors:
            rest += c
        elif len(factors) == 1 and isinstance(factors[0], t.Array | t.Entry) and not name:
            name, slope = factors[0].name, c
        else:
            return None
    return (name, -rest / slope) if name else None


class _Entry:
    """A subject with all sizes 1, so that every array has one entry: a function of single numbers."""

    def __init__(self, subject: Subject, programs: Programs) -> None:
        self.subject, self.programs = subject, programs

    @classmethod
    def of(cls, subject: Subject) -> _Entry | None:
        """Return the subject with all sizes 1.

        None if it does not trace there, has no VJP, or has integers, or arrays with more than one entry.
        """
        instance = min(family(subject, subject.cases[0]).prove, key=lambda i: sum(len(s) for s in i.inputs))
        if any(d not in ("float", "held") for d in instance.dtypes):
            return None
        try:
            dims = Dims(dict.fromkeys(instance.names, 1))
            inputs = inputs_of(subject, instance)
            programs = Programs(rule_of(subject, instance.keywords(dims.sizes), True), inputs, dims)
            single = programs.output_shapes and all(np.prod(s, dtype=int) == 1 for s in programs.output_shapes)
            fits = single and all(np.prod(s, dtype=int) == 1 for s in programs.shapes)
            return cls(subject, programs) if fits and programs.vjp is not None else None
        except Exception:  # it may not trace at sizes of 1
            return None

    def plot(self, argument: str, seams: Sequence[tuple[Fraction, dict[str, Fraction]]]) -> Plot | None:
        """Return the plot of the function and the rule's derivative in one argument around its seams.

        Each seam is the value of the argument and the values of all arguments. None if the argument has no gradient, or
        if neither curve has a value.
        """
        names = [spec.name for spec in self.programs.inputs]
        moving = [names[i] for i in self.programs.moving]
        if argument not in moving:
            return None
        _, values = seams[0]
        at = {n: values[n] if n in values else Fraction(str(self.subject.defaults.get(n, 1))) for n in names}
        marks = list(dict.fromkeys(v for v, _ in seams))
        near = [m + side for m in marks for side in (-NEAR, NEAR)]
        xs = sorted({*steps(min(marks) - AROUND, max(marks) + AROUND), *near} - {*marks})
        ones = [self._array(Fraction(1), s) for s in self.programs.output_shapes]

        def inputs(x: Fraction) -> list[np.ndarray]:
            return [
                self._array(x if n == argument else at[n], s) for n, s in zip(names, self.programs.shapes, strict=True)
            ]

        def value(x: Fraction) -> object:
            return evaluate(self.programs.forward, inputs(x), precision=BITS).values[self.programs.floats[0]].flat[0]

        def slope(x: Fraction) -> object:
            cotangents = evaluate(self.programs.vjp, [*inputs(x), *ones], precision=BITS).values
            return cotangents[moving.index(argument)].flat[0]

        curves = [
            Curve("function", _broken(curve(xs, value), marks)),
            Curve("derivative by the rule", _broken(curve(xs, slope), marks)),
        ]
        if not any(p is not None for c in curves for p in c.points):
            return None
        dots = []
        for v in marks:
            try:
                y = number(slope(v))
            except Exception:  # undefined at the seam itself
                y = None
            if y is not None:
                dots.append(Dot("the rule returns", float(v), y))
        others = [f"{n} = {at[n]}" for n in names if n != argument]
        note = f"of single numbers, at {', '.join(others)}" if others else ""
        title = f"{self.subject.name.rpartition(':')[2]} and its derivative in {argument}"
        return Plot("seam", title, argument, curves, [(float(v), f"{argument} = {v}") for v in marks], dots, note)

    @staticmethod
    def _array(x: Fraction, shape: Sequence[int]) -> np.ndarray:
        out = np.empty(tuple(shape), dtype=object)
        out[...] = x
        return out


def _broken(
    points: Sequence[tuple[float, float] | None], marks: Sequence[Fraction]
) -> list[tuple[float, float] | None]:
    """Return the curve with a None between points on two sides of a mark, as it may jump there."""
    out: list[tuple[float, float] | None] = []
    for p in points:
        last = out[-1] if out else None
        if p is not None and last is not None and any(last[0] < m < p[0] for m in marks):
            out.append(None)
        out.append(p)
    return out
