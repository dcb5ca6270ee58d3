"""Two threads of one process prove what two processes prove, byte for byte, and leave nothing behind for each other."""

import importlib
import json
import pkgutil
import subprocess
import sys
import threading

import jax
import jax.numpy as jnp
import msgspec
import pytest

import certgrad
from certgrad._audit import audit_op
from certgrad.ops import registry

FIRST = ("cumsum", "gru_cell", "layer_norm", "running", "running_wrong")
SECOND = ("huber", "running_wrong", "softmax", "running", "logsumexp")


def _running(rule):
    """x ↦ the sums of the squares so far, by a loop, with a hand-written derivative."""

    @jax.custom_vjp
    def squares(x):
        return jax.lax.scan(lambda c, r: (c + r * r, c + r * r), jnp.zeros(()), x)[1]

    def backward(x, g):
        return (rule(x, jax.lax.scan(lambda c, r: (c + r, c + r), jnp.zeros(()), g, reverse=True)[1]),)

    squares.defvjp(lambda x: (squares(x), x), backward)
    return squares


RULES = {"running": _running(lambda x, g: 2 * x * g), "running_wrong": _running(lambda x, g: x * g)}


def shown(name):
    """A rule's certificate, as it is written to a file."""
    found = certgrad.check(RULES[name], "n -> n", name=name).certificate if name in RULES else audit_op(name)
    return msgspec.json.encode(found).decode()


def together(*lists):
    """What threads show that begin at once, one for each list."""
    start = threading.Barrier(len(lists))
    found = [[] for _ in lists]

    def prove(k):
        start.wait()
        found[k] += [shown(name) for name in lists[k]]

    threads = [threading.Thread(target=prove, args=(k,)) for k in range(len(lists))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return found


def apart(*lists):
    """What processes show, one for each list."""
    command = [sys.executable, __file__]
    running = [subprocess.Popen([*command, *names], stdout=subprocess.PIPE, text=True) for names in lists]
    return [json.loads(p.communicate()[0]) for p in running]


@pytest.mark.slow
def test_two_threads_prove_what_two_processes_prove():
    expected = apart(FIRST, SECOND)
    assert together(FIRST, SECOND) == expected
    assert together(FIRST, SECOND) == expected  # nothing is left from before
    assert "proved" not in {json.loads(found[k])["verdict"] for found, k in zip(expected, (4, 1), strict=True)}
    assert {"proved"} == {json.loads(found[3])["verdict"] for found in expected}


@pytest.mark.slow
def test_many_ops_in_threads():
    names = sorted(registry.names())[::7]
    halves = names[::2], names[1::2][::-1]
    assert together(*halves) == apart(*halves)


def test_no_module_keeps_anything():
    """A table that stands in a module is made as it loads: an audit changes none."""
    names = [
        m.name
        for m in pkgutil.walk_packages(certgrad.__path__, "certgrad.")
        if not m.name.endswith(("__main__", "._torch._helpers"))
    ]
    tables = {
        f"{module}.{name}": value
        for module in names
        for name, value in vars(importlib.import_module(module)).items()
        if isinstance(value, dict | list | set) and not name.startswith("__")
    }
    before = {place: len(table) for place, table in tables.items()}
    for name in ("running_wrong", "cumsum"):
        assert shown(name)
    assert [place for place, size in before.items() if len(tables[place]) != size] == []


if __name__ == "__main__":
    print(json.dumps([shown(name) for name in sys.argv[1:]]))
