import numpy as np
import pytest
import torch

from partita.data import load
from partita.estimator import Disentangler
from partita.recipes import Replica, build, judges
from partita.recipes.judges import late_loss, lowest_loss, median_loss
from partita.structure import align
from partita.training import Checkpoints, Interrupted
from partita.training.program import replica_seeds, train_models

CPU = torch.device("cpu")
HOUSE = {"latents": 6, "shape": (20,), "network": "linear", "likelihood": "gaussian:0.25", "learning_rate": 3e-3}


def test_the_first_restart_is_the_run_itself():
    seeds = replica_seeds(7, 4)
    assert seeds[0] == 7
    assert len(set(seeds)) == 4


@pytest.mark.parametrize("seed", [pytest.param(0, marks=pytest.mark.slow), 1])
def test_linear_models_find_the_groups_within_a_thousand_steps(seed):
    dataset = load("groups", seed=seed)
    model = Disentangler(groups=(2, 2, 2), network="linear", steps=1000, seed=seed, device="cpu").fit(dataset.x)
    found = align(model.transform(dataset.x), dataset.truth, model.groups_, dataset.truth_groups)
    assert found.r2 >= 0.95


@pytest.mark.gpu
def test_they_find_them_on_a_gpu_too():
    dataset = load("groups", seed=0)
    model = Disentangler(groups=(2, 2, 2), network="linear", steps=1000, device="cuda").fit(dataset.x)
    assert align(model.transform(dataset.x), dataset.truth, model.groups_, dataset.truth_groups).r2 >= 0.95


@pytest.mark.slow
def test_the_defaults_of_the_estimator_find_the_groups():
    dataset = load("groups", seed=1)
    model = Disentangler(groups=(2, 2, 2), device="cpu").fit(dataset.x)
    found = align(model.transform(dataset.x), dataset.truth, model.groups_, dataset.truth_groups)
    assert found.r2 >= 0.95


@pytest.mark.parametrize("rows", [2, 5])
def test_fewer_rows_than_latents_are_searched_too(rows):
    x = np.random.default_rng(0).standard_normal((rows, 20)).astype(np.float32)
    model = Disentangler(groups=(3, 3, 2), latents=8, network="linear", steps=20, device="cpu").fit(x)
    assert np.isfinite(model.transform(x)).all()


def test_the_first_point_logged_after_a_turn_is_a_mean_too(make):
    """25 steps, then 25 with groups; logged at 10, 20, 25 and 30: the last is of 5 steps, not of 10."""
    recipe = build("pdisvae", groups=(2, 2, 2), restarts=2, **HOUSE)
    (trained,) = train_models([recipe], [0], make, 50, log_every=10)
    assert trained.history.steps == [10, 20, 25, 30, 40, 50]
    losses = trained.history.of(0)["loss"]
    assert losses[3] > 0.8 * losses[4]


def watched_training(recipe, make):
    """What training two runs gives, and the ensembles it made: the warm start, and the one that ends."""
    made = []

    def watched(*arguments):
        made.append(make(*arguments))
        return made[-1]

    return train_models([recipe, recipe], [0, 1], watched, 40, log_every=10), made


def replica(losses, held_out=None, began=0):
    steps = np.array([10, 80, 90, 100])
    quantities = {"loss": np.asarray(losses, float)} | ({} if held_out is None else {"held_out_loss": held_out})
    return Replica(None, 0, 0, began, steps, quantities, None)


def test_restarts_are_compared_over_the_last_fifth_of_the_steps():
    logged = np.array([[0, 0, 0], [0, 5, 0], [4, 1, 2], [2, 2, np.nan]])
    assert [late_loss(replica(losses)) for losses in logged.T] == [3.0, 1.5, np.inf]


@pytest.mark.parametrize("anneal", [0, 30])
def test_of_every_start_the_one_with_the_lowest_loss_is_kept(make, anneal, monkeypatch):
    seen = []
    monkeypatch.setattr(judges, "late_loss", lambda replica: seen.append(late_loss(replica)) or seen[-1])
    recipe = build("pdisvae", groups=(2, 2, 2), restarts=3, anneal=anneal, **HOUSE)
    trained, (warm, onward) = watched_training(recipe, make)
    assert warm.seeds == onward.seeds == replica_seeds(0, 3) + replica_seeds(1, 3)
    for run, result in enumerate(trained):
        assert result.history.steps == [10, 20, 30, 40]
        losses = np.array(seen[3 * run : 3 * run + 3])  # the last fifth of 40 steps, of which every tenth is logged
        best = 3 * run + int(losses.argmin())
        assert all(torch.equal(result.model[name], value) for name, value in onward.model(best).items())
        assert result.history.of(0)["loss"][-1] == losses.min()


