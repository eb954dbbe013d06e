"""Both solvers against a rotation that is known."""

import logging
import sys

import numpy as np
import pytest

from partita.measures import _ica
from partita.measures._ica import LOG_COSH_OF_GAUSSIAN, jade, picard, unmixings
from partita.structure._unmixing import whitening


def rotated(n=3000, seed=0):
    """Sources of several kinds, white, and a rotation of them."""
    rng = np.random.default_rng(seed)
    kinds = [rng.uniform(-1, 1, n), rng.exponential(size=n), rng.laplace(size=n), rng.choice([-1.0, 1.0], n)]
    sources = np.stack(kinds, 1)
    sources = (sources - sources.mean(0)) / sources.std(0)
    turn = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    mixed = sources @ turn
    return whitening(mixed)(mixed), sources


def agreement(found, sources):
    """The correlation of each source with its own coordinate, each coordinate serving one source."""
    from scipy.optimize import linear_sum_assignment

    table = np.abs(np.corrcoef(found.T, sources.T)[:4, 4:])
    return table[linear_sum_assignment(-table)].min()


@pytest.mark.parametrize("solve", [lambda white: picard(white, 0), jade], ids=["picard", "jade"])
@pytest.mark.parametrize("seed", range(3))
def test_a_known_rotation_is_undone(solve, seed):
    white, sources = rotated(seed=seed)
    rotation = solve(white)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(4), atol=1e-9)
    assert agreement(white @ rotation.T, sources) > 0.99


def test_jade_makes_fourth_cumulants_diagonal():
    """Cumulants by their definition: what is off the diagonal is less than for any small turn of a pair."""
    white, _ = rotated(800)
    rotation = jade(white)

    def off_diagonal(y):
        total = 0.0
        for i in range(4):
            for j in range(4):
                both = y[:, i] * y[:, j]
                for k in range(4):
                    for m in range(k):
                        fourth = (both * y[:, k] * y[:, m]).mean()
                        pairs = (i == j) * (k == m) + (i == k) * (j == m) + (i == m) * (j == k)
                        total += (fourth - pairs) ** 2
        return total

    least = off_diagonal(white @ rotation.T)
    for p, q in ((0, 1), (1, 3), (2, 3)):
        for angle in (-0.03, 0.03):
            turn = np.eye(4)
            turn[[p, p, q, q], [p, q, p, q]] = np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)
            assert off_diagonal(white @ rotation.T @ turn) > least


def test_one_column_is_left_alone():
    assert picard(np.ones((5, 1)), 0).tolist() == [[1.0]]
    assert jade(np.random.default_rng(0).standard_normal((50, 1))).tolist() == [[1.0]]


def test_without_python_picard_fast_ica_stands_in_and_says_so_once(monkeypatch, caplog):
    white, sources = rotated()
    own = picard(white, 0)
    monkeypatch.setitem(sys.modules, "picard", None)  # an import of it fails as if it were not there
    _ica._say_once.cache_clear()
    with caplog.at_level(logging.WARNING, "partita"):
        first, second = picard(white, 0), picard(white, 1)
    assert [record.message for record in caplog.records] == [
        "python-picard is not installed: FastICA stands in for it, and converges less surely"
    ]
    for rotation in (first, second):
        assert agreement(white @ rotation.T, sources) > 0.99
    assert not np.array_equal(first, own)
    _ica._say_once.cache_clear()


def test_it_is_imported_when_first_needed():
    import subprocess

    program = "import sys, partita.structure.unmixed, partita.recipes; assert 'picard' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_neither_reads_nor_moves_the_generators_of_the_process():
    white, _ = rotated(400)
    found = []
    for seed in (1, 2):
        np.random.seed(seed)  # noqa: NPY002
        before = np.random.get_state()[1].tolist()  # noqa: NPY002
        found.append(np.concatenate([picard(white, 3), jade(white)]))
        assert np.random.get_state()[1].tolist() == before  # noqa: NPY002
    np.testing.assert_array_equal(*found)


def test_a_gaussian_has_this_mean_of_log_cosh():
    from scipy.integrate import quad
    from scipy.stats import norm

    mean = quad(lambda t: (np.abs(t) + np.log1p(np.exp(-2 * np.abs(t))) - np.log(2)) * norm.pdf(t), -40, 40)[0]
    assert mean == pytest.approx(LOG_COSH_OF_GAUSSIAN, abs=1e-9)


def white_sources(latents, rows, seed):
    rng = np.random.default_rng(seed)
    z = rng.choice([-1.0, 1.0], (rows, latents)) + 0.5 * rng.standard_normal((rows, latents))
    z -= z.mean(0)
    values, vectors = np.linalg.eigh(z.T @ z / rows)
    whiten = vectors / np.sqrt(values)
    return z @ whiten


def test_of_several_ends_the_least_gaussian_comes_first():
    """Of 24 coordinates and 240 rows single runs end elsewhere; the first of many is as good as each."""
    white = white_sources(24, 240, seed=0)
    ends = unmixings(white, 0, 12)
    assert 4 <= len(ends) <= 12

    def contrast(rotation):
        codes = white @ rotation.T
        return np.abs(np.log(np.cosh(codes)).mean(0) - LOG_COSH_OF_GAUSSIAN).sum()

    values = [contrast(each) for each in ends]
    assert values == sorted(values, reverse=True)
    assert values[0] > values[-1] + 0.01
    for each in ends:
        np.testing.assert_allclose(each @ each.T, np.eye(24), atol=1e-8)


def test_ends_that_are_alike_need_no_more_starts():
    white = white_sources(3, 3000, seed=1)
    assert len(unmixings(white, 0, 100)) == 4
    assert len(unmixings(white[:, :1], 0, 100)) == 4
    assert len(unmixings(white, 0, 1)) == 1
