import numpy as np
import pytest
import torch

from partita import metrics
from partita.data import load
from partita.data._some_rows import shuffled_rows, some_rows
from partita.studies import Store, evaluate_run, plan, train
from partita.studies import evaluate as evaluating
from partita.studies._scoring import scored
from partita.studies.evaluate import evaluate_agreement

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
    order = shuffled_rows(len(mean))
    tc = metrics.exact_tc(mean[order], log_variance[order]).value
    assert scores["metrics"]["exact_tc"]["value"] == pytest.approx(tc)
    expected = metrics.mig(mean, sprites.factors, groups=(2, 2), factor_groups=((0, 1), (2,)))
    assert scores["group_metrics"]["mig"]["value"] == pytest.approx(expected.value)
    assert scores["group_metrics"]["mig"]["protocol"] == "nearest-neighbours"
    assert list(scores["group_metrics"]) == ["mig", "modularity"]


def test_runs_of_one_setting_are_asked_whether_they_agree(study):
    sprites, store, runs = study
    assert evaluate_agreement(store, runs[:1], sprites) is None
    found = evaluate_agreement(store, runs, sprites)
    assert 0 <= found["value"] <= 1
    assert len(found["parts"]["models"]) == 2
    assert store.scores(runs[1])["udr"] == found


@pytest.mark.parametrize(("name", "options"), [("dsprites", {"every": (1, 1, 10, 8, 8)}), ("pdsprites", {})])
def test_data_sorted_by_factor_are_scored_like_shuffled_ones(name, options):
    """Nearly perfect codes: where the last third has values of its own, nothing could predict them."""
    factors = np.asarray(load(name, **options).factors)
    codes = factors + 0.01 * np.random.default_rng(0).standard_normal(factors.shape)
    single = tuple((k,) for k in range(factors.shape[1]))
    found = scored(codes, np.full(codes.shape, -9.0), factors, "sap,explicitness,dci", single, None)["metrics"]
    shuffle = np.random.default_rng(1).permutation(len(codes))
    assert found["explicitness"]["value"] > 0.95
    assert found["dci"]["parts"]["informativeness"] > 0.98
    assert found["sap"]["value"] == pytest.approx(metrics.sap(codes[shuffle], factors[shuffle]).value, abs=0.1)
    with pytest.warns(metrics.UntrainedClasses):
        assert metrics.explicitness(codes, factors).value < found["explicitness"]["value"] - 0.05


def test_rows_to_score_are_drawn_in_random_order_always_the_same():
    for size, most in ((500, None), (500, 1000), (5000, 200)):
        rows = shuffled_rows(size, most)
        assert len(rows) == len(set(rows.tolist())) == min(size, most or size)
        assert np.array_equal(rows, shuffled_rows(size, most))
        assert abs(np.corrcoef(np.arange(len(rows)), rows)[0, 1]) < 0.2
    assert np.array_equal(some_rows(5000, 200), np.sort(shuffled_rows(5000, 200)))


def test_scores_that_hold_a_factor_fixed_draw_from_all_rows(study, monkeypatch):
    """Neither a complete grid nor all rows among the scored ones."""
    sprites, store, runs = study
    monkeypatch.setattr(evaluating, "ROWS_SCORED", 200)
    encoded, codes = [], evaluating._codes
    monkeypatch.setattr(evaluating, "_codes", lambda *given: encoded.append(1) or codes(*given))
    found = evaluate_run(store, runs[0], sprites, "mig,beta_vae,factor_vae")["metrics"]
    assert list(found) == ["mig", "beta_vae", "factor_vae"]
    assert found["mig"]["n"] == 200
    assert found["beta_vae"]["n"] == found["factor_vae"]["n"] == sprites.size
    assert len(encoded) == 1  # once for both
    assert 1 / 3 - 0.05 < found["factor_vae"]["value"] <= 1
    monkeypatch.setattr(evaluating, "ROWS_SCORED", sprites.size)
    whole = evaluate_run(store, runs[0], sprites, "factor_vae")["metrics"]["factor_vae"]
    assert whole["value"] == found["factor_vae"]["value"]
    assert len(encoded) == 1  # the rows scored are all there are
    assert {"beta_vae", "factor_vae"} <= set(evaluate_run(store, runs[0], sprites, "all")["metrics"])


def gaussian_tc_of(covariance):
    scale = np.sqrt(np.diag(covariance))
    return -0.5 * np.linalg.slogdet(covariance / np.outer(scale, scale))[1]


def test_correlation_of_means_and_of_draws(study):
    sprites, store, runs = study
    found = evaluate_run(store, runs[0], sprites)["gaussian_tc"]
    mean, log_variance = store.model(runs[0], sprites.x_scale).posterior(sprites.x)
    covariance = np.cov(mean.astype(float), rowvar=False, ddof=0)
    of_draws = covariance + np.diag(np.exp(log_variance.astype(float)).mean(0))  # Cov[z] = Cov[mean] + E[variance]
    assert found["mean"] == pytest.approx(gaussian_tc_of(covariance), abs=1e-4)
    assert found["sample"] == pytest.approx(gaussian_tc_of(of_draws), abs=0.02)
    assert (found["n"], found["dropped"]) == (sprites.size, 0)


def test_means_that_determine_each_other_have_draws_that_do_not():
    """Figure 1 of the RTC-VAE paper: TC of the means infinite, of the draws 0.0049."""
    rng = np.random.default_rng(0)
    first = rng.standard_normal((200_000, 1))
    mean = np.concatenate([first, 0.1 * first], 1)
    found = evaluating._gaussian_tc(mean, mean + rng.standard_normal(mean.shape) * np.array([0.1, 1.0]))
    assert found["mean"] is None
    assert found["sample"] == pytest.approx(0.0049, abs=0.001)


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
    # Cov[z] = Cov[mean] + E[Cov[z|x]]: draws know of the correlation given x
    mean, log_variance = store.model(runs[0], groups.x_scale).posterior(groups.x)
    deviation = np.exp(0.5 * log_variance.astype(float))
    given_x = (deviation.T @ deviation / len(mean)) * np.where(np.eye(6, dtype=bool), 1.0, rho)
    expected = gaussian_tc_of(np.cov(mean.astype(float), rowvar=False, ddof=0) + given_x)
    assert store.scores(runs[0])["gaussian_tc"]["sample"] == pytest.approx(expected, abs=0.05)
