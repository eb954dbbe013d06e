"""Runs by setting: what is a repetition, what is shown, what it is called."""

from dataclasses import replace

import numpy as np
import pytest

from partita.recipes import RECIPES
from partita.recipes._equation import equation
from partita.reports._captions import prose, seed_words, typeset
from partita.reports.study import Record, Setting, settings_of
from partita.studies import Run, Store
from partita.studies._labels import labels_of

RUN = Run(
    "vae",
    {"latents": 2},
    {"shape": [3], "network": "linear", "likelihood": "gaussian", "hidden": [8]},
    {},
    10,
    4,
    1e-3,
    0,
)


def record(seed: int, *, r2: float | None = None, loss: float = 1.0, status: str = "finished") -> Record:
    scores = (
        None
        if r2 is None
        else {"alignment": {"r2": r2, "matrix": [[r2]], "assignment": [0], "groups": [[0]], "grouping": "own groups"}}
    )
    return Record(replace(RUN, seed=seed), status, "", {"step": np.array([10]), "loss": np.array([loss])}, scores)


@pytest.mark.parametrize(
    ("records", "seed", "words"),
    [
        ([record(0, r2=0.9), record(1, r2=0.1), record(2, r2=0.5)], 2, "the median of 3 finished runs by alignment R²"),
        ([record(0, r2=0.9), record(1, r2=0.1)], 1, "the lower middle one of 2 finished runs by alignment R²"),
        (
            [record(0, loss=2.0), record(1, loss=1.0), record(2, loss=np.nan)],
            1,
            "the lowest of 3 finished runs by final loss",
        ),
        ([record(0, r2=0.9, status="diverged"), record(1, r2=0.1)], 1, "the only finished run"),
    ],
)
def test_the_run_shown_is_chosen_by_rule_and_said(records, seed, words):
    shown, why = Setting("vae", tuple(records)).shown()
    assert shown.run.seed == seed
    assert why == f"seed {seed}, {words}"


def test_nothing_is_shown_when_nothing_finished():
    assert Setting("vae", (record(0, status="unfinished"),)).shown() is None


def test_labels_name_only_what_differs():
    stronger = replace(RUN, method="beta_vae", options={"latents": 2, "beta": 8.0})
    default = replace(stronger, options={"latents": 2})
    longer = replace(default, steps=20)
    assert labels_of([RUN, stronger, default]) == ["vae", "beta_vae beta=8.0", "beta_vae beta=4.0"]
    assert labels_of([stronger]) == ["beta_vae"]
    assert labels_of([default, longer]) == ["beta_vae steps=10", "beta_vae steps=20"]


def test_seeds_are_repetitions_and_nothing_else_is(table, make_study, tmp_path):
    options = {"latents": 1, "network": "linear", "scored": False}
    make_study(tmp_path, table, ["beta_vae"], seeds=(0, 3), steps=2, options={"beta": [10.0, 2.0]}, **options)
    make_study(tmp_path, table, ["vae"], seeds=(0,), steps=2, **options)
    make_study(tmp_path, table, ["vae"], seeds=(0,), steps=3, **options)
    settings = settings_of(Store(tmp_path))
    assert sorted(setting.label for setting in settings[:2]) == ["vae steps=2", "vae steps=3"]
    assert [setting.label for setting in settings[2:]] == ["beta_vae beta=2.0", "beta_vae beta=10.0"]
    assert [[r.run.seed for r in setting.records] for setting in settings[2:]] == [[0, 3], [0, 3]]


def test_seed_words():
    assert seed_words([0, 1, 2, 3]) == "0–3"
    assert seed_words([7, 3, 4, 0]) == "0, 3, 4, 7"


@pytest.mark.parametrize("method", RECIPES)
def test_every_objective_can_be_set_in_print(method):
    printed = str(typeset(equation(RECIPES[method])))
    assert ("log p(x|z)" in printed) == ("log p(x|z)" in equation(RECIPES[method]))
    assert not any(sign in printed for sign in ("beta", "gamma", "alpha", "eta", "lambda", "||", "*", "_", "^", "!="))


def test_subscripts_powers_and_letters():
    printed = typeset("(beta - 1) * sum_{i!=j} C_ij^2 + eta * <b> + lambda_od")
    assert printed == ("(β − 1) · ∑<sub>i≠j</sub> C<sub>ij</sub><sup>2</sup> + η · &lt;b&gt; + λ<sub>od</sub>")


def test_docstrings_keep_their_code_and_stress_and_lose_their_tags():
    assert prose("`by` is **extra** <b>\n & more") == ("<code>by</code> is <strong>extra</strong> &lt;b&gt; &amp; more")
