import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from partita.distributions import DiagonalNormal, as_groups
from partita.measures import WEIGHTS, aggregate, decompose, log_weights


def posteriors(batch=7, latents=4, seed=0, dtype=torch.float64, log_sd=-1.0):
    generator = torch.Generator().manual_seed(seed)
    mean, noise, spread = torch.randn(3, batch, latents, generator=generator, dtype=torch.float64)
    q = DiagonalNormal(mean.to(dtype), (2 * log_sd + 0.5 * spread).to(dtype))
    return q, q.sample(noise.to(dtype))


def by_loops(q, z, block, by, size):
    """log sum_j w_ij prod_k N(z_ik; mean_jk, variance_jk), one term at a time."""
    mean, variance, points = q.mean.double().numpy(), q.log_variance.double().exp().numpy(), z.double().numpy()
    w = log_weights(by, len(points), size, dtype=torch.float64).exp().numpy()
    density = np.zeros(len(points))
    for i in range(len(points)):
        for j in range(len(points)):
            term = w[i, j]
            for k in block:
                distance = (points[i, k] - mean[j, k]) ** 2 / variance[j, k]
                term *= np.exp(-distance / 2) / np.sqrt(2 * np.pi * variance[j, k])
            density[i] += term
    return np.log(density)


@st.composite
def partitions(draw, latents):
    home = [draw(st.integers(0, latents - 1)) for _ in range(latents)]
    return tuple(tuple(k for k in range(latents) if home[k] == g) for g in sorted(set(home)))


cases = st.fixed_dictionaries(
    {
        "groups": st.integers(1, 5).flatmap(partitions),
        "by": st.sampled_from(sorted(WEIGHTS)),
        "batch": st.integers(2, 9),
        "extra": st.integers(0, 100),
        "seed": st.integers(0, 1000),
    }
)


def split(case, groups=None):
    latents = sum(map(len, case["groups"]))
    q, z = posteriors(case["batch"], latents, case["seed"])
    groups = case["groups"] if groups is None else groups
    return decompose(q, z, groups, by=case["by"], size=case["batch"] + case["extra"])


@pytest.mark.parametrize("by", sorted(WEIGHTS))
def test_every_estimator_is_its_sum(by):
    q, z = posteriors()
    blocks = [(0, 1, 2, 3), (0, 2), (3, 1), (2,), (0, 1, 3)]
    found = aggregate(q, z, blocks, by=by, size=50)
    wanted = np.stack([by_loops(q, z, block, by, 50) for block in blocks], 1)
    np.testing.assert_allclose(found.numpy(), wanted, atol=1e-10)


def test_single_precision_stays_close():
    q, z = posteriors(batch=64, latents=6, dtype=torch.float32, log_sd=-2.0)
    found = aggregate(q, z, [range(6), (0, 1), (2,)], by="importance", size=2000)
    exact = DiagonalNormal(q.mean.double(), q.log_variance.double())
    wanted = aggregate(exact, z.double(), [range(6), (0, 1), (2,)], by="importance", size=2000)
    assert found.dtype == torch.float32
    assert (found - wanted).abs().max() < 1e-5


def test_blocks_of_the_same_latents_are_the_same_numbers():
    q, z = posteriors(dtype=torch.float32)
    found = aggregate(q, z, [(0, 1, 2, 3), (3, 2, 1, 0), (0, 3), (3, 0), (0, 1, 2, 3)], by="mss", size=20)
    assert torch.equal(found[:, 0], found[:, 1])
    assert torch.equal(found[:, 0], found[:, 4])
    assert torch.equal(found[:, 2], found[:, 3])


def test_far_away_points_neither_overflow_nor_vanish():
    mean = torch.tensor([[0.0, 0.0], [500.0, -500.0], [1e4, 1e4]])
    q = DiagonalNormal(mean, torch.full_like(mean, -8.0))
    z = q.mean + 0.01
    found = aggregate(q, z, [(0, 1), (0,)], by="naive", size=3)
    assert torch.isfinite(found).all()
    alone = q.log_prob_blocks(z, [(0, 1), (0,)]) - np.log(3)
    torch.testing.assert_close(found, alone)


def test_gradients_are_those_of_finite_differences():
    q, z = posteriors(batch=4, latents=3)

    def pc(mean, log_variance, points):
        logs = aggregate(DiagonalNormal(mean, log_variance), points, [(0, 1, 2), (0, 1), (2,)], by="importance", size=9)
        return (logs[:, 0] - logs[:, 1:].sum(1)).mean()

    inputs = [t.clone().requires_grad_() for t in (q.mean, q.log_variance, z)]
    assert torch.autograd.gradcheck(pc, inputs)


