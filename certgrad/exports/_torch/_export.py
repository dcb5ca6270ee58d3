"""A certified graph as a file of Python that needs torch alone: its forward, and its VJP as the steps name it."""

from __future__ import annotations

import ast
import hashlib
import linecache
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import certgrad
from certgrad.exports._flat import Atom, Step, Value, serves, split_program
from certgrad.exports._programs import Exported, identifiers
from certgrad.exports._torch._code import Code, dtype_of, listed, own_names
from certgrad.exports._torch._table import TABLE
from certgrad.graph.ir import Ref

_FILE = Path(__file__).with_name("_helpers.py").read_text(encoding="utf-8")
HELPERS = {
    node.name: str(ast.get_source_segment(_FILE, node))
    for node in ast.parse(_FILE).body
    if isinstance(node, ast.FunctionDef)
}
"""The text of each helper; torch is not needed to write it."""


def source_of(exported: Exported) -> str:
    """Return the text of a Python module that runs the graph's forward and backward in PyTorch.

    `exported` is the graph's `vjp`, which is split in two: a `_forward`, which also returns the residuals, and a
    `_backward`, which takes the residuals and the seeds. The text also has `_sizes`, which checks the arguments and
    reads the dimensions from their shapes, and the classes for autograd.
    """
    flat, certified = exported.flat, exported.certified
    inputs = certified.traced.ir.inputs
    count = len(inputs)
    forward, backward, residuals = split_program(flat, count, exported.count)
    dims = list(exported.axes)
    sizes = own_names(dims)
    names = own_names(identifiers(exported.inputs[:count]), sizes)
    (title,) = own_names(
        identifiers([certified.traced.ir.name]), ["Module", "Function", "Once", "FUNCTION", "CERTIFICATE", "VERDICT"]
    )
    code = Code(TABLE, exported.where, dict(zip(dims, sizes, strict=True)))
    code.helpers.update(("_typed", "_shaped"))
    inputs_of_forward, outputs = forward.inputs, forward.outputs[: exported.count]
    # Residuals that are inputs or outputs of the forward are saved as such, the others returned beside the outputs.
    further_residuals = [v for v in residuals if not any(v is a for a in [*inputs_of_forward, *outputs])]

    code.line(f"def _sizes({', '.join(names)}):")
    code.depth = 1
    code.lines[-1] = code.lines[-1].strip()  # a `def` at the top of the file: the first line is not indented
    for name, value in zip(names, inputs_of_forward, strict=True):
        code.line(f"_typed({name!r}, {name}, {dtype_of(value.dtype)}, {value.rank})")
    for dim, size in zip(dims, sizes, strict=True):
        k, axis = exported.axes[dim]
        code.line(f"{size} = {names[k]}.shape[{axis}]")
    for name, value in zip(names, inputs_of_forward, strict=True):
        code.line(f"_shaped({name!r}, {name}, {code.shape(value.shape)})")
    code.line(f"return {listed(sizes)}")

    _head(code, f"def _forward(sizes, {', '.join(names)}):", sizes, names)
    code.names.update((id(v), n) for v, n in zip(inputs_of_forward, names, strict=True))
    results = code.write(forward)
    returned_before: list[Atom] = list(inputs_of_forward)  # autograd needs each output to be a tensor of its own
    returned = []
    for name, atom in zip(results[: exported.count], outputs, strict=True):
        returned.append(f"{name}.clone()" if any(atom is a for a in returned_before) else name)
        returned_before.append(atom)
    residual_names = [code.read(v) for v in further_residuals]
    code.line(f"return {listed([*returned, *residual_names])}")

    seeds = [f"seed{k}" for k in range(exported.count)]
    saved = [f"v{v.number}" if v not in inputs_of_forward else names[inputs_of_forward.index(v)] for v in residuals]
    _head(code, "def _backward(sizes, left, seeds, needs):", sizes, ["seeds[0]"])
    if residuals:
        code.line(f"{listed(saved)} = left")
    code.line(f"{listed(seeds)} = seeds")
    code.names.update((id(v), n) for v, n in zip(backward.inputs, [*saved, *seeds], strict=True))
    active = [k for k, n in enumerate(inputs) if certified.induction.is_moving(Ref(node=n.id))]
    outputs_of_step = serves(backward)

    def guard(step: Step) -> str:
        """Return the condition to compute a step of the backward: a gradient that depends on the step is needed."""
        arguments = [active[k] for k in sorted(outputs_of_step[id(step)])]
        return "" if len(arguments) == len(active) else " or ".join(f"needs[{k}]" for k in arguments)

    cotangents = dict(zip(active, code.write(backward, guard), strict=True))
    one_moves = len(active) == 1
    returned = [
        "None" if k not in cotangents else cotangents[k] if one_moves else f"{cotangents[k]} if needs[{k}] else None"
        for k in range(count)
    ]
    code.line(f"return {listed(returned)}")

    # where `setup_context` finds each residual, in the order in which `_backward` unpacks them
    places = [_place(v, inputs_of_forward, outputs, further_residuals) for v in residuals]
    # integer and boolean outputs; they and the residuals have no gradient
    non_differentiable = [k for k, a in enumerate(outputs) if a.dtype.kind != "f"]
    fields = {
        "title": title,
        "digest": certified.certificate.digest,
        "verdict": certified.certificate.verdict,
        "count": exported.count,
        "taken": count,
        "fixed": [*non_differentiable, *range(exported.count, exported.count + len(further_residuals))],
        "places": places,
        "names": tuple(names),
        "arguments": ", ".join(names),
        "result": "found[0]" if exported.count == 1 else f"found[:{exported.count}]",
    }
    return "\n\n\n".join([_preface(exported, title, names), assembled(code), _TAIL.format(**fields)]) + "\n"


