"""Methods, networks and likelihoods of one's own in a study: by name and digest in run.json, and what if they go."""

import copy
import sys
from types import ModuleType

import numpy as np
import pytest
import torch
from torch import nn

import partita as pt
from partita.distributions import LIKELIHOODS
from partita.studies import Run, Store, evaluate_run, plan, train
from partita.studies._measure import measure
from partita.studies._verify import survey

DATA = pt.data.load("groups", size=120)
QUICK = {"steps": 4, "latents": 3}
CPU = torch.device("cpu")


def narrow(*, beta: float = 2.0, latents: int = 3, **architecture) -> pt.recipes.Recipe:
    """A beta-VAE of one's own."""
    return pt.RECIPES["beta_vae"](beta=beta * 1.0, latents=latents, **architecture)


def affine(shape, outputs, inputs):
    return nn.Linear(shape[0], outputs), nn.Linear(inputs, shape[0])


def of_width(width):
    def network(shape, outputs, inputs):
        return nn.Sequential(nn.Linear(shape[0], width), nn.Linear(width, outputs)), nn.Linear(inputs, shape[0])

    return network


WAITING = pt.distributions.Likelihood(
    "exponential",
    log_density=lambda x, log_rate: log_rate - x * log_rate.exp(),
    mean=lambda log_rate: (-log_rate).exp(),
    suits=lambda values: values >= 0,
    takes="numbers of 0 or more",
)
RECIPE = narrow(latents=2, shape=(20,), network=affine)


def trained(tmp_path, *methods, **settings):
    store, runs = Store(tmp_path), plan(list(methods), DATA, **QUICK | settings)
    train(runs, DATA, store, device=CPU)
    return store, runs


def test_a_run_has_names_and_digests_and_is_found_again(tmp_path):
    store, runs = trained(tmp_path, narrow, options={"beta": [1.0, 3.0]}, network=affine, seeds=[0, 1])
    (again, *_) = store.runs()
    assert {run.id for run in store.runs()} == {run.id for run in runs}
    assert again.method == f"{__name__}:narrow"
    assert again.architecture["network"] == f"{__name__}:affine"
    assert again.sources.keys() == {again.method, again.architecture["network"]}
    assert again.id.startswith(f"{__name__}-narrow-seed0-")
    assert Run.from_json(again.as_json()) == again
    assert len({run.program.structure for run in runs}) == 1  # so that they train together
    scores = evaluate_run(store, again, DATA)
    assert np.isfinite(scores["elbo"])


def test_the_method_of_ones_own_computes_what_ours_does(tmp_path):
    store, (mine, ours) = trained(tmp_path, narrow, "beta_vae", options={"beta": [3.0]})
    codes = [store.model(run, DATA.x_scale).posterior(DATA.x)[0] for run in (mine, ours)]
    np.testing.assert_array_equal(*codes)
    assert "sources" not in ours.as_json()


def test_other_source_or_width_is_another_run():
    ids = [plan("vae", DATA, network=of_width(width), **QUICK)[0].id for width in (3, 4, 3)]
    assert ids[0] == ids[2] != ids[1]


def test_a_recipe_of_ones_own(tmp_path):
    store, runs = trained(tmp_path, RECIPE, narrow(shape=(20,), beta=5.0, latents=4), latents=None)
    assert runs[0].method == f"{__name__}:RECIPE"
    assert runs[1].method.startswith("Recipe#")
    assert [store.model(run).posterior(DATA.x)[0].shape[1] for run in runs] == [2, 4]
    with pytest.raises(ValueError, match="brings its own latents, 2"):
        plan(RECIPE, DATA, latents=3)
    with pytest.raises(ValueError, match="brings its own network"):
        plan(RECIPE, DATA, network="mlp")


def test_a_likelihood_of_ones_own(tmp_path):
    times = pt.data.from_array(abs(np.asarray(DATA.x)))
    store, (run,) = Store(tmp_path), plan("vae", times, likelihood=WAITING, **QUICK)
    assert run.architecture["likelihood"] == f"{__name__}:WAITING"
    assert run.sources.keys() == {f"{__name__}:WAITING"}
    assert run.id == plan("vae", times, likelihood=copy.deepcopy(WAITING), **QUICK)[0].id
    train([run], times, store, device=CPU)
    (again,) = store.runs()
    assert again.recipe.architecture.likelihood == WAITING
    assert store.model(again).decode(np.zeros((1, 3))).min() > 0
    assert np.isfinite(evaluate_run(store, again, times)["elbo"])
    with pytest.raises(ValueError, match="'exponential' takes numbers of 0 or more, and the data"):
        plan("vae", DATA, likelihood=WAITING, **QUICK)


def test_our_own_functions_keep_their_names():
    named, given = (plan("vae", DATA, likelihood=each, **QUICK) for each in ("gaussian", LIKELIHOODS["gaussian"]))
    assert named[0].id == given[0].id
    assert plan(pt.RECIPES["vae"], DATA, **QUICK)[0].id == plan(["vae"], DATA, **QUICK)[0].id


@pytest.fixture
def users_study(tmp_path):
    """A study with one run by our names and one by those of a module that may change."""
    source = (
        "def method(*, latents=2, **architecture):\n    return pt.RECIPES['vae'](latents=latents, **architecture)\n"
    )

    def loaded(text):
        module = ModuleType("users_method")
        vars(module)["pt"] = pt
        exec(text, vars(module))
        sys.modules["users_method"] = module
        return module

    store, runs = trained(tmp_path, "vae", loaded(source).method)
    from partita.training import own_parts

    own_parts._GIVEN.clear()  # as in a new process
    yield store, runs, source, loaded
    sys.modules.pop("users_method", None)


@pytest.mark.parametrize("how", ["not loaded", "gone", "changed"])
def test_a_run_whose_function_is_gone_says_so_and_others_go_on(users_study, how):
    store, (ours, mine), source, loaded = users_study
    assert store.model(mine).posterior(DATA.x)[0].shape == (120, 3)
    del sys.modules["users_method"]
    if how != "not loaded":
        loaded(source.replace("method", "other") if how == "gone" else source.replace("'vae'", "'beta_vae'"))
    words = {"not loaded": "import users_method first", "gone": "is gone: users_method", "changed": "has changed since"}
    (run,) = [run for run in store.runs() if run.sources]
    assert words[how] in run.lacks
    with pytest.raises(ValueError, match=words[how]):
        store.model(run)
    found = survey(store)
    assert [lack.owner for lack in found.lacking] == [mine.id]
    assert not found.damaged  # its files are whole, and not to be put aside
    measured = measure(store, "udr", CPU)
    assert [scores["run"] for scores in measured.scores] == [ours.id]
    assert words[how] in measured.trouble[mine.id]
    page = pt.reports.write_page(store, DATA, store.folder / "page.html").read_text()
    assert words[how] in page
    assert ours.id in page or "vae" in page


def test_callbacks_watch_every_run(tmp_path):
    seen = []

    def watch(run, step, quantities):
        seen.append((run.id, step, quantities["loss"]))
        return True

    runs = plan("vae", DATA, seeds=[0, 1], **QUICK)
    train(runs, DATA, Store(tmp_path), device=CPU, callbacks=[watch])
    assert [each[:2] for each in seen] == [(run.id, step) for step in (1, 2, 3, 4) for run in runs]
    for run in runs:
        logged = Store(tmp_path).history(run)["loss"]
        np.testing.assert_allclose([loss for name, _, loss in seen if name == run.id], logged, rtol=1e-6)
