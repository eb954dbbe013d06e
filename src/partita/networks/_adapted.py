"""A user's module made fit for ensembles: a step is a pure function of parameters, rows and drawn numbers."""

from torch import nn

from partita.networks._dropout import Dropout
from partita.networks.normalise import BatchNorm

NORMALISATIONS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
OF_CHANNELS = (nn.Dropout1d, nn.Dropout2d, nn.Dropout3d)


def adapted(module: nn.Module) -> nn.Module:
    """The module with dropout and batch normalisation of PyTorch exchanged for ours, wherever they are, and with
    parameters that take no gradient kept as constants."""
    made: dict[nn.Module, nn.Module] = {}

    def replaced(layer: nn.Module) -> nn.Module:
        if layer not in made:
            made[layer] = _ours(layer)
        return made[layer]

    for parent in list(module.modules()):
        for name, child in parent._modules.items():
            if child is not None:
                parent._modules[name] = replaced(child)
    module = replaced(module)
    for layer in module.modules():
        for name, parameter in list(layer._parameters.items()):
            if parameter is not None and not parameter.requires_grad:
                del layer._parameters[name]
                layer.register_buffer(name, parameter.detach())
    return module


def _ours(layer: nn.Module) -> nn.Module:
    # of these classes themselves: a subclass may do something else
    if type(layer) is nn.Dropout:
        return Dropout(layer.p)
    if type(layer) in OF_CHANNELS:
        return Dropout(layer.p, channels=True)  # type: ignore[arg-type]
    if type(layer) in NORMALISATIONS:
        ours = BatchNorm(layer.num_features, layer.eps)  # type: ignore[arg-type]
        ours.weight, ours.bias = layer.weight, layer.bias  # type: ignore[assignment]
        return ours
    return layer