def assembled(code: Code) -> str:
    """Return the written code with the imports, constants and helpers that it needs."""
    constants = [f"{name} = {text}" for name, text in code.constants.values()]
    head = ["import base64\n"] if constants else []
    head += ["import torch"]
    used = [source for name, source in HELPERS.items() if name in code.helpers]
    text = "\n".join(code.lines).strip("\n")
    used += [HELPERS[name] for name in ("floordiv", "mod") if f"{name}(" in text]
    return "\n\n\n".join(["\n".join([*head, *(["", *constants] if constants else [])]), *used, text])


def loaded(exported: Exported) -> ModuleType:
    """Return the exported file as a loaded module, whose lines are shown in the traceback of an error."""
    source = source_of(exported)
    module = ModuleType(f"certgrad_torch_{exported.certified.traced.ir.name}")
    path = f"<certgrad {exported.certified.traced.ir.name} {hashlib.sha256(source.encode()).hexdigest()[:12]}>"
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)
    exec(compile(source, path, "exec"), vars(module))
    return module


def _head(code: Code, text: str, sizes: Sequence[str], arrays: Sequence[str]) -> None:
    """Begin a function: its `def` line, then the names of the dimensions and of the device."""
    code.lines += ["", "", text]
    if sizes:
        code.line(f"{listed(sizes)} = sizes")
    code.line(f"device = {arrays[0]}.device")


def _place(value: Value, given: Sequence[Value], outputs: Sequence[Atom], own: Sequence[Value]) -> tuple[str, int]:
    """Return where the backward finds a residual: "inputs" or "output" of the forward, and its position there."""
    for name, arrays in (("inputs", given), ("output", [*outputs, *own])):
        for k, array in enumerate(arrays):
            if array is value:
                return name, k
    raise AssertionError("what is saved was given or computed")


def _preface(exported: Exported, title: str, names: Sequence[str]) -> str:
    """Return the docstring of the file: the verdict, the arguments' shapes and the hypotheses."""
    certificate = exported.certified.certificate
    under = [f"    {h.text}" for h in certificate.hypotheses]
    shapes = [
        f"    {n}: {v.dtype}[{', '.join(map(str, v.shape))}]" for n, v in zip(names, exported.flat.inputs, strict=False)
    ]
    text = "\n".join(
        [
            f"{title} for PyTorch: the forward, and the backward that its certificate names step by step.",
            "",
            f"Written by certgrad {certgrad.__version__}. The verdict on the graph is: {certificate.verdict}.",
            "It is about the real numbers, and about the program of JAX, of which each line here is one step; that",
            "torch computes what the line says is not a part of it.",
            "",
            "Arguments:",
            *shapes,
            *(["", "Hypotheses:", *under] if under else []),
        ]
    )
    plain = text.replace("\\", "\\\\").replace('"""', "'''")
    return f'"""{plain}\n"""'


_TAIL = '''CERTIFICATE = {digest!r}
VERDICT = {verdict!r}


class Once(torch.autograd.Function):
    """A gradient as it is. Its own backward is an error: without it, second derivatives would be lost unseen."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, *depends_on):
        return x.view_as(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, seed):
        raise RuntimeError("{title} is differentiated once: its certificate is about first derivatives")


class Function(torch.autograd.Function):
    """The forward and the backward, for autograd. It is differentiated once."""

    generate_vmap_rule = True

    @staticmethod
    def forward({arguments}):
        return _forward(_sizes({arguments}), {arguments})

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.sizes = _sizes(*inputs)
        ctx.mark_non_differentiable(*[output[k] for k in {fixed}])
        held = {{"inputs": inputs, "output": output}}
        ctx.save_for_backward(*inputs, *[held[which][k] for which, k in {places}])

    @staticmethod
    def backward(ctx, *seeds):
        given, left = ctx.saved_tensors[: {taken}], ctx.saved_tensors[{taken} :]
        with torch.no_grad():
            found = _backward(ctx.sizes, left, seeds[: {count}], ctx.needs_input_grad)
        if not torch.is_grad_enabled():
            return found
        return tuple(None if x is None else Once.apply(x, *given, *seeds[: {count}]) for x in found)


def {title}({arguments}):
    found = Function.apply({arguments})
    return {result}


FUNCTION = {title}


class Module(torch.nn.Module):
    """`Module(W=…)`: the arguments that are given here are parameters, the others are passed at each call, in order."""

    names = {names}

    def __init__(self, **parameters):
        super().__init__()
        for name, value in parameters.items():
            if name not in self.names:
                raise TypeError(f"{{name!r}} is no argument of {title}: {{', '.join(self.names)}}")
            self.register_parameter(name, torch.nn.Parameter(torch.as_tensor(value)))

    def forward(self, *inputs):
        if len(inputs) != len(self.names) - len(self._parameters):
            missing = [name for name in self.names if name not in self._parameters]
            raise TypeError(f"{title} is called with {{', '.join(missing)}}, and got {{len(inputs)}} arrays")
        given = iter(inputs)
        return {title}(*(self._parameters[n] if n in self._parameters else next(given) for n in self.names))'''
