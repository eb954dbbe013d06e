import os

import pytest

from partita.studies import Store
from partita.studies._status import status_of


def test_a_study_at_rest(small_study):
    found = status_of(small_study)
    assert (found.runs, found.finished, found.diverged, found.under_way, found.waiting) == (3, 3, 0, 0, 0)
    assert found.workers == found.dead == ()
    assert found.lines(small_study.folder)[0].endswith(
        "3 runs: 3 finished, 0 diverged, 0 under way, 0 waiting; 0 measured"
    )


def test_who_trains_what_and_who_died(small_study, small_runs):
    first, second, third = small_runs
    for run in (first, second, third):
        (small_study.folder_of(run) / "result.json").unlink()
    small_study.leases().claim([first.id])
    dead = small_study.leases().claim([second.id])
    os.utime(dead.paths[0], (1, 1))
    found = status_of(small_study)
    assert (found.finished, found.under_way, found.waiting) == (0, 1, 2)
    (worker,) = found.workers
    assert (worker.method, worker.models, worker.step, worker.steps) == ("vae", 1, 4, 4)
    assert f"process {os.getpid()}: vae, 1 models, step 4 of 4, heard of" in str(worker)
    assert len(found.dead) == 1
    assert "dead: " in "\n".join(found.lines(small_study.folder))


def test_no_study(tmp_path):
    with pytest.raises(ValueError, match="holds no runs"):
        status_of(Store(tmp_path))
