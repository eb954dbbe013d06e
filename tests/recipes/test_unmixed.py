"""A start from the rows: what is written into networks is the closed form, and training goes on from there."""

import logging

import numpy as np
import pytest
import torch

from partita.data import load
from partita.recipes import Candidate, Phase, Program, build
from partita.recipes.program import Started
from partita.recipes.unmixed import Taught, UnmixedStart, _Linear, _NearlyLinear, order_of_groups
from partita.structure import align, unmixed
from partita.structure._principal import Principal
from partita.structure._unbending import Bend
from partita.structure.unmixed import Unmixed
from partita.training import Ensemble, Model
from partita.training.program import train_models
from partita.training.start import write_start

CPU = torch.device("cpu")
HOUSE = {"latents": 6, "shape": (20,), "network": "linear", "likelihood": "gaussian:0.25"}
PAIRS = ((0, 1), (2, 3), (4, 5))


@pytest.fixture(scope="module")
def data():
    return load("groups", size=800)


def maker(x):
    return lambda recipes, seeds, program, _: Ensemble(
        recipes, seeds, x, batch_size=64, device=CPU, hold_out=program.hold_out
    )


def written(program, write, x, candidate=0):
    """The model of a candidate before it has taken a step, in float64."""
    ensemble = Ensemble([program.candidates[candidate].recipe], [0], x, batch_size=64, device=CPU)
    write_start(ensemble, write)
    return Model(ensemble.recipe, ensemble.model(0), dtype=torch.float64)


def test_a_linear_network_becomes_probabilistic_pca(data):
    """Against Gaussian conditioning: E[z|x] = W^T (W W^T + s^2)^-1 (x - mean), W W^T = U (L - s^2) U^T by an SVD."""
    x = data.x.astype(float)
    found = unmixed(x, 6, (2, 2, 2), bends=False)
    order = [k for group in found.groups for k in group]
    model = written(build("pdisvae", groups=PAIRS, **HOUSE), _Linear(found, order), data.x)
    mean = x.mean(0)
    _, singular, axes = np.linalg.svd(x - mean, full_matrices=False)
    variance = singular**2 / len(x)
    noise = variance[6:].mean()
    zero = model.decode(np.zeros((1, 6)))
    loading = (model.decode(np.eye(6)) - zero).T
    np.testing.assert_allclose(zero[0], mean, atol=1e-5)
    np.testing.assert_allclose(loading @ loading.T, axes[:6].T * (variance[:6] - noise) @ axes[:6], atol=1e-4)
    expected = (x - mean) @ np.linalg.inv(loading @ loading.T + noise * np.eye(20)) @ loading
    codes, log_variance = model.posterior(data.x)
    np.testing.assert_allclose(codes, expected, atol=1e-4)
    fisher = (loading**2).sum(0) / 0.25  # by the likelihood's own variance
    np.testing.assert_allclose(log_variance, np.tile(-np.log1p(fisher), (len(x), 1)), atol=1e-3)
    assert align(codes, data.truth, PAIRS, data.truth_groups).r2 > 0.97


def random_unmixed(x, bent=True):
    rng = np.random.default_rng(0)
    rotation = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    shapes = ((64, 6), (64,), (6, 64), (6,))
    bend = Bend(rotation, *(0.1 * rng.standard_normal(shape) for shape in shapes)) if bent else None
    return Unmixed(Principal.of(x, 6), rotation, PAIRS, bend, 1.0, 2.0)


@pytest.mark.parametrize("bent", [True, False])
def test_a_nearly_linear_encoder_is_the_bend(data, bent):
    found, order = random_unmixed(data.x.astype(float), bent), [3, 1, 0, 5, 2, 4]
    program = build("pdisvae", groups=PAIRS, **HOUSE | {"network": "nearly_linear"})
    model = written(program, _NearlyLinear(found, order), data.x)
    codes, log_variance = model.posterior(data.x)
    np.testing.assert_allclose(codes, found.codes(data.x)[:, order], atol=1e-4)
    assert (log_variance == log_variance[0]).all()
    plane = found.principal
    off_the_plane = np.square(data.x - plane.mean).sum() - np.square(plane.white(data.x)).sum(0) @ plane.variance
    assert np.square(model.decode(codes) - data.x).sum() < 1.1 * off_the_plane


