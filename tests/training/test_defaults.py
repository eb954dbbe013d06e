import numpy as np
import pytest

from partita.data import load
from partita.training.defaults import choose_latents, choose_likelihood, choose_network, noise_variance


def ring(noise: float, rows: int = 1000) -> np.ndarray:
    """Places on a circle, seen by 50 bell-shaped features: one coordinate, curved through many dimensions."""
    rng = np.random.default_rng(0)
    place, centres = rng.uniform(0, 2 * np.pi, (rows, 1)), np.linspace(0, 2 * np.pi, 50)
    return np.exp(2 * (np.cos(place - centres) - 1)) + noise * rng.standard_normal((rows, 50))


@pytest.mark.parametrize("world", [{}, {"mixing": "nonlinear"}, {"groups": (3, 2, 1)}, {"noise": 0.2}])
def test_the_noise_of_groups_is_found(world):
    dataset = load("groups", **world)
    assert noise_variance(np.asarray(dataset.x, np.float64), 6) == pytest.approx(world.get("noise", 0.5) ** 2, rel=0.05)


def test_curvature_does_not_count_as_noise():
    x = ring(0.1)
    within_a_plane = np.sort(np.linalg.eigvalsh(np.cov(x.T)))[:-2].mean()
    assert within_a_plane > 0.02
    assert noise_variance(x, 2) == pytest.approx(0.01, rel=0.1)


def test_what_too_few_latents_cannot_explain_is_noise_to_them():
    x = np.asarray(load("groups").x, np.float64)
    left = np.sort(np.linalg.eigvalsh(np.cov(x.T)))[:-2].mean()
    assert noise_variance(x, 2) == pytest.approx(left, rel=0.1)


@pytest.mark.parametrize(
    ("x", "latents"),
    [
        (ring(0.0), 6),  # no noise to speak of
        (ring(0.1, rows=90), 2),
        (ring(0.1)[:, :4], 4),
        (ring(0.1), 0),
        (ring(0.1), 2.5),
        (ring(0.1) * 1e-20, 2),
        (np.ones((500, 20)), 6),
        (np.random.default_rng(0).standard_normal((500, 3)) @ np.ones((3, 20)), 6),
    ],
)
def test_where_the_data_cannot_tell_the_variance_is_learned(x, latents):
    assert noise_variance(x, latents) is None
    assert choose_likelihood(x, 1.0, latents)[0] == "gaussian"


def test_a_recording_may_begin_with_silence():
    """Of as many silent rows as others, half of the noise is left; of the first rows alone, nothing."""
    x = np.asarray(load("groups").x)
    silent = np.concatenate([np.zeros_like(x), x])
    family, _, variance = choose_likelihood(silent, 1.0, 6)[0].partition(":")
    assert family == "gaussian"
    assert float(variance) == pytest.approx(0.125, rel=0.1)
    assert noise_variance(silent[:2000], 6) is None


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("row", [3, 400])
def test_numbers_that_are_none_are_left_to_those_who_can_name_them(value, row):
    x = ring(0.1, rows=500)
    x[row, 7] = value
    assert noise_variance(x, 2) is None


def test_images_are_not_taken_for_planes():
    images = np.random.default_rng(0).random((300, 1, 8, 8))
    assert choose_likelihood(images, 1.0, 6)[0] == "bernoulli"
    assert choose_likelihood(images * 3 - 1, 1.0, 6)[0] == "gaussian"
    assert choose_likelihood((images * 255).astype(np.uint8), 1 / 255, 6)[0] == "bernoulli"


def test_the_number_of_latents_is_that_of_the_best_bic():
    """The log-likelihood by scipy, row by row, with the covariance of probabilistic PCA at its maximum; a covariance
    W W^T + s^2 has D K - K (K - 1) / 2 + 1 numbers, the mean D."""
    from scipy.stats import multivariate_normal

    rng = np.random.default_rng(0)
    for latents in (1, 2, 4):
        x = rng.standard_normal((120, latents)) @ rng.standard_normal((latents, 7)) + 0.7 * rng.standard_normal(
            (120, 7)
        )
        values, vectors = np.linalg.eigh(np.cov(x.T, bias=True))
        values, vectors = values[::-1], vectors[:, ::-1]
        scores = []
        for k in range(1, 7):
            noise = values[k:].mean()
            covariance = vectors[:, :k] * (values[:k] - noise) @ vectors[:, :k].T + noise * np.eye(7)
            log_p = multivariate_normal(x.mean(0), covariance).logpdf(x).sum()
            scores.append(log_p - 0.5 * np.log(120) * (7 * k - k * (k - 1) / 2 + 1 + 7))
        assert choose_latents(x)[0] == np.argmax(scores) + 1


@pytest.mark.parametrize("sizes", [(1,), (2, 2), (2, 2, 2), (3, 3, 2, 2, 1, 1)])
def test_planted_latents_are_counted(sizes):
    assert choose_latents(load("groups", groups=sizes, features=25, size=1500).x)[0] == sum(sizes)


@pytest.mark.parametrize("x", [np.ones((100, 5)), np.zeros((3, 2)), np.arange(12.0).reshape(12, 1), np.eye(2)])
def test_there_is_always_one_latent_at_least(x):
    latents, why = choose_latents(x)
    assert 1 <= latents <= x.shape[1]
    assert why


def test_images_have_no_number_of_latents_to_find():
    with pytest.raises(ValueError, match=r'latents="auto" is for rows of numbers.*\(1, 8, 8\)'):
        choose_latents(np.zeros((10, 1, 8, 8)))


@pytest.mark.parametrize(
    ("shape", "network"),
    [
        ((1, 32, 32), "burgess"),
        ((3, 64, 64), "burgess"),
        ((5, 64, 64), "conv"),
        ((1, 28, 28), "conv"),
        ((5, 17, 40), "conv"),
        ((1, 256, 256), "conv"),
        ((1, 8, 8), "mlp"),
        ((1, 257, 64), "mlp"),
        ((20,), "mlp"),
    ],
)
def test_the_network_is_chosen_by_shape(shape, network):
    chosen, why = choose_network(shape)
    assert chosen == network
    assert why
