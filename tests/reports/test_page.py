"""The page: complete, self-contained, escaped, and honest about what is missing."""

import base64
import io
import json
import shutil
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from partita.data import Dataset, from_array
from partita.metrics import over_runs
from partita.plot._style import signs
from partita.reports import write_page
from partita.studies import Store
from partita.studies._contenders import Entry
from partita.studies._statistics import bootstrapped
from partita.studies.compare import compare_entries


@pytest.fixture(scope="module")
def page(pairs, pairs_store, read, tmp_path_factory):
    return read(write_page(pairs_store, pairs, tmp_path_factory.mktemp("page") / "page.html"))


@pytest.fixture(scope="module")
def image_page(squares, squares_store, read, tmp_path_factory):
    return read(write_page(squares_store, squares, tmp_path_factory.mktemp("page") / "page.html"))


def check_self_contained(page):
    """Nothing from elsewhere, no script, every image with words and a caption, every reference inside the page."""
    assert not page.all("script")
    assert not page.all("link")
    everything = [element for tag in TAGS for element in page.all(tag)]
    ids = [element.attributes["id"] for element in everything if "id" in element.attributes]
    assert len(ids) == len(set(ids))
    for element in everything:
        assert not [name for name in element.attributes if name.startswith("on") or name in ("srcset", "style")]
        if "href" in element.attributes:
            assert element.attributes["href"].removeprefix("#") in ids
        if "src" in element.attributes:
            assert element.tag == "img"
            check_picture(element.attributes["src"])
    for image in page.all("img"):
        assert image.attributes["alt"].strip()
        assert int(image.attributes["width"]) > 50
        assert image.parent.parent.tag == "figure"
    for figure in page.all("figure"):
        (caption,) = figure.all("figcaption")
        assert len(caption.text) > 60
        assert figure.all("img")
    assert "url(" not in page.all("style")[0].text
    assert "@import" not in page.all("style")[0].text


TAGS = ("a", "img", "section", "div", "p", "table", "th", "td", "details", "figure", "svg", "span", "meta", "h2", "h3")


def check_picture(uri: str) -> None:
    kind, _, content = uri.partition(";base64,")
    raw = base64.b64decode(content, validate=True)
    if kind == "data:image/png":
        with Image.open(io.BytesIO(raw)) as image:
            assert np.asarray(image.convert("L")).std() > 1
    else:
        assert kind == "data:image/svg+xml"
        assert ElementTree.fromstring(raw).tag.endswith("svg")
        assert b'xlink:href="http' not in raw


def facts(page) -> dict[str, str]:
    """What the page says of its data."""
    data = next(dl for dl in page.all("dl") if "data set" in [dt.text for dt in dl.all("dt")])
    return {dt.text: dd.text for dt, dd in zip(data.all("dt"), data.all("dd"))}


def titles(page) -> list[str]:
    return [heading.text for heading in page.all("h3")]


def test_vector_page_is_self_contained(page):
    check_self_contained(page)


def test_image_page_is_self_contained(image_page):
    check_self_contained(image_page)


def test_page_says_what_was_trained(page, pairs_store):
    text = page.text
    for run in pairs_store.runs():
        assert run.id in text
    assert "vector of 5 features" in text
    assert "in groups t0, t1 | t2" in text
    equations = [p.text for p in page.all("p") if p.attributes.get("class") == "equation"]
    assert equations == [
        "minimises −E[log p(x|z)] + KL(q(z|x) ‖ p(z))",
        "minimises −E[log p(x|z)] + KL(q(z|x) ‖ p(z)) + β · PC(z)",
    ]
    assert "4.0" in page.all("article")[1].text  # the default beta, although nobody gave it
    assert "0–2" in page.all("article")[0].text


def test_page_has_every_picture_for_vectors(page):
    figures = titles(page)
    assert figures.count("Aligned latents beside the truth") == 2
    assert figures.count("Traversals of every latent") == 2
    assert figures.count("Alignment matrices") == 1
    assert "Every run" in figures
    alts = [image.attributes["alt"] for image in page.all("img")]
    assert sum("Decoded features while z" in alt for alt in alts) == 6
    assert sum("Alignment matrix of" in alt for alt in alts) == 2
    assert [alt.partition(" over training")[0] for alt in alts if "over training" in alt] == [
        "objective (loss)",
        "reconstruction, −E[log p(x|z)]",
        "KL(q(z|x) ‖ p(z))",
        "partial correlation PC, between groups",
    ]


def test_page_has_every_picture_for_images(image_page):
    figures = titles(image_page)
    assert {"Reconstructions", "Traversals of every latent", "Every group over its plane"} <= set(figures)
    assert "Which latent knows which factor" in figures
    assert "Aligned latents beside the truth" in figures
    assert "Every run" not in figures  # one dot says nothing that the table does not
    assert "in groups column, row | size" in image_page.text
    assert "image of 8 × 8 pixels, 1 channel" in image_page.text


