"""Arguments that hold several arrays (dicts, tuples, objects), where no signature declares their structure.

The structure is read from annotations; from how the source of the function takes an argument apart (`params["w"]`,
`w, b = params`, `params.w`), if a trace fails otherwise; or from the cotangent that the rule returns. Only classes that
annotations or the rule's code name are considered.
"""

from __future__ import annotations

import ast
import re
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, dataclass, field, is_dataclass, replace
from dataclasses import fields as dataclass_fields
from functools import cached_property
from types import FunctionType, ModuleType, UnionType
from typing import Any, Union, get_args, get_origin

import jax

from certgrad.errors import SignatureError
from certgrad.jaxpr.closures import captured, kind_of_rule
from certgrad.obligations.generality.syntax import given_to, source_tree
from certgrad.rules.declared.declaration import Annotated, said_by
from certgrad.rules.declared.statics import annotations_of
from certgrad.rules.declared.structure import array_fields, field_names, named_leaves, structure_text
from certgrad.rules.syntax.scopes import Parameter, Part, bindings, parameters_of
from certgrad.signatures.nested import has_fields

from .layers import parts_of_rule, plain_function, unwrapped

DEEPEST = 3
"""Functions of the module through which an argument is followed, at most, where one hands it to the next."""
NO_ARRAY = re.compile(r"string indexing|has no attribute|Tracer' and '(builtin_function_or_method|method|function)'")
"""JAX's messages where code takes an array for a container."""
_MAPPINGS = (dict, typing.get_origin(Mapping[str, int]))
_SEQUENCES = (tuple, list, typing.get_origin(Sequence[int]))


class OtherFormsError(Exception):
    """Raised where the arguments have other structures than the ones that were tried; `forms` are those to try next."""

    def __init__(self, forms: Forms) -> None:
        super().__init__()
        self.forms = forms


@dataclass
class Accesses:
    """How the source of a function takes a value apart: by keys, attributes or places, each with its own accesses."""

    keys: dict[str, Accesses] = field(default_factory=dict)
    fields: dict[str, Accesses] = field(default_factory=dict)
    """Attributes that are read and that are no properties of an array."""
    places: dict[int, Accesses] = field(default_factory=dict)
    count: int = 0
    """The number of variables that the value is unpacked into; 0 if it is not unpacked."""


_OF_ARRAYS = frozenset(n for n, v in vars(jax.Array).items() if isinstance(v, property)) | {"at", "T", "mT"}
"""Attributes of an array that are properties. Its methods need no place here: the reader skips what is called."""


@dataclass(frozen=True)
class Forms:
    """The structures of a rule's arguments: containers with what is known of each array in the array's place."""

    custom: Any
    names: tuple[str, ...]
    forms: tuple[Any, ...]
    open: frozenset[int] = frozenset()
    """The positions of the arguments whose structure no annotation says."""
    text_read: bool = False
    """Whether the source of the function was read for the structures."""

    @cached_property
    def leaves(self) -> list[tuple[str, Annotated]]:
        """The names of the arrays, with what is known of them, in the order in which JAX flattens the arguments."""
        pairs = zip(self.names, self.forms, strict=True)
        return [leaf for name, form in pairs for leaf in named_leaves(name, form)]

    def signature(self, texts: Iterable[str]) -> str:
        """Return the signature of the arguments, with the shapes in `texts` for their arrays."""
        tree = jax.tree_util.tree_structure(self.forms)
        return ", ".join(str(structure_text(form)) for form in jax.tree_util.tree_unflatten(tree, texts))

    def by_text(self) -> Forms | None:
        """Return these structures, but for open arguments those in the function's source; None if nothing changes."""
        if self.text_read:
            return None
        try:
            from_source = forms_of(self.custom, self.names, by_text=True)
        except SignatureError:
            return None
        pairs = enumerate(zip(self.forms, from_source.forms, strict=True))
        return self._unless_same(
            replace(from_source, forms=tuple(pair[k in self.open] for k, pair in pairs), open=self.open)
        )

    def as_returned(self, cotangents: Mapping[str, Any]) -> Forms | None:
        """Return these structures, but for open arguments those of their cotangents; None if nothing changes."""
        forms = list(self.forms)
        for k in self.open:
            cotangent = cotangents.get(self.names[k])
            if cotangent is not None and not _is_none_or_array(cotangent):
                forms[k] = jax.tree_util.tree_map(lambda _: Annotated(), cotangent, is_leaf=_is_none_or_array)
        return self._unless_same(replace(self, forms=tuple(forms)))

    def _unless_same(self, other: Forms) -> Forms | None:
        """Return `other`; None if it has the structures of these forms, or ones that no signature can write."""
        same = jax.tree_util.tree_structure(self.forms) == jax.tree_util.tree_structure(other.forms)  # type: ignore[operator]
        unwritten = None in map(structure_text, jax.tree_util.tree_map(lambda _: "()", other.forms))
        return None if same or unwritten else other


