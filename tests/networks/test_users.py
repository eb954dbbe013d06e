"""A network that a person brings: a function of plain modules."""

import re
from dataclasses import replace

import pytest
import torch
from torch import nn

from partita.distributions import Likelihood
from partita.networks import Architecture, Decoder, Encoder
from partita.recipes import HoldOut, build
from partita.training import Ensemble, Model


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


# Mean and log-variance both from z: two numbers a feature.
UNEVEN = Likelihood(
    "uneven",
    log_density=lambda x, mean, log_variance: -0.5 * ((x - mean).square() * torch.exp(-log_variance) + log_variance),
    mean=lambda mean, log_variance: mean,
    outputs=2,
)


def test_a_users_decoder_makes_as_many_numbers_as_the_likelihood_has():
    recipe, x = build("vae", shape=(7,), latents=2, network=plain, likelihood=UNEVEN).recipe, torch.randn(40, 7).numpy()
    ensemble = Ensemble([recipe] * 2, [0, 1], x, batch_size=20, device=torch.device("cpu"))
    ensemble.advance(3)
    model = Model(recipe, ensemble.model(1))
    assert model.parameters["decoder.body.1.weight"].shape == (14, 2)
    assert model.decode(model.posterior(x)[0]).shape == x.shape


@pytest.mark.parametrize(
    ("network", "shape", "outputs"),
    [
        (lambda shape, outputs, inputs: (nn.Linear(7, outputs), nn.Linear(inputs, 7)), (7,), 2),
        ("small", (3, 32, 32), 3),
    ],
)
def test_a_network_that_cannot_make_them_is_refused_before_anything_is_built(network, shape, outputs):
    Architecture(shape, 2, network)
    decoded = (outputs * shape[0], *shape[1:])
    with pytest.raises(
        ValueError, match=rf"'uneven' has {outputs} numbers a feature.*shape {re.escape(str(decoded))}: "
    ):
        Architecture(shape, 2, network, replace(UNEVEN, outputs=outputs))


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


@pytest.mark.parametrize("network", [plain, told])
def test_a_method_with_labels_trains_either(network):
    house = {"latents": 2, "shape": (7,), "labels": 3, "prior_width": 8, "prior_depth": 1}
    recipe = build("ivae", network=network, **house).recipe
    x, u = (torch.rand(20, n, generator=torch.Generator().manual_seed(n)).numpy() for n in (7, 3))
    runs = Ensemble([recipe] * 2, [0, 1], x, u=u, batch_size=10, device=torch.device("cpu"))
    runs.advance(3)
    model = Model(recipe, runs.model(1))
    moved = abs(model.posterior(x, u)[0] - model.posterior(x, 1 - u)[0]).max()
    assert (moved > 1e-4) == (network is told)


class Computing(nn.Linear):
    """An encoder that does something of its own on the way."""

    def __init__(self, shape, outputs, compute):
        super().__init__(shape[0], outputs)
        self.compute = compute
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x):
        return super().forward(self.compute(self, x))


@pytest.mark.parametrize(
    ("compute", "words"),
    [
        (lambda own, x: nn.functional.dropout(x, 0.5, own.training), "draws numbers.*use nn.Dropout as a layer"),
        (lambda own, x: x + torch.randn_like(x), "draws numbers"),
        (lambda own, x: x if x.sum() > 0 else -x, "use torch.where"),
        (lambda own, x: x + own.seen.add_(1), "writes into a buffer"),
        (lambda own, x: x.relu_(), "writes into its input.*inplace=False"),
        (lambda own, x: x * own.bias.detach().sum().item(), "cannot be trained in an ensemble"),
    ],
)
def test_what_no_ensemble_can_train_is_refused_with_what_to_use_instead(compute, words):
    def network(shape, outputs, inputs):
        return Computing(shape, outputs, compute), nn.Linear(inputs, shape[0])

    with pytest.raises(ValueError, match=words):
        Architecture((7,), 2, network)


class Averaging(nn.InstanceNorm1d):
    def __init__(self, width):
        super().__init__(1, track_running_stats=True)

    def forward(self, h):
        return super().forward(h.unsqueeze(1)).squeeze(1)


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        (Averaging, "running statistics; use nn.BatchNorm1d"),
        (lambda width: nn.AlphaDropout(0.5), "use nn.Dropout"),
        (lambda width: nn.RReLU(), "one of its layers for several models at once; use another"),
    ],
)
def test_layers_that_cannot_be_are_refused(extra, words):
    def network(shape, outputs, inputs):
        return nn.Sequential(nn.Linear(7, outputs), extra(outputs)), nn.Linear(inputs, 7)

    with pytest.raises(ValueError, match=words):
        Architecture((7,), 2, network)


def test_a_layer_without_a_part_and_one_in_two_places_are_refused():
    def idle(shape, outputs, inputs):
        encoder = nn.Linear(7, outputs)
        encoder.forgotten = nn.Linear(2, 2)
        return encoder, nn.Linear(inputs, 7)

    def tied(shape, outputs, inputs):
        layer = nn.Linear(7, 7)
        return nn.Sequential(layer, nn.ReLU(), layer, nn.Linear(7, outputs)), nn.Linear(inputs, 7)

    with pytest.raises(ValueError, match="forgotten.weight, forgotten.bias.*leave them out"):
        Architecture((7,), 2, idle)
    with pytest.raises(ValueError, match="in two places"):
        Architecture((7,), 2, tied)


def dropping(shape, outputs, inputs):
    fixed = nn.Linear(shape[0], 16).requires_grad_(False)
    encoder = nn.Sequential(fixed, nn.Tanh(), nn.Dropout(0.5), nn.Linear(16, outputs))
    return encoder, nn.Sequential(nn.Linear(inputs, 16), nn.Dropout(0.5), nn.Linear(16, shape[0]))


def test_steps_drop_and_looks_do_not():
    """A loss of rows held out is that of the network itself; what takes no gradient stays as it was."""
    recipe = build("vae", latents=2, shape=(7,), network=dropping, likelihood="gaussian:1").recipe
    x = torch.randn(50, 7, generator=torch.Generator().manual_seed(0)).numpy()
    settings = {"batch_size": 10, "device": torch.device("cpu"), "hold_out": HoldOut(0.4)}
    runs = Ensemble([recipe] * 2, [0, 1], x, **settings)
    assert runs.draws.columns == 2 + 2  # z, and a number for each of two networks
    runs.watch_held_out(10, keep_best=False, patience=None)
    assert (runs.held_out.look() == runs.held_out.look()).all()
    index, noise = runs.draws.index(0, 1)[0], runs.draws.noise(0, 1)[0]
    losses = [
        runs._batched(0)(runs.parameters, {}, runs._observe(index), noise[..., :columns], runs.values(0, 1)[0])[0]
        for columns in (2, 4)
    ]
    assert (losses[0] != losses[1]).all()
    fixed = runs.modules["encoder"].body[0][0].weight.clone()
    runs.advance(3)
    model = Model(recipe, runs.model(0))
    assert torch.equal(model.networks["encoder"].body[0][0].weight, fixed)
    assert (model.posterior(x)[0] == model.posterior(x)[0]).all()


def test_rows_of_a_batch_are_not_split_where_something_is_dropped():
    from partita.training.ranks import Ranks
    from partita.training.row_parallel import check_row_parallel

    recipe = build("vae", latents=2, shape=(7,), network=dropping).recipe
    modules = {name: make() for name, make in recipe.networks.items()}
    with pytest.raises(ValueError, match="dropout.*--split runs"):
        check_row_parallel(Ranks(0, 2), modules, 10)
