"""What the page is told equals what the model says."""

import json
import shutil

import numpy as np
import pytest

from partita.data import from_array, load
from partita.explorer._documents import diagnosis_document, plain, run_document, tree_document
from partita.explorer._model import OneModel
from partita.explorer._rows import MOST_POINTS, Rows, rows_of
from partita.explorer._study import StudyFolder
from partita.measures.gaussian import kl_of_latents
from partita.studies import Run, Store, reload
from partita.training.files import write_json


def opened(folder, run_id):
    return StudyFolder(folder).subject(run_id)


def model_and_data(folder, run_id):
    store = Store(folder)
    run = next(run for run in store.runs() if run.id == run_id)
    data = reload(run.data, folder)
    return store.model(run, data.x_scale), data


def test_the_table_of_runs(vectors_study, served):
    table = served.get("/api/study").json
    assert table["title"] == vectors_study.name
    assert [row["method"] for row in table["runs"]] == ["pdisvae", "pdisvae", "vae", "vae"]
    assert [row["seed"] for row in table["runs"]] == [0, 1, 0, 1]
    row = table["runs"][0]
    stored = Store(vectors_study).scores(next(r for r in Store(vectors_study).runs() if r.id == row["id"]))
    assert row["state"] == "finished"
    assert row["problem"] is None
    assert row["scores"]["R2"]["value"] == stored["alignment"]["r2"]
    assert row["scores"]["gaussian_tc"]["protocol"] == stored["metrics"]["gaussian_tc"]["protocol"]
    assert row["bound"] == stored["elbo"]
    assert row["bound_of"] == "evaluated"
    assert row["verdict"] == stored["diagnosis"]["verdict"]
    assert set(row["scores"]) <= set(table["score_names"])
    assert table["score_about"]["R2"]["better"] == "higher"


