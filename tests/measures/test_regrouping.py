import numpy as np
import pytest
import torch

from partita.measures._regrouping import _count, _partitions, regroup
from partita.measures.correlation import correlation


def entangled(groups, latents, rows=300, seed=0):
    """Codes whose dependence lies inside the given groups: each group's latents share one factor's sign and size."""
    rng = np.random.default_rng(seed)
    mean = np.empty((rows, latents))
    for group in groups:
        common = rng.normal(size=(rows, 1))
        mean[:, list(group)] = np.abs(common) * np.sign(rng.normal(size=(rows, len(group)))) + 0.1 * rng.normal(
            size=(rows, len(group))
        )
    log_variance = np.full_like(mean, np.log(0.04))
    z = mean + 0.2 * rng.normal(size=mean.shape)
    return tuple(torch.as_tensor(part) for part in (z, mean, log_variance))


@pytest.mark.parametrize(
    ("sizes", "count"), [((2, 2, 2), 15), ((2, 2), 3), ((3, 2, 1), 60), ((1, 1, 1), 1), ((4, 4), 35), ((6,), 1)]
)
def test_every_partition_is_listed_once(sizes, count):
    """X31: K! / (G! (H!)^G) for equal sizes."""
    found = list(_partitions(tuple(range(sum(sizes))), sizes))
    assert len(found) == len({frozenset(partition) for partition in found}) == count == _count(sizes)


def test_it_is_the_partition_of_smallest_pc():
    parts = entangled(((0, 4), (1, 3), (2, 5)), 6)
    found = regroup(*parts, (2, 2, 2))
    by_pc = {p: correlation(*parts, groups=p).pc for p in _partitions(tuple(range(6)), (2, 2, 2))}
    assert by_pc[found] == pytest.approx(min(by_pc.values()), abs=1e-9)
    assert {frozenset(group) for group in found} == {frozenset(g) for g in ((0, 4), (1, 3), (2, 5))}


def test_unequal_groups_are_found_in_the_order_of_their_sizes():
    found = regroup(*entangled(((1, 3, 5), (0, 4), (2,)), 6), (3, 2, 1))
    assert found == ((1, 3, 5), (0, 4), (2,))


def test_many_latents_are_grouped_by_exchange(monkeypatch):
    """K = 16 has two million partitions into pairs; exchanging latents finds the planted one."""
    rng = np.random.default_rng(1)
    order = rng.permutation(16)
    planted = [tuple(sorted(order[i : i + 2].tolist())) for i in range(0, 16, 2)]
    monkeypatch.setattr("partita.measures._regrouping.STARTS", 3)
    found = regroup(*entangled(planted, 16, rows=150), (2,) * 8)
    assert sorted(found) == sorted(planted)