def test_an_ensemble_under_vmap_and_compile_equals_its_members():
    def loss(mean, log_variance, z):
        return decompose(DiagonalNormal(mean, log_variance), z, (2, 2), by="importance", size=40)["pc"]

    members = [posteriors(batch=6, seed=seed) for seed in range(3)]
    stacked = [torch.stack(parts) for parts in zip(*((q.mean, q.log_variance, z) for q, z in members))]
    together = torch.func.vmap(torch.func.grad_and_value(loss, argnums=(0, 1, 2)))
    compiled = torch.compile(together, fullgraph=True, backend="aot_eager")
    for run in (together, compiled):
        gradients, values = run(*stacked)
        for e, (q, z) in enumerate(members):
            alone_gradients, alone = torch.func.grad_and_value(loss, argnums=(0, 1, 2))(q.mean, q.log_variance, z)
            torch.testing.assert_close(values[e], alone, rtol=1e-12, atol=1e-12)
            torch.testing.assert_close([g[e] for g in gradients], list(alone_gradients), rtol=1e-10, atol=1e-12)


@given(case=cases)
@settings(deadline=None, max_examples=40)
def test_one_group_has_no_partial_correlation(case):  # X1
    latents = sum(map(len, case["groups"]))
    assert split(case, (latents,))["pc"].item() == 0.0


@given(case=cases)
@settings(deadline=None, max_examples=40)
def test_single_latents_as_groups_give_the_total_correlation(case):  # X2
    parts = split(case, (1,) * sum(map(len, case["groups"])))
    assert parts["pc"].item() == parts["tc"].item()
    assert parts["within_tc"].item() == 0.0


@given(case=cases)
@settings(deadline=None, max_examples=40)
def test_between_and_within_add_up(case):  # X3
    parts = split(case)
    assert (parts["pc"] + parts["within_tc"]).item() == pytest.approx(parts["tc"].item(), abs=1e-11)
    assert parts["within"].sum().item() == pytest.approx(parts["within_tc"].item(), abs=1e-11)


@given(case=cases)
@settings(deadline=None, max_examples=40)
def test_partial_correlation_is_redundancy(case):  # X4
    parts = split(case)
    assert (parts["group_mi"].sum() - parts["mi"]).item() == pytest.approx(parts["pc"].item(), abs=1e-11)


@given(case=cases)
@settings(deadline=None, max_examples=40)
def test_the_parts_add_up_to_the_sampled_divergence(case):  # X5
    q, z = posteriors(case["batch"], sum(map(len, case["groups"])), case["seed"])
    normal = torch.distributions.Normal(0, 1)
    sampled = (torch.distributions.Normal(q.mean, (q.log_variance / 2).exp()).log_prob(z) - normal.log_prob(z)).sum(1)
    parts = split(case)
    total = parts["mi"] + parts["pc"] + parts["within_tc"] + parts["dim_kl"]
    assert total.item() == pytest.approx(sampled.mean().item(), abs=1e-11)
    grouped = parts["mi"] + parts["pc"] + parts["group_kl"].sum()
    assert grouped.item() == pytest.approx(sampled.mean().item(), abs=1e-11)


def penalty(parts, w_mi, w_pc, w_within, w_dim):
    return (w_mi * parts["mi"] + w_pc * parts["pc"] + w_within * parts["within_tc"] + w_dim * parts["dim_kl"]).item()


@given(case=cases, beta=st.floats(0, 10))
@settings(deadline=None, max_examples=40)
def test_methods_coincide_where_their_weights_do(case, beta):  # X6 to X9, on one batch
    latents = sum(map(len, case["groups"]))
    parts, singles, whole = split(case), split(case, (1,) * latents), split(case, (latents,))
    vae = penalty(parts, 1, 1, 1, 1)
    beta_tcvae = penalty(singles, 1, beta, beta, 1)
    close = pytest.approx
    assert penalty(singles, 1, beta, 0, 1) == close(beta_tcvae, abs=1e-9)
    assert penalty(whole, 1, beta, 0, 1) == close((whole["mi"] + whole["dim_kl"]).item(), abs=1e-9)
    assert penalty(whole, 1, beta, 0, 1) == close(vae - whole["tc"].item(), abs=1e-9)
    assert penalty(parts, 1, beta, beta, 1) == close(beta_tcvae, abs=1e-9)
    assert penalty(parts, 1, 1 + beta, 1, 1) == close(vae + beta * parts["pc"].item(), abs=1e-9)
    assert penalty(singles, 1, 1, 1, 1) == close(vae, abs=1e-9)


@given(case=cases)
@settings(deadline=None, max_examples=25)
def test_mws_is_naive_plus_constants_and_a_full_batch_is_all_one(case):
    latents = sum(map(len, case["groups"]))
    size = case["batch"] + case["extra"]
    naive, mws = split(case | {"by": "naive"}), split(case | {"by": "mws"})
    groups = len(as_groups(case["groups"], latents))
    assert mws["tc"].item() == pytest.approx(naive["tc"].item() + (latents - 1) * np.log(size), abs=1e-9)
    assert mws["pc"].item() == pytest.approx(naive["pc"].item() + (groups - 1) * np.log(size), abs=1e-9)
    full = {by: split(case | {"by": by, "extra": 0}) for by in ("importance", "mss", "naive")}
    for by in ("importance", "mss"):  # X11
        assert full[by]["tc"].item() == pytest.approx(full["naive"]["tc"].item(), abs=1e-11)
