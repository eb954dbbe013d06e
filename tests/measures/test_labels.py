"""The quantities of methods with labels, each against a formula written out here."""

import numpy as np
import pytest
import torch
from torch.distributions import Normal, kl_divergence

from partita.distributions import DiagonalNormal
from partita.distributions.conditional import ConditionalNormal, LogitNormal
from partita.measures import labels
from partita.trace import Batch, Trace, WakeWithLabels


@pytest.fixture
def made():
    """A batch of 6 rows, 3 of them labelled, 4 latents and 2 labels; networks that return fixed tensors."""
    generator = torch.Generator().manual_seed(1)

    def draw(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    q, prior = DiagonalNormal(draw(6, 4), draw(6, 4)), DiagonalNormal(draw(6, 4), draw(6, 4))
    predicted = LogitNormal(draw(6, 2), draw(6, 2))
    u = torch.rand(6, 2, generator=generator, dtype=torch.float64)
    weight = draw(4, 2)
    networks = {"label_decoder": lambda z: z @ weight, "predictor": lambda x: predicted, "prior": lambda u: prior}
    noise = {"z": draw(6, 4), "prior": draw(6, 4), "u": draw(6, 2)}
    labelled = torch.tensor([1.0, 0, 1, 0, 0, 1], dtype=torch.float64)
    batch = Batch(draw(6, 3), 100, u, labelled)
    knobs = {"u_decoder_var": torch.tensor(0.3, dtype=torch.float64)}
    return Trace(batch, noise, knobs, networks, q, q.sample(noise["z"]), ConditionalNormal(prior), {"u": u})


def normal(density):
    return Normal(density.mean, torch.exp(0.5 * density.log_variance))


def test_conditional_kl(made):
    expected = kl_divergence(normal(made.q), normal(made.prior.density)).sum(1).mean()
    assert labels.conditional_kl(made)["conditional_kl"].item() == pytest.approx(expected.item())


def test_prior_kl_and_its_shares(made):
    found = {name: value.item() for name, value in labels.prior_kl(made).items()}
    each = kl_divergence(normal(made.prior.density), Normal(0.0, 1.0)).mean(0)
    assert [found[f"prior_kl_{k}"] for k in range(4)] == pytest.approx(each.tolist())
    assert found["prior_kl"] == pytest.approx(each.sum().item())


def test_label_reconstruction(made):
    density = made.prior.density
    z = density.mean + torch.exp(0.5 * density.log_variance) * made.noise["prior"]
    mean = made.networks["label_decoder"](z)
    expected = -Normal(mean, 0.3**0.5).log_prob(made.batch.u).sum(1).mean()
    assert labels.label_reconstruction(made)["label_recon"].item() == pytest.approx(expected.item())


def test_supervision_is_cross_entropy_of_the_first_means(made):
    p = torch.sigmoid(made.q.mean[:, :2])
    each = -(made.batch.u * p.log() + (1 - made.batch.u) * (1 - p).log()).sum(1)
    expected = (each * made.batch.labelled).sum() / 6  # rows without labels count as 0, M stays the batch
    assert labels.supervised(made)["supervised"].item() == pytest.approx(expected.item())


def test_predictor_and_entropy_share_the_rows(made):
    predicted = made.networks["predictor"](made.batch.x)
    shown, hidden = made.batch.labelled, 1 - made.batch.labelled
    nll = -(shown * predicted.log_prob(made.batch.u)).sum() / 6
    entropy = (hidden * predicted.entropy(made.noise["u"])).sum() / 6
    assert labels.predictor_nll(made)["predictor_nll"].item() == pytest.approx(nll.item())
    assert labels.label_entropy(made)["label_entropy"].item() == pytest.approx(entropy.item())


def test_imputed_rows_take_drawn_labels(made):
    def encoder(x, u):
        return DiagonalNormal(u.repeat(1, 2), torch.zeros(6, 4, dtype=u.dtype))

    networks = {**made.networks, "encoder": encoder}
    trace = WakeWithLabels(2, imputed=True)(networks, made.batch, made.noise, {})
    shown = made.batch.labelled.bool()
    drawn = made.networks["predictor"](made.batch.x).sample(made.noise["u"])
    assert torch.equal(trace.drawn["u"][shown], made.batch.u[shown])
    torch.testing.assert_close(trace.drawn["u"][~shown], drawn[~shown])
    assert torch.equal(trace.q.mean[:, :2], trace.drawn["u"])
    unlabelled = WakeWithLabels(2)(networks, Batch(made.batch.x, 100), made.noise, {})
    torch.testing.assert_close(unlabelled.drawn["u"], networks["predictor"](made.batch.x).median)


def test_the_corrected_bound_is_a_bound_and_the_printed_one_need_not_be():
    """Eq. 23 in a model small enough to integrate: u in (0, 1) uniform, x | u ~ N(u, s^2), q(u|x) logit-normal.

    E log p(x|u) + H <= log p(x) for every q; with the printed sign, a narrow q (H < 0) goes above it.
    """
    s, x = 0.3, 0.6
    grid = np.linspace(1e-4, 1 - 1e-4, 20001)
    likelihood = np.exp(-0.5 * ((x - grid) / s) ** 2) / (s * np.sqrt(2 * np.pi))
    log_px = np.log(np.trapezoid(likelihood, grid))
    above = 0
    for centre in (-1.0, 0.4, 1.0):
        for log_variance in (-6.0, -2.0, 0.0):
            q = LogitNormal(torch.tensor([[centre]]).double(), torch.tensor([[log_variance]]).double())
            noise = torch.randn(100_000, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
            entropy = q.entropy(noise).mean().item()
            u = q.sample(noise)
            fit = Normal(u, s).log_prob(torch.tensor(x)).mean().item()
            assert fit + entropy <= log_px + 5e-3
            above += fit - entropy > log_px
    assert above > 0
