"""The page in a real browser: what a hand moves, what is then seen, and that PyTorch says the same."""

import io
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from tests.explorer.conftest import Served, serving
from tests.explorer.seen import Seen, as_npy, as_png, levels, model_of

from partita.data import load
from partita.explorer._study import StudyFolder
from partita.explorer.single_file import write_single_file
from partita.studies import Store, plan, train

CPU = torch.device("cpu")
CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
WIDTHS = (1280, 800, 400)
VIEWS = ("turn", "codes", "latents", "groups", "training")
MANY = 100_000


@pytest.fixture(scope="module")
def browsed(tmp_path_factory) -> tuple[Path, dict[str, str]]:
    """A study with everything in it (images, a hundred runs, a hundred thousand rows, tables, runs with a problem), and
    the ids of its runs by what they are there for."""
    place, found = tmp_path_factory.mktemp("browsed"), {}
    store = Store(place / "study")

    def trained(what: str, method: str, data, **settings) -> None:
        runs = plan([method], data, **{"network": "linear", "steps": 2} | settings)
        train(runs, data, store, device=CPU)
        found.update({what if len(runs) == 1 else f"{what} {run.seed}": run.id for run in runs})

    images = load("pdsprites")
    trained("images", "pdisvae", images, groups=(2, 1), network="mlp", hidden=(32,), steps=30)
    trained("other", "vae", images, latents=3, network="mlp", hidden=(32,), steps=30)
    vectors = load("groups", size=200, groups=(2, 1), features=4)
    trained("seed", "vae", vectors, latents=2, seeds=range(100))
    trained("many", "vae", load("independent", size=MANY, features=3), latents=2)
    trained("diverged", "beta_vae", vectors, latents=2, steps=4, learning_rate=1e30)
    trained("gone", "beta_vae", vectors, latents=2)
    (next((place / "study").glob(f"runs/**/{found['gone']}")) / "weights.safetensors").unlink()
    rng = np.random.default_rng(0)
    for name in ("kept", "moved"):
        rows = "\n".join(",".join(f"{v:.3f}" for v in row) for row in rng.normal(size=(60, 3)))
        (place / f"{name}.csv").write_text(f"<b>mass</b>,speed,heat\n{rows}\n")
        trained(name, "vae", load(str(place / f"{name}.csv")), latents=2)
    (place / "moved.csv").unlink()
    np.save(place / "film.npy", rng.normal(size=(20, 5, 7)).astype(np.float32))
    trained("movie", "vae", load(str(place / "film.npy"), samples="pixels"), latents=2)
    return place / "study", found


@pytest.fixture(scope="module")
def folder(browsed) -> Path:
    return browsed[0]


@pytest.fixture(scope="module")
def runs(browsed) -> dict[str, str]:
    return browsed[1]


@pytest.fixture(scope="module")
def explored(folder) -> StudyFolder:
    return StudyFolder(folder)


@pytest.fixture(scope="module")
def server(explored) -> Iterator[Served]:
    with serving(explored) as served:
        yield served


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    if CHROMIUM is None:
        pytest.skip("needs a Chromium on the path")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"]
        )
        yield started
        started.close()


@pytest.fixture
def seen(browser, server) -> Iterator[Seen]:
    page = browser.new_page(viewport={"width": 1280, "height": 860})
    view = Seen(page, server.origin)
    yield view
    page.close()
    assert view.complaints == []


def test_a_slider_moves_the_picture_as_pytorch_does(seen, folder, runs):
    seen.open(f"run={runs['images']}")
    before, z = seen.pixels(), seen.decoded()
    slider = seen.page.get_by_role("slider", name="z2", exact=True)
    slider.focus()
    for _ in range(25):
        seen.page.keyboard.press("ArrowRight")
    z = seen.moved_from(z)
    after = seen.pixels()
    assert np.abs(after - before).max() > 2
    says = model_of(folder, runs["images"]).decode(z[None].astype(np.float32))[0, 0]
    assert np.abs(after - levels(says)).max() <= 1
    assert seen.address["z"] == ",".join(f"{v:g}" for v in z)


