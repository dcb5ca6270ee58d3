"""Terms and conditions as text for people: plain and LaTeX. The text is for reading and is never parsed back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

from flint import fmpq

from certgrad.obligations.assume.conditions import (
    CONTINUOUS,
    STEP,
    Atomic,
    Clause,
    has_one_solution,
    name_of_solver,
    of_solver,
)
from certgrad.obligations.laws.order import different_entries, sole_maximum
from certgrad.obligations.terms.atoms import Access, Base, Dim, Exp, Fn, IndexNumber, Max, Num, Product, Sum
from certgrad.obligations.terms.determined import Loop, Matrix, Rec, carried
from certgrad.obligations.terms.exponents import Exponent
from certgrad.obligations.terms.index import IntegerAtom, Ix, IxTerm, of_var
from certgrad.obligations.terms.integers import Chosen, Entry, Quotient, Remainder, RowMajor
from certgrad.obligations.terms.polynomials import ONE, Atom, Mono, Poly, poly_of
from certgrad.obligations.terms.predicates import PREDICATES, IxEq, IxPred, Pred, Side
from certgrad.obligations.terms.variables import Var
from certgrad.obligations.terms.walk import deep_atoms, is_determined

from .readable import with_tanh

Style = Literal["text", "latex"]
LETTERS = "ijklabcdefgh"
LONG = 600
"""Where a text about loops is cut."""


def show(poly: Poly, style: Style = "text", names: Mapping[Var, str] | None = None) -> str:
    """A term. Free index variables are named i, j, k … in order of appearance unless `names` says otherwise."""
    printer = _Printer(style, dict(names or name_variables([poly])))
    return printer.with_definitions(printer.poly(poly))


def name_variables(polys: Iterable[Poly]) -> dict[Var, str]:
    """Letters for the free variables of terms, in sorted order."""
    free = sorted({v for p in polys for v in p.free}, key=lambda v: ({"t": 0, "u": 1}.get(v[0], 2), v))
    steps = [v for v in free if v[0] == STEP]
    names = {v: LETTERS[k] if k < len(LETTERS) else f"i{k}" for k, v in enumerate(v for v in free if v[0] != STEP)}
    return names | {v: f"s{k or ''}" for k, v in enumerate(steps)}


def _tensors(poly: Poly) -> set[str]:
    return {b.tensor for b in deep_atoms(poly) if isinstance(b, Access)}


def _sides(terms: Mapping[Mono, fmpq]) -> tuple[Poly, Poly]:
    return Poly({m: c for m, c in terms.items() if c > 0}), Poly({m: -c for m, c in terms.items() if c < 0})


def _elementwise(polys: Iterable[Poly]) -> bool:
    """Each tensor occurs at one index only, of different variables, so that leaving it out is unambiguous."""
    seen: dict[str, str] = {}
    for p in polys:
        for a in deep_atoms(p):
            if isinstance(a, (Matrix, Rec)):
                return False
            if isinstance(a, Access):
                shown = [ix for ix in a.index if not any(v[0] == "b" for v in ix.free)]
                free = ",".join(ix.key for ix in shown)
                if seen.setdefault(a.tensor, free) != free or len({ix for ix in shown if ix.terms}) < sum(
                    1 for ix in shown if ix.terms
                ):
                    return False
    return True


@dataclass
class _Printer:
    style: Style
    names: dict[Var, str]
    bare: bool = False
    """Leave out free indices: the formula holds at every entry."""
    inputs: Sequence[str] = ()
    """The inputs in order; what else is named counts as a parameter."""
    loops: dict[Loop, str] = field(default_factory=dict)
    """Names of the recurrences that were met."""
    aliases: dict[str, str] = field(default_factory=dict)
    """What the carries that a step reads are called."""

    @property
    def latex(self) -> bool:
        return self.style == "latex"

    def poly(self, p: Poly) -> str:
        if p.is_zero:
            return "0"
        parts = sorted(((self.mono(m, abs(c)), c) for m, c in p.items()), key=lambda t: (t[1] < 0, len(t[0]), t[0]))
        out = ""
        for text, c in parts:
            out += text if not out and c > 0 else f"−{text}" if not out else f" + {text}" if c > 0 else f" − {text}"
        return out.replace("−", "-") if self.latex else out

    def mono(self, mono: Mono, c: fmpq) -> str:
        up: list[str] = []
        down: list[str] = []
        for a, e in sorted(mono, key=lambda t: (self.rank(t[0]), t[0].key)):
            (up if e > 0 or isinstance(a, Exp) else down).append(
                self.power(a, e if e > 0 or isinstance(a, Exp) else -e)
            )
        if c.p != 1 or not up:
            up.insert(0, str(c.p))
        if c.q != 1:
            down.insert(0, str(c.q))
        dot = r" \, " if self.latex else "·"
        top, bottom = dot.join(up), dot.join(down)
        if not down:
            return top
        if self.latex:
            return rf"\frac{{{top}}}{{{bottom}}}"
        return f"{top}/{bottom}" if len(down) == 1 else f"{top}/({bottom})"

    def rank(self, a: Atom) -> int:
        order = (Num, Dim, Access, Pred, IxEq, IxPred, Fn, Exp, Base, Matrix, Sum, Product, Max)
        return order.index(type(a)) if type(a) in order else len(order)

    def power(self, a: Atom, e: Exponent) -> str:
        if isinstance(a, Exp):
            inside = self.poly(Poly({a.mono: fmpq(Fraction(e).numerator, Fraction(e).denominator)}))
            return rf"e^{{{inside}}}" if self.latex else f"exp({inside})"
        text = self.atom(a)
        if e == 1:
            return text
        if e == Fraction(1, 2):
            bare = text[1:-1] if isinstance(a, Base) and text.startswith("(") else text
            return rf"\sqrt{{{bare}}}" if self.latex else f"√{text}" if len(text) < 3 else f"sqrt({bare})"
        return f"{text}^{{{e}}}" if self.latex else f"{text}^{e}" if isinstance(e, int) else f"{text}^({e})"

    def atom(self, a: Atom) -> str:
        if isinstance(a, Access):
            if not a.index:
                return self.symbol(a.tensor)
            if a.tensor in self.aliases:
                return f"{self.aliases[a.tensor]}[{','.join(self.index(ix) for ix in a.index)}]"
            shown = [ix for ix in a.index if not self.bare or any(v[0] == "b" for v in ix.free)]
            if not shown:
                return self.symbol(a.tensor)
            index = ",".join(self.index(ix) for ix in shown)
            return f"{self.symbol(a.tensor)}_{{{index}}}" if self.latex else f"{a.tensor}[{index}]"
        if isinstance(a, Dim):
            return self.symbol(a.name)
        if isinstance(a, Num):
            return r"\pi" if self.latex and a.name == "pi" else "π" if a.name == "pi" else a.name
        if isinstance(a, IndexNumber):
            return self.integer(a.var)
        if isinstance(a, Fn):
            args = ", ".join(self.poly(p) for p in a.args)
            if a.name == "stop":
                return f"({args})"
            return rf"\operatorname{{{a.name}}}({args})".replace("_", r"\_") if self.latex else f"{a.name}({args})"
        if isinstance(a, Base):
            return f"({self.poly(a.poly)})"
        if isinstance(a, (Pred, Side)):
            return f"[{self.comparison(a.poly, '>')}]"
        if isinstance(a, IxPred):
            return f"[{self.index(a.ix)} {self.sign('≥')} 0]"
        if isinstance(a, IxEq):
            return f"[{self.index(a.ix)} = 0]"
        if isinstance(a, (Sum, Max, Product)):
            return self.binder(a)
        if isinstance(a, Rec):
            place = ",".join(self.index(ix) for ix in (a.time, *a.index))
            return f"{self.carry(a.loop, a.position)}[{place}]"
        if isinstance(a, Matrix):
            return self.matrix(a)
        raise TypeError(type(a).__name__)

    def matrix(self, a: Matrix) -> str:
        """`determinant(A)`, `inverse(A)[i,j]`."""
        where = ",".join(self.index(ix) for ix in a.index)
        if self.latex:
            head = {"determinant": r"\det"}.get(a.name) or rf"\operatorname{{{a.name}}}"
            return rf"{head}\left({self.matrix_inside(a)}\right)" + (f"_{{{where}}}" if where else "")
        return f"{a.name}({self.matrix_inside(a)})" + (f"[{where}]" if where else "")

    def matrix_inside(self, a: Matrix) -> str:
        """A matrix by name where it is an input (`A`, `A[b]` in a batch), else by its entry in row i and column j."""
        entry = a.body.atom()
        single = a.ranges[0] == ONE
        if isinstance(entry, Access) and (single or [ix.variable() for ix in entry.index[-2:]] == list(a.vars)):
            leading = ",".join(self.index(ix) for ix in entry.index[:-2])
            name = self.symbol(entry.tensor)
            return name if self.bare or not leading else f"{name}_{{{leading}}}" if self.latex else f"{name}[{leading}]"
        printer, (row, column) = self.inside(a)
        if self.latex:
            return rf"{printer.poly(a.body)}"
        return f"{printer.poly(a.body)} in row {row} and column {column}"

    def carry(self, loop: Loop, position: int) -> str:
        """The name of a carry: c, c2, c3 … for the recurrences, with a letter for each where there are several."""
        count = len(self.loops)
        name = self.loops.setdefault(loop, "c" if count == 0 else f"c{count + 1}")
        return name if len(loop.carries) == 1 else f"{name}{'abcdefghijklmnop'[position % 16]}"

    def with_definitions(self, text: str) -> str:
        """The text, with what the carries in it are."""
        lines: list[str] = []
        done = 0
        while done < len(self.loops):
            loop = list(self.loops)[done]
            done += 1
            level = loop.level
            for k, c in enumerate(loop.carries):
                letters = [x for x in LETTERS if x not in self.names.values()]
                letters += [f"i{j}" for j in range(len(c.ranges))]  # all letters may be taken
                index = {("b", level, 1 + j): x for j, x in zip(range(len(c.ranges)), letters, strict=False)}
                aliases = {carried(level, j): self.carry(loop, j) for j in range(len(loop.carries))}
                names = {**self.names, **index, ("b", level, 0): "s"}
                inner = _Printer(self.style, names, False, self.inputs, self.loops, {**self.aliases, **aliases})
                place = "".join(f",{x}" for x, n in zip(index.values(), c.ranges, strict=True) if n != ONE)
                name = self.carry(loop, k)
                lines.append(f"{name}[0{place}] = {inner.poly(c.init)}, {name}[s+1{place}] = {inner.poly(c.step)}")
        where = r" \;\text{where}\; " if self.latex else " where "
        return text + where + "; ".join(lines) if lines else text

    def inside(self, a: Sum | Max | Product | Matrix) -> tuple[_Printer, list[str]]:
        """A printer for what a binder holds, and the letters of the bound variables."""
        used = {*self.names.values(), *(b.tensor for b in deep_atoms(poly_of(a)) if isinstance(b, Access))}
        inner = dict(self.names)
        letters = (x for x in LETTERS if x not in used)
        for v in a.vars:
            inner[v] = next(letters, f"i{v[1]}{v[2]}")
        return _Printer(self.style, inner, self.bare, self.inputs, self.loops, self.aliases), [inner[v] for v in a.vars]

    def binder(self, a: Sum | Max | Product) -> str:
        printer, letters = self.inside(a)
        bounds = [f"{letter}<{self.poly(n)}" for letter, n in zip(letters, a.ranges, strict=True)]
        body = printer.mono(a.body, fmpq(1)) if isinstance(a, Sum) else printer.poly(a.body)
        kept = "" if isinstance(a, Sum) or a.where == ONE else printer.condition(a.where)
        if self.latex:
            bounds += [kept] if kept else []
            head = r"\sum" if isinstance(a, Sum) else r"\prod" if isinstance(a, Product) else r"\max"
            return (
                rf"{head}_{{{', '.join(bounds)}}} {body}"
                if isinstance(a, Max)
                else rf"\Bigl({head}_{{{', '.join(bounds)}}} {body}\Bigr)"
            )
        variables, condition = "".join(letters), f" where {kept}" if kept else ""
        if isinstance(a, Sum):
            return f"(Σ{variables} {body})"
        if isinstance(a, Product):
            return f"(Π{variables} {f'({body})' if len(a.body) > 1 else body}{condition})"
        return f"max{variables}({body}{condition})"

    def condition(self, where: Poly) -> str:
        """That a 0/1-valued term is 1: for a condition on indices, or none of several equations, as such."""
        a = where.atom()
        if isinstance(a, IxPred):
            return self.relation(a.ix, "≥")
        if isinstance(a, IxEq):
            return self.relation(a.ix, "=")
        a = (ONE - where).atom()
        if isinstance(a, IxEq):
            return self.relation(a.ix, "≠")
        if isinstance(a, IxPred):
            return self.relation(a.ix.shifted(ONE).scaled(-1), "≥")
        return f"{self.poly(where)} = 1"

    def relation(self, ix: Ix, relation: str) -> str:
        """e relation 0, with what has a negative coefficient on the other side."""
        left = Ix(tuple((v, c) for v, c in ix.terms if c > 0), _sides(dict(ix.const.items()))[0])
        right = Ix(tuple((v, -c) for v, c in ix.terms if c < 0), _sides(dict(ix.const.items()))[1])
        return f"{self.index(left)} {self.sign(relation)} {self.index(right)}"

    def comparison(self, p: Poly, relation: str) -> str:
        """p relation 0, with the entries on the left, and numbers, parameters and negative terms on the right."""
        entries = {m: c for m, c in p.items() if self.varies(m)}
        rest = Poly({m: c for m, c in p.items() if m not in entries})
        left, right = _sides(entries or dict(p.items()))
        if not entries:
            rest = Poly({})
        if self.place(right) < self.place(left) or (left.constant() is not None and right.constant() is None):
            left, right, rest = right, left, -rest
            relation = {">": "<", "≥": "≤"}.get(relation, relation)
        return f"{self.poly(left)} {self.sign(relation)} {self.poly(right - rest)}"

    def varies(self, mono: Mono) -> bool:
        """The monomial mentions an entry of an input."""
        deep = [a for a in deep_atoms(Poly({mono: fmpq(1)})) if isinstance(a, Access)]
        return any(a.tensor in self.inputs if self.inputs else bool(a.index) for a in deep)

    def place(self, p: Poly) -> int:
        """The position of the first input that the term mentions."""
        order = list(self.inputs) or sorted(_tensors(p))
        return min((order.index(t) for t in _tensors(p) if t in order), default=len(order))

    def sign(self, relation: str) -> str:
        table = {"≥": r"\ge", "≤": r"\le", "≠": r"\ne"}
        return table.get(relation, relation) if self.latex else relation

    def symbol(self, name: str) -> str:
        greek = {"alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "eps": "ε", "epsilon": "ε", "lambda": "λ"}
        if self.latex:
            return (
                rf"\{'varepsilon' if name == 'eps' else name}"
                if name in greek
                else rf"\mathrm{{{name}}}"
                if len(name) > 1
                else name
            )
        return name

    def var(self, v: Var) -> str:
        return self.names.get(v, f"{v[0]}{v[1]}")

    def integer(self, v: IxTerm) -> str:
        if not isinstance(v, IntegerAtom):
            return self.var(v)
        inner = [self.index(ix) for ix in v.parts()]
        if isinstance(v, Entry):
            index = ",".join(inner)
            return (
                f"{self.symbol(v.tensor)}_{{{index}}}" if self.latex else f"{v.tensor}[{index}]" if index else v.tensor
            )
        if isinstance(v, RowMajor):
            return f"({inner[0]})·{self.poly(v.stride)}+{inner[1]}"
        if isinstance(v, Chosen):
            return self.chosen(v, inner)
        assert isinstance(v, (Quotient, Remainder))
        divisor = self.poly(v.divisor)
        if isinstance(v, Quotient):
            return rf"\lfloor ({inner[0]})/{divisor} \rfloor" if self.latex else f"⌊({inner[0]})/{divisor}⌋"
        return rf"(({inner[0]}) \bmod {divisor})" if self.latex else f"(({inner[0]}) mod {divisor})"

    def chosen(self, v: Chosen, inner: list[str]) -> str:
        """`argmax(x[i,j] over j)`, or `order(x[j] over j)[i]`."""
        rule = v.comparison
        letters = (x for x in LETTERS if x not in self.names.values())
        names = {b: next(letters, f"i{k}") for k, b in enumerate(rule.variables)}
        ordered = rule.kind == "order"
        places, arguments = (inner[:1], inner[1:]) if ordered else (list(names.values())[v.component :][:1], inner)
        names_inside = {**names, **{("p", k, 0): text for k, text in enumerate(arguments)}}
        printer = _Printer(self.style, names_inside, False, self.inputs)
        bodies = ", ".join(printer.poly(b) for b in rule.bodies)
        over = ",".join(names.values())
        word = rule.kind if ordered else "argmax"
        part = f"[{places[0]}]" if ordered else f".{places[0]}" if len(rule.variables) > 1 else ""
        if self.latex:
            return rf"\operatorname{{{word}}}_{{{over}}}({bodies})" + (f"_{{{places[0]}}}" if part else "")
        return f"{word}({bodies} over {over}){part}"

    def index(self, ix: Ix) -> str:
        parts = [f"{c if abs(c) != 1 else '' if c == 1 else '-'}{self.integer(v)}" for v, c in ix.terms]
        if not ix.const.is_zero or not parts:
            parts.append(self.poly(ix.const).replace("−", "-"))
        return "+".join(parts).replace("+-", "-")


def show_relation(left: Rec, right: Rec) -> str:
    """An equation between two carries at every time t and index, which an induction has shown."""
    letters = dict(zip([("t", 1 + k, 0) for k in range(len(left.index))], LETTERS, strict=False))
    printer = _Printer("text", {("t", 0, 0): "t", **letters})
    text = printer.with_definitions(f"{printer.atom(left)} = {printer.atom(right)} by induction on t")
    return text if len(text) < LONG else f"{text[:LONG]} …"


_SYMBOLS = {"> 0": ">", ">= 0": "≥", "!= 0": "≠", "= 0": "="}


def show_clause(clause: Clause, style: Style = "text", inputs: Sequence[str] = ()) -> str:
    """A condition: its alternatives joined by "or", with the guards under which it is asked."""
    once = sole_maximum(clause)
    if once is not None and not clause.guards:
        return _attained_once(once, style, inputs)
    different = different_entries(clause)
    if different is not None and not clause.guards:
        return _all_different(*different, style, inputs)
    if of_solver(clause):
        clause = clause.rewritten(with_tanh)
    polys = [a.poly for a in clause.alternatives] + [g for g, _ in clause.guards]
    bare = _elementwise(polys) and not of_solver(clause) and clause.step is None
    printer = _Printer(style, {} if bare else name_variables(polys), bare, inputs)
    joiner = r" \;\text{or}\; " if style == "latex" else " or "
    text = joiner.join(_show_atomic(a, printer) for a in clause.alternatives)
    if of_solver(clause):
        name = name_of_solver(clause)
        end = "" if has_one_solution(clause) else CONTINUOUS
        text = rf"\text{{{name} solves }} {text}\text{{{end}}}" if style == "latex" else f"{name} solves {text}{end}"
    if clause.guards:
        guards = " and ".join(printer.poly(g) + ("" if v else " = 0") for g, v in clause.guards)
        text += rf" \;\text{{where}}\; {guards}" if style == "latex" else f" wherever {guards}"
    if clause.step is not None:
        letter = printer.var(clause.step)
        text += rf" \;\text{{at every step }} {letter}" if style == "latex" else f" at every step {letter}"
    return printer.with_definitions(text)


def _all_different(entry: Poly, v: Var, n: Poly, style: Style, inputs: Sequence[str]) -> str:
    """`x[i,j] differ over j`."""
    free = [w for w in name_variables([entry]) if w != v]
    names = {w: LETTERS[k] for k, w in enumerate([*free, v])}
    text = _Printer(style, names, False, inputs).poly(entry)
    return rf"{text} \text{{ differ over }} {names[v]}" if style == "latex" else f"{text} differ over {names[v]}"


def _attained_once(a: Max, style: Style, inputs: Sequence[str]) -> str:
    """`argmax of x[i,j] over j is unique`; of a negated term, argmin."""
    printer = _Printer(style, name_variables([poly_of(a)]), False, inputs)
    inner, letters = printer.inside(a)
    least = all(c < 0 for _, c in a.body.items())
    entry, where = inner.poly(-a.body if least else a.body), "" if a.where == ONE else inner.poly(a.where)
    bounds = _window(a, inner, r" \le " if style == "latex" else " ≤ ")
    if style == "latex":
        kept = rf",\, {bounds or where + ' = 1'}" if where else ""
        head = r"\operatorname{argmin}" if least else r"\operatorname{argmax}"
        return rf"{head}_{{{','.join(letters)}{kept}}} {entry} \text{{ is unique}}"
    kept = f" with {bounds}" if bounds else f" where {where} = 1" if where else ""
    return f"{'argmin' if least else 'argmax'} of {entry} over {','.join(letters)}{kept} is unique"


def _window(a: Max, printer: _Printer, at_most: str) -> str:
    """The condition of a maximum as bounds of its variables, `2j-1 ≤ k ≤ 2j+1`; empty where it says something else."""
    single = a.where.single()
    sides: dict[Var, tuple[list[str], list[str]]] = {v: ([], []) for v in a.vars}
    for condition, _ in single[0] if single is not None else ():
        own = [v for v in a.vars if v in condition.free]
        if not isinstance(condition, IxPred) or len(own) != 1 or abs(c := condition.ix.coefficient(own[0])) != 1:
            return ""
        rest = condition.ix.plus(of_var(own[0]).scaled(-condition.ix.coefficient(own[0])))
        if own[0] in rest.free:
            return ""
        below = condition.ix.coefficient(own[0]) > 0
        sides[own[0]][not below].append(printer.index(rest.scaled(-c) if below else rest).replace(" ", ""))
    parts = [
        at_most.join([*(["max(" + ", ".join(low) + ")"] if len(low) > 1 else low), printer.var(v), *high])
        for v, (low, high) in sides.items()
        if low or high
    ]
    return ", ".join(parts) if all(len(high) < 2 for _, high in sides.values()) else ""


def _show_atomic(a: Atomic, printer: _Printer) -> str:
    matrix = a.poly.atom()
    if isinstance(matrix, Matrix) and matrix.name == "smallest minor" and a.relation == "> 0":
        inside = printer.matrix_inside(matrix)
        return rf"{inside} \succ 0" if printer.latex else f"the matrix {inside} is positive definite"
    if a.relation == "not integer":
        return (
            rf"{printer.poly(a.poly)} \notin \mathbb{{Z}}"
            if printer.latex
            else f"{printer.poly(a.poly)} is not an integer"
        )
    if a.relation == "not pole":
        if printer.latex:
            return rf"{printer.poly(a.poly)} \notin \{{0, -1, -2, \dots\}}"
        return f"{printer.poly(a.poly)} is not 0, −1, −2, …"
    return printer.comparison(a.poly, _SYMBOLS[a.relation])


_WORDS = {
    " > ": "is greater than",
    " ≥ ": "is at least",
    " < ": "is less than",
    " ≤ ": "is at most",
    " ≠ ": "is not",
    " = ": "is",
}


def prose(clause: Clause, inputs: Sequence[str] = ()) -> str:
    """The condition in words."""
    parts: list[str] = []
    once = sole_maximum(clause)
    if once is not None and not clause.guards:
        least = all(c < 0 for _, c in once.body.items())
        what = show_clause(clause, inputs=inputs).removeprefix("argmin of ").removeprefix("argmax of ")
        return f"the {'minimum' if least else 'maximum'} of {what.removesuffix(' is unique')} is attained only once"
    if of_solver(clause):
        text = show_clause(replace(clause, guards=()), inputs=inputs).removesuffix(CONTINUOUS)
        more = "" if has_one_solution(clause) else ", and depends on them continuously"
        return f"here and at all inputs near by, what {text.replace(' solves ', ' returns solves ', 1)}{more}"
    for a in clause.alternatives:
        text = show_clause(Clause((a,)), inputs=inputs)
        entry = "at every entry, " if not parts and a.poly.free else ""
        for symbol, words in _WORDS.items():
            if symbol in text:
                left, right = text.split(symbol, 1)
                text = f"{left} {words} {right}"
                break
        parts.append(entry + text)
    text = ", or ".join(parts)
    if clause.guards:
        text += ", wherever the guarded branch is taken"
    return text


def negligible(clause: Clause) -> bool:
    """The excluded set has measure zero: an alternative is `≠` or `not an integer` of a term that is not piecewise.

    Or it says that a maximum is attained once, of a function that is analytic in one entry, another one for each index.
    """
    once, different = sole_maximum(clause), different_entries(clause)
    if once is not None:
        some = not any(isinstance(b, Pred) for b in deep_atoms(once.where))  # a mask may leave nothing
        return some and not clause.guards and _of_separate_entries(once.body, {*once.vars})
    if different is not None:
        return not clause.guards and _of_separate_entries(different[0], {different[1]})
    return any(
        a.relation in ("!= 0", "not integer", "not pole")
        and not any(isinstance(b, (Pred, Max)) or _is_solution(b) for b in deep_atoms(a.poly))
        for a in clause.alternatives
    )


def _is_solution(b: Atom) -> bool:
    return isinstance(b, Access) and is_determined(b.tensor)


def _of_separate_entries(body: Poly, bound: set[Var]) -> bool:
    deep = deep_atoms(body)
    entries = [b for b in deep if b.free & bound and isinstance(b, Access)]
    analytic = not any(isinstance(b, (Max, Sum, Product, Matrix, IndexNumber, *PREDICATES)) for b in deep) and not any(
        isinstance(b, Fn) and b.name in ("floor", "ceil", "round_even", "round_away", "stop") for b in deep
    )
    return analytic and len(entries) == 1 and bound <= {ix.variable() for ix in entries[0].index}
