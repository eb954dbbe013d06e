"""Batch normalisation that keeps nothing while it trains."""

import torch
from torch import Tensor, nn
from torch.nn.functional import batch_norm


class BatchNorm(nn.Module):
    """(h - mean) / sqrt(variance + eps) * weight + bias, a channel at a time.

    In training by the statistics of the batch alone, no running averages: the step stays a pure function. Afterwards
    one pass with `keeping` on stores the statistics that `eval()` uses: a row no longer depends on its neighbours.
    """

    mean: Tensor
    variance: Tensor

    def __init__(self, channels: int, eps: float = 1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))
        self.register_buffer("mean", torch.zeros(channels))
        self.register_buffer("variance", torch.ones(channels))
        self.keeping = False

    def forward(self, h: Tensor) -> Tensor:
        if self.keeping:
            over = [axis for axis in range(h.dim()) if axis != 1]
            self.mean.copy_(h.mean(over))
            self.variance.copy_(h.var(over, correction=0))
        if self.training:
            return batch_norm(h, None, None, self.weight, self.bias, training=True, eps=self.eps)
        return batch_norm(h, self.mean, self.variance, self.weight, self.bias, training=False, eps=self.eps)