def _is_none_or_array(value: Any) -> bool:
    return value is None or hasattr(value, "shape")


def forms_of(rule: Any, names: Sequence[str], by_text: bool = False) -> Forms:
    """Return the structures of a rule's arguments, by their annotations.

    The source of the function is read as well if an annotation names a container, whose parts it may not say, or if
    `by_text`. Raises SignatureError if an argument is of a class that JAX does not flatten into arrays.
    """
    custom = unwrapped(rule)
    plain = plain_function(custom)
    by_name, _ = annotations_of(plain)
    annotations = [by_name.get(name) for name in names]
    accesses: Mapping[str, Accesses] = {}
    if by_text or any(_is_container(a) for a in annotations):
        accesses = asked_of(plain)
    forms = []
    for name, annotation in zip(names, annotations, strict=True):
        try:
            forms.append(form_of(custom, annotation, accesses.get(name, Accesses())))
        except SignatureError as error:
            raise SignatureError(f"{name} {error}") from None
    says_structure = (
        has_fields(a) or said_by(a) != Annotated() or (_is_array(a) and "tree" not in str(a).lower())
        for a in annotations
    )
    left_open = frozenset(k for k, said in enumerate(says_structure) if not said)
    return Forms(custom, tuple(names), tuple(forms), left_open, bool(accesses) or by_text)


def form_of(custom: Any, annotation: Any, asked: Accesses) -> Any:
    """Return the structure of an argument, or of a part of one, with what is known of each array in its place.

    The annotation comes first; what it leaves open, such as the keys of a dict, is said by `asked`: how the function's
    source takes the argument apart. Without either the argument is one array.

    Raises SignatureError if a class is no container for JAX.
    """
    origin, args = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):  # `Params | None` is read as `Params`
        types = [a for a in args if a is not type(None)]
        return form_of(custom, types[0] if len(types) == 1 else None, asked)
    if has_fields(annotation):
        return _object_of(custom, annotation, asked)
    kind = origin or annotation
    if kind is tuple and args and Ellipsis not in args:
        return tuple(form_of(custom, a, asked.places.get(k, Accesses())) for k, a in enumerate(args))
    of_items = args[-1] if args and kind in _MAPPINGS else args[0] if args and kind in _SEQUENCES else None
    if asked.keys:
        return {key: form_of(custom, of_items, inner) for key, inner in asked.keys.items()}
    if asked.fields:  # `params.w`: the class is the only one in the rule's code with such fields
        classes = [c for c in _named_in_code(custom) if _has(c, asked.fields) and array_fields(c)]
        return _object_of(custom, classes[0], asked) if len(classes) == 1 else Annotated()
    parts = [asked.places.get(k, Accesses()) for k in range(max([asked.count, *(k + 1 for k in asked.places)]))]
    if asked.count or (parts and (kind in _SEQUENCES or any(p.keys or p.fields or p.count for p in parts))):
        entries = [form_of(custom, of_items, part) for part in parts]
        return entries if kind is list else tuple(entries)
    return said_by(annotation)


