"""Several steps as one CUDA graph: small networks otherwise spend their time waiting for launches."""

from collections.abc import Callable

import torch
from torch import Tensor

from partita.training.device import unwarned

WARM_UP = 3


class Captured:
    """Steps of an ensemble, recorded once and replayed on fresh draws copied into fixed places.

    RuntimeError where a step cannot be recorded, since it waits for the device: the ensemble is then as it was.
    """

    def __init__(self, ensemble, index: Tensor, noise: Tensor, values: Tensor):
        self.inputs = tuple(tensor.clone() for tensor in (index, noise, values))
        before = {name: tensor.clone() for name, tensor in ensemble.state().items()}
        try:  # warm-up moves the models; `before` puts them back
            with unwarned():  # a warning is no reason not to record
                self.graph = self._recorded(ensemble)
        finally:
            ensemble.load_state(before, ensemble.step)

    def _recorded(self, ensemble) -> torch.cuda.CUDAGraph:
        _warmed_up(lambda: ensemble.take_step(*(tensor[0] for tensor in self.inputs)))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for step in zip(*self.inputs):
                ensemble.take_step(*step)
        return graph

    def replay(self, index: Tensor, noise: Tensor, values: Tensor) -> None:
        for place, fresh in zip(self.inputs, (index, noise, values)):
            place.copy_(fresh)
        self.graph.replay()


def recorded(compute: Callable[[], Tensor]) -> Callable[[], Tensor]:
    """A computation of tensors that stay where they are, as a graph; as it is where it cannot be recorded."""
    try:
        _warmed_up(compute)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = compute()
    except torch.OutOfMemoryError:
        raise
    except RuntimeError:
        return compute

    def replay() -> Tensor:
        graph.replay()
        return result

    return replay


def _warmed_up(compute: Callable[[], object]) -> None:
    """On a stream of its own, as recording demands."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(WARM_UP):
            compute()
    torch.cuda.current_stream().wait_stream(stream)
