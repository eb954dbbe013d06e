"""Group-aware scores: latents and factors that belong together."""

import numpy as np
import pytest

from partita import metrics as m

GROUPS, FACTOR_GROUPS = (2, 2), ((0, 1), (2,))


@pytest.fixture(scope="module")
def sprites():
    """Location (x, y on a bow-tie, dependent) in one pair of latents, size in another with a dummy beside it."""
    rng = np.random.default_rng(0)
    places = [(i, j) for i in range(-4, 5) for j in range(-4, 5) if abs(i) >= abs(j)]
    x, y = np.array(places)[rng.integers(len(places), size=4000)].T
    size = rng.integers(5, size=4000)
    rotation = np.array([[0.8, -0.6], [0.6, 0.8]])
    location = np.stack([x, y], 1) @ rotation + 0.05 * rng.standard_normal((4000, 2))
    other = np.stack([size + 0.05 * rng.standard_normal(4000), rng.standard_normal(4000)], 1)
    return np.concatenate([location, other], 1), np.stack([x, y, size], 1)


@pytest.mark.parametrize("metric", ["mig", "modularity", "infomec", "dci"])
def test_groups_are_rewarded_where_single_latents_are_not(sprites, metric):
    codes, factors = sprites
    options = {"protocol": "dlib-2019-fast"} if metric == "dci" else {}
    alone = getattr(m, metric)(codes, factors, **options).value
    together = getattr(m, metric)(codes, factors, groups=GROUPS, factor_groups=FACTOR_GROUPS, **options).value
    assert together > 0.85
    assert together > alone


@pytest.mark.parametrize("metric", ["mig", "infomec", "modularity"])
def test_the_wrong_grouping_scores_lower(sprites, metric):
    codes, factors = sprites
    right = getattr(m, metric)(codes, factors, groups=GROUPS, factor_groups=FACTOR_GROUPS).value
    wrong = getattr(m, metric)(codes, factors, groups=((0, 2), (1, 3)), factor_groups=FACTOR_GROUPS).value
    assert wrong < right - 0.1


def test_group_mig_normalises_by_the_entropy_of_the_joint_label(sprites):
    codes, factors = sprites
    score = m.mig(codes, factors, groups=GROUPS, factor_groups=FACTOR_GROUPS)
    counts = np.unique(factors[:, :2], axis=0, return_counts=True)[1] / len(factors)
    assert score.parts["entropy"][0] == pytest.approx(-(counts * np.log(counts)).sum())
    assert score.parts["information"].shape == (2, 2)


def test_groups_do_not_care_for_maps_inside_them(sprites):
    codes, factors = sprites
    mixed = codes.copy()
    mixed[:, :2] = codes[:, :2] @ np.array([[1.0, 0.5], [-0.3, 1.2]])
    for metric in (m.mig, m.modularity):
        one = metric(codes, factors, groups=GROUPS, factor_groups=FACTOR_GROUPS).value
        two = metric(mixed, factors, groups=((1, 0), (3, 2)), factor_groups=FACTOR_GROUPS).value
        assert two == pytest.approx(one, abs=0.03)


def test_singletons_by_neighbours_are_near_the_histogram():
    rng = np.random.default_rng(1)
    factors = rng.integers(0, 4, (8000, 2))
    codes = np.concatenate([factors, factors[:, ::-1]], 1) + rng.standard_normal((8000, 4))
    one = m.mig(codes, factors).parts["information"]
    two = m.mig(codes, factors, groups=(1, 1, 1, 1)).parts["information"]
    assert two == pytest.approx(one, abs=0.05)


def test_leakage_is_small_for_separate_groups_and_large_for_copies(sprites):
    codes, factors = sprites
    clean = m.leakage(codes, factors, groups=GROUPS, factor_groups=FACTOR_GROUPS)
    assert clean.value < 0.02
    assert clean.parts["assignment"].tolist() == [0, 1]
    assert clean.parts["kept"].min() > 0.85
    leaking = codes.copy()
    leaking[:, 3] = codes[:, 0]
    assert m.leakage(leaking, factors, groups=GROUPS, factor_groups=FACTOR_GROUPS).value > 0.2


def test_group_importances_are_sums_over_latents_and_means_over_factors(sprites):
    codes, factors = sprites
    single = m.dci(codes, factors, protocol="ubisoft-2020").parts["importance"]
    grouped = m.dci(codes, factors, protocol="ubisoft-2020", groups=GROUPS, factor_groups=FACTOR_GROUPS)
    assert grouped.parts["importance"][0, 0] == pytest.approx(single[:2, :2].sum(0).mean())
    assert grouped.parts["importance"][1, 1] == pytest.approx(single[2:, 2].sum())


def test_bad_groups_are_one_clear_line(sprites):
    codes, factors = sprites
    with pytest.raises(ValueError, match="add up to 3"):
        m.mig(codes, factors, groups=(1, 2))
    with pytest.raises(ValueError, match="no group holds latent 2"):
        m.modularity(codes, factors, groups=((0, 1), (3,)))


@pytest.mark.parametrize("metric", ["mig", "modularity", "infomec"])
def test_scores_between_groups_carry_their_own_protocol(sprites, metric):
    codes, factors = (array[:600] for array in sprites)
    score = getattr(m, metric)
    asked = score(codes, factors, groups=GROUPS)
    assert asked.protocol == "nearest-neighbours"
    assert asked.protocol in m.METRICS[metric].protocols
    assert score(codes, factors, factor_groups=FACTOR_GROUPS, protocol="nearest-neighbours").protocol == asked.protocol
    assert m.evaluate(codes, factors, metric, protocol="ubisoft-2020", groups=GROUPS)[metric].value == asked.value
    other = m.METRICS[metric].protocols[1]
    with pytest.raises(ValueError, match=f"{metric} by '{other}' knows no groups"):
        score(codes, factors, groups=GROUPS, protocol=other)
    with pytest.raises(ValueError, match="is between groups"):
        score(codes, factors, protocol="nearest-neighbours")
