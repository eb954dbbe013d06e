import json

import numpy as np

from partita import data
from partita.studies._diagnosing import diagnosis, in_time
from partita.studies._tables import verdicts

MADE = data.load("groups", size=600)
ROWS = np.arange(600)
WIDTHS = np.full((600, 6), -4.0)


def test_frames_and_bins_of_recordings_follow_each_other_in_time():
    described = {"name": "movie", "options": {"samples": "frames"}}
    assert in_time(data.from_array(np.zeros((4, 3, 8, 8)), description=described))
    assert in_time(data.from_array(np.zeros((4, 3)), description={"name": "units", "options": {"bin": 0.1}}))
    assert not in_time(MADE)


def test_a_verdict_is_json_and_said_in_words():
    found = diagnosis(MADE, ROWS, MADE.truth, WIDTHS, MADE.truth_groups, False, None, 0.01)
    assert json.loads(json.dumps(found)) == found
    assert found["verdict"] == "groups hold"
    (line,) = verdicts([{"seed": 3, "diagnosis": found}, {"seed": 4}])
    assert line.startswith("  seed 3: groups hold: ")


def test_the_order_of_rows_changes_nothing():
    order = np.random.default_rng(0).permutation(600)
    found = [
        diagnosis(MADE, rows, MADE.truth[rows], WIDTHS, MADE.truth_groups, False, None, 0.01) for rows in (ROWS, order)
    ]
    assert found[0] == found[1]


def test_latents_each_by_itself_are_not_asked():
    assert diagnosis(MADE, ROWS, MADE.truth, WIDTHS, tuple((k,) for k in range(6)), False, None, 0.01) is None
