import numpy as np
import pytest
from scipy.cluster.hierarchy import fclusterdata
from scipy.spatial import cKDTree
from scipy.special import digamma

from partita.data import load
from partita.data.shapes import SHAPES
from partita.data.synthetic import whitened


def mutual_information(x, y, k=5):
    """Kraskov, Stoegbauer, Grassberger 2004, eq. 8."""
    reach = cKDTree(np.stack([x, y], 1)).query(np.stack([x, y], 1), k + 1, p=np.inf)[0][:, -1]
    near = [
        cKDTree(axis[:, None]).query_ball_point(axis[:, None], np.nextafter(reach, 0), p=np.inf, return_length=True)
        for axis in (x, y)
    ]
    return digamma(k) + digamma(len(x)) - digamma(near[0]).mean() - digamma(near[1]).mean()


def least_over_rotations(pair):
    turns = np.radians(np.arange(0, 90, 6))
    return min(mutual_information(pair @ (np.cos(t), np.sin(t)), pair @ (-np.sin(t), np.cos(t))) for t in turns)


def test_groups_are_as_the_recipe_says():
    data = load("groups")
    assert data.x.shape == (2000, 20)
    assert data.x.dtype == np.float32
    assert data.truth_groups == ((0, 1), (2, 3), (4, 5))
    z = data.truth
    for pair in data.truth_groups:
        np.testing.assert_allclose(np.cov(z[:, pair].T, bias=True), np.eye(2), atol=1e-10)
    a, residual, _, _ = np.linalg.lstsq(np.c_[z, np.ones(2000)], data.x.astype(float), rcond=None)
    assert residual.sum() / (2000 * 20) == pytest.approx(0.25, rel=0.03)
    assert a[:6].std() == pytest.approx(1, rel=0.2)
    # Best rank-6 fit: R2 = 1 - 0.25 * 14/20 / (signal + 0.25).
    spectrum = np.linalg.svd(data.x - data.x.mean(0), compute_uv=False) ** 2
    assert spectrum[:6].sum() / spectrum.sum() == pytest.approx(0.97, abs=0.006)


