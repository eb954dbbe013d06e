"""One batch over several ranks: networks work on each rank's own rows, everything else sees all of them.

Every call of a network takes this rank's rows of its inputs and hands back the outputs of all ranks, in order. So a
trace holds the whole batch (q(z|x), z, labels, noise), measures compute the same numbers on every rank, and whatever
they do with it (sums over pairs, moments, half batches, permutations) is right for any number of ranks. Observations
alone stay where they are: a rank has its own rows of x, and of p(x|z) only the log-density is passed on.

Gradients. Let L be the loss, a function of tensors that all ranks hold (*common*) and that were made from tensors of
which rank r holds its rows (*own*). Two rules are kept backwards: the gradient at a common tensor is dL/dt on every
rank; that at an own tensor y_r is R dL/dy_r. `gather` (own -> common) keeps them by taking its rows of the gradient
times R, `own_rows` (common -> own) by gathering the gradients and dividing by R. A parameter then has, on rank r,
g_r = dL/dp by its common uses + R * (dL/dp by the rows of rank r), and the mean of g_r over the ranks is the gradient
that one process would find: common uses are averaged over R equal copies, rows are summed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from math import prod
from typing import Any

import torch
from torch import Tensor, nn

from partita.distributions import Decoded
from partita.networks._dropout import dropping
from partita.networks.normalise import BatchNorm
from partita.training.ranks import Ranks, collectively


def check_row_parallel(ranks: Ranks, modules: Mapping[str, nn.Module], batch_size: int) -> None:
    """ValueError where splitting the rows over ranks would change the result."""
    if batch_size % ranks.size:
        raise ValueError(
            f"{ranks.size} processes cannot share a batch of {batch_size} rows evenly: choose a batch size that "
            f"{ranks.size} divides, or --split runs"
        )
    if any(isinstance(layer, BatchNorm) for module in modules.values() for layer in module.modules()):
        raise ValueError(
            "batch normalisation would see the rows of one process alone: such a network cannot split a batch over "
            "processes; use --split runs"
        )
    if dropping(modules):
        raise ValueError(
            "dropout would drop the same in the rows of every process: such a network cannot split a batch over "
            "processes; use --split runs"
        )


@dataclass(frozen=True, eq=False)
class Own:
    """This rank's rows of the observations. Not a tensor: a measure that computes with x must say how."""

    rows: Tensor


@dataclass(frozen=True, eq=False)
class RowParallel:
    """A network that is called with the whole batch, and works on this rank's rows of it."""

    network: Any
    ranks: Ranks

    @property
    def parameters(self) -> Mapping[str, Tensor]:
        return self.network.parameters

    def __call__(self, *inputs: Any) -> Any:
        uneven = any(isinstance(each, Tensor) and len(each) % self.ranks.size for each in inputs)
        if not inputs or uneven:  # nothing to split, or not evenly: every rank does it all
            return self.network(*inputs)
        own = [each.rows if isinstance(each, Own) else self._own(each) for each in inputs]
        return gathered(self.network(*own), self.ranks)

    def _own(self, common: Tensor | None) -> Tensor | None:
        return None if common is None else own_rows(common, 0, self.ranks.rank, self.ranks.size)


@dataclass(frozen=True, eq=False)
class RowParallelLikelihood:
    """p(x|z) of this rank's rows; its log-density is that of the whole batch."""

    own: Any
    ranks: Ranks

    @property
    def mean(self) -> Tensor:
        return gather(self.own.mean, 0, self.ranks.rank, self.ranks.size)

    def log_prob(self, x: Own) -> Tensor:
        return gather(self.own.log_prob(x.rows), 0, self.ranks.rank, self.ranks.size)


def gathered(made: Any, ranks: Ranks) -> Any:
    """What a network made of this rank's rows, for all rows: a tensor, a tuple, or a record of tensors by rows."""
    if isinstance(made, Decoded):
        return RowParallelLikelihood(made, ranks)
    if isinstance(made, Tensor):
        return gather(made, 0, ranks.rank, ranks.size)
    if isinstance(made, tuple):
        return tuple(gathered(each, ranks) for each in made)
    assert is_dataclass(made)
    values = [getattr(made, field.name) for field in fields(made)]
    tensors = [value for value in values if isinstance(value, Tensor)]
    widths = [prod(tensor.shape[1:]) for tensor in tensors]
    side_by_side = torch.cat([tensor.reshape(len(tensor), -1) for tensor in tensors], -1)  # one message for all
    columns = gather(side_by_side, 0, ranks.rank, ranks.size).split(widths, -1)
    common = iter([part.reshape(-1, *tensor.shape[1:]) for part, tensor in zip(columns, tensors)])
    return type(made)(*[next(common) if isinstance(value, Tensor) else value for value in values])


@torch.library.custom_op("partita::gather_rows", mutates_args=())
def gather(own: Tensor, axis: int, rank: int, size: int) -> Tensor:
    """The rows of all ranks along `axis`, in order."""
    import torch.distributed as dist

    rows = own.movedim(axis, 0).contiguous()
    common = rows.new_empty(size * rows.shape[0], *rows.shape[1:])
    collectively(dist.all_gather, list(common.chunk(size)), rows)
    return common.movedim(0, axis).contiguous()


@torch.library.custom_op("partita::own_rows", mutates_args=())
def own_rows(common: Tensor, axis: int, rank: int, size: int) -> Tensor:
    """The rows of this rank along `axis`."""
    return _part(common, axis, rank, size).contiguous().clone()


def _part(common: Tensor, axis: int, rank: int, size: int) -> Tensor:
    share = common.shape[axis] // size
    return common.narrow(axis, rank * share, share)


def _resized(tensor: Tensor, axis: int, length: int) -> Tensor:
    return tensor.new_empty(*tensor.shape[:axis], length, *tensor.shape[axis + 1 :])


@gather.register_fake
def _(own, axis, rank, size):
    return _resized(own, axis, own.shape[axis] * size)


@own_rows.register_fake
def _(common, axis, rank, size):
    return _resized(common, axis, common.shape[axis] // size)


def _remember(ctx, inputs, output) -> None:
    ctx.split = inputs[1:]


def _back_to_own(ctx, grad: Tensor):
    axis, rank, size = ctx.split
    return _part(grad, axis, rank, size) * size, None, None, None


def _back_to_common(ctx, grad: Tensor):
    axis, rank, size = ctx.split
    return gather(grad, axis, rank, size) / size, None, None, None


gather.register_autograd(_back_to_own, setup_context=_remember)
own_rows.register_autograd(_back_to_common, setup_context=_remember)


@gather.register_vmap
def _(info, in_dims, own, axis, rank, size):
    return gather(own.movedim(in_dims[0], 0), axis + 1, rank, size), 0


@own_rows.register_vmap
def _(info, in_dims, common, axis, rank, size):
    return own_rows(common.movedim(in_dims[0], 0), axis + 1, rank, size), 0
