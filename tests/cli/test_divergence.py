import numpy as np


def test_a_loss_that_is_no_longer_finite_is_told_by_the_units(partita, tmp_path):
    """Columns like those of a table of wines: the cause is their units, not the step size."""
    columns = np.random.default_rng(0).normal(size=(100, 5)) * [1, 1, 10, 100, 1e7]
    np.save(tmp_path / "wine.npy", columns)
    words = ["--data", str(tmp_path / "wine.npy"), "--likelihood", "gaussian:1.0", "--steps", "300"]
    ended = partita("train", "vae", *words, "--out", str(tmp_path / "out"))
    assert ended.returncode != 0
    assert "1 runs diverged" in ended.stderr
    assert "features have standard deviations from " in ended.stderr
    assert "standardise each of them" in ended.stderr
    assert "Traceback" not in ended.stderr
