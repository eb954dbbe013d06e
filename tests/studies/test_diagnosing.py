import json

import numpy as np
import pytest
import torch

from partita import data
from partita.studies import Store, plan, train
from partita.studies._diagnosing import diagnosis, in_time
from partita.studies._tables import verdicts

MADE = data.load("groups", size=600)
ROWS = np.arange(600)
CPU = torch.device("cpu")


def test_frames_and_bins_of_recordings_follow_each_other_in_time():
    described = {"name": "movie", "options": {"samples": "frames"}}
    assert in_time(data.from_array(np.zeros((4, 3, 8, 8)), description=described))
    assert in_time(data.from_array(np.zeros((4, 3)), description={"name": "units", "options": {"bin": 0.1}}))
    assert not in_time(MADE)


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    """Two runs of ICA, with the papers' groups and with each latent alone, and their models."""
    store, found = Store(tmp_path_factory.mktemp("study")), []
    for groups in ((2, 2, 2), (1,) * 6):
        (run,) = plan("ica", MADE, groups=groups)
        train([run], MADE, store, device=CPU)
        found.append((run, store.model(run, MADE.x_scale)))
    return found


def asked(solved, rows, **scores):
    run, model = solved
    mean, log_variance = model.posterior(MADE.x[rows])
    return diagnosis(run, model, MADE, rows, mean, log_variance, scores)


def test_a_verdict_is_json_and_said_in_words(solved):
    found = asked(solved[0], ROWS)
    assert json.loads(json.dumps(found)) == found
    assert found["verdict"] == "groups hold"
    (line,) = verdicts([{"seed": 3, "diagnosis": found}, {"seed": 4}])
    assert line.startswith("  seed 3: groups hold: ")


def test_the_order_of_rows_changes_nothing(solved):
    order = np.random.default_rng(0).permutation(600)
    found = [asked(solved[0], rows) for rows in (ROWS, order)]
    assert found[0]["verdict"] == found[1]["verdict"]
    assert found[0]["numbers"] == pytest.approx(found[1]["numbers"], abs=1e-9)


def test_a_bound_far_below_a_linear_model_is_not_to_be_trusted(solved):
    assert asked(solved[0], ROWS, elbo=-1000.0)["verdict"] == "not to be trusted"


def test_latents_each_by_itself_are_not_asked(solved):
    assert asked(solved[1], ROWS) is None
