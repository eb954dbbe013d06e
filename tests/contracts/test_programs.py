"""What every program must do, whatever it is: plain runs, restarts, groups to be found, closed forms, rows held out."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from partita.recipes import RECIPES, Candidate, Phase, Program, build
from partita.recipes.judges import lowest_loss
from partita.studies import Store, plan, train
from partita.studies.run import Run
from partita.training import Checkpoints, Ensemble, Interrupted, Model
from partita.training.program import train_models

CPU = torch.device("cpu")
HOUSE = {"latents": 4, "shape": (8,), "network": "linear", "likelihood": "gaussian:0.1", "learning_rate": 1e-2}
STEPS, EVERY = 40, 5


def two_kinds() -> Program:
    """A linear model and one that bends, judged by rows that neither was trained on."""
    linear = build("beta_vae", **HOUSE).candidates[0]
    bent = Candidate((Phase(RECIPES["beta_vae"](**HOUSE | {"network": "mlp", "hidden": (8,)})),), replicas=2)
    return Program((linear, bent), lowest_loss, build("vae", validation=0.2, **HOUSE).hold_out, patience=2)


PROGRAMS = {
    "plain": lambda: build("vae", **HOUSE),
    "two players": lambda: build("factor_vae", width=8, depth=1, **HOUSE),
    "annealed": lambda: build("pdisvae", groups=(2, 2), anneal=20, **HOUSE),
    "closed form": lambda: build("pca", **HOUSE),
    "finished": lambda: build("ae_ica", **HOUSE),
    "restarts": lambda: build("pdisvae", groups=(2, 2), restarts=2, **HOUSE),
    "replicas": lambda: build("vae", restarts=3, judge="median", **HOUSE),
    "groups to be found": lambda: build("pdisvae", groups="auto", **HOUSE),
    "a bank": lambda: build("beta_tcvae", by="bank:20", **HOUSE),
    "controlled": lambda: build("control_vae", set_point=2.0, **HOUSE),
    "held out": lambda: build("vae", validation=0.2, **HOUSE),
    "held out in blocks": lambda: build("vae", validation="blocks:0.2", **HOUSE),
    "stopping": lambda: build("beta_vae", beta=20.0, validation=0.2, patience=2, **HOUSE),
    "restarts and stopping": lambda: build(
        "pdisvae", groups=(2, 2), restarts=2, validation=0.2, patience=1, by="bank:20", **HOUSE
    ),
    "found and stopping": lambda: build("pdisvae", groups="auto", validation=0.3, patience=1, **HOUSE),
    "two kinds": two_kinds,
    "started": lambda: build("pdisvae", groups=(2, 2), start="unmixed", validation=0.2, **HOUSE),
    "started, network and groups found": lambda: build(
        "pdisvae", groups="auto", start="unmixed", validation=0.2, patience=2, **HOUSE | {"network": "auto"}
    ),
}
programs = pytest.mark.parametrize("name", PROGRAMS)


@pytest.fixture(scope="module")
def x():
    rng = np.random.default_rng(0)
    sources = rng.uniform(-1, 1, (240, 4)) ** 3
    return (3 * sources @ rng.normal(size=(4, 8)) + 0.3 * rng.normal(size=(240, 8))).astype(np.float32)


def maker(x, made=None):
    def make(recipes, seeds, program, candidate) -> Ensemble:
        settings = {"hold_out": program.hold_out, "finish": candidate.finish, "batch_size": 24, "device": CPU}
        ensemble = Ensemble(recipes, seeds, x, **settings)
        if made is not None:
            made.append(ensemble)
        return ensemble

    return make


def same(first, second) -> bool:
    equal = all(torch.equal(first.model[name], value) for name, value in second.model.items())
    about = [(t.step, t.kept_step, t.candidate, t.groups, t.history.steps) for t in (first, second)]
    logs = [t.history.values() for t in (first, second)]
    return equal and about[0] == about[1] and np.array_equal(*logs, equal_nan=True)


@programs
def test_it_ends_in_a_model_of_its_recipe(name, x):
    (trained,) = train_models([PROGRAMS[name]()], [0], maker(x), STEPS, log_every=EVERY)
    mean, log_variance = Model(trained.recipe, trained.model).posterior(x)
    assert np.isfinite(mean).all()
    assert np.isfinite(log_variance).all()
    assert trained.diverged is None
    assert trained.kept_step <= trained.step <= STEPS


@programs
@pytest.mark.parametrize("looks", [0, 2, 5])
def test_it_goes_on_after_an_interruption_to_the_last_bit(name, looks, x, tmp_path):
    """Stopped after so many looks at the wish, and again and again after each further one."""
    program = PROGRAMS[name]()
    (straight,) = train_models([program], [3], maker(x), STEPS, log_every=EVERY)
    kept = Checkpoints(tmp_path, ("a",))
    for attempt in range(60):
        asked = iter([False] * (looks if attempt == 0 else 1))
        settings = {"log_every": EVERY, "checkpoints": kept, "stop": lambda asked=asked: next(asked, True)}
        try:
            (resumed,) = train_models([program], [3], maker(x), STEPS, **settings)
            break
        except Interrupted:
            continue
    assert same(resumed, straight)


@programs
def test_together_as_alone(name, x):
    """Three runs at once are the three alone, whenever each of them stops."""
    program = PROGRAMS[name]()
    if program.alone:
        pytest.skip("runs that find their groups, or where to start, train one by one")
    together = train_models([program] * 3, [5, 6, 7], maker(x), STEPS, log_every=EVERY)
    for seed, result in zip((5, 6, 7), together):
        (alone,) = train_models([program], [seed], maker(x), STEPS, log_every=EVERY)
        assert (alone.step, alone.kept_step, alone.candidate) == (result.step, result.kept_step, result.candidate)
        assert alone.history.steps == result.history.steps
        for key, value in alone.model.items():
            torch.testing.assert_close(result.model[key], value, rtol=2e-4, atol=2e-5)


@programs
def test_rows_held_out_are_never_drawn(name, x, monkeypatch):
    """Changed beyond recognition, they change nothing of a model that is neither judged nor stopped by them."""
    program = replace(PROGRAMS[name](), patience=None)
    if not program.hold_out:
        pytest.skip("holds nothing out")
    made: list[Ensemble] = []
    held = program.hold_out.rows(len(x)).judging
    assert 0.1 * len(x) < len(held) < 0.4 * len(x)
    seen: list[np.ndarray] = []
    observe = Ensemble.observe
    watched = lambda self, rows, own=None: seen.append(rows.reshape(-1).numpy()) or observe(self, rows, own)  # noqa: E731
    train_models([program], [0], maker(x, made), EVERY, log_every=EVERY)  # the look itself is not a step
    monkeypatch.setattr(Ensemble, "observe", watched)
    for ensemble in made:
        ensemble.advance(20)
    assert seen
    assert not set(np.concatenate(seen)) & set(held)


@programs
def test_structure_can_be_compared(name):
    assert PROGRAMS[name]().structure == PROGRAMS[name]().structure
    assert hash(PROGRAMS[name]().structure)
    others = [PROGRAMS[other]().structure for other in PROGRAMS if other != name]
    assert PROGRAMS[name]().structure not in others


@pytest.mark.parametrize(
    "options",
    [
        {"start": ["random"]},
        {"validation": [0.2], "patience": [2]},
        {"restarts": [2], "judge": ["median"]},
        {"start": ["unmixed"], "validation": [0.2]},
    ],
)
def test_a_study_keeps_what_the_program_says(options, x, tmp_path):
    from partita.data import Dataset

    data = Dataset("own", x, description={"name": "own", "options": {}})
    runs = plan(["pdisvae"], data, latents=4, groups=(2, 2), network="linear", options=options, steps=40, seeds=[0, 1])
    assert [Run.from_json(json.loads(json.dumps(run.as_json()))).id for run in runs] == [run.id for run in runs]
    store = Store(tmp_path)
    train(runs, data, store, device=CPU)
    for run in runs:
        result = store.result(run)
        assert ("kept_step" in result) == ("validation" in options)
        assert ("held_out_loss" in store.history(run)) == ("validation" in options)
        assert store.history(run)["step"][-1] == result["step"]
        assert np.isfinite(store.model(run).posterior(x)[0]).all()
