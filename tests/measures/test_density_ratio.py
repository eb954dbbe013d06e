"""The density ratio: permutations, the optimal discriminator, and one that has to learn."""

import math

import pytest
import torch

from partita.distributions import STANDARD_NORMAL, DiagonalNormal
from partita.measures.density_ratio import DensityRatio, Discrimination, permute_groups
from partita.networks import Architecture
from partita.networks.discriminator import Discriminator
from partita.trace import Batch, Trace

SINGLES = ((0,), (1,), (2,), (3,))
PAIRS = ((0, 3), (1, 2))


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def equicorrelated(n, latents=4, rho=0.5, seed=0):
    own, shared = torch.randn(n, latents, generator=generator(seed)), torch.randn(n, 1, generator=generator(seed + 1))
    return math.sqrt(1 - rho) * own + math.sqrt(rho) * shared


def gaussian_pc(groups, latents=4, rho=0.5):
    covariance = (1 - rho) * torch.eye(latents) + rho
    parts = sum(torch.logdet(covariance[list(g)][:, list(g)]) for g in groups)
    return 0.5 * (parts - torch.logdet(covariance)).item()


def trace_of(z, discriminator, groups=SINGLES, seed=7):
    noise = {"permutation": torch.randn(len(z), len(groups), generator=generator(seed))}
    q = DiagonalNormal(z, torch.zeros_like(z))
    return Trace(Batch(z, len(z)), noise, {}, {"discriminator": discriminator}, q, z, STANDARD_NORMAL)


def test_x20_permuting_keeps_every_group_whole_and_every_column_its_values():
    z, noise = torch.randn(50, 4, generator=generator()), torch.randn(50, 2, generator=generator(1))
    permuted = permute_groups(z, noise, PAIRS)
    assert torch.equal(permuted.sort(0).values, z.sort(0).values)
    for g, group in enumerate(PAIRS):
        assert torch.equal(permuted[:, list(group)], z[noise[:, g].argsort()][:, list(group)])
    assert not torch.equal(permuted[:, [0]], permuted[:, [1]])


def test_x20_one_group_is_a_permutation_of_the_rows():
    z = torch.randn(20, 3, generator=generator())
    permuted = permute_groups(z, torch.randn(20, 1, generator=generator(1)), ((0, 1, 2),))
    assert {tuple(row) for row in permuted.tolist()} == {tuple(row) for row in z.tolist()}


def test_permutations_are_uniform():
    """All six orders of three rows are equally likely."""
    noise = torch.randn(6000, 3, 1, generator=generator())
    rows = torch.arange(3.0).unsqueeze(-1)
    orders = torch.vmap(lambda e: permute_groups(rows, e, ((0,),)))(noise).squeeze(-1) @ torch.tensor([9.0, 3.0, 1.0])
    counts = orders.unique(return_counts=True)[1]
    assert len(counts) == 6
    assert ((counts - 1000).abs() < 5 * math.sqrt(1000)).all()


@pytest.mark.parametrize(("groups", "quantity"), [(SINGLES, "tc"), (PAIRS, "pc")])
def test_x19_the_optimal_discriminator_gives_the_correlation(groups, quantity):
    """log D / (1 - D) = log q(z) - sum_g log q(z_g); its mean over q is TC, or PC for groups."""
    covariance = 0.5 * torch.eye(4) + 0.5
    joint = torch.distributions.MultivariateNormal(torch.zeros(4), covariance)
    marginals = [
        (list(g), torch.distributions.MultivariateNormal(torch.zeros(len(g)), covariance[list(g)][:, list(g)]))
        for g in groups
    ]

    def optimal(z):
        return joint.log_prob(z) - sum(density.log_prob(z[:, g]) for g, density in marginals)

    z = equicorrelated(40000)
    found = DensityRatio(groups)(trace_of(z, optimal, groups))
    spread = optimal(z).std().item() / math.sqrt(len(z))
    assert list(found) == [quantity]
    assert found[quantity].item() == pytest.approx(gaussian_pc(groups), abs=5 * spread)


def test_the_cross_entropy_is_that_of_the_two_halves():
    z = torch.randn(11, 4, generator=generator())  # an odd row is left out
    house = Architecture((3,), 4)
    torch.manual_seed(0)
    network = Discriminator(house, width=8, depth=2)
    trace = trace_of(z, network)
    found = Discrimination(SINGLES)(trace)["cross_entropy"]
    permuted = permute_groups(z[5:10], trace.noise["permutation"][5:10], SINGLES)
    logits = torch.cat([network.body(z[:5]), network.body(permuted)])
    labels = torch.tensor([0] * 5 + [1] * 5)
    torch.testing.assert_close(found, torch.nn.functional.cross_entropy(logits, labels))
    blind = Discrimination(SINGLES)(trace_of(z, lambda rows: torch.zeros(len(rows))))["cross_entropy"]
    assert blind.item() == pytest.approx(math.log(2))


def test_one_row_is_refused():
    with pytest.raises(ValueError, match="at least 2 rows"):
        Discrimination(SINGLES)(trace_of(torch.zeros(1, 4), lambda z: z.sum(-1)))


def test_the_discriminator_has_the_published_shape():
    network = Discriminator(Architecture((3,), 10))
    hidden = (10 * 1000 + 1000) + 5 * (1000 * 1000 + 1000)
    assert sum(p.numel() for p in network.parameters()) == hidden + 1000 * 2 + 2
    assert network(torch.zeros(7, 10)).shape == (7,)


@pytest.mark.parametrize("groups", [SINGLES, PAIRS])
def test_a_trained_discriminator_finds_total_and_partial_correlation(groups):
    """An equicorrelated Gaussian with correlation 0.5: TC 0.582, PC of pairs 0.294. Piecewise linear functions fall
    short of a quadratic log ratio in the tails: the estimate ends a few percent low."""
    torch.manual_seed(0)
    network = Discriminator(Architecture((3,), 4), width=64, depth=2)
    optimiser = torch.optim.Adam(network.parameters(), 2e-3, (0.5, 0.9))
    for step in range(1000):
        for settings in optimiser.param_groups:
            settings["lr"] = 2e-3 if step < 600 else 2e-4
        trace = trace_of(equicorrelated(2048, seed=10 + 2 * step), network, groups, seed=step)
        loss = Discrimination(groups)(trace)["cross_entropy"]
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    with torch.no_grad():
        found = DensityRatio(groups)(trace_of(equicorrelated(20000, seed=5), network, groups))
    assert loss.item() < math.log(2)
    assert next(iter(found.values())).item() == pytest.approx(gaussian_pc(groups), rel=0.1)
