import importlib.util
from pathlib import Path

import numpy as np
import pytest

from partita import data
from partita.data.shapes import SHAPES
from partita.structure import Discovery, align, discover_groups
from partita.structure._unmixing import whitening
from partita.structure.discovery import _tc_saved
from partita.structure.merging import posterior_information


def cases():
    """The twenty random partitions that docs/metrics.md reports on."""
    spec = importlib.util.spec_from_file_location(
        "generate_metrics", Path(__file__).parents[2] / "docs/generate_metrics.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def principal(x, latents):
    u, s, _ = np.linalg.svd(x - x.mean(0), full_matrices=False)
    return u[:, :latents] * s[:latents]


def pairs_and_single(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    parts = [SHAPES["moons"].draw(n, 2, rng), SHAPES["ring"].draw(n, 2, rng), rng.uniform(-1, 1, (n, 1))]
    return np.concatenate(parts, 1), rng


def test_separate_latents_are_grouped_as_they_are():
    codes, rng = pairs_and_single()
    order = rng.permutation(5)
    found = discover_groups(codes[:, order])
    assert not found.unmixed
    true = {frozenset({0, 1}), frozenset({2, 3}), frozenset({4})}
    assert {frozenset(order[list(group)].tolist()) for group in found.groups} == true
    assert found.coordinates(codes[:, order]) == pytest.approx(codes[:, order] - codes[:, order].mean(0))


def test_mixed_latents_are_unmixed_first():
    truth, rng = pairs_and_single(seed=1)
    codes = truth @ rng.standard_normal((5, 5))
    found = discover_groups(codes)
    assert found.unmixed
    assert sorted(map(len, found.groups)) == [1, 2, 2]
    assert align(found.coordinates(codes), truth, found.groups, (2, 2, 1)).r2 > 0.97


def test_three_latents_dependent_only_together_are_one_group():
    rng = np.random.default_rng(2)
    cube = SHAPES["checkerboard"].draw(1500, 3, rng)
    codes = np.concatenate([cube, rng.uniform(-1, 1, (1500, 1))], 1)
    found = discover_groups(codes, unmix=False)
    assert found.groups == ((0, 1, 2), (3,))
    assert len(found.merges[0].members) == 3


def test_every_merge_comes_with_its_evidence():
    codes, _ = pairs_and_single(seed=3)
    found = discover_groups(codes, unmix=False)
    assert {merge.members for merge in found.merges} == {((0,), (1,)), ((2,), (3,))}
    for merge in found.merges:
        assert merge.accepted
        assert merge.information > merge.null + merge.minimum
    assert tuple(found) == found.groups
    assert found.refused is not None
    assert not found.refused.accepted
    assert found.dependence[0, 1] > 0.3
    assert abs(found.dependence[0, 2]) < 0.05


def test_max_rank_forbids_larger_groups():
    rng = np.random.default_rng(4)
    codes = SHAPES["ring"].draw(1500, 3, rng)
    assert max(map(len, discover_groups(codes, max_rank=2, unmix=False).groups)) == 2
    assert discover_groups(codes, max_rank=1, unmix=False).groups == ((0,), (1,), (2,))
    assert discover_groups(codes, unmix=False).groups == ((0, 1, 2),)


def test_noise_is_all_single_dummies():
    codes = np.random.default_rng(5).standard_normal((2000, 4))
    found = discover_groups(codes)
    assert found.groups == ((0,), (1,), (2,), (3,))
    assert len(found.dummies) >= 3


@pytest.mark.parametrize("seed", [0, 3])
def test_twenty_independent_gaussians_are_left_as_they_are(seed):
    """190 pairs: the sum of their information falls by 0.5 nats under some rotation, by chance."""
    codes = np.random.default_rng(seed).standard_normal((500, 20))
    found = discover_groups(codes, max_rank=2)
    assert not found.unmixed
    assert found.groups == tuple((k,) for k in range(20))


@pytest.mark.parametrize("mixing", ["rotation", "any matrix"])
def test_twelve_mixed_sources_are_still_turned(mixing):
    """A rotation of many sources leaves no two coordinates visibly dependent; their entropies show it."""
    rng = np.random.default_rng(1)
    truth = rng.uniform(-1, 1, (1500, 12))
    matrix = rng.standard_normal((12, 12))
    codes = truth @ (np.linalg.qr(matrix)[0] if mixing == "rotation" else matrix)
    found = discover_groups(codes, max_rank=2)
    assert found.unmixed
    recovered = np.abs(np.corrcoef(found.coordinates(codes).T, truth.T)[:12, 12:])
    assert recovered.max(0).min() > 0.97


def test_what_turning_saves_is_the_total_correlation_of_a_gaussian():
    """For any Gaussian, coordinates made independent save -log det(correlations) / 2."""
    rng = np.random.default_rng(2)
    codes = rng.standard_normal((20_000, 3)) @ rng.standard_normal((3, 3))
    white = whitening(codes)
    turned = Discovery(((0,), (1,), (2,)), (), (), None, np.zeros((3, 3)), white.matrix, white.mean, True)
    expected = -0.5 * np.linalg.slogdet(np.corrcoef(codes.T))[1]
    assert _tc_saved(codes, turned) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("name", ["groups", "independent"])
def test_the_paper_s_data_through_principal_components(name):
    dataset = data.load(name)
    codes = principal(dataset.x.astype(float), 6)
    found = discover_groups(codes)
    expected = [2, 2, 2] if name == "groups" else [1] * 6
    assert sorted(map(len, found.groups)) == expected
    assert align(found.coordinates(codes), dataset.truth, found.groups, dataset.truth_groups).r2 > 0.95
    assert len(found.dummies) == (0 if name == "groups" else 3)


def test_positions_and_sizes_of_pdsprites():
    rng = np.random.default_rng(6)
    truth = np.tile(data.load("pdsprites").truth, (3, 1))
    truth = truth + 0.05 * rng.standard_normal(truth.shape)
    codes = truth @ rng.standard_normal((3, 3))
    found = discover_groups(codes)
    assert sorted(map(len, found.groups)) == [1, 2]
    assert align(found.coordinates(codes), truth, found.groups, ((0, 1), (2,))).r2 > 0.97


class Encoder:
    def transform(self, X):
        return X[:, ::-1]


def test_a_fitted_model_with_its_observations():
    codes, _ = pairs_and_single(seed=7)
    found = discover_groups(Encoder(), X=codes, unmix=False)
    assert found.groups == ((0,), (1, 2), (3, 4))
    with pytest.raises(ValueError, match="give X"):
        discover_groups(Encoder())


class Posteriors(Encoder):
    """The data themselves, blurred."""

    def transform(self, X):
        return X

    def posterior(self, X):
        return X, np.full(X.shape, 2 * np.log(0.2))


def test_a_model_with_posteriors_is_judged_by_exact_pc():
    codes, _ = pairs_and_single(seed=9)
    codes /= codes.std(0)
    found = discover_groups(Posteriors(), X=codes, unmix=False)
    assert found.groups == ((0, 1), (2, 3), (4,))
    z, mean = codes[:40] + 0.1, codes[:40]
    density = np.exp(-0.5 * ((z[:, None] - mean) / 0.2) ** 2) / (0.2 * np.sqrt(2 * np.pi))  # (query, component, latent)
    expected = np.log(density[..., 1:].prod(2).mean(1)) - np.log(density[..., 1:3].prod(2).mean(1))
    expected -= np.log(density[..., 3:].prod(2).mean(1))
    rows = np.stack([z, mean, np.full_like(mean, 2 * np.log(0.2))], -1)
    assert posterior_information(rows, ((1, 2), (3, 4))).mean() == pytest.approx(expected.mean(), rel=1e-9)


def test_bad_input():
    with pytest.raises(ValueError, match="at least 60 rows"):
        discover_groups(np.zeros((10, 2)))
    with pytest.raises(ValueError, match="max_rank"):
        discover_groups(np.zeros((100, 2)), max_rank=0)
    with pytest.raises(ValueError, match="codes holds nan"):
        discover_groups(np.full((100, 2), np.nan))


def test_dead_and_repeated_latents_do_not_break_it():
    rng = np.random.default_rng(8)
    x = rng.uniform(-1, 1, (500, 2))
    codes = np.concatenate([x, np.zeros((500, 1)), x[:, :1]], 1)
    found = discover_groups(codes, unmix=False)
    assert (0, 3) in found.groups
    assert discover_groups(codes, unmix=True).transform.shape == (4, 2)
    assert discover_groups(x[:, :1]).groups == ((0,),)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_twenty_random_partitions_after_a_linear_mixing():
    evaluation = cases()
    found = []
    for case in range(evaluation.CASES):
        dataset = evaluation.partition_case(case)
        found.append(evaluation.found_partition(dataset, discover_groups(dataset.x)))
    assert np.mean(found) >= 0.9, found


def slow_series(rows, columns, seed, memory=0.99):
    """Independent series that each remember their past."""
    steps = np.random.default_rng(seed).standard_normal((rows + 500, columns))
    for t in range(1, len(steps)):
        steps[t] += memory * steps[t - 1]
    return steps[500:]


def test_series_in_time_are_no_exchangeable_rows():
    """Permuted rows are no null of slow series: they merge independent ones, which shifts do not."""
    series = [slow_series(1500, 4, seed, 0.97) for seed in range(5)]
    merged = {
        time: sum(len(discover_groups(y, unmix=False, time=time).merges) for y in series) for time in (False, True)
    }
    assert merged[False] >= 3
    assert merged[True] == 0


def test_a_circle_walked_through_in_time_is_found():
    rng = np.random.default_rng(3)
    angle = np.cumsum(0.2 * rng.standard_normal(2000))
    codes = np.column_stack([np.cos(angle), slow_series(2000, 2, 4, 0.9), np.sin(angle)])
    assert discover_groups(codes, unmix=False, time=True).groups == ((0, 3), (1,), (2,))


def over_a_common_cause(seed, rows=2000, latents=10):
    """Two rings among coordinates that all share about 0.05 nats with each other, as Gaussians of correlation 0.3."""
    rng = np.random.default_rng(seed)
    cause = rng.standard_normal(rows)
    parts = [SHAPES["ring"].draw(rows, 2, rng) for _ in range(2)]
    parts += [rng.uniform(-1, 1, (rows, 1)) for _ in range(latents - 4)]
    moved = []
    for part in parts:
        wanted = np.sqrt(0.3) * cause + np.sqrt(0.7) * rng.standard_normal(rows)
        moved.append(part[np.argsort(part[:, 0])][np.argsort(np.argsort(wanted))])
    return np.concatenate(moved, 1)


def test_groups_stand_out_of_weak_dependence_everywhere():
    found = discover_groups(over_a_common_cause(0), unmix=False)
    assert found.groups == ((0, 1), (2, 3), *((k,) for k in range(4, 10)))
    assert 0.01 < found.background < 0.08
    assert "(0 1) (2 3)" in str(found)
    assert "stand out of a background" in str(found)


def test_weak_dependence_everywhere_is_nothing_that_stands_out():
    found = discover_groups(over_a_common_cause(1)[:, 4:], unmix=False)
    assert found.merges == ()
    assert str(found).startswith("nothing stands out of a background of 0.0")
    assert len(found.tree) == 5
    assert all(merge.shared > 0.02 for merge in found.tree)  # dependent they are


def test_the_tree_goes_on_to_one_group_and_is_cut_anywhere():
    codes, _ = pairs_and_single(seed=3)
    found = discover_groups(codes, unmix=False)
    assert found.tree[:2] == found.merges
    assert len(found.tree) == 4
    assert found.cut() == found.groups
    assert found.cut(at=-1.0) == ((0, 1, 2, 3, 4),)
    assert found.cut(at=99.0) == ((0,), (1,), (2,), (3,), (4,))
    strongest = max(found.merges, key=lambda merge: merge.shared)
    assert (
        found.cut(at=strongest.shared - 1e-9) == discover_groups(codes, unmix=False, at=strongest.shared - 1e-9).groups
    )
    assert sum(len(group) > 1 for group in found.cut(at=strongest.shared - 1e-9)) == 1
    for merge in found.tree:
        assert merge.interval[0] < merge.shared < merge.interval[1]
        assert merge.p_value <= merge.corrected <= 1
    with pytest.raises(ValueError, match="at is a number of nats"):
        discover_groups(codes, at=-0.1)


def test_one_group_is_said_to_be_one():
    codes = SHAPES["ring"].draw(1500, 3, np.random.default_rng(4))
    assert (
        str(discover_groups(codes, unmix=False)) == "all 3 coordinates are one group: none is independent of the others"
    )
