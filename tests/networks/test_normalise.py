import numpy as np
import torch
from torch import nn

from partita.networks import Architecture, Decoder, Encoder
from partita.networks.normalise import BatchNorm


def test_it_is_pytorchs_batch_normalisation():
    h = torch.randn(16, 5, 3, 3, generator=torch.Generator().manual_seed(0))
    ours, theirs = BatchNorm(5), nn.BatchNorm2d(5, momentum=1.0)
    torch.testing.assert_close(ours(h), theirs(h))
    ours.keeping = True
    ours(h)
    ours.keeping = False
    # theirs keeps the unbiased variance, ours the one that was used
    torch.testing.assert_close(ours.mean, theirs.running_mean)
    torch.testing.assert_close(ours.variance * (16 * 9) / (16 * 9 - 1), theirs.running_var)
    torch.testing.assert_close(ours.eval()(h), ours.train()(h))


def test_a_row_is_its_own_afterwards():
    layer = BatchNorm(2).eval()
    h = torch.randn(8, 2)
    torch.testing.assert_close(layer(h)[3:4], layer(h[3:4]))


def test_a_vectorised_model_keeps_to_its_own_batch():
    layer, h = BatchNorm(3), torch.randn(4, 10, 3)
    parameters = {name: p.detach().expand(4, -1) for name, p in layer.named_parameters()}
    together = torch.func.vmap(lambda p, rows: torch.func.functional_call(layer, p, (rows,)))(parameters, h)
    torch.testing.assert_close(together, torch.stack([layer(rows) for rows in h]))


def test_infogan_layers_have_the_published_sizes():
    """Counted by hand from docs/glossary.md (InfoGAN), 28 x 28 x 1: trunk, one linear output; generator from 74 inputs.
    Layers before a normalisation have no bias."""
    house = Architecture((1, 28, 28), 74, "infogan", "bernoulli")
    encoder, decoder = (sum(p.numel() for p in net(house).parameters()) for net in (Encoder, Decoder))
    trunk = (16 * 64 + 64) + (64 * 16 * 128 + 2 * 128) + (6272 * 1024 + 2 * 1024)
    generator = (74 * 1024 + 2 * 1024) + (1024 * 6272 + 2 * 6272) + (128 * 16 * 64 + 2 * 64) + (64 * 16 + 1)
    assert encoder == trunk + 1024 * 148 + 148
    assert decoder == generator
    assert np.prod(Decoder(house)(torch.zeros(2, 74)).mean.shape) == 2 * 28 * 28