def test_pairs_are_tangled_inside_and_independent_outside():
    """Known for this recipe: least information inside a pair 0.70, 0.49, 0.28 nats; between pairs none (sd 0.015)."""
    z = load("groups", seed=3).truth
    for pair, expected in zip(((0, 1), (2, 3), (4, 5)), (0.70, 0.49, 0.28)):
        assert least_over_rotations(z[:, pair]) == pytest.approx(expected, abs=0.06)
    across = [mutual_information(z[:, i], z[:, j]) for i in range(6) for j in range(i + 1, 6) if i // 2 != j // 2]
    assert np.mean(across) < 0.02
    assert np.max(across) < 0.06


def test_independent_marginals():
    data = load("independent", size=200_000)
    z = data.truth
    assert data.truth_groups == ((0,), (1,), (2,))
    np.testing.assert_allclose(z.mean(0), 0, atol=0.01)
    np.testing.assert_allclose(z.var(0), 1, atol=0.02)
    assert np.abs(z[:, 0]).max() <= np.sqrt(3)
    assert (np.abs(z[:, 1]) < 0.3).mean() < 0.03
    assert (z[:, 2] ** 3).mean() == pytest.approx(2, abs=0.15)  # skewness of the exponential


def test_seeds_samples_and_sizes():
    base = load("groups", size=50)
    np.testing.assert_array_equal(base.x, load("groups", size=50).x)
    assert not np.array_equal(base.x, load("groups", size=50, seed=1).x)

    def mixing(data):
        return np.linalg.lstsq(data.truth, data.x, rcond=None)[0]

    quiet = {"noise": 0.0, "size": 60}
    first, other = load("groups", **quiet), load("groups", sample=1, **quiet)
    assert not np.array_equal(first.x, other.x)
    np.testing.assert_allclose(mixing(first), mixing(other), atol=1e-5)
    np.testing.assert_allclose(mixing(first), mixing(load("groups", noise=0.0, size=999)), atol=1e-5)


def test_description_makes_the_data_again():
    data = load("groups", seed=4, size=30, groups=(3, 2, 1), shapes=("checkerboard", "spiral", "logistic"), features=9)
    again = load(data.description["name"], **data.description["options"])
    np.testing.assert_array_equal(data.x, again.x)
    assert data.truth_groups == ((0, 1, 2), (3, 4), (5,))
    assert again.description == data.description
    assert load("groups", groups=(3, 2, 1)).truth.shape == (2000, 6)


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_fills_every_size_it_claims(name):
    low, high = SHAPES[name].dimensions
    for h in range(low, min(high, 4) + 1):
        part = SHAPES[name].draw(4000, h, np.random.default_rng(1))
        assert part.shape == (4000, h)
        np.testing.assert_allclose(np.cov(whitened(part).T, bias=True).reshape(h, h), np.eye(h), atol=1e-9)


@pytest.mark.parametrize("name", ["ring", "moons", "bowtie", "spiral", "checkerboard", "clusters"])
def test_planar_shapes_cannot_be_untied_by_a_rotation(name):
    pair = whitened(SHAPES[name].draw(2000, 2, np.random.default_rng(2)))
    assert least_over_rotations(pair) > 0.1


def test_bowtie_and_checkerboard_lie_where_they_should():
    rng = np.random.default_rng(0)
    x, y = SHAPES["bowtie"].draw(20_000, 2, rng).T
    assert (np.abs(y) <= np.abs(x)).all()
    assert (np.abs(x) < 0.5).mean() == pytest.approx(0.25, abs=0.015)  # uniform by area
    cube = SHAPES["checkerboard"].draw(20_000, 3, rng)
    assert (np.prod(cube, 1) >= 0).all()
    assert mutual_information(cube[:2000, 0], cube[:2000, 1]) < 0.04


@pytest.mark.parametrize("dimensions", [2, 3, 4, 5, 6])
def test_clusters_are_the_corners_of_a_regular_simplex(dimensions):
    part = SHAPES["clusters"].draw(20_000, dimensions, np.random.default_rng(3))
    label = fclusterdata(part[:600], 0.7, criterion="distance", method="single")
    assert label.max() == dimensions + 1
    centres = np.array([part[:600][label == k].mean(0) for k in range(1, dimensions + 2)])
    distance = np.linalg.norm(centres[:, None] - centres, axis=2)[np.triu_indices(dimensions + 1, 1)]
    np.testing.assert_allclose(distance, np.sqrt(dimensions + 1), rtol=0.05)
    np.testing.assert_allclose(np.cov(part.T, bias=True), (0.5 + 0.15**2) * np.eye(dimensions), atol=0.02)


@pytest.mark.parametrize("dimensions", [3, 4])
def test_clusters_are_tangled_in_every_dimension(dimensions):
    """No coordinate is Gaussian, every two are dependent, and so are all of them under any rotation tried."""
    part = whitened(SHAPES["clusters"].draw(2000, dimensions, np.random.default_rng(4)))
    pairs = [mutual_information(part[:, i], part[:, j]) for i in range(dimensions) for j in range(i)]
    assert min(pairs) > 0.3
    rng = np.random.default_rng(5)
    for _ in range(20):
        y = part @ np.linalg.qr(rng.standard_normal((dimensions, dimensions)))[0]
        cells = (np.argsort(np.argsort(y, 0), 0) * 3 // 2000) @ 3 ** np.arange(dimensions)
        p = np.unique(cells, return_counts=True)[1] / 2000
        assert dimensions * np.log(3) + (p * np.log(p)).sum() > 0.2  # total correlation in thirds; independent: 0.02


def test_a_tetrahedron_in_a_cube_is_dependent_only_as_a_whole():
    part = whitened(SHAPES["clusters"].draw(2000, 3, np.random.default_rng(6)))
    c = np.sqrt(0.5)
    y = part @ np.array([[c, c, 0], [c, -c, 0], [0, 0, 1]])
    assert max(mutual_information(y[:, i], y[:, j]) for i in range(3) for j in range(i)) < 0.03
    corners = np.sign(y).prod(1)
    assert abs(corners.mean()) > 0.999


def test_clusters_in_one_and_two_dimensions_are_as_they_were():
    """Data sets keep their numbers: three clusters on a line, three on a triangle."""
    angle = 2 * np.pi * np.arange(3) / 3
    for dimensions, centres in ((1, [[-1.0], [0.0], [1.0]]), (2, np.stack([np.cos(angle), np.sin(angle)], 1))):
        rng = np.random.default_rng(7)
        which = rng.integers(0, 3, 50)
        expected = np.asarray(centres)[which] + 0.15 * rng.standard_normal((50, dimensions))
        np.testing.assert_array_equal(SHAPES["clusters"].draw(50, dimensions, np.random.default_rng(7)), expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": ()}, "sizes of at least 1"),
        ({"groups": (2, 0)}, "sizes of at least 1"),
        ({"groups": "222"}, "groups must be a list"),
        ({"shapes": ("ring",)}, "3 groups need 3 shapes"),
        ({"shapes": ("ring", "moons", "bowtei")}, "did you mean 'bowtie'"),
        ({"groups": (3,), "shapes": ("moons",)}, "cannot fill a group of 3"),
        ({"size": 1}, "size"),
        ({"size": 2}, "largest group"),
        ({"size": 10.5}, "whole number"),
        ({"seed": -1}, "seed"),
        ({"noise": -0.1}, "noise"),
        ({"features": 0}, "features"),
        ({"mixing": "blender"}, "mixing"),
        ({"nois": 1}, "did you mean 'noise'"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        load("groups", **options)