def _object_of(custom: Any, kind: Any, asked: Accesses) -> Any:
    """Return an object of a class whose fields are structures; one that may be None and is no array stays None.

    Raises SignatureError if the class is no container for JAX, or cannot be made of its arrays alone.
    """
    names = array_fields(kind)
    if not names:
        raise SignatureError(
            f"is of {kind.__name__}, which JAX does not flatten into arrays, or which its fields do not make: "
            "jax.tree_util.register_dataclass makes a dataclass such a container, and else an object declares it that "
            'holds texts for its arrays, as in @certgrad.declare((params, "n d"))'
        )
    hints, defaults = _hints(kind), _defaults(kind)
    empty = {n for n in names if n in defaults and defaults[n] is None and not _is_array(hints.get(n))}
    forms = {n: form_of(custom, hints.get(n), asked.fields.get(n, Accesses())) for n in names if n not in empty}
    try:
        return kind(**forms)
    except Exception as error:  # a user's constructor
        raise SignatureError(f"is of {kind.__name__}, which its arrays alone do not make: {error}") from None


def _has(kind: Any, names: Iterable[str]) -> bool:
    """Return whether objects of a class have all of these names as attributes, and at least one as a field."""
    fields = field_names(kind)
    return any(n in fields for n in names) and all(n in fields or hasattr(kind, n) for n in names)


def _is_container(annotation: Any) -> bool:
    kind = get_origin(annotation) or annotation
    return kind in (*_MAPPINGS, *_SEQUENCES) or has_fields(annotation)


def _is_array(annotation: Any) -> bool:
    text = str(annotation).lower()
    return any(word in text for word in ("array", "tensor", "float"))