def test_the_newest_wish_wins(seen, runs):
    """While one answer is under way, wishes replace each other: the hand is followed, no line forms."""
    asked = []
    seen.page.on("request", lambda request: request.url.endswith("/decode") and asked.append(request))
    seen.open(f"run={runs['images']}")
    asked.clear()
    z = seen.decoded()
    move = """input => { const [low, high] = [Number(input.min), Number(input.max)];
        for (let i = 0; i <= 200; i++) { input.value = low + i * (high - low) / 200;
            input.dispatchEvent(new Event('input', {bubbles: true})); } }"""
    seen.page.get_by_role("slider", name="z2", exact=True).evaluate(move)
    z = seen.moved_from(z)
    assert z[2] == pytest.approx(float(seen.page.get_by_role("slider", name="z2", exact=True).input_value()), abs=1e-3)
    assert len(asked) < 20


def test_a_plane_is_dragged(seen, folder, runs):
    seen.open(f"run={runs['images']}")
    z, before = seen.decoded(), seen.pixels()
    box = seen.page.locator(".plane").bounding_box()
    seen.page.mouse.move(box["x"] + 84, box["y"] + 84)
    seen.page.mouse.down()
    for step in range(1, 11):
        seen.page.mouse.move(box["x"] + 84 + 6 * step, box["y"] + 84 - 7 * step)
    seen.page.mouse.up()
    moved = seen.moved_from(z)
    assert moved[0] != z[0]
    assert moved[1] != z[1]
    assert moved[2] == pytest.approx(z[2], abs=1e-4)
    says = model_of(folder, runs["images"]).decode(moved[None].astype(np.float32))[0, 0]
    assert np.abs(seen.pixels() - levels(says)).max() <= 1
    assert (seen.pixels() != before).any()
    seen.page.locator(".plane").focus()
    seen.page.keyboard.press("Home")
    assert seen.moved_from(moved)[:2] == pytest.approx(z[:2], abs=1e-3)


def test_lasso_by_hand_and_by_keys_and_its_undo(seen, runs):
    seen.open(f"run={runs['images']}&view=codes")
    stage = seen.page.locator(".stage").bounding_box()
    middle = (stage["x"] + stage["width"] / 2, stage["y"] + stage["height"] / 2)
    seen.page.keyboard.down("Shift")
    seen.page.mouse.move(middle[0] - 300, middle[1] - 200)
    seen.page.mouse.down()
    for dx, dy in ((300, -200), (300, 200), (-300, 200), (-300, -200)):
        seen.page.mouse.move(middle[0] + dx, middle[1] + dy, steps=6)
    seen.page.mouse.up()
    seen.page.keyboard.up("Shift")
    chosen = seen.page.locator(".chosen strong")
    chosen.wait_for()
    first = int(chosen.inner_text().replace(",", ""))
    assert 0 < first <= 805
    seen.page.locator(".stage").focus()
    for keys in (["L"], ["ArrowRight"] * 6 + ["L"], ["ArrowDown"] * 6 + ["L"], ["Enter"]):
        for key in keys:
            seen.page.keyboard.press(key.lower() if key == "L" else key)
    seen.until(f"() => document.querySelector('.chosen strong').textContent !== '{first}'")
    seen.page.keyboard.press("u")
    seen.until(f"() => document.querySelector('.chosen strong').textContent === '{first}'")
    seen.page.get_by_role("button", name="Undo the lasso").click()
    chosen.wait_for(state="detached")


def test_the_observation_under_the_pointer_is_the_datas(seen, runs):
    seen.open(f"run={runs['images']}&view=codes&row=5")
    seen.until("() => document.querySelector('.under h3').textContent === 'Observation 6'")
    seen.page.wait_for_timeout(300)
    data = load("pdsprites").x
    shown = seen.pixels(".under canvas")
    assert (np.abs(data[:, 0] * 255 - shown).reshape(len(data), -1).max(1) <= 1).any()
    box = seen.page.locator(".stage").bounding_box()
    words = seen.page.locator(".under h3")
    for step in range(40):
        seen.page.mouse.move(box["x"] + 10 + step * (box["width"] - 20) / 40, box["y"] + box["height"] / 2)
        if words.inner_text() not in ("Observation 6", "Under the pointer"):
            return
    raise AssertionError("no observation was under the pointer anywhere")


