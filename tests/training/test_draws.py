import numpy as np
import torch

from partita.training.draws import Draws, seed_of

CPU = torch.device("cpu")


def test_a_batch_never_holds_a_point_twice_and_an_epoch_is_disjoint():
    draws = Draws([0, 1], 50, 12, 3, CPU)
    index = draws.index(0, 8)  # two epochs of four batches
    for run in range(2):
        for epoch in (index[:4, run], index[4:, run]):
            assert len(set(epoch.flatten().tolist())) == 48
    assert not torch.equal(index[:4, 0], index[4:, 0])
    assert not torch.equal(index[:, 0], index[:, 1])


def test_draws_depend_on_seed_and_step_alone():
    whole = Draws([7, 8], 30, 10, 2, CPU)
    noise, index = whole.noise(0, 120), whole.index(0, 120)
    late = Draws([8], 30, 10, 2, CPU)
    assert torch.equal(late.noise(97, 20)[:, 0], noise[97:117, 1])
    assert torch.equal(late.index(97, 20)[:, 0], index[97:117, 1])


def test_spans_may_cross_blocks():
    draws = Draws([0], 30000, 10, 2, CPU)
    pieces = torch.cat([draws.noise(step, 1) for step in range(45, 55)])
    assert torch.equal(draws.noise(45, 10), pieces)


def test_batches_are_uniform_over_the_data():
    draws = Draws([0], 20, 5, 1, CPU)
    counts = np.bincount(draws.index(0, 4000).flatten().numpy(), minlength=20)
    assert abs(counts - 1000).max() == 0  # each epoch of four batches holds every point once


def test_noise_is_standard_normal():
    noise = Draws([3], 100, 50, 20, CPU).noise(0, 50).numpy()
    assert abs(noise.mean()) < 0.02
    assert abs(noise.var() - 1) < 0.02


def test_keys_do_not_collide():
    seeds = {
        seed_of(seed, purpose, block) for seed in range(50) for purpose in ("noise", "shuffle") for block in range(50)
    }
    assert len(seeds) == 50 * 2 * 50
