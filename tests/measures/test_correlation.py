import itertools
import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import norm

from partita.distributions import as_groups
from partita.measures import UninformativeEstimate, correlation, gaussian_tc, null_correlation

GOLDEN = Path(__file__).parents[1] / "golden"
MODULE = sys.modules["partita.measures.correlation"]
REFERENCE = json.loads((GOLDEN / "golden.json").read_text())
CASES = ["est_small", "est_M64_K6_N2000"]


@pytest.fixture(autouse=True)
def quiet(request, monkeypatch):
    """Most estimates below are meant to be poor; the warning has a test of its own."""
    monkeypatch.setattr(MODULE, "_told", {"unresolved"})


def golden_arrays(name, minibatch):
    with np.load(GOLDEN / f"{name}.npz") as arrays:
        rows = int(arrays["M"]) if minibatch else None
        z, mean, log_variance = (arrays[key].astype(np.float64)[:rows] for key in ("z", "mu", "logvar"))
        return z, mean, log_variance, int(arrays["N"])


def posteriors(n=40, latents=4, seed=0, sd=0.3):
    rng = np.random.default_rng(seed)
    mean = rng.normal(size=(n, latents))
    log_variance = 2 * np.log(sd) + 0.3 * rng.normal(size=(n, latents))
    return mean + np.exp(log_variance / 2) * rng.normal(size=(n, latents)), mean, log_variance


def brute_log_q(z, mean, log_variance, block):
    densities = norm.logpdf(z[:, None, block], mean[None, :, block], np.exp(log_variance / 2)[None, :, block])
    return logsumexp(densities.sum(2), axis=1) - np.log(len(z))