def test_two_runs_at_the_same_point(seen, folder, runs):
    seen.open(f"run={runs['images']}&compare={runs['other']}&z=0.5,-0.25,0.1")
    seen.until("() => document.querySelectorAll('.decoded canvas').length === 2")
    seen.settle()
    for figure, name in enumerate((runs["images"], runs["other"])):
        assert seen.decoded(figure) == pytest.approx([0.5, -0.25, 0.1])
        says = model_of(folder, name).decode(np.array([[0.5, -0.25, 0.1]], np.float32))[0, 0]
        assert np.abs(seen.pixels(figure=figure) - levels(says)).max() <= 1
    seen.open(f"run={runs['images']}&compare={runs['other']}&row=12")  # an observation: each run has its own code of it
    seen.until("() => document.querySelectorAll('.decoded').length === 2")
    seen.settle()
    seen.page.wait_for_timeout(300)
    row = load("pdsprites").x[12:13]
    for figure, name in enumerate((runs["images"], runs["other"])):
        assert seen.decoded(figure) == pytest.approx(model_of(folder, name).encode(row).mean[0], abs=1e-3)


@pytest.mark.parametrize(("name", "content"), [("row.npy", as_npy), ("picture.png", lambda x: as_png(x[0]))])
def test_a_file_is_encoded(seen, folder, runs, name, content):
    row = load("pdsprites").x[40]
    seen.open(f"run={runs['images']}")
    z = seen.decoded()
    seen.page.get_by_label("File to encode").set_input_files(
        {"name": name, "mimeType": "application/octet-stream", "buffer": content(row)}
    )
    z = seen.moved_from(z)
    assert z == pytest.approx(model_of(folder, runs["images"]).encode(row[None]).mean[0], abs=2e-3)
    assert np.abs(seen.pixels(".itself canvas") - levels(row[0])).max() <= 1


def test_a_file_is_dropped_and_a_wrong_one_is_told_why(seen, folder, runs):
    seen.open(f"run={runs['kept']}")
    z = seen.decoded()
    drop = """text => { const files = new DataTransfer();
        files.items.add(new File([text], 'row.csv', {type: 'text/csv'}));
        const event = new DragEvent('drop', {dataTransfer: files, bubbles: true, cancelable: true});
        document.querySelector('.turn').dispatchEvent(event); }"""
    seen.page.evaluate(drop, "0.5,-1,2")
    z = seen.moved_from(z)
    assert z == pytest.approx(
        model_of(folder, runs["kept"]).encode(np.array([[0.5, -1, 2]], np.float32)).mean[0], abs=2e-3
    )
    seen.page.evaluate(drop, "1,2")
    seen.page.get_by_role("alert").wait_for()
    assert "row.csv" in seen.page.get_by_role("alert").inner_text()
    seen.complaints = [
        said for said in seen.complaints if "status of 4" not in said
    ]  # the browser tells of refusals by itself


def test_a_table_is_bars_by_name_and_names_are_text(seen, runs):
    seen.open(f"run={runs['kept']}", wait=".bars dt")
    names = seen.page.locator(".bars dt").all_inner_texts()
    assert sorted(names) == ["<b>mass</b>", "heat", "speed"]
    assert seen.page.locator(".bars b").count() == 0


def test_vectors_are_curves_and_movies_are_maps(seen, runs):
    drawn = """canvas => { const all = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        return all.data.reduce((a, b) => a + b); }"""
    seen.open(f"run={runs['seed 4']}", wait=".decoded .curve canvas")
    seen.page.wait_for_timeout(300)
    curve, z = seen.page.locator(".decoded .curve canvas"), seen.decoded()
    before = curve.evaluate(drawn)
    assert before > 0
    seen.page.get_by_role("slider", name="z0", exact=True).focus()
    for _ in range(20):
        seen.page.keyboard.press("ArrowRight")
    seen.moved_from(z)
    assert curve.evaluate(drawn) != before
    seen.open(f"run={runs['movie']}", wait=".map canvas")
    box = seen.page.locator(".map canvas").bounding_box()
    assert seen.pixels(".map canvas").shape == (5, 7)
    seen.page.mouse.click(box["x"] + 2.5 * box["width"] / 7, box["y"] + 1.5 * box["height"] / 5)
    seen.page.get_by_text("Observation 10, as it is").wait_for()  # the pixel of row 1 and column 2


