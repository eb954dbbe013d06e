import json

import h5py
import numpy as np
import pytest

from partita.data import correlate, from_array, hold_out, label, load, mask_labels, remake, subsample

SPRITES = load("dsprites", every=(1, 1, 10, 4, 4))  # 3 x 6 x 4 x 8 x 8 = 4608 images
PLAIN = from_array(np.zeros((4, 2)))


def identifiers(data):
    return data.factors @ np.array([10**6, 10**5, 10**4, 100, 1])


def same(one, other):
    assert one.description == other.description
    for name in ("x", "factors", "labels", "labelled", "truth"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_subsample():
    part = subsample(SPRITES, size=100, seed=3)
    assert part.size == 100
    assert (np.diff(identifiers(part)) > 0).all()  # no row twice, old order
    assert not np.array_equal(identifiers(part), identifiers(subsample(SPRITES, size=100, seed=4)))
    assert part.factor_sizes == SPRITES.factor_sizes
    groups = load("groups", size=50)
    few = subsample(groups, size=7)
    rows = [int(np.flatnonzero((groups.truth == z).all(1))[0]) for z in few.truth]
    np.testing.assert_array_equal(few.x, groups.x[rows])


def test_held_out_combinations_part_the_data():
    combinations = [{"shape": 2, "scale": [0, 1]}, {"posX": [7]}]
    train, test = (hold_out(SPRITES, combinations, part=part) for part in ("train", "test"))
    shape, scale, _, x, _ = test.factors.T
    assert (((shape == 2) & (scale <= 1)) | (x == 7)).all()
    assert train.size + test.size == SPRITES.size
    assert sorted([*identifiers(train), *identifiers(test)]) == sorted(identifiers(SPRITES))
    assert test.size == 4608 / 8 + 2 * 4 * 7 * 8


@pytest.mark.parametrize("sigma", [0.1, 0.4])
def test_correlated_factors_follow_the_law(sigma):
    data = correlate(SPRITES, factors=("scale", "posX"), sigma=sigma, seed=1)
    counts = np.zeros((6, 8))
    np.add.at(counts, (data.factors[:, 1], data.factors[:, 3]), 1)
    a, b = np.arange(6)[:, None] / 5, np.arange(8) / 7
    expected = np.exp(-((a - b) ** 2) / (2 * sigma**2)) * 3 * 4 * 8  # the best cells keep all 96 rows
    assert np.abs(counts - expected).max() <= 1
    assert len(set(identifiers(data))) == data.size
    # The other factors stay uniform.
    shares = np.bincount(data.factors[:, 0]) / data.size
    np.testing.assert_allclose(shares, 1 / 3, atol=0.06)


def test_correlation_of_an_uneven_start():
    """The law is that of the result, however often a cell occurs at the start."""
    rng = np.random.default_rng(0)
    factors = np.stack([rng.choice(3, 30_000, p=[0.6, 0.3, 0.1]), rng.choice(3, 30_000)], 1)
    data = correlate(
        from_array(np.zeros((30_000, 1)), factors=factors, factor_names=("a", "b")), factors=("a", "b"), sigma=0.5
    )
    counts = np.zeros((3, 3))
    np.add.at(counts, tuple(data.factors.T), 1)
    law = np.exp(-((np.arange(3)[:, None] - np.arange(3)) ** 2) / 4 / (2 * 0.25))
    np.testing.assert_allclose(counts / counts.sum(), law / law.sum(), atol=0.002)


def test_labels_and_masks():
    scaled = label(SPRITES, factors=("scale", "posY"))
    np.testing.assert_allclose(scaled.labels[:, 0], SPRITES.factors[:, 1] / 2.5 - 1, atol=1e-6)
    assert (scaled.labels.min(), scaled.labels.max()) == (-1, 1)
    onehot = label(SPRITES, factors="shape", form="onehot")
    np.testing.assert_array_equal(onehot.labels, np.eye(3)[SPRITES.factors[:, 0]])
    assert mask_labels(scaled, labelled=0.25).labelled.sum() == 1152
    masked = mask_labels(scaled, labelled=10, seed=5)
    assert masked.labelled.sum() == 10
    assert SPRITES.labels is None
    assert scaled.labelled is None


def test_a_chain_is_made_again_from_json():
    data = hold_out(SPRITES, {"shape": [2], "posX": [0, 1]})
    data = correlate(data, factors=("scale", "posY"), sigma=0.3, seed=2)
    data = subsample(label(data, factors="scale"), size=300, seed=1)
    data = mask_labels(data, labelled=0.1)
    same(remake(json.loads(json.dumps(data.description))), data)
    assert [step["step"] for step in data.description["steps"]] == [
        "hold_out",
        "correlate",
        "label",
        "subsample",
        "mask_labels",
    ]


def test_rows_on_disk_stay_there(tmp_path):
    path = tmp_path / "a.h5"
    x = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    with h5py.File(path, "w") as file:
        file["x"], file["factors"] = x, np.arange(50) % 5
    data = load(path, stream=True)
    part = subsample(subsample(data, size=20, seed=1), size=5, seed=2)
    assert not part.in_memory
    in_memory = subsample(subsample(load(path), size=20, seed=1), size=5, seed=2)
    np.testing.assert_array_equal(part.observations(), in_memory.observations())
    np.testing.assert_array_equal(part.observations([4, 0]), in_memory.x[[4, 0]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: subsample(PLAIN, size=5), "1 to 4 rows"),
        (lambda: subsample(PLAIN, size=2, seed=-1), "seed"),
        (lambda: hold_out(PLAIN, {"a": 1}), "no factors"),
        (lambda: hold_out(SPRITES, {"colour": 1}), "no factor 'colour'"),
        (lambda: hold_out(SPRITES, {"shape": 3}), "classes 0 to 2, got 3"),
        (lambda: hold_out(SPRITES, {"shape": [0, 1, 2]}), "leave no row for the train part"),
        (lambda: hold_out(SPRITES, [], part="test"), "leave no row for the test part"),
        (lambda: hold_out(SPRITES, {}), "names no factor"),
        (lambda: hold_out(SPRITES, {"shape": 1}, part="both"), "train or test"),
        (lambda: correlate(SPRITES, factors=("shape", "shape")), "two different"),
        (lambda: correlate(SPRITES, factors="shape"), "two different"),
        (lambda: correlate(SPRITES, factors=("shape", "scale"), sigma=0), "sigma"),
        (lambda: label(SPRITES, factors=()), "names no factor"),
        (lambda: label(SPRITES, factors="shape", form="roman"), "scaled or onehot"),
        (lambda: mask_labels(SPRITES, labelled=3), "no labels to mask"),
        (lambda: mask_labels(label(SPRITES, factors="shape"), labelled=1.5), "fraction"),
        (lambda: remake({"name": "array"}), "cannot be made again"),
        (
            lambda: remake({"name": "pdsprites", "options": {}, "steps": [{"step": "subsampel"}]}),
            "did you mean 'subsample'",
        ),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