def test_table_shows_means_and_intervals_over_seeds(page, pairs_store):
    for place, method in enumerate(("vae", "pdisvae")):
        values = [pairs_store.scores(run)["alignment"]["r2"] for run in pairs_store.runs() if run.method == method]
        expected = over_runs(values)
        assert len(values) == expected.n == 3
        cell = cell_of(page, "R² ↑", place).text
        low, high = expected.interval
        assert cell.startswith(f"{expected.value:.3f}{low:.3f} to {high:.3f}".replace("-", "−"))
        assert cell.endswith("best grouping" if method == "vae" else "own groups")
        correlations = [pairs_store.scores(run)["correlation"] for run in pairs_store.runs() if run.method == method]
        excess = np.mean([found["pc"] - found["null"]["pc"]["mean"] for found in correlations])
        shown = cell_of(page, "PC − null ↓", place).text.replace("−", "-")
        assert shown.startswith(f"{excess:.2f}".replace("-0.00", "0.00"))
        assert cell_of(page, "runs", place).text == "3 of 3"


def cell_of(page, header: str, row: int):
    """A number of the first table that has such a column."""
    table = next(t for t in page.all("table") if header in [th.text for th in t.all("thead")[0].all("th")])
    place = [th.text for th in table.all("thead")[0].all("th")].index(header)
    chosen = table.all("tbody")[0].all("tr")[row]
    return (chosen.all("th") + chosen.all("td"))[place]


def test_every_header_explains_itself(page):
    tables = [table for table in page.all("table") if "how it ended" not in table.text]
    assert len(tables) > 4
    for table in tables:
        for th in table.all("thead")[0].all("th")[1:]:
            assert len(th.attributes["title"]) > 20


def test_no_table_is_wider_than_a_page_and_cells_know_their_column(page):
    for table in page.all("table"):
        headers = [th.text for th in table.all("thead")[0].all("th")]
        assert len(headers) <= 10
        for row in table.all("tbody")[0].all("tr"):
            names = [" ".join(td.attributes["data-label"].split()) for td in row.all("td")]
            assert [name.rstrip(" ↓↑") for name in names] == [header.rstrip(" ↓↑") for header in headers[1:]]


def test_settings_are_compared_pair_by_pair_as_the_command_does(page, pairs_store):
    (block,) = [figure for figure in page.all("figure") if "Pair by pair" in figure.text]
    found = compare_entries(
        [Entry(run, "", "finished", pairs_store.scores(run)) for run in pairs_store.runs()], ["R2", "PC - null"]
    )
    assert found.pairs > 1
    alts = [image.attributes["alt"] for image in block.all("img")]
    assert all(f"differences in {score.header}, a row a pair" in alts for score in found.scores)


def test_the_answer_comes_first(page, pairs_store):
    order = [section.attributes["id"] for section in page.all("section")]
    assert order == ["answer", "results", "setting-1", "setting-2", "curves", "trained", "words"]
    answer = page.all("section")[0]
    means = {}
    for method in ("vae", "pdisvae"):
        runs = [run for run in pairs_store.runs() if run.method == method]
        means[method] = np.mean([pairs_store.scores(run)["alignment"]["r2"] for run in runs])
    whose = {"vae": "best grouping by the truth", "pdisvae": "own groups"}
    best, worst = sorted(means, key=means.get, reverse=True)
    r2 = {
        method: [pairs_store.scores(run)["alignment"]["r2"] for run in pairs_store.runs() if run.method == method]
        for method in means
    }
    overlap = bootstrapped(np.subtract(r2[best], r2[worst])).low <= 0
    assert answer.all("strong")[0].text == (
        f"{best} recovers the true groups best, with R² {means[best]:.2f} ({whose[best]}); "
        f"{worst} least, with {means[worst]:.2f} ({whose[worst]})."
        + (f" Over these seeds that is not surely more than {worst}." if overlap else "")
    )
    assert len(answer.all("figure")) == 1
    assert f"Pictured: {best}, seed" in answer.text
    assert f"pdisvae: alignment with the truth R² {means['pdisvae']:.3f}" in answer.text
    assert "95% bootstrap interval over seeds" in page.text
    assert "120 rows" in page.text


def test_the_page_says_whether_groups_can_be_trusted(page, pairs_store):
    scored = [pairs_store.scores(run) for run in pairs_store.runs()]
    told = [scores["diagnosis"] for scores in scored if "diagnosis" in scores]
    assert told
    assert "Can the groups be trusted?" in page.text
    for found in told:
        assert found["verdict"] in page.text
        assert signs(found["reasons"][0]) in page.text


