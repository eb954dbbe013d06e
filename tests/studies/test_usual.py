"""What a study does where nobody says is what the estimator does."""

import numpy as np
import pytest

from partita.data import Dataset, load
from partita.estimator import RESTARTS, Disentangler
from partita.studies import plan
from partita.studies.run import Run

RNG = np.random.default_rng(0)
ROWS = (RNG.laplace(size=(120, 4)) @ RNG.normal(size=(4, 8)) + 0.3 * RNG.normal(size=(120, 8))).astype(np.float32)
COUNTS = RNG.poisson(np.exp(1 + 0.5 * ROWS / ROWS.std())).astype(np.float32)
IMAGES = RNG.random((30, 1, 8, 8)).astype(np.float32)


def own(x) -> Dataset:
    return Dataset("own", x, description={"name": "own", "options": {}})


@pytest.mark.parametrize(
    ("x", "method", "asked", "options"),
    [
        (ROWS, "pdisvae", {"groups": (2, 2)}, {}),
        (ROWS, "pdisvae", {"groups": ((0, 2), (1,)), "hidden": (8,)}, {"beta": 2.0}),
        (ROWS, "pdisvae", {}, {"start": "random"}),
        (ROWS, "pdisvae", {"groups": (2, 2)}, {"restarts": 2, "validation": "auto"}),
        (ROWS, "vae", {"latents": 3, "hidden": (16, 8), "precision": "bf16"}, {"validation": "auto"}),
        (ROWS, "hfvae", {"groups": (2, 1)}, {}),
        (COUNTS, "pdisvae", {"groups": (2, 2)}, {}),
        (COUNTS, "pdisvae", {"groups": (2, 2)}, {"start": "random"}),
        (IMAGES, "pdisvae", {"groups": (2, 1), "hidden": (8,)}, {}),
    ],
    ids=lambda each: str(each) if not isinstance(each, np.ndarray) else str(each.shape),
)
def test_the_same_defaults_in_both_faces(x, method, asked, options):
    (run,) = plan([method], own(x), options={name: [value] for name, value in options.items()}, **asked, steps=1)
    validation, own_options = options.get("validation"), {k: v for k, v in options.items() if k != "validation"}
    model = Disentangler(method, **asked, options=own_options, steps=1, validation=validation, device="cpu").fit(x)
    ours, theirs = run.program, model._program()
    assert ours.structure == theirs.structure or ours.start == theirs.start is not None
    assert ours.replicas == theirs.replicas
    assert ours.recipe.architecture == theirs.recipe.architecture
    assert ours.recipe.groups == theirs.recipe.groups
    assert (ours.hold_out, ours.patience) == (theirs.hold_out, theirs.patience)
    assert Run.from_json(run.as_json()).id == run.id  # what was chosen is written into the run


def test_latents_are_those_of_the_groups_or_six():
    for groups, latents in (((2, 3), 5), (((0, 1), (2,)), 3), (None, 6)):
        (run,) = plan(["pdisvae"], own(ROWS), groups=groups)
        assert run.options["latents"] == latents


def test_what_is_said_stays_what_it_was():
    """Explicit settings are runs of before: nothing is added to them."""
    said = {"start": ["unmixed"]}, {"restarts": [1]}, {"restarts": [4]}
    for options in said:
        (run,) = plan(["pdisvae"], own(ROWS), groups=(2, 2), options=options)
        assert run.options == {"latents": 4, "groups": [2, 2], **{name: each[0] for name, each in options.items()}}
    (run,) = plan(["pdisvae"], load("groups", size=60))  # the papers' data, as in the papers
    assert run.options.keys() == {"latents", "groups"}
    (run,) = plan(["pdisvae"], own(IMAGES), groups=(2, 2))
    assert run.options["restarts"] == RESTARTS
    (run,) = plan(["pdisvae"], own(IMAGES))
    assert "restarts" not in run.options


def test_few_images_stop_by_rows_held_out_where_nobody_says_how_long():
    """As by the estimator; with steps, the runs of before. Many images are not gone over so often."""
    few, many = (own(RNG.random((size, 1, 8, 8)).astype(np.float32)) for size in (300, 6500))
    (run,) = plan(["pdisvae"], few)
    assert (run.steps, run.options["validation"], run.program.patience) == (5000, 0.1, 20)
    for planned in (plan(["pdisvae"], few, steps=5000), plan(["pdisvae"], many), plan(["vae"], few)):
        assert "validation" not in planned[0].options
        assert planned[0].steps == 5000
    (asked,) = plan(["pdisvae"], few, options={"validation": [0.2]})
    assert asked.options["validation"] == 0.2
    model = Disentangler(device="cpu", callbacks=[lambda step, quantities: True]).fit(few.x)
    assert model._program().hold_out == run.program.hold_out
