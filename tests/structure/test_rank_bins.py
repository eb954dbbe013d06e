import numpy as np
import pytest

from partita.data.shapes import SHAPES
from partita.structure import discrete_entropy
from partita.structure._rank_bins import RankBins, null


def test_information_is_that_of_the_table_of_cells():
    """Against the entropies of `discrete_entropy`: sum of the single ones less the joint one."""
    codes = np.random.default_rng(0).standard_normal((1200, 3))
    codes[:, 2] += codes[:, 0] * codes[:, 1]
    ranks = np.argsort(np.argsort(codes, 0), 0)
    for bins in (2, 4, 6):
        h = discrete_entropy(ranks * bins // 1200)
        expected = h((0,)) + h((1,)) + h((2,)) - h((0, 1, 2)) - null(1200, bins, 3)[0]
        assert RankBins(codes).information((0, 1, 2), bins) == pytest.approx(expected, abs=1e-12)


def test_only_ranks_matter():
    codes = np.random.default_rng(1).standard_normal((500, 2)) @ np.array([[1, 0.5], [0, 1]])
    bent = np.stack([np.exp(codes[:, 0]), codes[:, 1] ** 3], 1)
    assert RankBins(bent).information((0, 1), 6) == RankBins(codes).information((0, 1), 6)


@pytest.mark.parametrize(("rows", "bins", "members"), [(3000, 2, 2), (3000, 6, 2), (3000, 4, 3), (5000, 4, 4)])
def test_the_null_follows_the_chi_square_law_where_cells_are_full(rows, bins, members):
    mean, sd = null(rows, bins, members)
    df = bins**members - 1 - members * (bins - 1)
    assert mean == pytest.approx(df / (2 * rows), rel=0.2)
    assert sd == pytest.approx(np.sqrt(2 * df) / (2 * rows), rel=0.35)
    assert null(rows, bins, 1)[0] == 0.0


@pytest.mark.parametrize("draw", ["standard_normal", "standard_exponential", "standard_cauchy"])
def test_independent_coordinates_have_none(draw):
    found = [RankBins(getattr(np.random.default_rng(seed), draw)((700, 3))).excess((0, 1, 2), 4) for seed in range(40)]
    assert abs(np.mean(found)) < 0.7
    assert np.std(found) == pytest.approx(1, abs=0.4)


def test_known_values():
    rng = np.random.default_rng(2)
    x = rng.standard_normal((4000, 1))
    assert RankBins(np.hstack([x, x])).information((0, 1), 6) == pytest.approx(np.log(6), abs=0.01)
    cube = RankBins(SHAPES["checkerboard"].draw(4000, 3, rng))
    assert cube.information((0, 1, 2), 2) == pytest.approx(np.log(2), abs=0.06)  # the median is not quite 0
    assert np.abs(cube.pairs(6)).max() < 0.01
    rho = 0.8
    pair = RankBins(rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], 20_000))
    assert pair.information((0, 1), 24) == pytest.approx(-0.5 * np.log(1 - rho**2), abs=0.04)


def test_repeated_values_tie_nothing_together():
    """Two fair coins: ranks that broke ties by row would make them equal within heads and within tails."""
    coins = np.random.default_rng(3).integers(0, 2, (2000, 2)).astype(float)
    assert abs(RankBins(coins).excess((0, 1), 6)) < 4
    assert abs(RankBins(np.zeros((2000, 2))).excess((0, 1), 6)) < 4
