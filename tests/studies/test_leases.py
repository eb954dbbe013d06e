import json
import os
import subprocess
import sys
import threading
import time

import pytest

from partita.studies._leases import LeaseLost, Leases


@pytest.fixture
def leases(tmp_path):
    return Leases(tmp_path / "leases", seconds=5.0)


def made_old(leases, run, number=1, seconds=100.0):
    """The lease as if its holder, on another machine, had not been heard of for so long."""
    path = leases.folder / f"{run}.{number}"
    owner = json.loads(path.read_text())
    path.write_text(json.dumps({**owner, "machine": "elsewhere"}))
    os.utime(path, (time.time() - seconds,) * 2)


def test_a_run_is_held_by_one(leases):
    mine = leases.claim(["a", "b"])
    assert leases.claim(["b", "c"]) is None
    assert set(leases.held()) == {"a", "b"}  # nothing is left of the claim that failed
    mine.release()
    assert not leases.held()
    assert leases.claim(["b", "c"]) is not None


def test_of_many_exactly_one_gets_it(leases):
    """Also of those who take over from a dead one."""
    leases.claim(["a"])
    for number in (1, 2):
        made_old(leases, "a", number)
        gate, won = threading.Barrier(8), []

        def claim(gate=gate, won=won):
            gate.wait()
            won.append(leases.claim(["a"]))

        threads = [threading.Thread(target=claim) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(each is not None for each in won) == 1


def test_who_slept_too_long_has_lost_it(leases):
    slow = leases.claim(["a"])
    made_old(leases, "a")
    quick = leases.claim(["a"])
    with pytest.raises(LeaseLost, match="another process trains a"):
        slow.check()
    slow.release()
    quick.check()
    assert leases.held()["a"].number == 2
    quick.release()
    assert not list(leases.folder.iterdir())


def test_what_was_revoked_is_lost(leases):
    mine = Leases(leases.folder, job="job1").claim(["a"])
    other = Leases(leases.folder, job="job2").claim(["b"])
    leases.revoke("job1")
    with pytest.raises(LeaseLost):
        mine.check()
    other.check()


def test_it_is_renewed_while_work_goes_on_and_not_when_it_hangs(tmp_path):
    leases = Leases(tmp_path, seconds=0.6, hangs_after=1.5)
    hung = threading.Event()
    with leases.claim(["a"]).kept(hung.set) as mine:
        for _ in range(8):
            time.sleep(0.15)
            mine.step()
        assert leases.held()
        assert hung.wait(20)
        deadline = time.monotonic() + 20
        while leases.held() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not leases.held()


def test_of_a_process_that_died_here_nobody_waits(leases):
    program = (
        "import sys\nfrom pathlib import Path\nfrom partita.studies._leases import Leases\n"
        "assert Leases(Path(sys.argv[1]), seconds=1000.0).claim(['a'])"
    )
    subprocess.run([sys.executable, "-c", program, str(leases.folder)], check=True)
    (lease,) = leases.all().values()
    assert not lease.alive
    assert lease.age < 900
    assert leases.claim(["a"]) is not None


def test_dead_leases_of_runs_that_are_over_are_removed(leases):
    for run in ("over", "under way"):
        leases.claim([run])
        made_old(leases, run)
    leases.tidy(lambda run: run == "over")
    assert set(leases.all()) == {"under way"}


def test_a_lease_cut_short_counts_until_it_is_old(leases):
    leases.claim(["a"])
    (leases.folder / "a.1").write_text('{"host":')
    assert leases.claim(["a"]) is None
    os.utime(leases.folder / "a.1", (1, 1))
    assert leases.claim(["a"]) is not None
