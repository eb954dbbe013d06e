"""How an operation of our own that takes E models at once meets `vmap`."""

from collections.abc import Callable

from torch import Tensor


def over_models(operation: Callable) -> Callable:
    """The rule for `vmap`: the mapped axis becomes part of the model axis, the first of every tensor."""

    def rule(info, in_dims, *inputs):
        lined_up = []
        for value, axis in zip(inputs, in_dims):
            if isinstance(value, Tensor):
                value = (
                    value.unsqueeze(0).expand(info.batch_size, *value.shape) if axis is None else value.movedim(axis, 0)
                )
                value = value.flatten(0, 1)
            lined_up.append(value)
        found = operation(*lined_up)
        if isinstance(found, Tensor):
            return found.unflatten(0, (info.batch_size, -1)), 0
        return tuple(one.unflatten(0, (info.batch_size, -1)) for one in found), (0,) * len(found)

    return rule
