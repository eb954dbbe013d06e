"""Several processes that train together, as torchrun starts them: who this one is, and what they say to each other.

Everything a rank decides for all of them goes through here: what rank 0 says, a wish to stop, the mean of gradients. A
process by itself is `ALONE`, says nothing and never loads torch.distributed.
"""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
from torch import Tensor

from partita.training.interrupt import Interrupted

# Ranks with runs of their own wait for the slowest; a rank that dies is noticed by its closed connections, not by this.
LONGEST_WAIT = timedelta(days=30)
ENVIRONMENT = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")  # what torchrun sets


@dataclass(frozen=True)
class Ranks:
    """Process `rank` of `size`."""

    rank: int = 0
    size: int = 1

    @property
    def first(self) -> bool:
        """Whether this is the process that writes files and speaks to people."""
        return self.rank == 0

    def rows(self, count: int) -> slice:
        """This rank's rows of a batch of `count`."""
        share = count // self.size
        return slice(self.rank * share, (self.rank + 1) * share)

    def tell(self, content: Any) -> Any:
        """What the first rank passed, anything JSON knows; the others pass whatever they like."""
        if self.size == 1:
            return content
        spoken = torch.tensor(list(json.dumps(content).encode()) if self.first else [], dtype=torch.uint8)
        length = torch.tensor([len(spoken)])
        self.share([length])
        spoken = spoken if self.first else torch.empty(int(length), dtype=torch.uint8)
        self.share([spoken])
        return json.loads(bytes(spoken.tolist()))

    def share(self, tensors: Sequence[Tensor]) -> None:
        """The values of the first rank, in place."""
        if self.size > 1:
            import torch.distributed as dist

            for tensor in tensors:
                collectively(dist.broadcast, tensor, 0)

    def average(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """The mean over ranks of every tensor, in one message."""
        if self.size == 1:
            return list(tensors)
        import torch.distributed as dist

        flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
        collectively(dist.all_reduce, flat)
        pieces = (flat / self.size).split([tensor.numel() for tensor in tensors])
        return [piece.view(tensor.shape) for piece, tensor in zip(pieces, tensors)]

    def agreed(self, wish: Callable[[], bool]) -> Callable[[], bool]:
        """Whether any rank has the wish: the same answer everywhere, if all ask equally often."""
        if self.size == 1:
            return wish

        def ask() -> bool:
            import torch.distributed as dist

            votes = torch.tensor([float(wish())])
            collectively(dist.all_reduce, votes)
            return bool(votes.item() > 0)

        return ask

    def wait(self) -> None:
        """Until all ranks are here."""
        self.agreed(bool)()


ALONE = Ranks()


@contextmanager
def joined(device: torch.device) -> Iterator[tuple[Ranks, torch.device]]:
    """The ranks that torchrun started, and this one's own device: with GPUs, one each, NCCL between them; else gloo.

    Errors of ranks other than the first say whose they are; of an interruption only the first one speaks.
    """
    size = int(os.environ["WORLD_SIZE"]) if all(name in os.environ for name in ENVIRONMENT) else 1
    if size == 1:
        yield ALONE, device
        return
    import torch.distributed as dist

    ranks = Ranks(int(os.environ["RANK"]), size)
    try:
        device = _own_device(device, int(os.environ.get("LOCAL_RANK", ranks.rank)))
        backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
        collectively(dist.init_process_group, backend, timeout=LONGEST_WAIT)
        yield ranks, device
    except Interrupted:
        if ranks.first:
            raise
        raise SystemExit(130) from None
    except (ValueError, OSError) as error:
        if ranks.first:
            raise
        raise ValueError(f"rank {ranks.rank}: {error}") from None
    dist.destroy_process_group()  # where a rank failed, the others may never come: no goodbye


def _own_device(device: torch.device, local_rank: int) -> torch.device:
    if device.type != "cuda":
        return device
    there = torch.cuda.device_count()
    if local_rank >= there:
        raise ValueError(f"one process a GPU: there are {there} here; start torchrun with --nproc-per-node {there}")
    own = torch.device("cuda", local_rank)
    torch.cuda.set_device(own)
    return own


def collectively(collective: Callable, *arguments, **settings) -> Any:
    """A collective operation, which fails where a rank is gone."""
    try:
        return collective(*arguments, **settings)
    except RuntimeError as error:
        if type(error).__name__ not in ("RuntimeError", "DistBackendError", "DistNetworkError", "DistStoreError"):
            raise
        reason = str(error).strip().splitlines()[0]
        if "peer" in reason or "onnection" in reason:
            raise OSError("another process of this training ended; its own message says why") from None
        raise OSError(f"the processes of this training cannot talk to each other: {reason}") from None
