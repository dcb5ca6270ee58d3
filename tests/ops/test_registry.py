"""The ops by name."""

import pytest

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