def test_a_hundred_runs_to_sort_and_filter_and_every_view_has_an_address(seen, runs):
    seen.open("", wait="table.runs")
    rows = seen.page.locator("table.runs tbody tr")
    assert rows.count() == len(runs)
    seen.page.get_by_role("button", name="Seed").click()
    assert seen.page.locator("th[aria-sort=descending]").inner_text().startswith("Seed")
    assert ", seed 99," in rows.first.locator("a").get_attribute("aria-label")
    seen.page.get_by_label("Find").fill("beta_vae")
    seen.until("() => document.querySelectorAll('table.runs tbody tr').length === 2")
    seen.page.wait_for_timeout(400)
    assert seen.address == {"sort": "-seed", "filter": "beta_vae"}
    seen.page.reload()
    seen.page.wait_for_selector("table.runs")
    assert rows.count() == 2
    seen.page.get_by_label("Find").fill("pdsprites")
    seen.until("() => document.querySelectorAll('table.runs tbody tr').length === 2")
    for box in seen.page.get_by_role("checkbox").all():
        box.check()
    seen.page.get_by_role("link", name="Compare the two").click()
    seen.until("() => document.querySelectorAll('.decoded').length === 2")
    assert set(seen.address) == {"run", "compare", "view"}
    seen.page.go_back()
    seen.page.wait_for_selector("table.runs")


@pytest.mark.parametrize(("which", "words"), [("diverged", "diverged"), ("gone", "weights"), ("moved", "moved.csv")])
def test_a_run_with_a_problem_says_it(seen, runs, which, words):
    seen.open(f"run={runs[which]}")
    for view in VIEWS:
        seen.look(view)
        said = seen.page.get_by_role("alert").first.inner_text()
        assert words in said
        assert len(seen.page.inner_text("main")) > len(said) + 40, "the view itself says something too"
    if which == "moved":  # the model is whole: it decodes without its data
        seen.look("turn")
        z = seen.decoded()
        seen.page.get_by_role("slider", name="z0", exact=True).focus()
        seen.page.keyboard.press("ArrowRight")
        seen.moved_from(z)


def test_an_unknown_run_says_so(seen):
    seen.open("run=nobody")
    assert "nobody" in seen.page.get_by_role("alert").inner_text()
    seen.complaints = [said for said in seen.complaints if "status of 4" not in said]


# What a browser offers for drawing: a graphics card (here one that the processor imitates under another name), or none.
OFFERS = {
    "WebGL": """const was = WebGLRenderingContext.prototype.getParameter;
        WebGLRenderingContext.prototype.getParameter =
            function (what) { return what === 37446 ? 'a card' : was.call(this, what); };""",
    "canvas": """const was = HTMLCanvasElement.prototype.getContext; HTMLCanvasElement.prototype.getContext =
        function (kind, more) { return /webgl/.test(kind) ? null : was.call(this, kind, more); };""",
}


@pytest.fixture(params=OFFERS)
def offered(request, browser, server, runs) -> Iterator[Seen]:
    page = browser.new_page(viewport={"width": 1280, "height": 860})
    page.add_init_script(OFFERS[request.param])
    seen = Seen(page, server.origin)
    seen.open(f"run={runs['many']}&view=codes", wait=".stage canvas")
    assert page.locator(".stage canvas").get_attribute("data-painter") == request.param
    yield seen
    page.close()
    assert seen.complaints == []


def test_a_hundred_thousand_points(offered):
    assert "100,000 observations" in offered.page.inner_text(".side")
    offered.page.wait_for_timeout(500)
    painted = np.array(Image.open(io.BytesIO(offered.page.locator(".stage").screenshot())).convert("L"))
    assert (painted < 200).mean() > 0.02, "points are there"


FRAMES = """async () => { const stage = document.querySelector('.stage'), box = stage.getBoundingClientRect();
    const took = [];
    let last = null, drawn = 0;
    for (const [kind, name] of [[CanvasRenderingContext2D, 'putImageData'], [WebGLRenderingContext, 'drawArrays']]) {
        const was = kind.prototype[name];
        kind.prototype[name] = function (...all) { drawn++; return was.apply(this, all); };
    }
    for (let i = 0; i < 90; i++) {
        stage.dispatchEvent(new WheelEvent('wheel', {deltaY: i % 30 < 15 ? -12 : 12, bubbles: true, cancelable: true,
            clientX: box.left + box.width / 2, clientY: box.top + box.height / 2}));
        const now = await new Promise(requestAnimationFrame);
        if (last !== null) took.push(now - last);
        last = now;
    }
    return [took.sort((a, b) => a - b)[took.length >> 1], drawn]; }"""