def test_every_run_has_a_row(page, pairs_store):
    (details,) = [d for d in page.all("details") if d.attributes["class"] == "runs"]
    rows = details.all("tbody")[0].all("tr")
    assert sorted(row.all("code")[0].text for row in rows) == sorted(run.id for run in pairs_store.runs())


def test_same_study_gives_same_bytes(squares, squares_store, tmp_path):
    first = write_page(squares_store, squares, tmp_path / "a.html").read_bytes()
    assert write_page(squares_store, squares, tmp_path / "b.html").read_bytes() == first


def test_hostile_names_are_text(make_study, read, tmp_path):
    evil = "</td><script>alert('x')</script>$\\frac{$ \x00\x1b\u202e 名 \ud800"
    rng = np.random.default_rng(0)
    dataset = Dataset(
        name='"><img src="http://example.org/x">',
        x=rng.standard_normal((40, 3)).astype(np.float32),
        factors=rng.integers(0, 3, (40, 2)),
        factor_names=(evil, "{{ 7 * 7 }}"),
        truth=rng.standard_normal((40, 2)),
        description={"name": "<b>", "options": {"<i>": "</dl>"}},
    )
    store = make_study(tmp_path / "<u>study</u>", dataset, latents=2, network="linear")
    page = read(write_page(store, dataset, tmp_path / "page.html"))
    check_self_contained(page)
    assert "alert('x')" in page.text
    assert "{{ 7 * 7 }}" in page.text
    assert not page.all("b") + page.all("i") + page.all("u")


def test_nothing_is_known_of_the_data(table, make_study, read, tmp_path):
    store = make_study(tmp_path / "study", table, ["pdisvae"], latents=3, groups=(2, 1), network="linear")
    page = read(write_page(store, table, tmp_path / "page.html"))
    check_self_contained(page)
    assert "Alignment matrices" not in titles(page)
    assert "Groups in latent space" in titles(page)
    assert "Every group over its plane" in titles(page)
    assert "seed 0, the only finished run" in page.text
    assert "no interval over seeds" in page.text
    assert facts(page)["factors"] == "none known"


@pytest.mark.parametrize(("channels", "words"), [(3, "3 channels"), (2, "the mean of the 2 channels is shown")])
def test_colour_images(channels, words, make_study, read, tmp_path):
    images = np.random.default_rng(0).integers(0, 255, (40, channels, 6, 6)).astype(np.uint8)
    dataset = from_array(images, name="colours")
    store = make_study(tmp_path / "study", dataset, latents=2, network="mlp")
    page = read(write_page(store, dataset, tmp_path / "page.html"))
    check_self_contained(page)
    assert words in page.text


def test_one_feature_and_one_latent(make_study, read, tmp_path):
    dataset = from_array(np.random.default_rng(0).standard_normal((30, 1)), name="thin")
    store = make_study(tmp_path / "study", dataset, latents=1, network="linear", steps=1)
    page = read(write_page(store, dataset, tmp_path / "page.html"))
    check_self_contained(page)
    assert "vector of 1 feature" in page.text


def test_without_scores_the_page_says_what_to_run(table, make_study, read, tmp_path):
    store = make_study(tmp_path / "study", table, latents=2, network="linear", scored=False)
    page = read(write_page(store, table, tmp_path / "page.html"))
    check_self_contained(page)
    assert "partita evaluate study" in page.text
    assert "1 finished run has no scores yet" in page.text
    assert "Traversals of every latent" in titles(page)


def test_runs_that_went_wrong_are_named_and_in_no_mean(pairs, pairs_store, read, tmp_path):
    folder = tmp_path / "study"
    shutil.copytree(pairs_store.folder, folder)
    store = Store(folder)
    diverged, unfinished, unreadable, *rest = [run for run in store.runs() if run.method == "vae"] + [
        run for run in store.runs() if run.method == "pdisvae"
    ]
    result = {"status": "diverged", "step": 20, "diverged_at": 12}
    (store.folder_of(diverged) / "result.json").write_text(json.dumps(result))
    history = store.folder_of(diverged) / "history.jsonl"
    rows = [json.loads(line) for line in history.read_text().splitlines()]
    for row in rows[12:]:
        row |= {name: None for name in row if name != "step"}
    history.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (store.folder_of(unfinished) / "result.json").unlink()
    (store.folder_of(unreadable) / "result.json").write_text('{"status": "fin')
    (store.folder_of(rest[0]) / "history.jsonl").write_text('{"step": 1, "lo\n')
    page = read(write_page(store, pairs, tmp_path / "page.html"))
    check_self_contained(page)
    notice, unread = [div.text for div in page.all("div") if div.attributes.get("class") == "notice"]
    assert f"{diverged.id} diverged: loss no longer finite at step 12 of 20" in notice
    assert f"{unfinished.id} unfinished: 20 of 20 steps logged" in notice
    assert unreadable.id in notice
    assert all(run.id not in notice for run in rest)
    assert f"{rest[0].id} history: " in unread
    assert "3 finished, 1 diverged, 1 unfinished, 1 unreadable" in page.text
    assert [cell_of(page, header, 0).text for header in ("runs", "R² ↑", "ELBO ↑")] == ["0 of 3", "–", "–"]
    assert "1 of 3 runs diverged: the loss was no longer finite (seed" in page.all("section")[0].text
    assert "No run of this setting has finished" in page.text


