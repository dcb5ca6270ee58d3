"""Statements and terms as text for people, plain and LaTeX. The text is for reading and is never parsed back.

A range is left out where it is the whole axis of an array that the variable numbers; else it is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from certgrad.language import tree as t
from certgrad.signatures.sizes import Size

from .decimals import decimal, decimal_scale
from .denied import negated_guards
from .forms import Summands, extreme, once_or_zero, roots_together, sum_of
from .guards import plainly
from .platform import platform_named
from .relations import SIGNS, SWAPPED

Style = Literal["text", "latex"]
CONTINUOUS = ", continuously"
_LATEX = {">=": r"\ge", "<=": r"\le", "!=": r"\ne"}
_LETTERS = "abcdefghijklmnop"
_GREEK = ("alpha", "beta", "gamma", "delta", "eps", "epsilon", "lambda")


def text(statement: t.Statement, style: Style = "text", inputs: Sequence[str] = (), sizes: Sizes | None = None) -> str:
    """Return the statement as text. Names beside `inputs` are parameters; LaTeX writes `sizes` of axes for ranges."""
    printer = Printer(style, inputs, sizes or {})
    return printer.with_definitions(printer.statement(statement))


def term_text(term: t.Term, style: Style = "text") -> str:
    """Return a term as text, in plain style without the ranges of its variables: for residuals of proofs."""
    printer = Printer(style, ranges=style == "latex")
    return printer.with_definitions(printer.term(term))


def equal_by_induction(left: t.Carry, right: t.Carry, sign: int = 1) -> str:
    """Return the text of an equation, up to a sign, between the carries of two loops at every time t."""
    printer = Printer(ranges=False)
    return printer.with_definitions(f"{printer.term(left)} = {'−' * (sign < 0)}{printer.term(right)} by induction on t")


Sizes = Mapping[str, Sequence[Size]]
"""The sizes of the axes of arrays."""


_OF_MATRIX = {
    ("smallest minor", ">"): (r"{} \succ 0", "the matrix {} is positive definite"),
    ("discriminant", "!="): (r"{}\text{{ has no repeated eigenvalue}}", "the matrix {} has no repeated eigenvalue"),
    ("pivot gap", ">"): (
        r"{}\text{{ has no pivot with the modulus of another candidate}}",
        "the matrix {} has no pivot with the modulus of another candidate",
    ),
}
"""Words for a comparison with 0, by the function of a matrix and the relation: in LaTeX, and plain."""


@dataclass
class Printer:
    """Prints the parts of one statement or term; `mathml` takes its order, and its text for forms without MathML."""

    style: Style = "text"
    inputs: Sequence[str] = ()
    sizes: Sizes = field(default_factory=dict)
    ranges: bool = True
    """Whether ranges are shown that are no whole axes."""
    loops: dict[t.Loop, str] = field(default_factory=dict)
    """Names of the loops that were met."""
    carried: dict[str, str] = field(default_factory=dict)
    """The printed name of a loop's carry, by the loop's name in its step; `{}` is for a letter if it has several."""

    @property
    def latex(self) -> bool:
        return self.style == "latex"

    # --- statements

    def statement(self, s: t.Statement) -> str:
        """Return a statement as text."""
        if isinstance(s, t.ForAll):
            return self.statement(s.holds) + self.bounded(s)
        if isinstance(s, t.Compare):
            return self.compare(s)
        if isinstance(s, t.Either):
            return self.either(s)
        if isinstance(s, t.Both):
            return self.joined(map(self.statement, s.parts))
        if isinstance(s, t.NotIn):
            return self.not_in(s)
        if isinstance(s, t.Where) and (unguarded := negated_guards(s)) is not None:
            return self.statement(unguarded)
        if isinstance(s, t.Where):
            where = r" \;\text{where}\; " if self.latex else " wherever "
            return f"{self.statement(s.then)}{where}{self.joined(map(self.guard, s.guards))}"
        if isinstance(s, t.Unique):
            return self.unique(s)
        if isinstance(s, t.Distinct):
            over = self.over(s.over, s.body)
            return self.term(s.body) + (rf" \text{{ differ over }} {over}" if self.latex else f" differ over {over}")
        if isinstance(s, t.Solves):
            inner, end = self.statement(s.equation), CONTINUOUS if s.continuous else ""
            if self.latex:
                return rf"\text{{{s.solver} solves }} {inner}\text{{{end}}}"
            return f"{s.solver} solves {inner}{end}"
        if isinstance(s, t.AtSteps):
            step, test = s.over[0].variable, self.guard(t.Compare("!=", s.test, t.ZERO))
            if self.latex:
                return rf"{self.statement(s.holds)} \;\text{{at every step }} {step} \text{{ while }} {test}"
            return f"{self.statement(s.holds)} at every step {step} while {test}"
        assert isinstance(s, t.Words | t.OffBoundaries)
        return rf"\text{{{s.text}}}".replace("_", r"\_") if self.latex else s.text

    def bounded(self, s: t.ForAll) -> str:
        """Return as text the ranges of variables that do not run over a whole axis that they number; "" if all do."""
        shown = [r for r in s.over if not _covers_axis(r, s.holds)]
        if not shown:
            return ""
        bounds = ", ".join(self.bound(r) for r in shown)
        return rf" \;\text{{for}}\; {bounds}" if self.latex else f" for {bounds}"

    def bound(self, r: t.Range) -> str:
        if r.size == t.UNKNOWN:
            words = "every ", " that numbers an entry of the program"
            return r.variable.join(rf"\text{{{w}}}" if self.latex else w for w in words)
        return f"{r.variable}<{self.extent(r.size)}"

    def extent(self, size: t.Term) -> str:
        if isinstance(size, t.Axis):
            axis_sizes = self.sizes.get(size.array, ())
            if len(axis_sizes) > size.position:
                return str(axis_sizes[size.position])
            return f"axis {size.position} of {size.array}"
        return self.term(size)

    def over(self, ranges: Sequence[t.Range], *bodies: t.Node) -> str:
        """Return bound variables as text, with those ranges that are no whole axes."""
        if self.whole(ranges, *bodies):
            return ",".join(r.variable for r in ranges)
        return ", ".join(r.variable if _covers_axis(r, *bodies) else self.bound(r) for r in ranges)

    def whole(self, ranges: Sequence[t.Range], *bodies: t.Node) -> bool:
        """Return whether no range is to be shown."""
        return not self.ranges or all(_covers_axis(r, *bodies) for r in ranges)

    def guard(self, g: t.Statement) -> str:
        """Return a guard as text: its condition, or a 0/1-valued term that is not 0, or `… = 0`."""
        plain = plainly(g)
        if plain != g:
            return self.joined(map(self.condition, plain.parts if isinstance(plain, t.Both) else [plain]))
        if isinstance(g, t.Compare) and g.right == t.ZERO:
            return self.term(g.left) + ("" if g.relation == "!=" else " = 0")
        return self.statement(g)

    def joined(self, conditions: Iterable[str]) -> str:
        return (r" \;\text{and}\; " if self.latex else " and ").join(conditions)

    def not_in(self, s: t.NotIn) -> str:
        inner = self.term(s.term)
        if s.numbers == "integers":
            return rf"{inner} \notin \mathbb{{Z}}" if self.latex else f"{inner} is not an integer"
        return rf"{inner} \notin \{{0, -1, -2, \dots\}}" if self.latex else f"{inner} is not 0, −1, −2, …"

    def either(self, s: t.Either) -> str:
        """Return alternatives as text; a maximum that is attained once, or is 0, is written out once."""
        if (unique := once_or_zero(s)) is None:
            return (r" \;\text{or}\; " if self.latex else " or ").join(map(self.statement, s.parts))
        words = f", or the {extreme(unique)} is 0"
        return self.unique(unique) + (rf"\text{{{words}}}" if self.latex else words)

    def unique(self, s: t.Unique) -> str:
        """Return `argmax of x[i,j] over j is unique`; for a negated term, argmin of the term."""
        summands = t.linear(s.body)
        least = extreme(s) == "minimum"
        entry = self.term(sum_of((-c, f) for c, f in summands) if least else s.body)
        window = self.window(s, r" \le " if self.latex else " ≤ ")
        where = "·".join(self.atom(t.Truth(w)) for w in s.where) + " = 1" if s.where and not window else ""
        over = self.over(s.over, s.body)
        if self.latex:
            kept = rf",\, {window or where}" if s.where else ""
            head = r"\operatorname{argmin}" if least else r"\operatorname{argmax}"
            return rf"{head}_{{{over}{kept}}} {entry} \text{{ is unique}}"
        kept = f" with {window}" if window else f" where {where}" if where else ""
        return f"{'argmin' if least else 'argmax'} of {entry} over {over}{kept} is unique"

    def window(self, s: t.Unique, at_most: str) -> str:
        """Return the conditions of a maximum as bounds of its variables, `2j-1 ≤ k ≤ 2j+1`; "" for other conditions."""
        variables = [r.variable for r in s.over]
        sides: dict[str, tuple[list[str], list[str]]] = {v: ([], []) for v in variables}
        for condition in s.where:
            if not (isinstance(condition, t.Compare) and condition.relation == ">=" and condition.right == t.ZERO):
                return ""
            summands = t.linear(condition.left)
            own_summands = [
                (c, f[0].name)
                for c, f in summands
                if len(f) == 1 and isinstance(f[0], t.Index) and f[0].name in variables
            ]
            if len(own_summands) != 1 or abs(own_summands[0][0]) != 1:
                return ""
            c, v = own_summands[0]
            rest = [(k, f) for k, f in summands if f != (t.Index(v),)]
            if any(isinstance(n, t.Index) and n.name in variables for _, f in rest for x in f for n in t.walk(x)):
                return ""
            sides[v][c < 0].append(self.compact(sum_of((-k * c, f) for k, f in rest)).replace(" ", ""))
        parts = [
            at_most.join([*(["max(" + ", ".join(low) + ")"] if len(low) > 1 else low), v, *high])
            for v, (low, high) in sides.items()
            if low or high
        ]
        return ", ".join(parts) if all(len(high) < 2 for _, high in sides.values()) else ""

    def compare(self, s: t.Compare) -> str:
        """Return a comparison as text, balanced; of a platform or a matrix, in words."""
        if platform := platform_named(s):
            return rf"\text{{{platform}}}" if self.latex else platform
        matrix = s.left
        if isinstance(matrix, t.Matrix) and s.right == t.ZERO and (words := _OF_MATRIX.get((matrix.kind, s.relation))):
            return words[not self.latex].format(self.matrix_inside(matrix))
        left, relation, right = self.balanced(s)
        return f"{self.term(left)} {self.sign(relation)} {self.term(right)}"

    def balanced(self, s: t.Compare) -> tuple[t.Term, t.Relation, t.Term]:
        """Return both sides of a comparison with 0: entries on the left, negative and constant terms on the right."""
        relation = s.relation
        if s.right != t.ZERO:
            return s.left, relation, s.right
        summands = t.linear(s.left)
        entries = [summand for summand in summands if self.varies(summand[1])]
        rest = [summand for summand in summands if summand not in entries] if entries else []
        moving = entries or summands
        left = [(c, f) for c, f in moving if c > 0]
        right = [(-c, f) for c, f in moving if c < 0]
        if self.place(right) < self.place(left) or (_constant(left) and not _constant(right)):
            left, right, rest = right, left, [(-c, f) for c, f in rest]
            relation = SWAPPED[relation]
        right += [(-c, f) for c, f in rest]
        factor = decimal_scale([c for c, _ in (*left, *right)])
        return sum_of((c * factor, f) for c, f in left), relation, sum_of((c * factor, f) for c, f in right)

    def varies(self, factors: Sequence[t.Term]) -> bool:
        """Return whether factors mention an entry of an input; if no inputs are known, of any array."""
        named = [n for f in factors for n in t.walk(f) if isinstance(n, t.Array | t.Entry)]
        if self.inputs:
            return any(n.name in self.inputs for n in named)
        return any(isinstance(n, t.Array) or bool(n.index) for n in named)

    def place(self, summands: Summands) -> int:
        """Return the position of the first input that is mentioned; the number of inputs if none is."""
        named = {n.name for _, fs in summands for f in fs for n in t.walk(f) if isinstance(n, t.Array | t.Entry)}
        order = list(self.inputs) or sorted(named)
        return min((order.index(n) for n in named if n in order), default=len(order))

    # --- terms

    def term(self, p: t.Term) -> str:
        parts = self.shown_summands(p)
        if not parts:
            return "0"
        out = ""
        for part, c, _ in parts:
            out += part if not out and c > 0 else f"−{part}" if not out else f" + {part}" if c > 0 else f" − {part}"
        return out.replace("−", "-") if self.latex else out

    def shown_summands(self, p: t.Term) -> list[tuple[str, Fraction, tuple[t.Term, ...]]]:
        """Return the summands: text without sign, coefficient, factors. Negative ones are last, short ones first."""
        shown = [(self.product(f, abs(c)), c, f) for c, f in t.linear(p)]
        return sorted(shown, key=lambda x: (x[1] < 0, len(x[0]), x[0]))

    def product(self, factors: Sequence[t.Term], c: Fraction) -> str:
        """Return a rational times factors, with negative powers as a denominator."""
        above: list[str] = []
        below: list[str] = []
        for f in roots_together(factors):
            if isinstance(f, t.Power) and Fraction(f.exponent) < 0:
                below.append(self.power(f.base, -Fraction(f.exponent)))
            elif isinstance(f, t.Power):
                above.append(self.power(f.base, Fraction(f.exponent)))
            else:
                above.append(self.atom(f))
        decimals = decimal(c, self.latex)
        if decimals or c.numerator != 1 or not above:
            above.insert(0, decimals or str(c.numerator))
        if not decimals and c.denominator != 1:
            below.insert(0, str(c.denominator))
        dot = r" \, " if self.latex else "·"
        top, bottom = dot.join(above), dot.join(below)
        if not below:
            return top
        if self.latex:
            return rf"\frac{{{top}}}{{{bottom}}}"
        return f"{top}/{bottom}" if len(below) == 1 else f"{top}/({bottom})"

    def power(self, base: t.Term, e: Fraction) -> str:
        inner = self.atom(base)
        if e == 1:
            return inner
        if e == Fraction(1, 2):
            bare = inner[1:-1] if isinstance(base, t.Add) and inner.startswith("(") else inner
            return rf"\sqrt{{{bare}}}" if self.latex else f"√{inner}" if len(inner) < 3 else f"sqrt({bare})"
        return f"{inner}^{{{e}}}" if self.latex else f"{inner}^{e}" if e.denominator == 1 else f"{inner}^({e})"

    def atom(self, a: t.Term) -> str:
        """Return a term as it stands in a product: in parentheses where it is a sum, a product or negative."""
        if isinstance(a, t.Add | t.Mul | t.Power | t.Number):
            alone = isinstance(a, t.Number) and Fraction(a.value) >= 0
            return self.term(a) if alone else f"({self.term(a)})"
        if isinstance(a, t.Array):
            return self.symbol(a.name)
        if isinstance(a, t.Entry):
            index = ",".join(map(self.compact, a.index))
            if not index:
                return self.symbol(a.name)
            return f"{self.symbol(a.name)}_{{{index}}}" if self.latex else f"{a.name}[{index}]"
        if isinstance(a, t.Size):
            return f"size({self.symbol(a.name)})" if a.name in self.inputs else self.symbol(a.name)
        if isinstance(a, t.Axis):
            return self.extent(a)
        if isinstance(a, t.Constant):
            return (r"\pi" if self.latex else "π") if a.name == "pi" else a.name
        if isinstance(a, t.Index):
            return a.name
        if isinstance(a, t.Apply):
            return self.apply(a)
        if isinstance(a, t.Truth):
            return f"[{self.truth(a.statement)}]"
        if isinstance(a, t.Fold):
            return self.fold(a)
        if isinstance(a, t.Matrix):
            return self.matrix(a)
        if isinstance(a, t.Chosen):
            return self.chosen(a)
        assert isinstance(a, t.Carry | t.Carried)
        if isinstance(a, t.Carry):
            name = self.carry(a.loop, a.position)
        else:
            name = self.carried.get(a.loop, f"{a.loop}{{}}").format(_LETTERS[a.position % len(_LETTERS)])
        return f"{name}[{','.join(map(self.compact, (a.time, *a.index)))}]"

    def truth(self, s: t.Statement) -> str:
        """Return a condition for brackets; one on indices as it stands: `[j-i ≥ 0]`."""
        if isinstance(s, t.Compare) and s.right == t.ZERO and s.relation != ">" and of_indices(s):
            return f"{self.compact(s.left)} {self.sign(s.relation)} 0"
        return self.statement(s)

    def apply(self, a: t.Apply) -> str:
        if a.function == "stop":
            return f"({', '.join(map(self.term, a.arguments))})"
        if a.function == "exp":
            exponent = self.term(a.arguments[0])
            return rf"e^{{{exponent}}}" if self.latex else f"exp({exponent})"
        if a.function in ("quotient", "remainder"):
            left, right = self.compact(a.arguments[0]), self.term(a.arguments[1])
            if a.function == "quotient":
                return rf"\lfloor ({left})/{right} \rfloor" if self.latex else f"⌊({left})/{right}⌋"
            return rf"(({left}) \bmod {right})" if self.latex else f"(({left}) mod {right})"
        args = ", ".join(map(self.term, a.arguments))
        return rf"\operatorname{{{a.function}}}({args})".replace("_", r"\_") if self.latex else f"{a.function}({args})"

    def fold(self, a: t.Fold) -> str:
        body = self.term(a.body)
        kept = (" and " if not self.latex else ", ").join(map(self.condition, a.where))
        if self.latex:
            bounds = [r.variable if isinstance(r.size, t.Axis) and not self.sizes else self.bound(r) for r in a.over]
            bounds += [kept] if kept else []
            head = {"sum": r"\sum", "product": r"\prod", "maximum": r"\max"}[a.kind]
            inner = rf"{head}_{{{', '.join(bounds)}}} {body}"
            return inner if a.kind == "maximum" else rf"\Bigl({inner}\Bigr)"
        whole = self.whole(a.over, a.body)
        variables = "".join(r.variable for r in a.over) if whole else f"{{{self.over(a.over, a.body)}}}"
        condition = f" where {kept}" if kept else ""
        several = isinstance(a.body, t.Add)
        if a.kind == "maximum":
            return f"max{variables}({body}{condition})"
        return f"({'Σ' if a.kind == 'sum' else 'Π'}{variables} {f'({body})' if several else body}{condition})"

    def condition(self, s: t.Statement) -> str:
        """Return a condition on indices without negative terms: `j ≥ i` is j − i ≥ 0, `j > i` is j − i − 1 ≥ 0."""
        if not (isinstance(s, t.Compare) and s.right == t.ZERO and of_indices(s)):
            return self.statement(s)
        relation, summands = s.relation, t.linear(s.left)
        without_minus_one = [summand for summand in summands if summand != (-1, ())]
        if relation == ">=" and len(without_minus_one) < len(summands) and any(c < 0 for c, _ in without_minus_one):
            relation, summands = ">", without_minus_one
        left = sum_of((c, f) for c, f in summands if c > 0)
        right = sum_of((-c, f) for c, f in summands if c < 0)
        return f"{self.compact(left)} {self.sign(relation)} {self.compact(right)}"

    def matrix(self, a: t.Matrix) -> str:
        """Return a function of a matrix as text: `determinant(A)`, `inverse(A)[i,j]`."""
        where = ",".join(map(self.compact, a.index))
        if self.latex:
            head = {"determinant": r"\det"}.get(a.kind) or rf"\operatorname{{{a.kind}}}"
            return rf"{head}\left({self.matrix_inside(a)}\right)" + (f"_{{{where}}}" if where else "")
        return f"{a.kind}({self.matrix_inside(a)})" + (f"[{where}]" if where else "")

    def matrix_inside(self, a: t.Matrix) -> str:
        """Return an input by its name (`A`, `A[b]` in a batch), any other matrix by its entry in row i and column j."""
        row, column = (r.variable for r in a.over)
        whole = self.whole(a.over, a.body)
        if isinstance(a.body, t.Entry) and whole and a.body.index[-2:] == (t.Index(row), t.Index(column)):
            leading = ",".join(map(self.compact, a.body.index[:-2]))
            name = self.symbol(a.body.name)
            return name if not leading else f"{name}_{{{leading}}}" if self.latex else f"{name}[{leading}]"
        if self.latex:
            return self.term(a.body)
        ends = "" if whole else f", {self.over(a.over, a.body)}"
        return f"{self.term(a.body)} in row {row} and column {column}{ends}"

    def chosen(self, a: t.Chosen) -> str:
        """Return a chosen index as text: `argmax(x[i,j] over j)`, `order(x[j] over j)[i]`."""
        bodies = ", ".join(map(self.term, a.bodies))
        over = self.over(a.over, *a.bodies)
        kept = " and ".join(map(self.condition, a.where))
        kept = f" where {kept}" if kept else ""
        part = f"[{self.compact(a.place[0])}]" if a.place else ""
        if not part and len(a.over) > 1:
            part = f".{a.over[a.component].variable}"
        if self.latex:
            return rf"\operatorname{{{a.kind}}}_{{{over}}}({bodies})" + (f"_{{{part[1:].rstrip(']')}}}" if part else "")
        return f"{a.kind}({bodies} over {over}{kept}){part}"

    # --- loops

    def carry(self, loop: t.Loop, position: int) -> str:
        """Return the name of a carry: c, c2, c3 … by loop, with a letter for each carry if a loop has several."""
        if loop not in self.loops:
            names = (f"{loop.name}{k if k > 1 else ''}" for k in range(1, 1000))
            self.loops[loop] = next(n for n in names if n not in self.loops.values())
        return self.loops[loop] + (_LETTERS[position % len(_LETTERS)] if len(loop.carries) > 1 else "")

    def with_definitions(self, shown: str) -> str:
        """Return the text, followed by the definitions of the carries in it, and of those in the definitions."""
        lines: list[str] = []
        done = 0
        while done < len(self.loops):
            loop = list(self.loops)[done]
            done += 1
            self.carried[loop.name] = self.loops[loop] + ("{}" if len(loop.carries) > 1 else "")
            for k, c in enumerate(loop.carries):
                name = self.carry(loop, k)
                place = "".join(f",{r.variable}" for r in c.over if r.size != t.Number("1"))
                step = self.term(c.step)
                lines.append(f"{name}[0{place}] = {self.term(c.init)}, {name}[{loop.time}+1{place}] = {step}")
        where = r" \;\text{where}\; " if self.latex else " where "
        return shown + where + "; ".join(lines) if lines else shown

    # --- symbols

    def compact(self, p: t.Term) -> str:
        """Return an index as text without spaces, `2j+1-n`: summands with index variables first."""
        summands = t.linear(p)
        numbered = [x for x in summands if any(isinstance(n, t.Index) for f in x[1] for n in t.walk(f))]
        rest = [x for x in summands if x not in numbered]
        rest.sort(key=lambda x: (x[0] < 0, len(shown := self.product(x[1], abs(x[0]))), shown))
        out = ""
        for c, factors in (*numbered, *rest):
            if not factors:
                part = str(abs(c))
            elif len(factors) == 1 and isinstance(factors[0], t.Index):
                part = f"{'' if abs(c) == 1 else abs(c)}{factors[0].name}"
            else:
                part = self.product(factors, abs(c))
            out += f"-{part}" if c < 0 else f"+{part}" if out else part
        return out or "0"

    def sign(self, relation: t.Relation) -> str:
        return _LATEX.get(relation, relation) if self.latex else SIGNS[relation]

    def symbol(self, name: str) -> str:
        if not self.latex:
            return name
        if name in _GREEK:
            return rf"\{'varepsilon' if name == 'eps' else name}"
        return rf"\mathrm{{{name}}}" if len(name) > 1 else name


def _covers_axis(r: t.Range, *bodies: t.Node) -> bool:
    """Return whether a variable runs over the whole of an axis that it indexes, so that text need not say how far."""
    if not isinstance(r.size, t.Axis):
        return False
    entries = [n for body in bodies for n in t.walk(body) if isinstance(n, t.Entry)]
    numbered = [(n.name, k) for n in entries for k, ix in enumerate(n.index) if ix == t.Index(r.variable)]
    return bool(numbered) and min(numbered) == (r.size.array, r.size.position)


def _constant(summands: Summands) -> bool:
    return all(not factors for _, factors in summands)


def of_indices(s: t.Compare) -> bool:
    """Return whether a statement is about index variables and integers used as indices."""
    factors = [f for _, fs in t.linear(s.left) for f in fs]
    return any(isinstance(n, t.Index) for f in factors for n in t.walk(f)) and all(
        isinstance(f, t.Index | t.Size | t.Axis | t.Entry | t.Apply | t.Chosen | t.Add) for f in factors
    )