@pytest.mark.slow
def test_thirty_frames_a_second(seen, runs):
    """The median over ninety frames of zooming, as the page draws in this browser; alone on the machine."""
    seen.open(f"run={runs['many']}&view=codes", wait=".stage canvas")
    median, drawn = seen.page.evaluate(FRAMES)
    how = seen.page.locator(".stage canvas").get_attribute("data-painter")
    print(f"\nmedian frame of {MANY:,} points, {how}: {median:.1f} ms, {drawn} of 90 drawn anew")
    assert drawn > 70, "frames without new points would be nothing to be proud of"
    assert median < 1000 / 30 + 0.5, "screens count in sixtieths of a second: two of them are thirty frames"


NAMELESS = """() => { const parts = 'button, a, input, select, [tabindex="0"], canvas, [role]';
    const named = each => each.textContent.trim() || each.getAttribute('aria-label') || each.labels?.length
        || ['status', 'alert'].includes(each.getAttribute('role'));
    const drawn = each => each.closest('[aria-hidden=true]') || each.parentElement.closest('[role=img]');
    return [...document.querySelectorAll(parts)]
        .filter(each => !drawn(each) && !named(each)).map(each => each.outerHTML); }"""


def test_no_view_is_wider_than_the_screen_and_everything_has_a_name(seen, runs, folder):
    for width in WIDTHS:
        seen.page.set_viewport_size({"width": width, "height": 860})
        seen.open("", wait="table.runs")
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
        seen.open(f"run={runs['images']}")
        for view in VIEWS:
            seen.look(view)
            assert seen.page.evaluate("document.documentElement.scrollWidth") <= width, (view, width)
            assert seen.page.evaluate(NAMELESS) == [], view
            if pictures := os.environ.get("PARTITA_PICTURES"):
                seen.page.wait_for_timeout(400)
                seen.page.screenshot(path=Path(pictures) / f"{view}-{width}.png", full_page=True)


def test_nothing_jumps_while_a_view_fills(browser, server, runs):
    """Layout shift by the browser's own measure; below 0.1 counts as none."""
    page = browser.new_page(viewport={"width": 1280, "height": 860})
    page.add_init_script("""window.jumps = []; new PerformanceObserver(list => { for (const each of list.getEntries())
        if (!each.hadRecentInput) window.jumps.push(each.value); }).observe({type: 'layout-shift', buffered: true});""")
    seen = Seen(page, server.origin)
    for address in ("", f"run={runs['images']}&row=3", f"run={runs['images']}&view=codes", f"run={runs['kept']}"):
        seen.open(address)
        page.wait_for_timeout(500)
        assert sum(page.evaluate("window.jumps")) < 0.1, address
    page.close()


def test_a_token_comes_once_and_is_asked_for(browser, explored):
    with serving(explored, token="a-long-secret") as guarded:
        page = browser.new_page()
        page.goto(f"{guarded.origin}/?token=a-long-secret")
        page.wait_for_selector("table.runs")
        assert "secret" not in page.url
        page.goto("about:blank")
        page.goto(guarded.origin)
        assert "token" in page.get_by_role("alert").inner_text()
        page.close()


def test_dark_mode_follows_the_system_and_a_button(browser, server):
    page = browser.new_page(color_scheme="dark")
    seen = Seen(page, server.origin)
    seen.open("", wait="table.runs")
    paper = "getComputedStyle(document.querySelector('.partita')).backgroundColor"
    assert page.evaluate(paper) == "rgb(20, 23, 26)"
    page.get_by_role("button", name="Light page").click()
    assert page.evaluate(paper) == "rgb(255, 255, 255)"
    page.close()
    assert seen.complaints == []


def test_an_empty_study_says_what_to_do(browser, server):
    page = browser.new_page()
    page.route(
        "**/api/study",
        lambda route: route.fulfill(json={"title": "new", "kind": "study", "runs": [], "score_names": []}),
    )
    page.goto(server.origin)
    page.wait_for_selector("section.empty")
    assert "partita train" in page.inner_text("section.empty")
    page.close()


