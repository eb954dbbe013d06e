import numpy as np
import pytest

from partita import Disentangler, data
from partita.structure import Diagnosis, diagnose_groups, unmixed
from partita.structure._beside_pca import beside_pca
from partita.structure._halves import halves_agree

MADE = data.load("groups", size=1500, seed=101)


def test_true_groups_hold():
    found = diagnose_groups(MADE.truth, MADE.truth_groups, MADE.x)
    assert isinstance(found, Diagnosis)
    assert found.verdict == "groups hold"
    assert str(found).splitlines() == ["groups hold", *(f"- {reason}" for reason in found.reasons)]
    assert found.numbers["agreement"] > 0.95
    assert abs(found.numbers["between"]) < 0.05


@pytest.mark.parametrize("groups", [(3, 3), (2, 3, 1), ((0, 2), (1, 3), (4, 5))])
def test_other_groups_of_the_same_latents_do_not(groups):
    found = diagnose_groups(MADE.truth, groups, MADE.x)
    assert found.verdict == "no clear groups"
    assert any(reason.startswith("nothing ties the latents") for reason in found.reasons)


def test_groups_that_share_something_are_not_to_be_trusted():
    codes = np.array(MADE.truth)
    codes[:, 2] += 0.5 * codes[:, 0]
    found = diagnose_groups(codes, MADE.truth_groups, MADE.x)
    assert found.verdict == "not to be trusted"
    assert any("latents 0 and 2 of different groups share" in reason for reason in found.reasons)


def test_noise_has_no_clear_groups():
    noise = np.random.default_rng(0).standard_normal((1000, 10))
    for groups in ((2, 2), (1, 1, 1, 1)):
        found = diagnose_groups(noise[:, :4], groups, noise)
        assert found.verdict == "no clear groups"
    assert "Gaussian" in found.reasons[0]


def test_one_group_says_so():
    found = diagnose_groups(MADE.truth, (6,), MADE.x)
    assert found.verdict == "no clear groups"
    assert found.reasons == ("there is one group, so there is nothing to be independent of",)


@pytest.mark.parametrize("rows", [3, 100])
def test_few_rows_are_too_few(rows):
    found = diagnose_groups(MADE.truth[:rows], MADE.truth_groups, MADE.x[:rows])
    assert found.verdict == "not to be trusted"
    assert found.reasons == (f"{rows} rows are too few to tell anything of 6 latents: 120 are needed",)


def test_latents_that_carry_nothing_are_named():
    codes = np.array(MADE.truth)
    codes[:, 3] = 1.0
    found = diagnose_groups(codes, MADE.truth_groups, MADE.x)
    assert found.verdict != "groups hold"
    assert any("carry nothing: 3" in reason for reason in found.reasons)
    quiet = diagnose_groups(MADE.truth, MADE.truth_groups, MADE.x, kl=[1, 1, 1, 1, 0.001, 1])
    assert "latents that carry nothing: 4" in quiet.reasons


def test_duplicated_and_constant_columns_get_a_verdict():
    twice = np.concatenate([MADE.truth, MADE.truth[:, :1]], 1)
    found = diagnose_groups(twice, ((0, 1), (2, 3), (4, 5), (6,)), np.concatenate([MADE.x, np.ones((1500, 2))], 1))
    assert found.verdict == "not to be trusted"
    assert any("0 and 6 of different groups share" in reason for reason in found.reasons)


def test_a_second_training_must_agree():
    held = diagnose_groups(MADE.truth, MADE.truth_groups, MADE.x, again=(MADE.truth[:, ::-1], (2, 2, 2)))
    assert held.verdict == "groups hold"
    other = diagnose_groups(MADE.truth, MADE.truth_groups, MADE.x, again=(MADE.truth, ((0, 2), (1, 3), (4, 5))))
    assert other.verdict == "not to be trusted"
    assert any("second training" in reason for reason in other.reasons)


@pytest.mark.parametrize(("restarts", "same"), [((0.95, 0.2, 0.91), 2), ((0.5,), 0)])
def test_restarts_that_found_the_same_groups_are_counted_and_decide_nothing(restarts, same):
    found = diagnose_groups(MADE.truth, MADE.truth_groups, MADE.x, restarts=restarts)
    assert found.verdict == "groups hold"
    assert found.numbers["restarts agree"] == same / len(restarts)
    assert f"{same} of {len(restarts)} other restarts found the same groups" in found.reasons


