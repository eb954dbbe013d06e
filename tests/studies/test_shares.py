import pytest

from partita.data import load
from partita.studies import plan
from partita.studies._shares import dealt, splits_rows
from partita.studies.plan import ensembles


@pytest.fixture(scope="module")
def runs():
    data = load("groups", size=100)
    return plan(["vae"], data, seeds=range(7), steps=10) + plan(["pdisvae"], data, seeds=range(2), steps=40)


@pytest.mark.parametrize(("split", "count", "rows"), [("auto", 3, True), ("auto", 4, False), ("rows", 9, True)])
def test_rows_are_split_where_runs_are_too_few(split, count, rows):
    assert splits_rows(split, count, 4) is rows
    assert not splits_rows("runs", count, 4)
    assert not splits_rows(split, count, 1)


def test_an_unknown_split_is_refused():
    with pytest.raises(ValueError, match="unknown split 'models': choose from auto, runs, rows"):
        splits_rows("models", 1, 2)


@pytest.mark.parametrize("shares", [1, 2, 3, 20])
def test_every_run_is_dealt_once_and_nobody_waits_long(runs, shares):
    hands = dealt(ensembles(runs, lambda run: 64, shares), shares)
    assert len(hands) == shares
    assert sorted(member for hand in hands for members in hand for member in members) == sorted(r.id for r in runs)
    steps = {run.id: run.steps for run in runs}
    work = [sum(steps[member] for members in hand for member in members) for hand in hands]
    longest = max(40, -(-7 // shares) * 10)  # one ensemble more than the others at most
    assert max(work) - min(work) <= longest


def test_one_share_keeps_the_order_and_the_ensembles(runs):
    (hand,) = dealt(ensembles(runs, lambda run: 4), 1)
    assert hand == [[r.id for r in runs[:4]], [r.id for r in runs[4:7]], [r.id for r in runs[7:]]]
