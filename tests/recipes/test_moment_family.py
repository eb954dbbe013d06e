"""DIP-VAE: which weights it takes, and what it cannot do."""

import numpy as np
import pytest
import torch

from partita.data import load
from partita.measures._neighbours import multi_information
from partita.recipes import RECIPES


@pytest.mark.parametrize(("method", "factor"), [("dip_vae_i", 10.0), ("dip_vae_ii", 1.0)])
def test_the_diagonal_weight_follows_the_other(first_loss, method, factor):
    loss, q, _ = first_loss(method, lambda_od=3.0)
    expected = q["recon"] + q["kl"] + 3.0 * q["off_diagonal"] + 3.0 * factor * q["diagonal"]
    assert loss == pytest.approx(expected, rel=1e-12)
    loss, q, _ = first_loss(method, lambda_od=3.0, lambda_d=0.5)
    assert loss == pytest.approx(q["recon"] + q["kl"] + 3.0 * q["off_diagonal"] + 0.5 * q["diagonal"], rel=1e-12)


@pytest.mark.parametrize("method", ["dip_vae_i", "dip_vae_ii"])
def test_without_weights_it_is_the_vae(first_loss, method):
    one, other = first_loss(method, lambda_od=0.0, lambda_d=0.0), first_loss("vae")
    assert one[0] == pytest.approx(other[0], rel=1e-12)
    for name, gradient in one[2].items():
        torch.testing.assert_close(gradient, other[2][name])


@pytest.mark.parametrize("method", ["dip_vae_i", "dip_vae_ii"])
@pytest.mark.parametrize("name", ["lambda_od", "lambda_d"])
def test_negative_weights_are_refused(method, name):
    with pytest.raises(ValueError, match=f"{name} must be a finite number of at least 0"):
        RECIPES[method](**{name: -1.0}, shape=(4,))


def gaussian_tc(codes):
    return -0.5 * np.linalg.slogdet(np.corrcoef(codes.T))[1]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["dip_vae_i", "dip_vae_ii"])
def test_latents_become_uncorrelated_and_stay_dependent(trained, method):
    """On groups of dependent pairs: the covariance is the identity, Gaussian TC nearly 0, real dependence is not."""
    x = np.asarray(load("groups").x, np.float32)
    house = {"latents": 6, "likelihood": "gaussian:0.25"}
    (model,), _ = trained(method, x, 1500, **house)
    (vae,), _ = trained("vae", x, 1500, **house)
    mean, log_variance = model.posterior(x)
    covariance = np.cov(mean.T)
    if method == "dip_vae_ii":
        covariance = covariance + np.diag(np.exp(log_variance).mean(0))
    assert np.abs(covariance - np.eye(6)).max() < 0.15
    assert gaussian_tc(mean) < 0.02 < 0.05 < gaussian_tc(vae.posterior(x)[0])
    assert multi_information(mean, [(k,) for k in range(6)]) > 0.3