def test_damaged_weights_are_reported_on_the_page(squares, squares_store, read, tmp_path):
    shutil.copytree(squares_store.folder, tmp_path / "study")
    store = Store(tmp_path / "study")
    weights = store.folder_of(store.runs()[0]) / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-8])
    page = read(write_page(store, squares, tmp_path / "page.html"))
    assert "The trained weights cannot be read" in page.text
    assert "Traversals of every latent" not in titles(page)


def test_many_settings_are_tabled_and_some_pictured(table, make_study, read, tmp_path):
    betas = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 16.0]
    options = {"latents": 1, "network": "linear", "steps": 2, "scored": False}
    make_study(tmp_path / "study", table, ["beta_vae"], options={"beta": betas}, **options)
    store = make_study(tmp_path / "study", table, ["pdisvae"], **options)
    page = read(write_page(store, table, tmp_path / "page.html"))
    check_self_contained(page)
    pictured = [h2.text for h2 in page.all("h2")][2:-3]
    assert pictured == [*(f"beta_vae beta={beta}" for beta in betas[:5]), "pdisvae"]
    assert "6 of 8 settings are pictured" in page.text
    assert "Without pictures: beta_vae beta=6.0; beta_vae beta=16.0." in page.text
    (legend,) = [ul for ul in page.all("ul") if ul.attributes.get("class") == "legend"]
    assert len(legend.all("li")) == 8


def test_other_data_are_named(table, make_study, read, tmp_path):
    store = make_study(tmp_path / "study", table, latents=2, network="linear", scored=False)
    other = from_array(np.zeros((9, 4), np.float32), name="other")
    page = read(write_page(store, other, tmp_path / "page.html"))
    assert "1 of 1 runs were trained on other data" in page.text
    assert "Trained on observations of shape (3,)" in page.text


def test_empty_folder_and_unwritable_place(table, make_study, tmp_path):
    with pytest.raises(ValueError, match="holds no runs"):
        write_page(Store(tmp_path / "none"), table, tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()
    store = make_study(tmp_path / "study", table, latents=1, network="linear", steps=1, scored=False)
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError):
        write_page(store, table, tmp_path / "file" / "page.html")


def test_a_movie_has_maps_and_no_factors(make_study, read, tmp_path):
    rng = np.random.default_rng(0)
    course = np.sin(np.arange(30) / 3)[:, None, None]
    movie = (course * rng.laplace(size=(8, 9)) + 0.1 * rng.normal(size=(30, 8, 9))).astype(np.float32)
    dataset = from_array(movie, samples="pixels", name="movie")
    store = make_study(tmp_path / "study", dataset, ["pdisvae"], latents=4, groups=(2, 2), network="linear")
    page = read(write_page(store, dataset, tmp_path / "page.html"))
    check_self_contained(page)
    assert page.all("section")[0].all("h3")[0].text == "Maps and time courses"
    alts = [image.attributes["alt"] for image in page.all("section")[0].all("img")]
    assert sorted(alts) == ["Maps and time courses of z0 z1", "Maps and time courses of z2 z3"]
    assert facts(page)["field of view"] == "8 × 9 pixels"
    assert facts(page)["each"] == "a pixel's time course of 30 frames"
    assert "metrics" not in store.scores(store.runs()[0])
    assert "factors" not in facts(page)
    assert "Which latent knows which factor" not in titles(page)


def test_dead_latents_and_a_fit_worse_than_pca_are_said(make_study, read, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 3)) @ rng.standard_normal((3, 6))
    dataset = from_array(x, name="flat")
    options = {"latents": 3, "network": "linear", "likelihood": "gaussian:0.1"}
    make_study(tmp_path / "study", dataset, ["pca"], scored=False, **options)
    store = make_study(tmp_path / "study", dataset, ["beta_vae"], options={"beta": [1000.0]}, steps=400, **options)
    answer = read(write_page(store, dataset, tmp_path / "page.html")).all("section")[0]
    settings = {item.all("strong")[0].text: item.text for item in answer.all("li") if item.all("strong")}
    assert "z0 z1 z2 carry nothing (KL below 0.01 nats)." in settings["beta_vae"]
    assert "the fit is worse than PCA" in settings["beta_vae"]
    assert "worse" not in settings["pca"]
