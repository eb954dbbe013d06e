import pytest
import torch
from torch import nn

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
        ({"likelihood": "poisson"}, "unknown likelihood"),
        ({"likelihood": "gaussian:-1"}, "unknown likelihood"),
        ({"latents": 0}, "latents must be at least 1"),
        ({"hidden": ()}, "hidden"),
    ],
)
def test_bad_settings_are_named(settings, words):
    with pytest.raises(ValueError, match=words):
        Architecture(**({"shape": (1, 32, 32), "latents": 3} | settings))


def plain(shape, outputs, inputs):
    return nn.Linear(shape[0], outputs), nn.Linear(inputs, shape[0])


@pytest.mark.parametrize(
    ("network", "words"),
    [
        (lambda shape, outputs, inputs: nn.Linear(7, outputs), "must return two modules"),
        (lambda shape, outputs, inputs: (nn.Linear(7, 3), nn.Linear(inputs, 7)), r"makes \(2, 3\).*must make \(2, 4\)"),
        (lambda shape, outputs, inputs: (nn.Linear(7, outputs), nn.Linear(inputs, 6)), "decoder .* makes"),
        (lambda shape, outputs, inputs: (nn.Linear(6, outputs), nn.Linear(inputs, 7)), "cannot take a batch of shape"),
        (lambda shape, outputs, inputs: (nn.GRU(7, outputs), nn.Linear(inputs, 7)), "must return one tensor"),
        (lambda shape, outputs, inputs: (nn.LazyLinear(outputs), nn.Linear(inputs, 7)), "lazy"),
        (lambda shape, outputs, inputs: (nn.Linear(7, outputs),) * 2, "share parameters"),
        (7, "or your own function"),
    ],
)
def test_a_users_network_that_does_not_fit_is_told_so(network, words):
    with pytest.raises(ValueError, match=words):
        Architecture((7,), 2, network)


def test_a_users_network_is_its_modules_between_two_layers_that_do_nothing_yet():
    house, x = Architecture((7,), 2, plain), torch.randn(3, 7)
    encoder, decoder = Encoder(house), Decoder(house)
    assert torch.equal(encoder.body(x), encoder.body[0](x))
    assert torch.equal(decoder.body(x[:, :2]), decoder.body[1](x[:, :2]))


class Told(nn.Linear):
    def forward(self, x, beside):
        return super().forward(torch.cat([x, beside], -1))


def told(shape, outputs, inputs, *, beside=0):
    return Told(shape[0] + beside, outputs), nn.Linear(inputs, shape[0])


def test_an_encoder_that_takes_beside_sees_labels_and_another_is_said_not_to(caplog):
    x, u = torch.randn(3, 7), torch.randn(3, 4)
    encoder = Encoder(Architecture((7,), 2, told, labels=4), sees_labels=True)
    assert not torch.equal(encoder(x, u).mean, encoder(x, u + 1).mean)
    assert not caplog.messages
    for _ in range(2):
        encoder = Encoder(Architecture((7,), 2, plain, labels=4), sees_labels=True)
    assert torch.equal(encoder(x, u).mean, encoder(x, u + 1).mean)
    assert [message for message in caplog.messages if "plain takes no `beside`" in message] == caplog.messages
    assert len(caplog.messages) == 1
