"""The network that tells samples of q(z) from samples of a product of its marginals."""

from itertools import pairwise

from torch import Tensor, nn

from partita.networks.architecture import Architecture, computed

SLOPE = 0.2


class Discriminator(nn.Module):
    """z -> log D(z) / (1 - D(z)), D the probability that z came from q(z) rather than from the product of marginals.

    Kim and Mnih 2018: `depth` hidden layers of `width`, leaky ReLU, two logits, of which the difference is the log of
    the density ratio. Their cross-entropy is that of one logit, gradients included.
    """

    def __init__(self, architecture: Architecture, *, width: int = 1000, depth: int = 6):
        super().__init__()
        widths = (architecture.latents, *(width,) * depth)
        hidden = [module for a, b in pairwise(widths) for module in (nn.Linear(a, b), nn.LeakyReLU(SLOPE))]
        self.precision = architecture.precision
        self.body = nn.Sequential(*hidden, nn.Linear(width, 2))

    def forward(self, z: Tensor) -> Tensor:
        # the last layer always in full precision: the ratio is a small difference of its outputs
        hidden = computed(self.precision, self.body[:-1], z)
        joint, product = self.body[-1](hidden).unbind(-1)
        return joint - product
