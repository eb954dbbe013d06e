"""Networks made by their factories: what they draw comes from a seed, and from nowhere else."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

# What draws numbers, and takes a generator to draw them from.
DRAWING = (
    "rand", "randn", "randint", "randperm", "normal", "bernoulli", "multinomial", "poisson", "rand_like", "randn_like",
    "randint_like", "uniform_", "normal_", "random_", "bernoulli_", "cauchy_", "exponential_", "geometric_",
    "log_normal_", "kaiming_uniform_",
)  # fmt: skip
# What draws from the process's generator and cannot be told otherwise.
UNTOLD = (
    "dropout", "dropout_", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "alpha_dropout_", "feature_dropout",
    "feature_dropout_", "feature_alpha_dropout", "feature_alpha_dropout_", "rrelu", "rrelu_", "gumbel_softmax",
    "native_dropout", "binomial", "_standard_gamma", "_sample_dirichlet", "fractional_max_pool2d",
    "fractional_max_pool3d",
)  # fmt: skip
# What makes floating-point numbers of the default type where none is given; what does so when it is given a float; and
# what does so unless the float is NumPy's.
FLOATING = (torch.empty, torch.zeros, torch.ones, torch.rand, torch.randn, torch.eye, torch.linspace,
            torch.logspace, torch.empty_strided, torch.normal)  # fmt: skip
BY_VALUE = (torch.scalar_tensor, torch.full, torch.arange)
BY_CONTENT = (torch.tensor, torch.as_tensor, torch.asarray)


class Seeded(TorchFunctionMode):
    """While modules are made in this mode, random numbers come from one generator of this seed, and are float32.

    They are those of `torch.manual_seed(seed)` with float32 as default type. But that generator and that type belong to
    the whole process, and to the caller; a mode belongs to its thread.
    """

    def __init__(self, seed: int):
        super().__init__()
        self.generator = torch.Generator().manual_seed(seed)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        if name in UNTOLD:
            raise ValueError(
                f"a network calls {name} while it is made, which draws from the generator of the whole process: "
                "use functions that take a generator"
            )
        if name in DRAWING and kwargs.get("generator") is None:
            kwargs["generator"] = self.generator
        if kwargs.get("dtype") is None and _default_floats(func, args, kwargs):
            kwargs["dtype"] = torch.float32
        return func(*args, **kwargs)


def _default_floats(func: Callable, args: tuple, kwargs: dict[str, Any]) -> bool:
    """Whether this call makes numbers of the default type, and not of the type of something it is given."""
    typed = (Tensor, np.ndarray, np.generic) if func in BY_CONTENT else Tensor
    if any(isinstance(each, typed) for each in (*args, *kwargs.values())):
        return False
    return func in FLOATING or (func in (*BY_VALUE, *BY_CONTENT) and func(*args, **kwargs).is_floating_point())


def built(factories: Mapping[str, Callable[[], nn.Module]], seed: int = 0) -> dict[str, Any]:
    """A network of each factory, by name; `seed` is for those whose first parameters matter."""
    with Seeded(seed), torch.inference_mode(False):
        return {name: make() for name, make in factories.items()}


def own_parameters(name: str, parameters: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Of the parameters of a model, "encoder.body.0.weight", those of one network by the names it knows them by."""
    return {key.removeprefix(f"{name}."): value for key, value in parameters.items() if key.startswith(f"{name}.")}