def test_the_single_file_runs_from_a_disk_without_network(browser, explored, folder, runs, tmp_path):
    page_file = write_single_file(explored, runs["images"], tmp_path / "page.html")
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 860})
    page = context.new_page()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    seen = Seen(page, page_file.as_uri())
    seen.open("", wait=".decoded canvas")
    model = model_of(folder, runs["images"])
    z = seen.decoded()
    page.get_by_role("slider", name="z2", exact=True).focus()
    for _ in range(20):
        page.keyboard.press("ArrowRight")
    z = seen.moved_from(z)
    assert np.abs(seen.pixels() - levels(model.decode(z[None].astype(np.float32))[0, 0])).max() <= 1
    row = load("pdsprites").x[40]
    page.get_by_label("File to encode").set_input_files(
        {"name": "row.npy", "mimeType": "application/octet-stream", "buffer": as_npy(row)}
    )
    assert seen.moved_from(z) == pytest.approx(model.encode(row[None]).mean[0], abs=2e-3)
    for view in VIEWS[1:]:
        seen.look(view)
    assert {url.partition("#")[0] for url in asked} <= {page_file.as_uri(), "about:blank", "data:,"}
    context.close()
    assert seen.complaints == []


@pytest.mark.slow
def test_the_browser_computes_what_pytorch_does(seen, explored, folder, runs, tmp_path):
    """The single file's documents, its runtime and its decoder, number by number and not by grey levels."""
    written = write_single_file(explored, runs["images"], tmp_path / "page.html").read_text()
    documents = re.findall(r'<script type="[^"]*" id="(partita-[a-z]+)"[^>]*>(.*?)</script>', written, re.DOTALL)
    codes = np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32)
    seen.open()
    found, took = seen.page.evaluate(
        """async ([documents, codes]) => {
        const { inline } = await import('/static/explorer.js');
        for (const [id, text] of documents) document.body.append(Object.assign(
            document.createElement('script'), {id, type: 'application/octet-stream', textContent: text}));
        const source = inline(), rows = [], took = [];
        for (const code of [...codes, ...Array(40).fill(codes[0])]) {
            const begun = performance.now();
            rows.push([...await source.decode('', Float32Array.from(code))]);
            took.push(performance.now() - begun);
        }
        return [rows.slice(0, codes.length), took.sort((a, b) => a - b)[took.length >> 1]]; }""",
        [documents, codes.tolist()],
    )
    says = model_of(folder, runs["images"]).decode(codes)
    print(f"\nsingle file: {len(written) / 1e6:.1f} MB, median decode {took:.1f} ms")
    assert np.abs(np.array(found).reshape(says.shape) - says).max() < 1e-6


def test_the_widget_asks_the_kernel(browser, server, explored, folder, runs):
    """The bundle's `render` with the kernel's own answers: what a notebook carries between them is carried here."""
    from partita.explorer.notebook import answer

    def kernel(asked: dict, buffers: list[list[int]]) -> dict:
        said, back = answer(explored, asked, [bytes(each) for each in buffers])
        return {"said": said, "buffers": [list(each) for each in back]}

    page = browser.new_page(viewport={"width": 1000, "height": 800})
    seen = Seen(page, server.origin)
    page.expose_function("kernel", kernel)
    page.goto(server.origin)
    page.wait_for_selector("table.runs")
    page.evaluate("""async () => {
        const heard = [], box = document.createElement('div');
        const bytes = each => new DataView(new Uint8Array(each).buffer);
        document.body.replaceChildren(box);
        const model = { on: (_, listener) => heard.push(listener), off: () => {}, send: async (asked, _, buffers) => {
            const got = await kernel(asked, (buffers ?? []).map(each => [...new Uint8Array(each)]));
            for (const listener of heard) listener(got.said, got.buffers.map(bytes)); } };
        (await import('/static/explorer.js')).default.render({model, el: box}); }""")
    page.wait_for_selector("table.runs")
    page.get_by_role("link", name=runs["images"]).click()
    page.wait_for_selector(".decoded canvas")
    seen.settle()
    says = model_of(folder, runs["images"]).decode(seen.decoded()[None].astype(np.float32))[0, 0]
    assert np.abs(seen.pixels() - levels(says)).max() <= 1
    assert "#" not in page.url, "a notebook's address is its own"
    page.close()
    assert seen.complaints == []