def test_a_run_as_its_model_says_it(vectors_study, run_id, served):
    model, data = model_and_data(vectors_study, run_id)
    mean, log_variance = model.posterior(data.x)
    found = served.get(f"/api/run/{run_id}").json
    assert found["groups"] == [[0, 1], [2]]
    assert found["latents"] == 3
    np.testing.assert_allclose(found["start"], mean.mean(0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found["kl"], kl_of_latents(mean, log_variance), rtol=1e-4)
    low, high = np.quantile(mean, [0.005, 0.995], axis=0)
    assert (np.array(found["range"])[:, 0] < low).all()
    assert (np.array(found["range"])[:, 1] > high).all()
    assert found["count"] == found["total"] == 300
    assert found["shows"] == "curve"
    assert found["shape"] == [5]
    np.testing.assert_allclose(found["value_range"], [data.x.min(), data.x.max()], rtol=1e-6)
    scores = Store(vectors_study).scores(next(r for r in Store(vectors_study).runs() if r.id == run_id))
    assert found["alignment"]["r2"] == scores["alignment"]["matrix"]
    assert found["alignment"]["mean"] == scores["alignment"]["r2"]
    assert found["alignment"]["rows"] == ["true 0, true 1", "true 2"]
    assert found["alignment"]["columns"] == ["z0, z1", "z2"]
    assert found["diagnosis"]["verdict"] == scores["diagnosis"]["verdict"]
    loss = found["curves"]["loss"]
    assert loss["label"] == "objective (loss)"
    assert loss["unit"] == "nats per observation"
    assert loss["step"][-1] == 30
    assert len(loss["step"]) == len(loss["value"])


def test_points_observations_and_decoding_by_the_wire(vectors_study, run_id, served):
    model, data = model_and_data(vectors_study, run_id)
    answer = served.get(f"/api/run/{run_id}/points")
    count = int(answer.headers["x-count"])
    numbers = np.frombuffer(answer.body, "<f4")
    names = [factor["name"] for factor in served.get(f"/api/run/{run_id}").json["factors"]]
    assert names == ["true latent 0", "true latent 1", "true latent 2"]
    codes, columns = numbers[: count * 3].reshape(count, 3), numbers[count * 3 :].reshape(count, 3)
    np.testing.assert_allclose(codes, model.posterior(data.x)[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(columns, data.truth, rtol=1e-6)
    observed = np.frombuffer(served.get(f"/api/run/{run_id}/observation/7").body, "<f4")
    np.testing.assert_array_equal(observed, data.x[7])
    z = np.array([[0.5, -1, 2], [0, 0, 0]], "<f4")
    decoded = np.frombuffer(served.post(f"/api/run/{run_id}/decode", z.tobytes()).body, "<f4").reshape(2, 5)
    np.testing.assert_allclose(decoded, model.decode(z), rtol=1e-6)
    assert served.get(f"/api/run/{run_id}/observation/300").status == 400


def test_the_tree_and_its_cut(vectors_study, run_id, served):
    found = served.get(f"/api/run/{run_id}/tree").json
    assert found["problem"] is None
    merges = found["tree"]["merges"]
    assert len(merges) == 2
    assert sorted(k for group in merges[-1]["groups"] for k in group) == [0, 1, 2]
    assert sorted(k for group in found["tree"]["groups"] for k in group) == [0, 1, 2]
    low, high = merges[0]["interval"]
    assert low <= merges[0]["nats"] <= high
    assert 0 <= merges[0]["p"] <= 1


def test_images_know_their_factors_and_units(images_study):
    store = Store(images_study / "study")
    (run,) = store.runs()
    subject = opened(images_study / "study", run.id)
    found = run_document(subject)
    assert found["shows"] == "image"
    assert found["shape"] == [1, 16, 16]
    assert found["value_range"] == [0, 255]
    assert [(each["name"], each["kind"]) for each in found["factors"]] == [
        ("place", "categorical"),
        ("size", "categorical"),
    ]
    assert found["information"]["columns"] == ["place", "size"]
    nats = np.array(found["information"]["nats"])
    assert nats.shape == (3, 2)
    assert (nats <= np.array(found["information"]["entropy"]) + 1e-9).all()
    assert found["information"]["entropy"][1] == pytest.approx(np.log(3))
    assert found["diagnosis"] is None
    assert "partita evaluate" in diagnosis_document(subject)["problem"]
    model, data = model_and_data(images_study / "study", run.id)
    np.testing.assert_allclose(subject.decode(np.zeros((1, 3))), model.decode(np.zeros((1, 3))) * 255, rtol=1e-5)
    np.testing.assert_array_equal(subject.observation(3), data.x[3])


def test_information_of_a_latent_that_is_a_factor():
    """By histograms: all of its factor's entropy, and none of an independent one's."""
    rng = np.random.default_rng(0)
    factors = np.stack([rng.integers(0, 4, 4000), rng.integers(0, 4, 4000)], 1)
    data = from_array(factors * np.float32([10, 1]), factors=factors, factor_names=["a", "b"])
    from partita import Disentangler

    model = Disentangler("pca", latents=2).fit(data.x)
    subject = OneModel(model, data).subject("model")
    nats = np.array(run_document(subject)["information"]["nats"])
    best = nats.argmax(0)
    assert sorted(best.tolist()) == [0, 1]
    assert nats[best[0], 0] == pytest.approx(np.log(4), abs=0.02)
    assert nats[best[1], 0] < 0.02


def test_levels_are_called_by_their_names():
    encode = lambda rows: (np.zeros((len(rows), 2)), np.zeros((len(rows), 2)))  # noqa: E731
    words = np.array(["tulip", "rose", "rose", "iris"], dtype=object)
    classes = np.unique(words, return_inverse=True)[1]
    many = np.arange(4) * 5
    data = from_array(
        np.eye(4), factors=np.stack([classes, many], 1), factor_names=["kind", "place"],
        columns={"kind": words, "age": np.array([1.5, 2, 3, 4])},
    )  # fmt: skip
    kind, place, age = rows_of(data, encode).columns
    assert kind.as_json() == {"name": "kind", "kind": "categorical", "levels": ["iris", "rose", "tulip"]}
    assert [kind.levels[k] for k in kind.values] == words.tolist()
    assert place.as_json() == {"name": "place", "kind": "continuous", "levels": None}
    assert age.as_json()["kind"] == "continuous"


def test_pixels_of_a_movie_are_maps_and_tables_are_bars():
    rng = np.random.default_rng(0)
    encode = lambda rows: (np.zeros((len(rows), 2)), np.zeros((len(rows), 2)))  # noqa: E731
    movie = rows_of(load("groups", size=80), encode)
    assert not movie.is_movie
    places = np.argwhere(np.ones((8, 10), bool))
    pixels = from_array(rng.normal(size=(80, 6)), factors=places, factor_names=["row", "column"])
    found = rows_of(pixels, encode)
    assert found.is_movie
    assert [column.name for column in found.columns] == ["row", "column"]
    assert found.factors == ()
    from partita import Disentangler

    model = Disentangler("pca", latents=2).fit(pixels.x)
    assert run_document(OneModel(model, pixels).subject("model"))["shows"] == "map"
    table = from_array(rng.normal(size=(80, 3)), feature_names=["a", "b", "<script>"])
    model = Disentangler("pca", latents=2).fit(table.x)
    document = run_document(OneModel(model, table).subject("model"))
    assert document["shows"] == "bars"
    assert document["features"] == ["a", "b", "<script>"]


def test_a_hundred_thousand_points_and_no_more():
    encode = lambda rows: (np.zeros((len(rows), 2)), np.zeros((len(rows), 2)))  # noqa: E731
    assert len(Rows(np.zeros((150_000, 3), np.float32), encode).drawn) == MOST_POINTS
    drawn = Rows(np.zeros((40_000, 1, 64, 64), np.uint8), encode).drawn
    assert len(drawn) == 16_384
    assert (np.diff(drawn) > 0).all()


def test_a_hundred_runs_are_listed_without_opening_one(vectors_study, tmp_path):
    """Weights and data are not looked at: here they are nothing of the kind."""
    store = Store(tmp_path / "many")
    known = Store(vectors_study).runs()[0]
    for seed in range(100):
        run = Run(**(known.as_json() | {"seed": seed}))
        shutil.copytree(Store(vectors_study).folder_of(known), store.folder_of(run))
        (store.folder_of(run) / "run.json").unlink()
        store.describe(run)
        (store.folder_of(run) / "weights.safetensors").write_bytes(b"none")
    rows = StudyFolder(store.folder).study()["runs"]
    assert [row["state"] for row in rows] == ["finished"] * 100
    assert [row["seed"] for row in rows] == list(range(100))
    assert rows[7]["scores"]["R2"]["value"] is not None


@pytest.fixture
def broken(copied, vectors_study, run_id):
    folder = copied(vectors_study)
    return folder, next(folder.glob(f"runs/**/{run_id}")), run_id


def words_of(folder, run_id):
    study = StudyFolder(folder)
    (row,) = (row for row in study.study()["runs"] if row["id"] == run_id)
    return row, run_document(study.subject(run_id))


def test_a_run_that_diverged_shows_words_and_its_curves(broken):
    folder, place, run_id = broken
    result = json.loads((place / "result.json").read_text())
    result.pop("digest")
    write_json(place / "result.json", result | {"status": "diverged", "diverged_at": 12}, sealed=True)
    row, found = words_of(folder, run_id)
    assert row["state"] == "diverged"
    assert row["scores"] == {}
    assert found["problem"] == "diverged: the loss was no longer finite at step 12 of 30"
    assert found["latents"] == 0
    assert found["curves"]["loss"]["step"]


def test_a_run_whose_weights_are_gone(broken):
    folder, place, run_id = broken
    (place / "weights.safetensors").unlink()
    row, found = words_of(folder, run_id)
    assert row["state"] == "damaged"
    assert "weights are gone" in row["problem"]
    assert found["problem"] == row["problem"]
    assert found["decodes"] is False


def test_weights_that_are_damaged(broken):
    folder, place, run_id = broken
    content = bytearray((place / "weights.safetensors").read_bytes())
    content[-3] ^= 1
    (place / "weights.safetensors").write_bytes(content)
    _, found = words_of(folder, run_id)
    assert found["problem"].startswith("its model cannot be opened:")
    assert found["latents"] == 0


def test_a_run_that_is_not_finished(broken):
    folder, place, run_id = broken
    (place / "result.json").unlink()
    row, found = words_of(folder, run_id)
    assert row["state"] == "unfinished"
    assert "not finished" in found["problem"]


def test_a_run_that_does_not_say_what_it_is(broken):
    folder, place, run_id = broken
    (place / "run.json").write_text("{")
    row, found = words_of(folder, run_id)
    assert row["state"] == "damaged"
    assert "run.json" in found["problem"]


def test_a_study_that_grows_while_it_is_looked_at(broken, vectors_study):
    folder, place, run_id = broken
    shutil.rmtree(place)
    study = StudyFolder(folder)
    assert len(study.study()["runs"]) == 3
    shutil.copytree(next(vectors_study.glob(f"runs/**/{run_id}")), place)
    result = (place / "result.json").read_bytes()
    (place / "result.json").unlink()
    assert [row["state"] for row in study.study()["runs"]].count("unfinished") == 1
    assert study.subject(run_id).model is None
    (place / "result.json").write_bytes(result)
    assert study.subject(run_id).model is not None


def test_a_data_set_that_moved_leaves_the_decoder(images_study, copied):
    folder = copied(images_study)
    (run,) = Store(folder / "study").runs()
    (folder / "squares.npz").unlink()
    moved = next(folder.glob(f"study/runs/**/{run.id}")) / "run.json"
    content = json.loads(moved.read_text())
    content["data"] |= {"path": "squares.npz", "places": [str(folder / "squares.npz")]}
    moved.write_text(json.dumps(content))
    row, found = words_of(folder / "study", run.id)
    assert row["state"] == "finished"
    assert "squares.npz" in found["problem"]
    assert "PARTITA_DATA" in found["problem"]
    assert found["count"] == 0
    assert found["decodes"] is True
    assert found["latents"] == 3
    study = StudyFolder(folder / "study")
    assert study.subject(run.id).decode(np.zeros((1, 3))).shape == (1, 1, 16, 16)
    assert tree_document(study.subject(run.id))["problem"].startswith("the tree needs the rows")


def test_an_empty_folder_says_what_to_do(tmp_path):
    with pytest.raises(ValueError, match="holds no runs; `partita train"):
        StudyFolder(tmp_path)


def test_the_best_run_is_chosen_by_rows_held_out(vectors_study, tmp_path):
    from tests.explorer.conftest import CPU

    from partita.studies import plan, train

    data = load("groups", size=300, groups=(2, 1), features=5)
    options = {"validation": [0.2], "restarts": [1]}
    runs = plan(["vae"], data, latents=3, network="linear", steps=40, seeds=[0, 1, 2], options=options)
    store = Store(tmp_path)
    train(runs, data, store, device=CPU)
    study = StudyFolder(tmp_path)
    bounds = {row["id"]: row["bound"] for row in study.study()["runs"]}
    assert len(bounds) == 3
    best, why = study.best()
    assert bounds[best] == max(bounds.values())
    assert "held-out bound of 3 runs" in why
    for run in runs:
        history, kept = store.history(run), store.result(run)["kept_step"]
        at = int(np.flatnonzero(history["step"] == kept)[0])
        assert bounds[run.id] == pytest.approx(-(history["held_out_recon"][at] + history["held_out_kl"][at]))


def test_models_are_kept_open_but_not_all(vectors_study, monkeypatch):
    monkeypatch.setattr("partita.explorer._study.MOST_OPEN", 2)
    study = StudyFolder(vectors_study)
    names = list(study.runs)
    first = study.subject(names[0])
    assert study.subject(names[0]) is first
    for name in names[1:3]:
        study.subject(name)
    assert study.subject(names[0]) is not first
    with pytest.raises(KeyError):
        study.subject("none")


def test_numbers_that_are_not_finite_are_null():
    assert plain({"a": np.array([1.0, np.nan]), 3: (np.float32("inf"), np.int64(2))}) == {
        "a": [1.0, None],
        "3": [None, 2],
    }