def test_a_latent_by_itself_is_not_tied_to_a_group_by_a_little_that_they_share():
    """0.02 nats by nearest neighbours may be many deviations, and are what coordinates of noisy rows share."""
    shapes = ("uniform", "spiral", "spiral")
    made = data.load("groups", seed=20105, groups=(1, 2, 3), shapes=shapes, features=23, size=1579, noise=0.862)
    parts = unmixed(made.x, 6, (3, 3), bends=False)
    found = diagnose_groups(parts.codes(made.x), parts.groups, made.x)
    assert found.verdict == "no clear groups"
    assert found.reasons[0].startswith("nothing ties the latents")


def test_slow_series_are_judged_in_time():
    """Independent series that remember their past look dependent to permutations."""
    steps = np.random.default_rng(1).standard_normal((2000, 3))
    for t in range(1, len(steps)):
        steps[t] += 0.98 * steps[t - 1]
    exchanged, in_time = (diagnose_groups(steps, (1, 1, 1), time=time) for time in (False, True))
    assert any("share" in reason for reason in exchanged.reasons)
    assert in_time.numbers["across"] < 8 < exchanged.numbers["across"]


def test_the_linear_model_is_the_exact_likelihood():
    """A Gaussian of known covariance, in nats a row; and a bound below it by more than a little is wrong."""
    rng = np.random.default_rng(2)
    load = rng.standard_normal((2, 6))
    x = rng.standard_normal((20_000, 2)) @ load + 0.5 * rng.standard_normal((20_000, 6))
    covariance = load.T @ load + 0.25 * np.eye(6)
    exact = -0.5 * (6 * np.log(2 * np.pi) + np.linalg.slogdet(covariance)[1] + 6)
    # off the plane the noise; along it posterior means shrink by noise / variance
    error = (0.25 * 4 + (0.25**2 / np.linalg.eigvalsh(covariance)[-2:]).sum()) / 6
    wrong, numbers = beside_pca(x, 2, exact - 0.1, error)
    assert wrong == []
    assert numbers["linear model"] == pytest.approx(exact, abs=0.05)
    assert numbers["error of PCA"] == pytest.approx(error, rel=0.01)
    wrong, _ = beside_pca(x, 2, exact - 2, 0.25)
    assert "below" in wrong[0]
    assert "worse than PCA" in wrong[1]


def test_pca_is_not_worse_than_pca():
    """Its means shrink towards the prior's, so that projections are nearer than what it decodes."""
    x = data.load("groups", size=400, noise=3.0).x
    model = Disentangler("pca", latents=6, device="cpu").fit(x)
    numbers = model.diagnose(x).numbers
    assert numbers["error"] == pytest.approx(numbers["error of PCA"], rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("found", [False, True])
def test_groups_of_bent_rows_hold_given_or_found(found):
    made = data.load(
        "groups", groups=(2, 3), seed=3, size=3000, features=10, noise=0.1, mixing="nonlinear", condition=3
    )
    parts = unmixed(made.x, 5, None if found else (2, 3))
    assert parts.bend is not None
    said = diagnose_groups(parts.codes(made.x), parts.groups, made.x, found=found)
    assert said.verdict == "groups hold"


def test_of_bent_rows_firm_ties_are_asked_for():
    made = data.load(
        "groups", groups=(2, 2), seed=3, size=1000, features=8, noise=0.05, mixing="nonlinear", condition=10
    )
    groups = ((0, 1), (2, 3))
    found = halves_agree(made.truth, groups, groups, made.x, (2, 2), 0.999, False, False, 0)
    assert found.against is not None
    assert "a bend can tie" in found.against


def test_halves_are_not_asked_where_rows_show_other_groups_without_sizes():
    made = data.load("groups", groups=(2, 3, 1), seed=5, size=2000, noise=0.1)
    told = unmixed(made.x, 6, (3, 3), bends=False)
    found = halves_agree(told.codes(made.x), told.groups, told.groups, made.x, (3, 3), 0.9, True, False, 0)
    assert found.against == "told no sizes, the rows show other groups: of 3, 2, 1"
    same = unmixed(made.x, 6, (2, 3, 1), bends=False)
    agreed = halves_agree(same.codes(made.x), same.groups, same.groups, made.x, (2, 3, 1), 0.9, True, False, 0)
    assert agreed.against is None
    assert agreed.least > 0.9
