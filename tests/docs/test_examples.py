"""The scripts of docs/examples make the pictures they promise. (The code of the pages: test_pages.py.)"""

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from partita.structure import _curving

REPOSITORY = Path(__file__).parents[2]
EXAMPLES = REPOSITORY / "docs/examples"
DATA = REPOSITORY / "../shared/data"
needs_data = pytest.mark.skipif(
    not (DATA / "ferret_vsd").exists(), reason="the recordings are not beside the repository (../shared/data)"
)


def script(name):
    specification = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module  # dataclasses look their module up
    specification.loader.exec_module(module)
    yield module
    del sys.modules[name]


@pytest.fixture(scope="module")
def cortex():
    yield from script("cortex")


@pytest.fixture(scope="module")
def spikes():
    yield from script("spikes")


@pytest.fixture(scope="module")
def cells():
    yield from script("cells")


def synthetic(cortex):
    """Two bumps that share a time course's shape, one behaviour that drives the first."""
    rng = np.random.default_rng(0)
    places = np.argwhere(np.ones((8, 9), bool))
    drive = np.cumsum(rng.normal(size=120))
    drive = (drive - drive.mean()) / drive.std()
    other = np.sin(np.arange(120) / 5)
    bumps = [np.exp(-((places - centre) ** 2).sum(1) / 6) for centre in ([2, 2], [5, 6])]
    x = np.outer(bumps[0], drive) + np.outer(bumps[1], other) + 0.05 * rng.normal(size=(72, 120))
    x = (x / x.std()).astype(np.float32)
    return cortex.Recording("synthetic", x, places, (8, 9), 1.0, {"drive": drive, "noise": rng.normal(size=120)})


def test_the_analysis_of_a_recording_that_is_known(cortex, tmp_path, monkeypatch):
    """Every picture is made, and the behaviour that drives a group is found in it and not elsewhere."""
    recording = synthetic(cortex)
    monkeypatch.setattr(cortex, "LATENTS", 4)
    monkeypatch.setattr(cortex, "DIVISIONS", (1, 2, 4))
    numbers = cortex.analyse(recording, tmp_path, steps=300)
    for name in ("groups.png", "errors.png", "behaviour.png", "groups.gif"):
        assert (tmp_path / f"synthetic_{name}").stat().st_size > 3000
    assert json.loads((tmp_path / "synthetic.json").read_text()).keys() == numbers.keys()
    drive = numbers["behaviour"]["drive"]
    assert max(row["R"] for row in drive) > 0.9
    assert min(row["p"] for row in drive) < 0.05
    assert max(row["R"] for row in numbers["behaviour"]["noise"]) < 0.4
    assert numbers["errors"]["4,2"] < 0.5
    assert numbers["errors"]["pca 4"] <= numbers["errors"]["4,2"]


def test_groups_add_up_to_the_reconstruction(cortex):
    recording = synthetic(cortex)
    model = cortex.fitted(recording.x, 4, 2, 60)
    total = sum(maps @ courses.T for maps, courses in cortex.maps_and_courses(model, recording.x))
    whole = model.inverse_transform(model.transform(recording.x))
    np.testing.assert_allclose(total, whole - whole.mean(0), atol=1e-4)


def test_multiple_correlation_is_that_of_the_best_combination(cortex):
    rng = np.random.default_rng(1)
    courses = rng.normal(size=(200, 2))
    behaviour = courses @ [1.0, -2.0] + rng.normal(size=200)
    found = cortex.multiple_correlation(courses, behaviour)
    weights = np.linalg.lstsq(courses - courses.mean(0), behaviour - behaviour.mean(), rcond=None)[0]
    assert found == pytest.approx(np.corrcoef(courses @ weights, behaviour)[0, 1])
    assert np.median(cortex.shifted_correlations(courses, behaviour)) < 0.2


@needs_data
@pytest.mark.parametrize(("name", "shape"), [("ferret", (463, 977)), ("mouse", (3230, 500))])
def test_the_recordings(cortex, name, shape):
    recording = getattr(cortex, name)(DATA)
    assert recording.x.shape == shape
    assert recording.x.std() == pytest.approx(1, abs=1e-3)
    assert np.isfinite(recording.picture(recording.x[:, 0])).sum() == len(recording.x)


