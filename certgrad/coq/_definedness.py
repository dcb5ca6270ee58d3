"""Where programs are defined, as propositions of Coq: the specification's formulas, printed as they are.

Coq's division, logarithm and root have a value everywhere (1/0 is some number), so that an equation between programs
does not say where both are defined. So each tensor of a program gets a second definition: the condition under which its
entry is defined, in terms of the conditions of the entries that it reads. The condition of an output is the program's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from certgrad.language import tree as e
from certgrad.language.build import for_all
from certgrad.language.definedness import all_of, defined
from certgrad.language.tree import mapped
from certgrad.specification import program as p

from ._names import identifier
from ._programs import Function, assumed_by, by_output, equations, head, kind, let, require_single_tensor
from ._propositions import indices_within_shape, proposition, that_it_is_defined


def conditions(name: str, program: p.Program, sizes: Sequence[str]) -> list[Function]:
    """Return one function for each output: from its indices to the condition under which the entry is defined.

    Raises NotPrintedError where a part cannot be printed.
    """
    return [_condition(part_name, part, sizes) for part_name, part in by_output(name, program)]


def _condition(name: str, program: p.Program, sizes: Sequence[str]) -> Function:
    """Return the Coq function from the index of an entry of the program's one output to where the entry is defined.

    Its text defines, one after the other, each tensor and the condition of its entries. For arrays that an equation
    determines, the condition has quantifiers around all that follows (`_determined`), so that the function takes the
    index before them.
    """
    inputs = {t.name: t for t in program.inputs}
    lines = []
    for definition in program.definitions:
        if isinstance(definition, p.Determined):
            lines += _determined(definition, inputs)
            continue
        definition = require_single_tensor(definition)
        tensor = definition.tensor
        variables = tuple(f"i{k}" for k in range(len(tensor.shape)))
        formula: e.Node = e.TRUE
        if isinstance(definition, p.Defined):
            variables, formula = definition.variables, defined(_undefined_at_infinity(definition.entry))
        body = _conjunction(indices_within_shape([e.Index(v) for v in variables], tensor), proposition(formula, inputs))
        binder = f"fun ({' '.join(variables)} : Z) => " if variables else ""
        lines += [let(definition, typed=True), f"  let {that_it_is_defined(tensor.name)} := {binder}{body} in"]
    (output,) = program.outputs
    assumed = assumed_by(program)
    binders, arguments = head(program, assumed, sizes)
    result = "Z -> " * len(output.shape) + "Prop"
    where_defined = that_it_is_defined(output.name)
    if output.name in inputs:
        variables = tuple(f"i{k}" for k in range(len(output.shape)))
        inside_output = indices_within_shape([e.Index(v) for v in variables], output)
        where_defined = f"fun ({' '.join(variables)} : Z) => {inside_output}" if variables else inside_output
    if any(isinstance(d, p.Determined) for d in program.definitions):
        axes = " ".join(f"i{k}" for k in range(len(output.shape)))
        lines = [f"  fun ({axes} : Z) =>" if axes else "", *lines]
        where_defined = f"{where_defined} {axes}"
    text = "\n".join([f"Definition {name} {' '.join(binders)} : {result} :=", *lines, f"  {where_defined}."])
    return Function(name, arguments, text, output, assumed)


def _determined(definition: p.Determined, inputs: Mapping[str, p.Tensor]) -> list[str]:
    """Return the lines of Coq on the arrays that an equation determines; the text after them is under their quantifier.

    They say that arrays which satisfy the equation exist, that any two agree inside of their shapes, and that for all
    of them the equation is defined, as is what follows.
    """
    tensors = definition.tensors
    names = [identifier(t.name) for t in tensors]
    predicate = f"{names[0]}_is_determined"
    binders = " ".join(f"({n} : {kind(t)})" for n, t in zip(names, tensors, strict=True))
    second_binders = " ".join(f"({n}_other : {kind(t)})" for n, t in zip(names, tensors, strict=True))
    first, second = " ".join(names), " ".join(f"{n}_other" for n in names)
    equalities = []
    lines = []
    for name, t in zip(names, tensors, strict=True):
        axes = [f"i{k}" for k in range(len(t.shape))]
        at = " ".join(["", *axes])
        in_shape = indices_within_shape([e.Index(v) for v in axes], t)
        equalities.append(
            f"(forall{at} : Z, {in_shape} -> {name}{at} = {name}_other{at})" if axes else f"{name} = {name}_other"
        )
        binder = f"fun ({' '.join(axes)} : Z) => " if axes else ""
        lines.append(f"  let {that_it_is_defined(t.name)} := {binder}{in_shape} in")
    same = " /\\ ".join(equalities)
    return [
        f"  let {predicate} := fun {binders} => {equations(definition)} in",
        f"  (exists {binders}, {predicate} {first}) /\\",
        f"  (forall {binders} {second_binders}, {predicate} {first} -> {predicate} {second} -> {same}) /\\",
        f"  forall {binders}, {predicate} {first} ->",
        *lines,
        f"  {proposition(_definedness_condition(definition), inputs)} /\\",
    ]


def _definedness_condition(definition: p.Determined) -> e.Node:
    """Return the condition under which the equations of a definition are defined, at all indices."""
    ranges = list(zip(definition.variables, definition.tensors[0].shape, strict=False))
    formula = all_of(definition.condition, *map(defined, definition.equations))
    for variable, count in reversed(ranges):
        formula = for_all(variable, count, formula)
    return formula


def _undefined_at_infinity(x: e.Node) -> e.Node:
    """Return the expression with a term that is defined nowhere in place of each infinity."""
    if isinstance(x, e.Infinity):
        return e.Given(e.FALSE, e.ZERO)
    return mapped(x, _undefined_at_infinity)


def _conjunction(left: str, right: str) -> str:
    """Return "left and right" in Coq, without a side that is True."""
    return right if left == "True" else left if right == "True" else f"({left} /\\ {right})"
