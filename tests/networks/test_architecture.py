import pytest
import torch

from partita.networks import Architecture, Decoder, Encoder


@pytest.mark.parametrize("network", ["linear", "mlp", "burgess", "idvae"])
@pytest.mark.parametrize("shape", [(1, 32, 32), (3, 64, 64), (1, 64, 64), (3, 32, 32)])
def test_shapes_there_and_back(network, shape):
    house = Architecture(shape, 5, network, "bernoulli", (16,))
    q = Encoder(house)(torch.zeros(2, *shape))
    assert q.mean.shape == q.log_variance.shape == (2, 5)
    assert Decoder(house)(q.mean).mean.shape == (2, *shape)


def test_burgess_has_the_published_number_of_parameters():
    """Counted by hand from the table of Burgess et al. 2018 for 64 x 64 x 1 and ten latents."""
    encoder = Encoder(Architecture((1, 64, 64), 10, "burgess", "bernoulli"))
    convolutions = (1 * 16 * 32 + 32) + 3 * (32 * 16 * 32 + 32)
    dense = (512 * 256 + 256) + (256 * 256 + 256) + (256 * 20 + 20)
    assert sum(p.numel() for p in encoder.parameters()) == convolutions + dense


@pytest.mark.parametrize(
    ("likelihood", "shape_of_variance", "learned"),
    [("gaussian", (), True), ("gaussian:features", (1, 7), True), ("gaussian:0.25", (), False)],
)
def test_gaussian_variances(likelihood, shape_of_variance, learned):
    decoder = Decoder(Architecture((7,), 2, "linear", likelihood))
    assert decoder.log_variance.shape == shape_of_variance
    assert ("log_variance" in dict(decoder.named_parameters())) == learned
    if not learned:
        assert decoder.log_variance.exp().item() == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"network": "burges"}, "did you mean 'burgess'"),
        ({"network": "burgess", "shape": (1, 30, 30)}, "32 x 32 or 64 x 64"),
        ({"likelihood": "cauchy"}, "unknown likelihood .*: give bernoulli .*poisson"),
        ({"likelihood": "gaussian:-1"}, "unknown likelihood"),
        ({"latents": 0}, "latents must be at least 1"),
        ({"hidden": ()}, "hidden"),
    ],
)
def test_bad_settings_are_named(settings, words):
    with pytest.raises(ValueError, match=words):
        Architecture(**({"shape": (1, 32, 32), "latents": 3} | settings))
