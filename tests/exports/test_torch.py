"""Certified graphs as PyTorch code: torch's values and gradients are those of JAX, and its own check accepts them."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import certgrad
from certgrad.accel import compile_graph
from certgrad.errors import UsageError
from certgrad.exports import export_torch, torch_function, torch_module

from .models import MODELS, arrays

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def compiled() -> dict[str, Any]:
    return {name: compile_graph(certgrad.trace(fn, *specs)) for name, (fn, specs, _) in MODELS.items()}


def tensors(given: Any) -> list[Any]:
    return [torch.tensor(x, requires_grad=x.dtype.kind == "f") for x in given]


@pytest.mark.parametrize("name", MODELS)
def test_values_and_gradients_are_those_of_jax(compiled: Any, name: str) -> None:
    fn, function = MODELS[name][0], torch_function(compiled[name])
    for seed in range(3):
        given = arrays(name, seed)
        passed = tensors(given)
        value = function(*passed)
        value.backward()
        real = [k for k, x in enumerate(given) if x.dtype.kind == "f"]
        expected, wanted = jax.value_and_grad(fn, argnums=real)(*given)
        np.testing.assert_allclose(value.detach(), expected, rtol=2e-6)
        for k, y in zip(real, wanted, strict=True):
            np.testing.assert_allclose(passed[k].grad, y, rtol=1e-4, atol=2e-6 * float(np.abs(y).max()))


@pytest.mark.parametrize("name", MODELS)
def test_torch_checks_the_gradients_in_float64(compiled: Any, name: str) -> None:
    function = torch_function(compiled[name], dtype="float64")
    assert torch.autograd.gradcheck(function, tensors(arrays(name, 5, np.float64)))


def test_a_file_needs_torch_alone(compiled: Any, tmp_path: Path) -> None:
    path = export_torch(compiled["attention"], tmp_path / "attention.py")
    program = (
        "import sys, torch, attention\n"
        "given = [torch.randn(s, requires_grad=True) for s in ((2, 5, 4), (4, 4), (4, 4), (4, 4), (4,), (4,))]\n"
        "attention.attention(*given).backward()\n"
        "print(all(x.grad is not None for x in given), attention.VERDICT, attention.CERTIFICATE)\n"
        "assert not {'jax', 'certgrad'} & set(sys.modules)\n"
    )
    found = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert found.stdout.split() == ["True", "proved", compiled["attention"].certificate.digest], found.stderr
    assert re.search(r" @ Wq +# node \d+ \(dot_general, models.py:\d+\)", path.read_text())


def test_a_module_trains(compiled: Any) -> None:
    x, W1, b1, W2, b2, y = map(torch.tensor, arrays("mlp", 0))
    module = torch_module(compiled["mlp"], W1=W1, b1=b1, W2=W2, b2=b2)
    assert [n for n, _ in module.named_parameters()] == ["W1", "b1", "W2", "b2"]
    optimizer = torch.optim.SGD(module.parameters(), lr=0.05)
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = module(x, y)
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    assert losses[-1] < 0.5 * losses[0]
    assert x.grad is None


def test_functional_transformations_of_torch(compiled: Any) -> None:
    function = torch_function(compiled["mlp"])
    given = [torch.tensor(x) for x in arrays("mlp", 1)]
    wanted = jax.grad(MODELS["mlp"][0], argnums=1)(*arrays("mlp", 1))
    np.testing.assert_allclose(torch.func.grad(function, argnums=1)(*given), wanted, rtol=1e-5, atol=1e-6)
    many = torch.stack([given[0], given[0] + 1])
    found = torch.func.vmap(function, in_dims=(0, *[None] * 5))(many, *given[1:])
    np.testing.assert_allclose(found, [function(x, *given[1:]) for x in many], rtol=1e-6)
    traced = torch.compile(function, backend="aot_eager")
    np.testing.assert_allclose(traced(*given), function(*given), rtol=1e-6)


def test_a_second_derivative_is_refused_and_not_wrong(compiled: Any) -> None:
    given = tensors(arrays("mlp", 1))
    (slope,) = torch.autograd.grad(torch_function(compiled["mlp"])(*given), given[1], create_graph=True)
    for penalty in (slope.sum(), slope.square().sum() + given[0].sum()):
        with pytest.raises(
            RuntimeError, match="mlp is differentiated once: its certificate is about first derivatives"
        ):
            penalty.backward(retain_graph=True)
    hessian = torch.func.grad(lambda x: torch.func.grad(torch_function(compiled["mlp"]))(x, *given[1:]).sum())
    with pytest.raises(RuntimeError, match="mlp is differentiated once"):
        hessian(given[0])


def test_several_outputs_integers_and_what_is_returned_as_it_came() -> None:
    def f(params: Any, x: Any, k: Any) -> Any:
        return {"same": x, "twice": (jnp.sin(x) * params["w"],) * 2, "places": jnp.argmax(x) + k}

    compiled = compile_graph(certgrad.trace(f, {"w": "n"}, "x: n", "k: :int"))
    w, x = (torch.tensor([1.0, 2.0, 3.0], requires_grad=True) for _ in range(2))
    places, same, first, second = torch_function(compiled)(w, x, torch.tensor(4, dtype=torch.int32))
    assert (places.item(), places.dtype, places.requires_grad) == (6, torch.int32, False)
    (same.sum() + first.sum() + 2 * second.sum()).backward()
    np.testing.assert_allclose(x.grad, 1 + 3 * np.cos([1, 2, 3]) * [1, 2, 3], rtol=1e-6)
    np.testing.assert_allclose(w.grad, 3 * np.sin([1, 2, 3]), rtol=1e-6)


def test_an_argument_that_does_not_fit_is_named(compiled: Any) -> None:
    function, given = torch_function(compiled["mlp"]), [torch.tensor(x) for x in arrays("mlp", 0)]
    with pytest.raises(TypeError, match=r"x is torch.float64, and this code is for torch.float32: convert it, or"):
        function(given[0].double(), *given[1:])
    with pytest.raises(ValueError, match=r"b1 has shape \(5, 1\), and should have 1 axes"):
        function(*given[:2], given[2][:, None], *given[3:])
    with pytest.raises(
        ValueError, match=r"W1 has shape \(2, 5\), and by the shapes of the others it should be \(3, 5\)"
    ):
        function(given[0], given[1][:2], *given[2:])
    with pytest.raises(TypeError, match="'W3' is no argument of mlp: x, W1, b1, W2, b2, y"):
        torch_module(compiled["mlp"], W3=given[1])
    with pytest.raises(TypeError, match="mlp is called with x, y, and got 1 arrays"):
        torch_module(compiled["mlp"], **dict(zip(("W1", "b1", "W2", "b2"), given[1:5], strict=True)))(given[0])


def test_without_torch_it_says_what_to_install(compiled: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("certgrad.exports.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"torch is not installed: pip install 'certgrad\[torch\]'"):
        torch_function(compiled["mlp"])
