"""The ops by name."""

import importlib
import sys
from pathlib import Path

import jax
import pytest

import certgrad
from certgrad import ops
from certgrad.errors import DeclarationError, UnknownOpError
from certgrad.ops import Op, Registry, registry


def declared(name, into, **options):
    def forward(x):
        """The argument itself."""
        return x

    forward.__name__ = name
    return into.add(Op(forward, ["*s -> *s"], **options))


def test_library_is_large_and_complete():
    assert len(registry) >= 95
    assert len(set(registry.names())) == len(registry)
    registry.freeze()


def test_every_op_is_exported_under_its_name():
    assert all(getattr(ops, name) is registry.get(name) for name in registry.names())
    assert set(registry.names()) <= set(ops.__all__)


def test_get_by_name_and_alias():
    assert registry.get("swish") is ops.silu
    assert "swish" in registry
    assert "swish" not in registry.names()


def test_unknown_name_offers_close_ones():
    with pytest.raises(UnknownOpError) as caught:
        registry.get("sofmax")
    assert str(caught.value) == (
        "There is no op 'sofmax'. Did you mean softmax or log_softmax or max? "
        f"`certgrad list` shows all {len(registry)} ops."
    )


def test_name_that_is_taken():
    mine = Registry()
    declared("one", mine, aliases=("uno",))
    for name in ("one", "uno"):
        with pytest.raises(DeclarationError, match=f"^The name '{name}' of the op at .* is taken by the op 'one' at "):
            declared(name, mine)


CELL = """
@op("*s -> *s", registry=mine, aliases=("{alias}",))
def scaled(x):
    return {factor} * x
"""


def test_a_cell_that_runs_again_declares_its_op_anew():
    """As a notebook runs a cell, and as `importlib.reload` runs a module: in one namespace, compiled anew."""
    mine = Registry()
    namespace = {"__name__": "__main__", "op": ops.op, "mine": mine}
    for alias, factor in (("one", 2), ("one", 2), ("other", 3)):
        exec(CELL.format(alias=alias, factor=factor), namespace)
        assert mine.get(alias) is namespace["scaled"]
    assert (mine.names(), "one" in mine) == (("scaled",), False)
    assert mine.get("scaled").forward(1) == 3
    with pytest.raises(DeclarationError, match=r"'scaled' .* is taken"):  # two definitions in one run are two ops
        exec(CELL.format(alias="a", factor=2) + CELL.format(alias="b", factor=3), namespace)
    with pytest.raises(DeclarationError, match=r"'scaled' .* is taken"):  # another module's
        exec(CELL.format(alias="a", factor=2), {**namespace, "__name__": "another"})


def test_a_module_is_reloaded(tmp_path, monkeypatch):
    (tmp_path / "reloaded_ops.py").write_text(
        "from certgrad import ops\nfrom certgrad.ops import Registry\n"
        "mine = globals().get('mine', Registry())\nop = ops.op\n" + CELL.format(alias="one", factor=2)
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("reloaded_ops")
    first = module.scaled
    assert importlib.reload(module).mine.get("one") is module.scaled is not first
    as_main = {"__name__": "__main__", "mine": module.mine}
    exec(compile(Path(module.__file__).read_text(), module.__file__, "exec"), as_main)  # as `python -m` runs it
    assert module.mine.get("one") is as_main["scaled"]


RELOADED = """
import jax
from certgrad import ops
from certgrad.ops import Registry
mine = globals().get("mine", Registry())

@ops.op("*s -> *s", registry=mine)
def squared(x):
    return x * x

@squared.jvp
def _(x, dx):
    return FACTOR * x * dx

@squared.vjp
def _(x, seed):
    return FACTOR * x * seed

rule = jax.custom_vjp(lambda x: x * x)
rule.defvjp(lambda x: (x * x, x), lambda x, g: (FACTOR * x * g,))
"""


def test_a_reloaded_module_has_the_verdicts_of_what_it_says_now(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    said = []
    for factor in (2, 3, 2):
        (tmp_path / "reloaded_rules.py").write_text(RELOADED.replace("FACTOR", str(factor)))
        importlib.invalidate_caches()
        module = sys.modules.get("reloaded_rules")
        module = importlib.reload(module) if module else importlib.import_module("reloaded_rules")
        said.append((certgrad.check(module.rule, "n").verdict, certgrad.audit(module.squared).verdict))
        assert module.mine.names() == ("squared",)
    assert said == [("proved", "proved"), ("refuted", "refuted"), ("proved", "proved")]


def test_freeze_names_the_incomplete_op():
    mine = Registry()
    declared("one", mine)
    with pytest.raises(DeclarationError, match=r"Op 'one' .* is declared without its jvp and vjp"):
        mine.freeze()


def test_order_is_that_of_declaration():
    mine = Registry()
    for name in ("b", "a", "c"):
        declared(name, mine)
    assert mine.names() == ("b", "a", "c")
    assert [one.name for one in mine] == ["b", "a", "c"]


def test_an_op_of_other_code_is_compared_with_what_happens_through_the_api_too():
    """Of the library's the tests compare it."""

    def audited(factor):
        @ops.op("*s -> *s", registry=Registry())
        def squared(x):
            return x * x

        squared.jvp(lambda x, dx: 2 * x * dx)
        squared.vjp(lambda x, seed: factor(x) * x * seed)
        return certgrad.audit(squared)

    assert audited(lambda x: 2).verdict == "proved"
    assert audited(lambda x: 5 if jax.default_backend() == "gpu" else 2).verdict == "unproved"
    assert audited(lambda x: 5 if jax.config.jax_debug_nans else 2).verdict == "unproved"
