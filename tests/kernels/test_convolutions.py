"""Our convolutions against PyTorch's in float64: values and gradients, one model and many, plain and under vmap."""

from functools import partial

import pytest
import torch
from torch.func import vmap

from partita.kernels.dispatch import found_convolutions
from partita.networks._convolutions import DownConv, UpConv, _of_our_kernels
from partita.recipes import RECIPES
from partita.training import Ensemble

CASES = [(DownConv, 1, 32, 64), (DownConv, 3, 32, 32), (DownConv, 32, 64, 8), (DownConv, 32, 32, 10),
         (UpConv, 64, 32, 4), (UpConv, 32, 1, 32), (UpConv, 32, 3, 7), (UpConv, 32, 32, 16)]  # fmt: skip


def _relative(found: torch.Tensor, expected: torch.Tensor) -> float:
    return float((found.double().cpu() - expected).norm() / expected.norm())


def _loss(layer, weight, bias, image, pull):
    """A scalar whose gradients are those of the layer pulled by `pull`."""
    output = torch.func.functional_call(layer, {"weight": weight, "bias": bias}, (image,))
    return (output.to(pull.dtype) * pull).sum(), output


def _drawn(layer, models: int, images: int, side: int) -> tuple[list[torch.Tensor], torch.Tensor]:
    """Weight, bias, image, and what pulls at the output: float64, without rounding in bfloat16."""
    out_side = side // 2 if isinstance(layer, DownConv) else 2 * side
    draw = lambda *shape: torch.randn(models, *shape).bfloat16().double()  # noqa: E731
    arguments = [
        draw(*layer.weight.shape) * 0.125,
        draw(layer.out_channels),
        draw(images, layer.in_channels, side, side),
    ]
    return arguments, draw(images, layer.out_channels, out_side, out_side)


def _with_gradients(layer, arguments: list[torch.Tensor], pull: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The layer's output for every model, and the gradients with respect to weight, bias and image."""
    weight, bias, image = (value.clone().requires_grad_() for value in arguments)
    loss, output = vmap(partial(_loss, layer))(weight, bias, image, pull)
    return output.detach(), *torch.autograd.grad(loss.sum(), (weight, bias, image))


@pytest.mark.parametrize(("kind", "channels_in", "channels_out", "side"), CASES)
@pytest.mark.parametrize("models", [1, 3])
@pytest.mark.parametrize("rectified", [True, False])
@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_values_and_gradients(kind, channels_in, channels_out, side, models, rectified):
    torch.manual_seed(0)
    layer = kind(channels_in, channels_out, rectified=rectified)
    arguments, pull = _drawn(layer, models, 5, side)
    expected, *wanted = _with_gradients(layer, arguments, pull)
    with torch.autocast("cuda", torch.bfloat16, cache_enabled=False):
        found, *gradients = _with_gradients(layer, [value.float().cuda() for value in arguments], pull.float().cuda())
    assert found.dtype == torch.bfloat16
    assert _relative(found, expected) < 4e-3  # one rounding to bfloat16
    for mine, theirs in zip(gradients, wanted):
        assert _relative(mine, theirs) < 1e-2


@pytest.mark.parametrize(("kind", "channels_in", "channels_out", "side"), CASES)
@pytest.mark.parametrize("rectified", [True, False])
@pytest.mark.skipif(not found_convolutions(), reason="needs a C compiler")
def test_values_and_gradients_on_a_cpu(kind, channels_in, channels_out, side, rectified):
    torch.manual_seed(0)
    layer = kind(channels_in, channels_out, rectified=rectified)
    arguments, pull = _drawn(layer, 3, 5, side)
    single = [value.float() for value in arguments]
    assert _of_our_kernels(single[-1], layer.weight) == torch.float32
    assert _of_our_kernels(arguments[-1], layer.weight) is None  # in float64 PyTorch does it: the oracle
    together = _with_gradients(layer, single, pull.float())
    for mine, exact in zip(together, _with_gradients(layer, arguments, pull)):
        assert _relative(mine, exact) < 2e-6
    alone = _with_gradients(layer, [value[1:2] for value in single], pull[1:2].float())
    for mine, own in zip(together, alone):
        assert torch.equal(mine[1:2], own)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("compiled", [False, True])
def test_a_model_trains_as_in_float32(compiled):
    x = (torch.rand(256, 1, 32, 32, generator=torch.Generator().manual_seed(0)) < 0.1).float().numpy()

    def last(precision: str) -> float:
        house = {"latents": 4, "shape": (1, 32, 32), "network": "burgess", "likelihood": "bernoulli"}
        recipe = RECIPES["beta_tcvae"](precision=precision, **house)
        runs = Ensemble([recipe] * 2, [0, 1], x, batch_size=64, device=torch.device("cuda"), compiled=compiled)
        runs.advance(100)
        return float(runs.read_quantities(100)[0].mean())

    assert last("bf16") == pytest.approx(last("float32"), rel=0.01)


@pytest.mark.parametrize("precision", ["bf16"])
def test_bfloat16_trains_on_a_cpu_too(precision):
    x = (torch.rand(64, 1, 32, 32, generator=torch.Generator().manual_seed(0)) < 0.1).float().numpy()
    house = {"latents": 4, "shape": (1, 32, 32), "network": "burgess", "likelihood": "bernoulli"}
    losses = {}
    for kind in ("float32", precision):
        recipe = RECIPES["beta_tcvae"](precision=kind, **house)
        runs = Ensemble([recipe], [0], x, batch_size=32, device=torch.device("cpu"))
        runs.advance(10)
        assert all(p.dtype == torch.float32 for p in runs.parameters.values())
        losses[kind] = float(runs.read_quantities(10)[0].mean())
    assert losses[precision] != losses["float32"]
    assert losses[precision] == pytest.approx(losses["float32"], rel=0.01)