def test_latents_go_where_they_were_asked_for():
    assert order_of_groups(((4, 5), (0,), (1, 2, 3)), ((1, 3), (0,), (2, 4, 5))) == (
        [0, 4, 1, 5, 2, 3],
        ((1, 3), (0,), (2, 4, 5)),
    )
    assert order_of_groups(((0,), (1, 3), (2, 4)), None) == ([1, 3, 2, 4, 0], ((0, 1), (2, 3), (4,)))


@pytest.mark.parametrize("groups", [PAIRS, ((0, 3), (1, 4), (2, 5)), "auto"])
def test_training_goes_on_from_there_with_the_groups(data, groups):
    program = build("pdisvae", groups=groups, start="unmixed", **HOUSE | {"network": "auto"})
    (trained,) = train_models([program], [0], maker(data.x), 150, log_every=10)
    assert trained.candidate == 0
    assert trained.recipe.architecture.network == "linear"
    assert trained.recipe.groups == (PAIRS if groups == "auto" else groups)
    assert trained.groups == (PAIRS if groups == "auto" else None)
    codes = Model(trained.recipe, trained.model).posterior(data.x)[0]
    assert align(codes, data.truth, trained.recipe.groups, data.truth_groups).r2 > 0.97


def test_a_start_that_nothing_beats_is_kept(data):
    """Of every look the bound is judged, the first at step 0; what is kept is the least of them."""
    house = HOUSE | {"learning_rate": 0.5}
    program = build("pdisvae", groups=PAIRS, start="unmixed", validation=0.2, patience=3, **house)
    assert program.hold_out.by == "bound"
    (trained,) = train_models([program], [0], maker(data.x), 400, log_every=5)
    assert trained.kept_step == 0
    assert trained.step == 15 < 400
    kept = program.hold_out.rows(800).training
    start = program.start(data.x[kept].astype(np.float64), 0)
    model = written(program, start.write, data.x[kept])
    np.testing.assert_allclose(
        Model(trained.recipe, trained.model, dtype=torch.float64).posterior(data.x)[0],
        model.posterior(data.x)[0],
        atol=1e-5,
    )


def test_the_best_bound_is_kept_whatever_the_loss(data):
    program = build("pdisvae", groups=PAIRS, beta=50.0, start="unmixed", validation=0.2, patience=0, **HOUSE)
    (trained,) = train_models([program], [0], maker(data.x), 100, log_every=10)
    log = trained.history.of(0)
    first = maker(data.x)([program.recipe], [0], program, None)
    write_start(first, program.start(data.x[first.split.training].astype(np.float64), 0).write)
    first.watch_held_out(10, keep_best=True, patience=None)
    bounds = [float(first.held_out.best_loss), *(log["held_out_recon"] + log["held_out_kl"])]
    assert trained.kept_step == [0, *trained.history.steps][int(np.argmin(bounds))]
    assert trained.kept_step != trained.history.steps[int(log["held_out_loss"].argmin())]


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (np.random.default_rng(0).standard_normal((50, 8)), "50 rows are too few to unmix 4 latents (60 are needed)"),
        (np.random.default_rng(0).standard_normal((500, 3)), "rows of 3 numbers are too short to unmix 4 latents"),
        (np.ones((500, 8)), "all alike"),
        (np.full((500, 8), np.nan), "not finite"),
    ],
)
@pytest.mark.parametrize("groups", [None, ((0, 1), (2, 3))])
def test_where_rows_cannot_be_unmixed_training_starts_at_random_and_says_so(x, words, groups, caplog):
    with caplog.at_level(logging.WARNING, "partita"):
        started = UnmixedStart(4, groups, ("linear", "nearly_linear"))(x, 0)
    assert started.write is None
    assert started.candidate == 0
    assert started.groups == (((0,), (1,), (2,), (3,)) if groups is None else None)
    assert words in started.words
    assert words in caplog.text


