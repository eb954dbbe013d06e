"""Encoder and decoder of a trained model as modules that stand alone: in the data's units, scale and all."""

import copy
from typing import Any

import torch
from torch import Tensor, nn

from partita.networks._convolutions import DownConv, UpConv
from partita.trace import Batch
from partita.training import Model


class Graph(nn.Module):
    """The networks of a model, and what stands beside x in them: covariates (B, c) given, or average."""

    def __init__(self, model: Model):
        super().__init__()
        self.networks = nn.ModuleDict({name: _in_plain_torch(each) for name, each in model.networks.items()})
        self.trace, self.x_scale, self.has_bound = model.recipe.trace, model.x_scale, model.has_bound
        self.axes = len(model.recipe.architecture.shape)
        self.scale = model.scale.to("cpu", torch.float32)
        self.average = None if model.average is None else torch.as_tensor(model.average, dtype=torch.float32)

    def known(self, like: Tensor, covariates: Tensor | None) -> dict[str, Tensor]:
        found: dict[str, Tensor] = {}
        if self.scale.needs_exposure:
            found["exposure"] = torch.ones_like(like.flatten(1)[:, 0])
        if self.average is not None:
            average = self.average.unsqueeze(0) + torch.zeros_like(like.flatten(1)[:, :1])
            found["covariates"] = average if covariates is None else covariates
        return found


class EncoderGraph(Graph):
    """x, in the units of the data -> mean and log-variance of q(z|x)."""

    def forward(self, x: Tensor, covariates: Tensor | None = None) -> tuple[Tensor, Tensor]:
        rows = {"x": x * self.x_scale, **self.known(x, covariates)}
        networks: Any = self.networks
        q = self.trace.encode(networks, Batch(size=1, carry={}, **self.scale.seen(rows)))
        return q.mean, q.log_variance


class DecoderGraph(Graph):
    """z -> E[x|z] in the units of the data."""

    def forward(self, z: Tensor, covariates: Tensor | None = None) -> Tensor:
        known = self.known(z, covariates)
        if "exposure" in known:
            known["exposure"] = self.scale.expected(known["exposure"], self.axes, known.get("covariates"))
        beside = Batch(x=z, size=1, carry={}, **known).for_decoder if self.has_bound else ()
        mean = self.networks["decoder"](z, *beside).mean
        return self.scale.back(mean, known.get("covariates")) / self.x_scale


def _in_plain_torch(network: nn.Module) -> nn.Module:
    """A copy in float32 whose convolutions are PyTorch's: our kernels have no name elsewhere."""
    copied: Any = copy.deepcopy(network).float()
    if getattr(copied, "precision", "float32") != "float32":
        copied.precision = "float32"
    for module in list(copied.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, DownConv | UpConv):
                setattr(module, name, _convolution(child))
    return copied


def _convolution(layer: DownConv | UpConv) -> nn.Module:
    kind = nn.Conv2d if isinstance(layer, DownConv) else nn.ConvTranspose2d
    made = kind(layer.in_channels, layer.out_channels, 4, 2, 1)
    made.load_state_dict(layer.state_dict())
    return nn.Sequential(made, nn.ReLU()) if layer.rectified else made
