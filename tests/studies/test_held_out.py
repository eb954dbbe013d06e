"""Train on some combinations of factors, test on the others; the run remembers which it has seen."""

import numpy as np
import torch

from partita.data import correlate, hold_out, load
from partita.studies import Store, evaluate_run, plan, reload, train

HELD = {"size": [4], "column": list(range(9, 17))}


def test_train_on_some_combinations_and_test_on_others(tmp_path):
    sprites = load("pdsprites")
    seen, unseen = (hold_out(sprites, HELD, part=part) for part in ("train", "test"))
    runs = plan(["vae"], seen, latents=4, network="mlp", hidden=(32,), steps=300)
    store = Store(tmp_path)
    train(runs, seen, store, device=torch.device("cpu"))
    again = reload(runs[0].data)
    np.testing.assert_array_equal(again.x, seen.x)
    inside, outside = (evaluate_run(store, runs[0], part) for part in (again, unseen))
    assert inside["n"] + outside["n"] == sprites.size
    assert outside["reconstruction_mse"] > 1.5 * inside["reconstruction_mse"]  # larger squares than it has seen there


def test_correlated_factors_can_be_made_again():
    tied = correlate(load("pdsprites"), factors=["column", "size"], sigma=0.2, seed=3)
    assert np.corrcoef(tied.factors[:, [0, 2]].T)[0, 1] > 0.5
    runs = plan(["vae"], tied, latents=2, network="mlp", hidden=(8,), steps=1)
    np.testing.assert_array_equal(reload(runs[0].data).factors, tied.factors)
