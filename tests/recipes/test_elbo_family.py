import numpy as np
import pytest

NOISE = 0.25


def gaussian_channel(rows: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    """Eight features of known covariance, and its eigenvalues, largest first: 5, 2, 0.7, then noise alone."""
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.normal(size=(8, 8)))[0]
    spread = np.array([5.0, 2.0, 0.7, *[NOISE] * 5])
    white = rng.normal(size=(rows, 8))
    white = (white - white.mean(0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(white.T, bias=True))).T
    return (white * np.sqrt(spread) @ axes.T).astype(np.float32), spread


def test_the_kl_is_what_the_channel_is_worth_at_this_price(trained):
    """Linear networks, noise s^2, eigenvalues l: a latent is used where l > beta s^2, its posterior variance is
    beta s^2 / l, and it carries log(l / (beta s^2)) / 2 nats. By setting the derivatives of the objective to 0."""
    x, spread = gaussian_channel()
    settings = {"latents": 4, "likelihood": f"gaussian:{NOISE}", "learning_rate": 1e-2}
    models, _ = trained("beta_vae", x, 1500, each=[{"beta": beta} for beta in (1.0, 4.0)], **settings)
    for model, beta in zip(models, (1.0, 4.0)):
        ratio = np.maximum(spread[:4] / (beta * NOISE), 1.0)
        assert model.bound(x)[1].mean() == pytest.approx(0.5 * np.log(ratio).sum(), abs=0.05)
        variances = np.exp(model.posterior(x)[1]).mean(0)
        # any rotation of the latents is as good to the likelihood, none to a diagonal posterior
        np.testing.assert_allclose(np.sort(variances), 1 / ratio, atol=0.03)


def test_the_code_carries_its_capacity_and_no_more(trained):
    """Without a limit it would carry 3.1 nats."""
    x, _ = gaussian_channel()
    settings = {"latents": 4, "likelihood": f"gaussian:{NOISE}", "anneal": 600, "learning_rate": 1e-2}
    models, _ = trained("annealed_vae", x, 1500, each=[{"capacity": nats} for nats in (0.5, 2.0)], **settings)
    for model, capacity in zip(models, (0.5, 2.0)):
        assert model.bound(x)[1].mean() == pytest.approx(capacity, abs=0.1)
