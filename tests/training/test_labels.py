import numpy as np
import pytest

from partita.recipes import RECIPES
from partita.training.labels import prepare_labels, required_labels


def test_evenly_spaced_values_become_midpoints():
    """d values: 1/2d, 3/2d, ...; so factors of any coding, 0..d-1 or -1..1, become the same labels."""
    classes = np.array([0, 1, 2, 3] * 5)
    expected = (classes + 0.5) / 4
    for coded in (classes, 2 * classes / 3 - 1, 100 - 7.0 * (3 - classes)):
        np.testing.assert_allclose(prepare_labels(coded, 20).u[:, 0], expected, rtol=1e-6)


def test_many_values_stay_inside():
    y = np.random.default_rng(0).normal(size=(500, 2))
    labels = prepare_labels(y, 500)
    np.testing.assert_allclose(labels.u.min(0), 0.01, rtol=1e-4)
    np.testing.assert_allclose(labels.u.max(0), 0.99, rtol=1e-6)
    np.testing.assert_allclose(labels.scale.of(y, 500), labels.u, rtol=1e-5)
    assert labels.scale.of(y * 100, 500).min() == 0


def test_missing_rows_and_masks():
    y = np.array([[0.0, 1], [np.nan, 5], [2, 3], [4, 9], [7, 7], [1, 2]])
    labels = prepare_labels(y, 6, np.array([True, True, True, True, False, True]))
    assert labels.labelled.tolist() == [True, False, True, True, False, True]
    assert (labels.u[[1, 4]] == 0.5).all()
    assert np.isfinite(labels.u).all()


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (np.zeros(20), r"label 0 is constant \(0 in every labelled row\)"),
        (np.stack([np.arange(20), np.ones(20)], 1), "label 1 is constant"),
        (np.full(20, np.nan), "no row shows its labels"),
        (np.arange(400.0).reshape(20, 20), "20 labels a row are too many for 20 labelled rows"),
        (np.arange(19.0), "labels for 19 rows, but 20 observations"),
        (["a"] * 20, "must be numbers"),
        (np.full(20, np.inf), "infinite"),
        (np.zeros((20, 2, 2)), "got shape"),
        (np.zeros((20, 0)), "got shape"),
        (None, "ivae learns from labels"),
    ],
)
def test_bad_labels_are_one_clear_line(y, words):
    with pytest.raises(ValueError, match=words) as caught:
        required_labels(RECIPES["ivae"](shape=(3,)), "ivae", y, 20)
    assert "\n" not in str(caught.value)


def test_methods_say_how_many_rows_they_need():
    y = np.where(np.arange(20) % 2, np.arange(20.0), np.nan)
    with pytest.raises(ValueError, match="10 of 20 rows have none; use ss_idvae"):
        required_labels(RECIPES["idvae"](shape=(3,)), "idvae", y, 20)
    assert required_labels(RECIPES["ss_idvae"](shape=(3,)), "ss_idvae", y, 20).labelled.sum() == 10
    assert required_labels(RECIPES["vae"](shape=(3,)), "vae", None, 20) is None


def test_new_labels_must_be_of_the_same_kind():
    scale = prepare_labels(np.arange(20.0), 20).scale
    with pytest.raises(ValueError, match="expected 1 labels in every row"):
        scale.of(np.zeros((5, 2)), 5)
    with pytest.raises(ValueError, match="NaN among them"):
        scale.of(np.full(5, np.nan), 5)
