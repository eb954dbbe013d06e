import numpy as np
import pytest
import torch

from partita import metrics
from partita.data import load
from partita.studies import Store, evaluate_run, plan, train
from partita.studies.evaluate import evaluate_agreement
from partita.studies.scoring import scored

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    sprites, store = load("pdsprites"), Store(tmp_path_factory.mktemp("study"))
    runs = plan(["pdisvae"], sprites, network="mlp", steps=20, batch_size=16, seeds=[0, 1])
    train(runs, sprites, store, device=CPU)
    return sprites, store, runs


def test_groups_of_latents_are_scored_against_groups_of_factors(study):
    sprites, store, runs = study
    scores = evaluate_run(store, runs[0], sprites, "mig,modularity,exact_tc")
    mean, log_variance = store.model(runs[0], sprites.x_scale).posterior(sprites.x)
    assert list(scores["metrics"]) == ["mig", "modularity", "exact_tc"]
    assert scores["metrics"]["mig"]["value"] == pytest.approx(metrics.mig(mean, sprites.factors).value)
    assert scores["metrics"]["exact_tc"]["value"] == pytest.approx(metrics.exact_tc(mean, log_variance).value)
    expected = metrics.mig(mean, sprites.factors, groups=(2, 2), factor_groups=((0, 1), (2,)))
    assert scores["group_metrics"]["mig"]["value"] == pytest.approx(expected.value)
    assert list(scores["group_metrics"]) == ["mig", "modularity"]


def test_runs_of_one_setting_are_asked_whether_they_agree(study):
    sprites, store, runs = study
    assert evaluate_agreement(store, runs[:1], sprites) is None
    found = evaluate_agreement(store, runs, sprites)
    assert 0 <= found["value"] <= 1
    assert len(found["parts"]["models"]) == 2
    assert store.scores(runs[1])["udr"] == found


def test_without_factors_only_what_needs_none():
    rng = np.random.default_rng(0)
    mean, log_variance = rng.standard_normal((100, 2)), np.full((100, 2), -1.0)
    assert scored(mean, log_variance, None, "mig", ((0,), (1,)), None) == {}
    found = scored(mean, log_variance, None, "mig,gaussian_tc", ((0,), (1,)), None)
    assert list(found["metrics"]) == ["gaussian_tc"]
    with pytest.raises(ValueError, match="unknown metric 'nig'"):
        scored(mean, log_variance, None, "nig", ((0,), (1,)), None)


def test_all_adds_what_the_latent_space_turned_into():
    rng = np.random.default_rng(1)
    angle = rng.uniform(0, 2 * np.pi, 800)
    mean = np.stack([np.cos(angle), np.sin(angle), rng.uniform(-1, 1, 800)], 1) + 0.05 * rng.standard_normal((800, 3))
    found = scored(mean, np.full(mean.shape, -4.0), None, "all", ((0, 1), (2,)), None)
    assert {"gaussian_tc", "exact_tc", "latent_activity"} <= set(found["metrics"])
    about = found["structure"]
    assert about["effective_rank"] == [2, 1]
    assert about["min_tc"][0] > 0.3
    assert about["min_tc"][1] == 0
    assert about["omniscient"] == []
    assert about["discovered"]["groups"] == [[0, 1], [2]]


def test_the_rank_counts_gaussian_latents_that_carry_something():
    mean = np.random.default_rng(2).standard_normal((300, 2)) * [1.0, 0.1]
    log_variance = np.tile(np.log([0.05, 0.99]), (300, 1))
    about = scored(mean, log_variance, None, "all", ((0,), (1,)), None)["structure"]
    assert about["effective_rank"] == [1, 0]


@pytest.mark.parametrize(("rho", "differs"), [(0.0, False), (0.9, True)])
def test_a_correlated_posterior_is_also_scored_by_its_joint_density(tmp_path, rho, differs):
    groups = load("groups")
    options = {"posterior": ["correlated"], "rho": [rho]}
    runs = plan(["pdisvae"], groups, options=options, groups=(2, 2, 2), network="linear", seeds=[0], steps=30)
    store = Store(tmp_path)
    train(runs, groups, store, device=CPU)
    found = evaluate_run(store, runs[0], groups)["correlation"]
    joint = found["joint"]
    q = store.model(runs[0], groups.x_scale).encode(groups.x[:5])
    own = float(q.conditional_tc[0])
    assert own == pytest.approx(-0.5 * (5 * np.log1p(-rho) + np.log1p(5 * rho)), abs=1e-5)
    # the information of a point about its z is at most log n, and the joint density reads it off z exactly
    assert 0 < joint["mi"] <= np.log(joint["n"]) + 1e-6
    assert joint["tc"] == pytest.approx(joint["pc"] + joint["within_tc"], abs=1e-4)
    assert (joint["pc"] > found["pc"] + 0.5) == differs
