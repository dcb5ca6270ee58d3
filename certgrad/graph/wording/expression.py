"""Readable expressions of a graph's values in the user's own names: `x @ W1 + b1`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from certgrad.graph.ir import Graph, Literal, Node, Operand
from certgrad.jaxpr.kinds import BROADCASTS, CASTS, RENAMES, RESHAPES

LENGTH = 70
"""Longer expressions are named by their node."""

ATOM, POWER, PRODUCT, SUM = 4, 3, 2, 1
Text = tuple[str, int]
"""An expression and how tightly its outermost operation binds."""

_BINARY = {"add": ("+", SUM), "add_any": ("+", SUM), "sub": ("-", SUM), "mul": ("*", PRODUCT), "div": ("/", PRODUCT)}
_COMPARISONS = {"gt": ">", "ge": ">=", "lt": "<", "le": "<=", "eq": "==", "ne": "!="}
_TRANSPARENT = RENAMES | BROADCASTS | CASTS
_NAMES = {"max": "maximum", "min": "minimum", "reduce_sum": "sum", "reduce_max": "max", "reduce_min": "min"}


class Expressions:
    """The expression of every node's outputs, built once along the graph."""

    def __init__(self, graph: Graph, names: Mapping[int, str] | None = None) -> None:
        """Build the expressions. For a graph inside a node, `names` gives its inputs' names in the outer graph."""
        self.graph, self.names = graph, names or {}
        self.texts: list[Text] = []
        for node in graph.nodes:
            text = self._node(node)
            self.texts.append(text if len(text[0]) <= LENGTH else (f"%{node.id}", ATOM))

    def of(self, operand: Operand) -> str:
        """Return the expression of a value."""
        return self._operand(operand)[0]

    def of_node(self, node: int) -> str:
        """Return the expression of a node's first output."""
        text = self.texts[node][0]
        return text if len(self.graph.nodes[node].outputs) <= 1 else f"{text}[0]"

    def inside(self, operand: Operand) -> str:
        """Return the expression of a value, in parentheses unless it is a name or a call."""
        return _wrapped(self._operand(operand), ATOM)

    def _operand(self, operand: Operand) -> Text:
        """Return a value's expression with how tightly it binds; a literal without a trailing `.0`."""
        if isinstance(operand, Literal):
            text = operand.text.removesuffix(".0")
            return text, ATOM if not text.startswith("-") else SUM
        node_text = self.texts[operand.node]
        return (
            node_text
            if len(self.graph.nodes[operand.node].outputs) <= 1
            else (f"{node_text[0]}[{operand.output}]", ATOM)
        )

    def _node(self, node: Node) -> Text:
        """Return a node's expression from those of its operands; casts and broadcasts are not shown."""
        if node.kind in ("input", "constant"):
            name = self.names.get(node.id, node.name)
            return name, ATOM if " " not in name else SUM
        args = [self._operand(o) for o in node.operands]
        rule = _RULES.get(node.name) if node.kind == "primitive" else None
        if rule is not None:
            return rule(node, args)
        if node.kind == "primitive" and (node.name in _TRANSPARENT or (node.name in RESHAPES and self._ones(node))):
            return args[0]
        name = _NAMES.get(node.name, node.name) if node.kind == "primitive" else node.name
        return f"{name}({', '.join(text for text, _ in args)})", ATOM

    def _ones(self, node: Node) -> bool:
        """Return whether a reshape only adds or removes axes of size 1."""
        before, after = self.graph.type_of(node.operands[0]).shape, node.outputs[0].shape
        return [d for d in before if d != "1"] == [d for d in after if d != "1"]


def _wrapped(text: Text, level: int) -> str:
    return text[0] if text[1] >= level else f"({text[0]})"


def _binary(node: Node, args: Sequence[Text]) -> Text:
    symbol, level = _BINARY[node.name]
    right = level + (symbol in "-/")
    return f"{_wrapped(args[0], level)} {symbol} {_wrapped(args[1], right)}", level


def _comparison(node: Node, args: Sequence[Text]) -> Text:
    return f"{_wrapped(args[0], SUM)} {_COMPARISONS[node.name]} {_wrapped(args[1], SUM)}", 0


def _power(node: Node, args: Sequence[Text]) -> Text:
    return f"{_wrapped(args[0], ATOM)}**{node.params['y']}", POWER


def _square(node: Node, args: Sequence[Text]) -> Text:
    return f"{_wrapped(args[0], ATOM)}**2", POWER


def _negative(node: Node, args: Sequence[Text]) -> Text:
    return f"-{_wrapped(args[0], PRODUCT)}", SUM


def _dot(node: Node, args: Sequence[Text]) -> Text:
    if node.params.get("dimension_numbers") == "(((1), (0)), ((), ()))":
        return f"{_wrapped(args[0], PRODUCT)} @ {_wrapped(args[1], POWER)}", PRODUCT
    return f"dot({args[0][0]}, {args[1][0]})", ATOM


def _transpose(node: Node, args: Sequence[Text]) -> Text:
    return (
        (f"{_wrapped(args[0], ATOM)}.T", ATOM)
        if node.params.get("permutation") == "(1, 0)"
        else _call("transpose", args)
    )


def _call(name: str, args: Sequence[Text]) -> Text:
    return f"{name}({', '.join(text for text, _ in args)})", ATOM


def _dim(node: Node, args: Sequence[Text]) -> Text:
    text = node.params.get("dim", "dim")
    return text, ATOM if text.isidentifier() else PRODUCT if "+" not in text else SUM


def _select(node: Node, args: Sequence[Text]) -> Text:
    if len(args) == 3:
        return _call("where", [args[0], args[2], args[1]])
    return _call("select", args)


_RULES: dict[str, Callable[[Node, Sequence[Text]], Text]] = {
    **dict.fromkeys(_BINARY, _binary),
    **dict.fromkeys(_COMPARISONS, _comparison),
    "integer_pow": _power,
    "square": _square,
    "neg": _negative,
    "dot_general": _dot,
    "transpose": _transpose,
    "dim_as_value": _dim,
    "select_n": _select,
}