def test_the_analysis_of_a_ring_that_is_known(spikes, tmp_path, monkeypatch):
    """Fifteen neurons that follow an angle as it drifts: every picture is made, and the ring is found again. They are
    tuned broadly: of narrow tuning four coordinates hold the angle twice, and nothing else to be independent of."""
    monkeypatch.setattr(_curving, "MODELS", 1)
    monkeypatch.setattr(_curving, "STEPS", 200)
    rng = np.random.default_rng(0)
    direction = np.mod(np.cumsum(rng.normal(0, 0.3, 800)), 2 * np.pi)
    preferred, region = np.linspace(0, 2 * np.pi, 15, endpoint=False), np.arange(15) // 8
    counts = rng.poisson(4 * np.exp(0.5 * (np.cos(direction[:, None] - preferred) - 1)))
    recorded = spikes.Recording(counts.astype(np.uint8), region, direction)
    numbers = spikes.analyse(recorded, tmp_path, steps=50)
    for name in ("ring", "tuning"):
        assert (tmp_path / f"spikes_{name}.png").stat().st_size > 3000
    assert json.loads((tmp_path / "spikes.json").read_text()) == numbers
    assert numbers["decoding R2, all neurons"] > 0.9
    assert numbers["decoding R2, ring"] > 0.8
    assert recorded.counts_in_windows(3)[1:-1].sum(1) == pytest.approx(
        np.lib.stride_tricks.sliding_window_view(counts, 3, 0).sum((1, 2))
    )


def test_a_rings_angle_is_that_of_the_head_turned_and_mirrored_as_a_whole(spikes):
    direction = np.random.default_rng(0).uniform(0, 2 * np.pi, 500)
    ring = np.c_[3 * np.cos(1 - direction), np.sin(1 - direction)] + 7
    assert spikes.apart(spikes.angle_of(ring, direction), direction).max() < 12
    rates = np.c_[np.cos(direction) + 1, np.ones(500)]
    curves = spikes.tuning(rates, direction, 12)
    assert curves[:, 0].argmax() in (0, 11)
    np.testing.assert_allclose(curves[:, 1], 1)
    assert spikes.decoded(ring, direction) > 0.97
    assert spikes.decoded(np.random.default_rng(1).normal(size=(500, 2)), direction) < 0.1


def test_the_analysis_of_cells_that_are_known(cells, tmp_path):
    """Two donors whose cells differ by two programs of genes: each is found in the genes of a group."""
    rng = np.random.default_rng(0)
    programs = np.zeros((8, 40))
    programs[0, :6], programs[1, 6:12] = 1.0, 1.0
    active = rng.normal(size=(400, 8))
    donor = np.array(["a", "b"])[rng.integers(0, 2, 400)]
    depth = rng.uniform(5, 20, (400, 1)) * np.where(donor == "a", 1.0, 1.3)[:, None]
    counts = rng.poisson(depth * np.exp(active @ programs) / 4)
    data = cells.Cells(counts, np.array([f"g{k}" for k in range(40)]), donor)
    numbers = cells.analyse(data, tmp_path, steps=120)
    for name in ("groups", "genes"):
        assert (tmp_path / f"cells_{name}.png").stat().st_size > 3000
    assert json.loads((tmp_path / "cells.json").read_text()) == numbers
    assert set(numbers["held-out bound, nats a cell"]) == {"PDisVAE", "VAE", "VAE, not told the donor"}
    assert len(numbers["leakage by group"]) == 4
    assert max(numbers["leakage by group"]) < 0.3
    best = [{f"g{k}" for k in block} for block in (range(6), range(6, 12))]
    assert all(any(len(own & set(found)) >= 4 for found in numbers["genes"]) for own in best)


@needs_data
def test_the_other_files(cells, spikes):
    recorded = spikes.recording(DATA / "head_direction/head_direction.npz")
    assert recorded.counts.shape == (5293, 15)
    assert recorded.smoothed().std(0) == pytest.approx(1)
    data = cells.cells(DATA / "covid_cells/covid_cells_1000genes.npz")
    assert data.counts.shape == (10706, 1000)
    train, test = data.parts()
    assert (len(train.counts), len(test.counts)) == (8565, 2141)