@pytest.mark.parametrize("anneal", [0, 40])
@pytest.mark.parametrize("stop_after", [1, 4])
def test_a_search_goes_on_after_an_interruption_to_the_last_bit(tmp_path, stop_after, anneal, make):
    recipe = build("pdisvae", groups=(2, 2, 2), restarts=2, anneal=anneal, **HOUSE)
    (straight,) = train_models([recipe], [0], make, 60, log_every=10)
    asked = iter([False] * stop_after + [True] * 100)
    kept = Checkpoints(tmp_path, ("a",))
    with pytest.raises(Interrupted):
        train_models([recipe], [0], make, 60, log_every=10, checkpoints=kept, stop=lambda: next(asked))
    (resumed,) = train_models([recipe], [0], make, 60, log_every=10, checkpoints=kept)
    assert all(torch.equal(resumed.model[name], value) for name, value in straight.model.items())
    assert resumed.history.steps == straight.history.steps


def test_single_latents_need_no_search_and_restart_all_the_same():
    program = build("pdisvae", restarts=8, **HOUSE)
    assert program.replicas == 8
    assert len(program.candidates[0].phases) == 1
    with pytest.raises(ValueError, match="restarts"):
        build("pdisvae", restarts=0, **HOUSE)


@pytest.mark.parametrize(("method", "posterior"), [("pdisvae", "full"), ("factor_vae", "diagonal")])
def test_what_cannot_go_on_with_other_groups_restarts_with_its_own(method, posterior, make):
    program = build(method, groups=(2, 2, 2), restarts=2, posterior=posterior, **HOUSE)
    assert program.replicas == 2
    assert len(program.candidates[0].phases) == 1
    (trained,) = train_models([program], [0], make, 20, log_every=10)
    plain = build(method, groups=(2, 2, 2), posterior=posterior, **HOUSE)
    alone = [train_models([plain], [seed], make, 20, log_every=10)[0] for seed in replica_seeds(0, 2)]
    late = [each.history.of(0)["loss"][-1] for each in alone]
    assert trained.history.of(0)["loss"][-1] == pytest.approx(min(late), rel=1e-4)


def test_rows_held_out_judge_instead_where_there_are_some():
    """The lowest of the last phase counts, whose weights are kept; what an earlier phase had is another loss."""
    first = replica([1, 1, 1, 1], np.array([0.0, 7.0, 3.0, np.nan]), began=10)
    second = replica([9, 9, 9, 9], np.array([9.0, 2.0, 4.0, 5.0]), began=10)
    assert lowest_loss([first, second]) == 1
    assert lowest_loss([replica([1, 1, 1, 1]), replica([2, 2, 2, 2])]) == 0


def test_the_median_is_neither_the_best_nor_the_worst():
    some = [replica([value] * 4) for value in (5.0, 1.0, np.nan, 3.0, 2.0)]
    assert median_loss(some) == 3
    assert median_loss(some[:4]) == 3
    assert median_loss(some[:1]) == 0


def test_methods_without_groups_have_replicas_too(make):
    program = build("vae", restarts=3, judge="median", **HOUSE)
    (trained,) = train_models([program], [0], make, 40, log_every=10)
    alone = [train_models([build("vae", **HOUSE)], [seed], make, 40, log_every=10)[0] for seed in replica_seeds(0, 3)]
    losses = [each.history.of(0)["loss"][-1] for each in alone]
    assert trained.history.of(0)["loss"][-1] == pytest.approx(sorted(losses)[1], rel=1e-5)
    with pytest.raises(ValueError, match="closed form"):
        build("pca", restarts=2, **HOUSE)
    with pytest.raises(ValueError, match=r"unknown judge 'medain' \(did you mean 'median'"):
        build("vae", judge="medain", **HOUSE)