def _hints(kind: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(kind)
    except Exception:  # an annotation that is a text can be any code
        return dict(getattr(kind, "__annotations__", {}))


def _defaults(kind: Any) -> Mapping[str, Any]:
    if not is_dataclass(kind):
        return kind._field_defaults
    return {f.name: f.default for f in dataclass_fields(kind) if f.default is not MISSING}


# --- classes by name ---


def classes_of(rule: Any) -> dict[str, type]:
    """Return by name the named tuples and dataclasses in a rule's annotations, its code or its module."""
    custom = unwrapped(rule)
    named = [v for part in parts_of_rule(custom) for v in part.__globals__.values() if has_fields(v)]
    classes: dict[str, type] = {}
    for kind in _with_parts([*annotations_of(plain_function(custom))[0].values(), *_named_in_code(custom), *named]):
        classes.setdefault(kind.__name__, kind)
    return classes


def _named_in_code(custom: Any) -> list[type]:
    """Return the named tuples and dataclasses that the code of a rule names, or the code of functions that it names."""
    named = [v for part in parts_of_rule(custom) for v in _named_by(part)]
    named += [v for f in named if isinstance(f, FunctionType) for v in _named_by(f)]
    return [*_with_parts(v for v in named if isinstance(v, type))]


def _named_by(function: FunctionType) -> Iterator[Any]:
    """Yield the values that a function closes over, its globals that it names, and `m.n` for modules m it names."""
    scope, names = function.__globals__, function.__code__.co_names
    yield from captured(function)
    yield from (scope[n] for n in names if n in scope)
    modules = [scope[n] for n in names if isinstance(scope.get(n), ModuleType)]
    yield from (getattr(m, n) for m in modules for n in names if hasattr(m, n))


def _with_parts(waiting: Iterable[Any]) -> Iterator[Any]:
    """Yield the named tuples and dataclasses among annotations, with those of their fields, each once."""
    done: set[int] = set()
    stack = [*waiting][::-1]
    while stack:
        annotation = stack.pop()
        if id(annotation) in done:
            continue
        done.add(id(annotation))
        stack += get_args(annotation)[::-1]
        if has_fields(annotation):
            yield annotation
            stack += [*_hints(annotation).values()][::-1]


# --- how a text takes arguments apart ---


def asked_of(plain: Callable) -> dict[str, Accesses]:
    """Return, by argument, how the source of a function takes it apart; empty if there is no source."""
    accesses: dict[str, Accesses] = {}
    if isinstance(plain, FunctionType) and (tree := source_tree(plain)) is not None:
        accesses = {name: Accesses() for name in parameters_of(tree)}
        with suppress(RecursionError):  # variables that are assigned from each other
            _Reader(plain, tree, accesses).read()
    return accesses


class _Reader:
    """Reads how the source of a function takes some of its parameters apart.

    `given` has the accesses of these parameters, to which the reader adds; `deep` is the number of calls through which
    the parameters came here.
    """

    def __init__(self, plain: FunctionType, tree: Any, given: Mapping[str, Accesses], deep: int = 0) -> None:
        self.plain, self.tree, self.given, self.deep = plain, tree, given, deep
        self.bound = bindings(tree)

    def read(self) -> None:
        """Add the accesses in the function's source, and in functions that it hands parts to, to `given`."""
        for name, bound in self.bound.items():
            if isinstance(bound, Part):
                self._of(ast.Name(name))
        waiting: list[ast.AST] = [*self.tree.body] if isinstance(self.tree.body, list) else [self.tree.body]
        while waiting:
            node = waiting.pop()
            if isinstance(node, (ast.FunctionDef, ast.Lambda)) and {*parameters_of(node)} & self.bound.keys():
                continue  # another variable of the same name
            self._of(node)
            if isinstance(node, ast.Call):
                self._handed_on(node)
                # `x.sum()` reads x, and no field `sum` of it.
                method = node.func.value if isinstance(node.func, ast.Attribute) else node.func
                waiting += [method, *node.args, *(k.value for k in node.keywords)]
            else:
                waiting += ast.iter_child_nodes(node)

    def _of(self, node: ast.AST) -> Accesses | None:
        """Return the accesses of the part of a parameter that an expression reads, added if new; None for others.

        For `params["w"]` these are the accesses of key "w" of `params`.
        """
        if isinstance(node, ast.Name):
            bound = self.bound.get(node.id)
            if isinstance(bound, Parameter):
                return self.given.get(node.id)
            if isinstance(bound, Part):
                container = self._of(bound.of)
                if container is not None:
                    container.count = bound.count
                    return container.places.setdefault(bound.place, Accesses())
            return self._of(bound) if isinstance(bound, (ast.Name, ast.Subscript, ast.Attribute)) else None
        if isinstance(node, ast.Attribute):
            container = None if node.attr in _OF_ARRAYS or node.attr.startswith("_") else self._of(node.value)
            return container and container.fields.setdefault(node.attr, Accesses())
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            key, container = node.slice.value, self._of(node.value)
            if container is not None and isinstance(key, str):
                return container.keys.setdefault(key, Accesses())
            if container is not None and type(key) is int and key >= 0:
                return container.places.setdefault(key, Accesses())
        return None

    def _handed_on(self, call: ast.Call) -> None:
        """Add the accesses in a function of the module that is called with a parameter, or a part of one."""
        name = call.func.id if isinstance(call.func, ast.Name) else ""
        value = self.plain.__globals__.get(name)
        callee = plain_function(unwrapped(value)) if isinstance(value, FunctionType) or kind_of_rule(value) else None
        if self.deep < DEEPEST and isinstance(callee, FunctionType) and (tree := source_tree(callee)) is not None:
            pairs = ((parameter, self._of(argument)) for parameter, argument in given_to(tree, call))
            if handed := {parameter: accesses for parameter, accesses in pairs if parameter and accesses is not None}:
                _Reader(callee, tree, handed, self.deep + 1).read()