# Golden values


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    ("by", "key"),
    [("mws", "mws"), ("mss_published", "mss"), ("mss", "own_mss_diagonal"), ("naive", "own_batch_average")],
)
def test_minibatch_estimates_match_the_public_code(name, by, key):
    z, mean, log_variance, size = golden_arrays(name, minibatch=True)
    wanted = REFERENCE["rtqichen"]["estimators"][name][key]
    found = correlation(z, mean, log_variance, by=by, size=size)
    assert found.tc == pytest.approx(wanted["tc"], abs=1e-6)
    assert found.mi == pytest.approx(wanted["mi"], abs=1e-6)
    assert found.dim_kl == pytest.approx(wanted["dwkl"], abs=1e-6)
    if "logqz" in wanted:
        np.testing.assert_allclose(found.log_qz, wanted["logqz"], atol=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_exact_values_match_the_public_decomposition(name):
    z, mean, log_variance, size = golden_arrays(name, minibatch=False)
    wanted = REFERENCE["rtqichen"]["estimators"][name]["elbo_decomposition_full_dataset"]
    found = correlation(z, mean, log_variance)
    assert found.size == found.batch == size
    assert found.tc == pytest.approx(wanted["dependence_tc"], abs=1e-6)
    assert -found.log_qz.mean() == pytest.approx(wanted["joint_entropy"], abs=1e-6)
    # That code takes E log q(z|n) and E log p(z) in closed form where we take them at the sampled z.
    entropy = 0.5 * (log_variance + np.log(2 * np.pi) + 1).sum(1).mean()
    cross = -0.5 * (mean**2 + np.exp(log_variance) + np.log(2 * np.pi)).sum(1).mean()
    assert -found.log_qz.mean() - entropy == pytest.approx(wanted["information_mi"], abs=1e-6)
    sampled_cross = norm.logpdf(z).sum(1).mean()
    assert found.dim_kl + sampled_cross - cross == pytest.approx(wanted["dimwise_kl"], abs=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_importance_weights_match_probtorch_up_to_its_constant(name):
    z, mean, log_variance, size = golden_arrays(name, minibatch=True)
    batch = len(z)
    offset = np.log(size * (batch - 1) / (batch * (size - 1)))
    groups = {"est_small": (1, 2), "est_M64_K6_N2000": (3, 3)}[name]
    wanted = REFERENCE["probtorch"][name]["S1.two_blocks.bias_N"]
    found = correlation(z, mean, log_variance, groups=groups, by="importance", size=size)
    np.testing.assert_allclose(found.log_qz + offset, wanted["log_joint_avg_qz"][0], atol=1e-6)
    assert found.mi - offset == pytest.approx(wanted["beta3_mi"], abs=1e-6)
    assert found.pc - offset == pytest.approx(wanted["beta4_between_block_tc"], abs=1e-6)
    latents = z.shape[1]
    assert found.within_tc + (2 - latents) * offset == pytest.approx(wanted["beta1_within_block_tc"], abs=1e-6)
    assert found.dim_kl + latents * offset == pytest.approx(wanted["beta2_dimwise_kl"], abs=1e-6)
    assert found.kl == pytest.approx(wanted["kl_all_ones"], abs=1e-6)
    plain = correlation(z, mean, log_variance, groups=groups, by="naive", size=size)
    wanted = REFERENCE["probtorch"][name]["S1.two_blocks.bias_1"]
    assert plain.pc == pytest.approx(wanted["beta4_between_block_tc"], abs=1e-6)
    assert plain.within_tc == pytest.approx(wanted["beta1_within_block_tc"], abs=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_what_a_widely_used_variant_does_to_the_numbers(name):
    """It drops log(NM), or with the published weights counts each weight once a latent in the joint."""
    z, mean, log_variance, size = golden_arrays(name, minibatch=True)
    latents, batch = z.shape[1], len(z)
    theirs = REFERENCE["yanndubs"][name]
    mws = correlation(z, mean, log_variance, by="mws", size=size)
    assert mws.tc - (latents - 1) * np.log(size * batch) == pytest.approx(theirs["is_mss_False"]["tc"], abs=1e-6)
    published = correlation(z, mean, log_variance, by="mss_published", size=size)
    product = published.log_qz.mean() - published.tc
    assert product == pytest.approx(np.mean(theirs["is_mss_True"]["log_prod_qzi"]), abs=1e-6)
    assert theirs["is_mss_True"]["tc"] < published.tc - (latents - 1) * np.log(batch) + 1


# Brute force


@given(n=st.integers(2, 30), latents=st.integers(1, 5), seed=st.integers(0, 99), sd=st.sampled_from([0.01, 0.3, 2.0]))
@settings(deadline=None, max_examples=30)
def test_exact_is_the_sum_over_all_posteriors(n, latents, seed, sd):
    z, mean, log_variance = posteriors(n, latents, seed, sd)
    groups = as_groups((latents // 2, latents - latents // 2) if latents > 1 else (1,), latents)
    found = correlation(z, mean, log_variance, groups=groups)
    joint = brute_log_q(z, mean, log_variance, list(range(latents)))
    in_groups = np.stack([brute_log_q(z, mean, log_variance, list(group)) for group in groups])
    each = np.stack([brute_log_q(z, mean, log_variance, [k]) for k in range(latents)])
    own = norm.logpdf(z, mean, np.exp(log_variance / 2)).sum(1)
    np.testing.assert_allclose(found.log_qz, joint, atol=1e-10)
    assert found.mi == pytest.approx((own - joint).mean(), abs=1e-10)
    assert found.tc == pytest.approx((joint - each.sum(0)).mean(), abs=1e-10)
    assert found.pc == pytest.approx((joint - in_groups.sum(0)).mean(), abs=1e-10)
    within = [(in_groups[g] - each[list(group)].sum(0)).mean() for g, group in enumerate(groups)]
    np.testing.assert_allclose(found.within, within, atol=1e-10)
    assert found.within_tc == pytest.approx(sum(within), abs=1e-10)
    assert found.dim_kl == pytest.approx((each.sum(0) - norm.logpdf(z).sum(1)).mean(), abs=1e-10)
    assert found.mi + found.pc + found.within_tc + found.dim_kl == pytest.approx(found.kl, abs=1e-9)  # X5
    assert found.mi <= np.log(n) + 1e-9  # each q(z_i) is at least q(z_i | n_i) / N


def test_a_full_batch_is_exact_with_unbiased_weights():  # X11
    z, mean, log_variance = posteriors()
    exact = correlation(z, mean, log_variance, groups=(2, 2))
    for by in ("importance", "mss", "naive"):
        for size in (None, len(z)):
            found = correlation(z, mean, log_variance, groups=(2, 2), by=by, size=size)
            for name in ("mi", "tc", "pc", "within_tc", "dim_kl", "kl"):
                assert getattr(found, name) == pytest.approx(getattr(exact, name), abs=1e-10)


def test_large_batches_are_taken_in_slices(monkeypatch):
    z, mean, log_variance = posteriors(n=33)
    whole = [correlation(z, mean, log_variance, by=by, size=99).tc for by in ("importance", "mss", "mss_published")]
    monkeypatch.setattr(MODULE, "AT_ONCE", 5 * z.size)
    sliced = [correlation(z, mean, log_variance, by=by, size=99).tc for by in ("importance", "mss", "mss_published")]
    assert sliced == pytest.approx(whole, abs=1e-12)


# Known distributions


def test_pairwise_independent_latents_can_depend_as_a_group():
    corners = np.array([[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]], dtype=float)
    mean = np.repeat(corners, 25, axis=0)
    log_variance = np.full_like(mean, 2 * np.log(0.01))
    z = mean + 0.01 * np.random.default_rng(0).normal(size=mean.shape)
    found = correlation(z, mean, log_variance, groups=(2, 1))
    assert found.tc == pytest.approx(np.log(2), abs=1e-9)
    assert found.pc == pytest.approx(np.log(2), abs=1e-9)
    assert found.within_tc == pytest.approx(0, abs=1e-9)
    for pair in itertools.combinations(range(3), 2):
        columns = list(pair)
        assert correlation(z[:, columns], mean[:, columns], log_variance[:, columns]).tc == pytest.approx(0, abs=1e-9)


def with_covariance(covariance, n=500, seed=0):
    """Rows whose sample covariance (divided by n) is exactly this."""
    raw = np.random.default_rng(seed).normal(size=(n, len(covariance)))
    raw -= raw.mean(0)
    values, vectors = np.linalg.eigh(raw.T @ raw / n)
    root = np.linalg.cholesky(covariance)
    return raw @ vectors / np.sqrt(values) @ root.T


def test_equicorrelated_gaussian():
    x = with_covariance(0.5 * np.eye(4) + 0.5)
    assert gaussian_tc(x) == pytest.approx(0.5816, abs=5e-5)
    assert gaussian_tc(x, (2, 2)) == pytest.approx(0.2939, abs=5e-5)
    assert gaussian_tc(x[:, :2]) == pytest.approx(0.1438, abs=5e-5)
    assert gaussian_tc(x) == pytest.approx(gaussian_tc(x, (2, 2)) + gaussian_tc(x[:, :2]) + gaussian_tc(x[:, 2:]))


def test_samples_hide_what_means_share():
    """RTC-VAE figure 1: the means are one line, the samples are almost independent."""
    t = with_covariance(np.eye(1))
    assert gaussian_tc(np.hstack([t, 0.1 * t])) == np.inf
    samples = with_covariance(np.array([[1.01, 0.1], [0.1, 1.01]]))
    assert gaussian_tc(samples) == pytest.approx(0.004926, abs=1e-6)
    wide = with_covariance(np.ones((10, 10)) + np.eye(10))
    assert gaussian_tc(wide) == pytest.approx(0.5 * (10 * np.log(2) - np.log(11)), abs=1e-9)


@given(seed=st.integers(0, 200), latents=st.integers(2, 6))
@settings(deadline=None, max_examples=40)
def test_refining_a_partition_cannot_lower_the_correlation(seed, latents):  # X10, exact for a Gaussian
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(50, latents)) @ rng.normal(size=(latents, latents))
    home = rng.integers(0, latents, size=latents)
    coarse = tuple(tuple(np.flatnonzero(home == g).tolist()) for g in np.unique(home))
    halves = [(group[: len(group) // 2], group[len(group) // 2 :]) for group in coarse]
    fine = tuple(half for pair in halves for half in pair if half)
    # both are sums of logarithms of determinants, and a mixing may be nearly singular
    assert gaussian_tc(x, fine) >= gaussian_tc(x, coarse) - 1e-8
    assert gaussian_tc(x) >= gaussian_tc(x, fine) - 1e-8
    assert gaussian_tc(x, (latents,)) == pytest.approx(0, abs=1e-9)


def test_columns_that_carry_nothing_are_left_out():
    x = with_covariance(0.5 * np.eye(3) + 0.5)
    dead = np.hstack([x, np.full((len(x), 1), 7.0), 1e-5 * x[:, :1]])
    assert gaussian_tc(dead) == pytest.approx(gaussian_tc(x), abs=1e-9)
    assert gaussian_tc(np.full((9, 3), 2.0)) == 0.0
    double = np.hstack([x, x[:, :1]])  # the copy sits in its original's group: nothing new between the groups
    assert gaussian_tc(double, ((0, 3), (1, 2))) == pytest.approx(gaussian_tc(x, ((0,), (1, 2))), abs=1e-9)
    assert gaussian_tc(double, ((0,), (1, 2, 3))) == np.inf


# The law of the bias, docs/glossary.md: independent latents, true TC 0

ESTIMATORS = ("mws", "mss_published", "mss", "importance", "naive")
TABLE = {
    (5000, 500, 2): (8.70, 0.20, -0.12, -0.11, 0.20),
    (5000, 500, 4): (28.60, 3.08, 1.08, 1.05, 3.03),
    (5000, 500, 10): (93.25, 16.73, 14.56, 14.72, 16.63),
    (50000, 2048, 10): (112.77, 15.45, 12.36, 12.28, 15.41),
}


@pytest.mark.parametrize(("size", "batch", "latents"), TABLE)
def test_reference_values_of_the_bias(size, batch, latents):
    rng = np.random.default_rng(0)
    wanted = TABLE[size, batch, latents]
    repeats = 1 if batch > 1000 else 4
    found = np.zeros((repeats, len(ESTIMATORS)))
    for r in range(repeats):
        mean = rng.normal(size=(batch, latents))
        z = mean + 0.1 * rng.normal(size=mean.shape)
        log_variance = np.full_like(mean, 2 * np.log(0.1))
        found[r] = [correlation(z, mean, log_variance, by=by, size=size).tc for by in ESTIMATORS]
    # One batch scatters by about 0.1 (K=2) to 0.2 nats (K=10) around these.
    np.testing.assert_allclose(found.mean(0), wanted, atol=0.35)
    if latents == 10:
        law = 10 * 0.5 * np.log(101) - np.log([size, batch])
        np.testing.assert_allclose(found.mean(0)[[3, 4]], law, atol=0.5)


@pytest.mark.parametrize("shut", [0, 1, 2, 4])
def test_shutting_latents_down_lowers_the_estimate_by_their_information(shut):
    rng = np.random.default_rng(shut)
    mean = rng.normal(size=(500, 10))
    mean[:, :shut] = 0
    sd = np.where(np.arange(10) < shut, 1.0, 0.1)
    z = mean + sd * rng.normal(size=mean.shape)
    found = correlation(z, mean, np.broadcast_to(2 * np.log(sd), mean.shape), by="importance", size=5000)
    assert found.tc == pytest.approx((10 - shut) * 0.5 * np.log(101) - np.log(5000), abs=0.6)


# The warning


def test_an_uninformative_estimate_warns_once(monkeypatch):
    monkeypatch.setattr(MODULE, "_told", set())
    z, mean, log_variance = posteriors(n=64, latents=10, sd=0.05)
    with pytest.warns(UninformativeEstimate, match=r"importance estimate from 64 of 1000 points: \d+% of q\(z\)"):
        correlation(z, mean, log_variance, by="importance", size=1000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        correlation(z, mean, log_variance, by="importance", size=1000)


def test_informative_and_exact_estimates_do_not_warn(monkeypatch):
    monkeypatch.setattr(MODULE, "_told", set())
    narrow = posteriors(n=64, latents=10, sd=0.05)
    broad = posteriors(n=64, latents=2, sd=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        correlation(*narrow)
        correlation(*narrow, by="importance", size=64)
        correlation(*broad, by="importance", size=1000)


# The null


@pytest.mark.parametrize("by", ["exact", "importance", "mss"])
@pytest.mark.parametrize("groups", [None, ((0, 2), (1,), (3,))])
def test_the_null_permutes_groups_as_wholes(by, groups):
    z, mean, log_variance = posteriors(n=30)
    size = None if by == "exact" else 90
    null = null_correlation(z, mean, log_variance, groups=groups, by=by, size=size, draws=3, seed=5)
    rng = np.random.default_rng(5)
    for draw in range(3):
        moved = [array.copy() for array in (z, mean, log_variance)]
        for group in as_groups(groups, 4):
            order = rng.permutation(30)
            for array, original in zip(moved, (z, mean, log_variance)):
                array[:, list(group)] = original[np.ix_(order, list(group))]
        wanted = correlation(*moved, groups=groups, by=by, size=size)
        for name in ("mi", "tc", "pc", "within_tc", "dim_kl", "kl"):
            assert null.values[name][draw] == pytest.approx(getattr(wanted, name), abs=1e-9)
    assert null.pc == null.mean["pc"] == pytest.approx(null.values["pc"].mean())
    assert null.sd["pc"] == pytest.approx(null.values["pc"].std(ddof=1))
    assert (null.by, null.batch, null.groups) == (by, 30, as_groups(groups, 4))


def test_independent_latents_agree_with_their_null_and_dependent_ones_do_not():
    rng = np.random.default_rng(0)
    mean = rng.normal(size=(400, 3))
    log_variance = np.full_like(mean, 2 * np.log(0.4))
    z = mean + 0.4 * rng.normal(size=mean.shape)
    null = null_correlation(z, mean, log_variance)
    assert abs(correlation(z, mean, log_variance).tc - null.tc) < 4 * null.sd["tc"]
    tied = mean.copy()
    tied[:, 1] = tied[:, 0]
    z = tied + 0.4 * rng.normal(size=mean.shape)
    null = null_correlation(z, tied, log_variance)
    assert correlation(z, tied, log_variance).tc - null.tc > 10 * null.sd["tc"]
    assert null_correlation(z, tied, log_variance, draws=1).sd["tc"] == 0.0


# Input


def test_arrays_and_tensors_of_any_precision_are_welcome():
    z, mean, log_variance = posteriors()
    wanted = correlation(z, mean, log_variance, groups=(2, 2))
    tensors = [torch.tensor(array, requires_grad=True) for array in (z, mean, log_variance)]
    assert correlation(*tensors, groups=(2, 2)).pc == pytest.approx(wanted.pc, abs=1e-12)
    assert correlation(z.tolist(), mean.tolist(), log_variance.tolist()).tc == pytest.approx(wanted.tc, abs=1e-12)
    singles = [array.astype(np.float32) for array in (z, mean, log_variance)]
    assert correlation(*singles).tc == pytest.approx(wanted.tc, abs=1e-4)
    assert isinstance(wanted.pc, float)
    assert wanted.log_qz.dtype == np.float64
    assert wanted.within.shape == (2,)
    assert (wanted.by, wanted.size, wanted.batch, wanted.groups) == ("exact", 40, 40, ((0, 1), (2, 3)))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"z": np.zeros((3, 2))}, r"one shape \(n, latents\), got \(3, 2\), \(40, 4\)"),
        ({"z": np.zeros((0, 4))}, "z is empty"),
        ({"mean": np.full((40, 4), np.nan)}, "mean holds nan at row 0, column 0"),
        ({"mean": "words"}, "mean must be"),
        ({"log_variance": np.full((40, 4), 1e4)}, "log_variance is 1e\\+04 at row 0, column 0, outside -30 to 10"),
        ({"groups": (2, 3)}, "add up to 5"),
        ({"groups": ((0, 1), (1, 2, 3))}, "latent 1 is in group 0"),
        ({"by": "exakt"}, "did you mean 'exact'"),
        ({"by": "mss", "size": 10}, "got 10 for a batch of 40"),
        ({"by": "mss", "size": 99.5}, "size must be the number of data points"),
        ({"size": 99}, "leave size out"),
    ],
)
def test_bad_input_is_refused_in_one_line(change, said):
    z, mean, log_variance = posteriors()
    arguments = {"z": z, "mean": mean, "log_variance": log_variance} | change
    arrays = [arguments.pop(name) for name in ("z", "mean", "log_variance")]
    for function in (correlation, null_correlation):
        with pytest.raises(ValueError, match=said) as error:
            function(*arrays, **arguments)
        assert "\n" not in str(error.value)


def test_other_bad_requests_are_refused():
    z, mean, log_variance = posteriors()
    with pytest.raises(ValueError, match="at least 2 rows"):
        correlation(z[:1], mean[:1], log_variance[:1])
    z[3] = 1e200
    for by in ("exact", "importance"):
        with pytest.raises(ValueError, match="z has no density at row 3"):
            correlation(z, mean, log_variance, by=by)
    with pytest.raises(ValueError, match="draws must be a whole number of at least 1"):
        null_correlation(z, mean, log_variance, draws=0)
    with pytest.raises(ValueError, match="seed must be a whole number of at least 0"):
        null_correlation(z, mean, log_variance, seed=-1)
    with pytest.raises(ValueError, match="at least 2 rows"):
        gaussian_tc(z[:1])
    with pytest.raises(ValueError, match="x holds inf"):
        gaussian_tc(np.full((3, 2), np.inf))


scalars = st.one_of(st.none(), st.text(max_size=3), st.floats())
odd = st.one_of(
    scalars,
    st.sampled_from(
        [np.zeros((0, 2)), np.zeros((3, 2, 2)), np.array([["a", "b"]]), np.array([1, None]), torch.zeros(2)]
    ),
)


def answer(function, *arguments, **options):
    """What the function returns, or its one-line refusal."""
    try:
        return function(*arguments, **options)
    except ValueError as error:
        return str(error)


@given(
    values=st.lists(odd, min_size=3, max_size=3),
    groups=st.one_of(scalars, st.lists(st.integers(-1, 3)), st.lists(st.lists(st.integers(-1, 3)))),
    by=st.one_of(st.sampled_from(["exact", "importance", "mss", "mws"]), st.text(max_size=4), st.none()),
    size=st.one_of(st.none(), st.integers(-3, 50), st.floats()),
)
@settings(deadline=None, max_examples=80)
def test_odd_input_is_a_value_error_or_an_answer(values, groups, by, size):
    good = posteriors(n=9, latents=3)
    for arrays in ((values[0], *good[1:]), values, good):
        for function in (correlation, null_correlation):
            found = answer(function, *arrays, groups=groups, by=by, size=size)
            assert "\n" not in found if isinstance(found, str) else np.isfinite(found.tc)
    for value in values:
        found = answer(gaussian_tc, value, groups)
        assert "\n" not in found if isinstance(found, str) else found >= 0
