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


@pytest.mark.parametrize("channels", [1, 3, 5])
@pytest.mark.parametrize("size", [(16, 16), (17, 40), (100, 60), (256, 256), (16, 256), (33, 33)])
def test_convolutions_for_images_of_any_size(channels, size):
    shape = (channels, *size)
    house = Architecture(shape, 4, "conv", "gaussian:features")
    encoder, decoder = Encoder(house), Decoder(house)
    x = torch.randn(2, *shape, generator=torch.Generator().manual_seed(0))
    q = encoder(x)
    made = decoder(q.mean).mean
    assert made.shape == x.shape
    for parameters, output in (
        (encoder.parameters(), q.mean.sum() + q.log_variance.sum()),
        (decoder.parameters(), made.sum()),
    ):
        used = [p for p in parameters if p is not decoder.log_variance]
        gradients = torch.autograd.grad(output, used, retain_graph=True)
        assert all(bool(g.abs().max() > 0) for g in gradients)


def test_every_pixel_of_an_odd_image_is_seen_and_made():
    """The last row and column too, which stand beside the zeros of a halving."""
    house = Architecture((2, 17, 41), 3, "conv", "gaussian:0.25")
    encoder, decoder = Encoder(house), Decoder(house)
    x = torch.randn(1, 2, 17, 41, generator=torch.Generator().manual_seed(1), requires_grad=True)
    assert bool((torch.autograd.grad(encoder(x).mean.abs().sum(), x)[0] != 0).all())
    z = torch.zeros(1, 3)
    made, other = decoder(z).mean, decoder(z + 1).mean
    assert bool((made != other).all())


def test_for_images_of_burgess_it_is_the_network_of_burgess():
    parameters = {
        network: [(*p.shape,) for p in Encoder(Architecture((3, 64, 64), 10, network)).parameters()]
        for network in ("burgess", "conv")
    }
    assert parameters["conv"] == parameters["burgess"]


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
        ({"network": "burgess", "shape": (1, 30, 30)}, "network='conv'"),
        ({"network": "conv", "shape": (1, 15, 64)}, "16 to 256 pixels a side"),
        ({"network": "conv", "shape": (1, 16, 257)}, "16 to 256 pixels a side"),
        ({"network": "conv", "shape": (20,)}, "16 to 256 pixels a side"),
        ({"likelihood": "cauchy"}, "unknown likelihood .*: give bernoulli .*poisson"),
        ({"likelihood": "gaussian:-1"}, "unknown likelihood"),
        ({"latents": 0}, "latents must be at least 1"),
        ({"hidden": ()}, "hidden"),
    ],
)
def test_bad_settings_are_named(settings, words):
    with pytest.raises(ValueError, match=words):
        Architecture(**({"shape": (1, 32, 32), "latents": 3} | settings))
