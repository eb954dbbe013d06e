"""Several processes, and several drivers, in one study."""

import os
import threading
import time

import pytest
import torch

from partita.studies import Store, plan, train
from partita.studies._train_here import Manner, train_here
from partita.training import Interrupted

CPU = torch.device("cpu")


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "study")


def ended(store, runs):
    return [store.has_ended(run.id) for run in runs]


def test_what_another_has_is_waited_for_and_taken_over_when_it_dies(store, small_runs, small_data):
    """It is not trained while its lease lives, and is once that is old."""
    claim = store.leases(seconds=60.0).claim([small_runs[0].id])
    thread = threading.Thread(target=train, args=(small_runs, small_data, store), kwargs={"device": CPU}, daemon=True)
    thread.start()
    deadline = time.monotonic() + 60
    while not all(ended(store, small_runs[1:])) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert ended(store, small_runs) == [False, True, True]
    assert thread.is_alive()
    os.utime(claim.paths[0], (1, 1))
    thread.join(timeout=60)
    assert all(ended(store, small_runs))


def test_who_does_not_wait_says_what_others_have(store, small_runs, small_data):
    claim = store.leases().claim([small_runs[0].id])
    left = train_here(small_runs, small_data, store, CPU, lambda: False, store.leases(job="mine"), Manner(), wait=False)
    assert left == [small_runs[0].id]
    assert ended(store, small_runs) == [False, True, True]
    claim.release()
    assert not store.leases().all()


def test_waiting_can_be_interrupted(store, small_runs, small_data):
    store.leases().claim([run.id for run in small_runs])
    with pytest.raises(Interrupted, match="while other processes train the rest"):
        train_here(small_runs, small_data, store, CPU, lambda: True, store.leases(job="mine"), Manner())


def test_to_start_again_what_another_trains_is_refused(store, small_runs, small_data):
    train(small_runs, small_data, store, device=CPU)
    store.leases().claim([small_runs[1].id])
    with pytest.raises(OSError, match=r"another process is training in .*process \d+"):
        train(small_runs, small_data, store, device=CPU, resume=False)
    assert all(ended(store, small_runs))


def test_a_lease_lost_on_the_way_leaves_no_files(store, small_data):
    """Whoever took over files the run; this process goes on with what is left to it."""
    runs = plan(["vae"], small_data, latents=3, steps=40, batch_size=32)
    leases = store.leases(seconds=60.0)

    def lose(*seen):
        for path in leases.folder.iterdir():
            path.unlink(missing_ok=True)

    asked = iter(range(10**6))
    with pytest.raises(Interrupted):
        train_here(
            runs, small_data, store, CPU, lambda: next(asked) > 5, leases, Manner(watch=lose, checkpoint_seconds=1e9)
        )
    assert not any(ended(store, runs))


def test_models_at_once(store, small_runs, small_data):
    """So many train together; the weights are those of one ensemble, to rounding."""
    seen = []
    train(
        small_runs, small_data, store, device=CPU, models_at_once=2,
        watch=lambda runs, history, step, steps: seen.append(len(runs)),
    )  # fmt: skip
    assert set(seen) == {1, 2}
    assert all(ended(store, small_runs))
