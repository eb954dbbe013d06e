"""Networks made by their factories: what they draw comes from a seed, and from nowhere else."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

# What draws numbers, and takes a generator to draw them from.
DRAWING = frozenset(
    "rand randn randint randperm normal bernoulli multinomial poisson rand_like randn_like randint_like uniform_ "
    "normal_ random_ bernoulli_ cauchy_ exponential_ geometric_ log_normal_ kaiming_uniform_".split()
)
# What draws from the process's generator and cannot be told otherwise.
UNTOLD = frozenset(
    "dropout dropout_ dropout1d dropout2d dropout3d alpha_dropout alpha_dropout_ feature_dropout feature_dropout_ "
    "feature_alpha_dropout feature_alpha_dropout_ rrelu rrelu_ gumbel_softmax native_dropout binomial "
    "_standard_gamma _sample_dirichlet fractional_max_pool2d fractional_max_pool3d".split()
)
# What makes floating-point numbers of the default type where none is given; and what does so for Python's own floats.
FLOATING = frozenset((torch.empty, torch.zeros, torch.ones, torch.rand, torch.randn, torch.eye, torch.linspace,
                      torch.logspace, torch.empty_strided, torch.normal))  # fmt: skip
BY_VALUE = frozenset((torch.tensor, torch.as_tensor, torch.asarray, torch.scalar_tensor, torch.full, torch.arange))


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
        given = (*args, *kwargs.values())
        if kwargs.get("dtype") is None and not any(isinstance(each, Tensor) for each in given):
            if func in FLOATING:
                kwargs["dtype"] = torch.float32
            elif func in BY_VALUE and not any(hasattr(each, "dtype") for each in given):
                if func(*args, **kwargs).is_floating_point():
                    kwargs["dtype"] = torch.float32
        return func(*args, **kwargs)


def built(factories: Mapping[str, Callable[[], nn.Module]], seed: int = 0) -> dict[str, Any]:
    """A network of each factory, by name; `seed` is for those whose first parameters matter."""
    with Seeded(seed), torch.inference_mode(False):
        return {name: make() for name, make in factories.items()}