def test_it_is_refused_where_it_means_nothing():
    with pytest.raises(ValueError, match="unknown start 'unmixd'.*unmixed"):
        build("pdisvae", groups=PAIRS, start="unmixd", **HOUSE)
    with pytest.raises(ValueError, match="methods with groups, and for restarts=1"):
        build("vae", start="unmixed", **HOUSE)
    with pytest.raises(ValueError, match="methods with groups, and for restarts=1"):
        build("pdisvae", groups=PAIRS, start="unmixed", restarts=2, **HOUSE)
    with pytest.raises(ValueError, match="needs network"):
        build("pdisvae", groups=PAIRS, start="unmixed", **HOUSE | {"network": "mlp"})
    with pytest.raises(ValueError, match="Gaussian likelihood or counts, got bernoulli"):
        build("pdisvae", groups=PAIRS, start="unmixed", **HOUSE | {"likelihood": "bernoulli"})
    with pytest.raises(ValueError, match="rows of numbers without labels"):
        build("pdisvae", groups=PAIRS, start="unmixed", posterior="full", **HOUSE)
    with pytest.raises(ValueError, match="rows of numbers without labels"):
        build("pdisvae", groups=PAIRS, start="unmixed", **HOUSE | {"shape": (1, 4, 5)})


def test_the_candidate_that_the_start_says_is_trained(data):
    """By a start of one's own: the second of two candidates, and weights that are all one number."""

    def fill(networks, x):
        for module in networks.values():
            for p in module.parameters():
                p.fill_(0.25)

    candidates = tuple(Candidate((Phase(build("vae", **HOUSE | {"latents": k}).recipe),)) for k in (2, 3))
    program = Program(candidates, start=lambda x, seed: Started(1, None, fill, "the second"))
    assert program.replicas == 1
    (trained,) = train_models([program], [0], maker(data.x), 1, log_every=1)
    assert trained.candidate == 1
    assert trained.recipe.architecture.latents == 3
    assert all((value - 0.25).abs().max() < 2e-3 for value in trained.model.values())
    with pytest.raises(ValueError, match="one by one"):
        train_models([program] * 2, [0, 1], maker(data.x), 1, log_every=1)


def test_a_first_phase_without_groups_needs_a_start():
    phase = Phase(lambda groups: build("pdisvae", groups=groups, **HOUSE).recipe)
    with pytest.raises(ValueError, match="give it a recipe, or a start"):
        Program((Candidate((phase,)),))


def test_a_network_is_taught_what_it_cannot_hold(data):
    """Coordinates on a curved surface, here any function of the rows: the encoder's means are these, standardised."""
    x = data.x.astype(float)
    found, order = random_unmixed(x, bent=True), [3, 1, 0, 5, 2, 4]
    program = build("pdisvae", groups=PAIRS, **HOUSE | {"network": "nearly_linear"})
    model = written(program, Taught(found.codes(x)[:, order]), data.x)
    wanted = found.codes(x)[:, order]
    wanted = (wanted - wanted.mean(0)) / wanted.std(0)
    codes, log_variance = model.posterior(data.x)
    assert np.square(codes - wanted).mean() < 0.02
    assert (log_variance == log_variance[0]).all()
    error = np.square(model.decode(wanted) - x).mean()
    assert error < 2 * np.square(x - _linear_fit(wanted, x)).mean()


def _linear_fit(z, x):
    design = np.c_[z, np.ones(len(z))]
    return design @ np.linalg.lstsq(design, x, rcond=None)[0]
