"""The scripts of docs/examples make the pictures they promise. (The code of the pages: test_pages.py.)"""

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest

REPOSITORY = Path(__file__).parents[2]
EXAMPLES = REPOSITORY / "docs/examples"
DATA = REPOSITORY / "../shared/data"
needs_data = pytest.mark.skipif(
    not (DATA / "ferret_vsd").exists(), reason="the recordings are not beside the repository (../shared/data)"
)


@pytest.fixture(scope="module")
def cortex():
    specification = importlib.util.spec_from_file_location("cortex", EXAMPLES / "cortex.py")
    module = importlib.util.module_from_spec(specification)
    sys.modules["cortex"] = module  # dataclasses look their module up
    specification.loader.exec_module(module)
    yield module
    del sys.modules["cortex"]


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
