"""Screenshots and the animation of the explorer, taken from the real page: docs/figures/explorer*.

Needs playwright and a Chromium. Trains two small models first, for some minutes; PARTITA_STUDY=FOLDER looks at a study
that is there already (a PDisVAE with a group of two and another run, on images).
"""

import io
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

FIGURES = Path(__file__).parent / "figures"
PORT = 8799
PAGE = f"http://127.0.0.1:{PORT}/"
FRAME = (1180, 690)
WIDTH = 860  # of the animation
MOST_BYTES = 1_500_000
READY = """() => !document.querySelector('.waiting')
    && [...document.querySelectorAll('.decoded')].every(each => each.dataset.decoded)"""


def main() -> None:
    study = Path(os.environ.get("PARTITA_STUDY") or trained())
    command = [sys.executable, "-m", "partita", "explore", str(study), "--port", str(PORT)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server, sync_playwright() as playwright:
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        try:
            wait_for_server()
            stills(browser.new_page(viewport={"width": 1180, "height": 760}))
            stills(browser.new_page(viewport={"width": 1180, "height": 760}, color_scheme="dark"), ("codes",), "-dark")
            stills(browser.new_page(viewport={"width": 400, "height": 860}), ("turn",), "-phone")
            animation(browser.new_page(viewport={"width": FRAME[0], "height": FRAME[1]}))
        finally:
            browser.close()
            server.terminate()


def trained() -> str:
    out = tempfile.mkdtemp()
    asked = ["--data", "pdsprites", "--latents", "3", "--steps", "3000", "--seeds", "0", "--out"]
    for method in (["pdisvae", "--groups", "2,1"], ["vae"]):
        subprocess.run([sys.executable, "-m", "partita", "train", *method, *asked, out], check=True)
    subprocess.run([sys.executable, "-m", "partita", "evaluate", out], check=True)
    return out


def wait_for_server() -> None:
    for _ in range(120):
        try:
            urllib.request.urlopen(PAGE, timeout=5).close()
            return
        except OSError:
            time.sleep(0.5)
    raise TimeoutError("the explorer did not start")


def opened(page: Page, view: str, more: str = "") -> None:
    """The PDisVAE's page, when everything on it is there."""
    page.goto(PAGE)
    page.wait_for_selector("table.runs")
    row = page.locator("table.runs tbody a", has_text="pdisvae").first
    page.goto(f"{PAGE}{row.get_attribute('href')}&view={view}{more}")
    page.wait_for_selector("nav")
    for _ in range(240):
        if page.evaluate(READY):
            break
        page.wait_for_timeout(250)
    page.wait_for_timeout(1200)


def stills(
    page: Page, views: tuple[str, ...] = ("turn", "codes", "latents", "groups", "training"), kind: str = ""
) -> None:
    for view in views:
        opened(page, view)
        if view == "codes":
            lasso(page, lambda: None)
            page.wait_for_timeout(500)
        keep(page, f"{view}{kind}")
    if not kind:
        page.goto(PAGE)
        page.wait_for_selector("table.runs")
        page.wait_for_timeout(500)
        keep(page, "runs")
        opened(page, "turn")
        page.get_by_label("Compare with").select_option(index=1)
        page.wait_for_timeout(2500)
        keep(page, "compare")
    page.close()


def keep(page: Page, name: str) -> None:
    """What is seen, without the empty space below it."""
    ends = (
        "() => Math.max(...[...document.querySelectorAll('main > *')].map(each => each.getBoundingClientRect().bottom))"
    )
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    picture = picture.crop((0, 0, picture.width, min(picture.height, int(page.evaluate(ends)) + 32)))
    picture.quantize(160, dither=Image.Dither.NONE).save(FIGURES / f"explorer-{name}.png", optimize=True)


def lasso(page: Page, snap) -> None:
    box = page.locator(".stage").bounding_box()
    assert box is not None
    middle, reach = (
        (box["x"] + box["width"] * 0.34, box["y"] + box["height"] * 0.6),
        (box["width"] * 0.13, box["height"] * 0.2),
    )
    page.keyboard.down("Shift")
    page.mouse.move(middle[0] + reach[0], middle[1])
    page.mouse.down()
    for step in range(1, 15):
        turn = 2 * math.pi * step / 14
        page.mouse.move(middle[0] + reach[0] * math.cos(turn), middle[1] + reach[1] * math.sin(turn))
        snap()
    page.mouse.up()
    page.keyboard.up("Shift")


def animation(page: Page) -> None:
    """A hand drags the plane, moves a slider, then draws a lasso among the codes."""
    frames: list[Image.Image] = []

    def snap(times: int = 1) -> None:
        page.wait_for_timeout(120)
        picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        frames.extend([picture.resize((WIDTH, WIDTH * FRAME[1] // FRAME[0]), Image.Resampling.LANCZOS)] * times)

    opened(page, "turn")
    page.evaluate("document.querySelector('.runname').scrollIntoView()")
    snap(3)
    box = page.locator(".plane").bounding_box()
    assert box is not None
    centre, side = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2), box["width"] * 0.3
    page.mouse.move(centre[0] + side * 0.2, centre[1])
    page.mouse.down()
    for step in range(25):
        turn = 2 * math.pi * step / 24
        page.mouse.move(centre[0] + side * (math.cos(turn) - 0.25), centre[1] + side * math.sin(turn))
        snap()
    page.mouse.up()
    page.wait_for_timeout(600)
    snap(4)
    slider = page.locator(".slider input").last.bounding_box()
    assert slider is not None
    across = [0.56 + 0.4 * math.sin(2 * math.pi * step / 16) for step in range(17)]
    page.mouse.move(slider["x"] + slider["width"] * across[0], slider["y"] + slider["height"] / 2)
    page.mouse.down()
    for part in across:
        page.mouse.move(slider["x"] + slider["width"] * part, slider["y"] + slider["height"] / 2)
        snap()
    page.mouse.up()
    page.get_by_role("link", name="Codes", exact=True).click()
    page.wait_for_timeout(1500)
    page.evaluate("document.querySelector('.runname').scrollIntoView()")
    snap(3)
    lasso(page, snap)
    page.wait_for_timeout(500)
    snap(10)
    page.close()
    for colours in (255, 160, 96, 48):
        palette = _palette(frames, colours)
        drawn = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
        out = io.BytesIO()
        drawn[0].save(out, "GIF", save_all=True, append_images=drawn[1:], duration=110, loop=0, optimize=True)
        if len(out.getvalue()) < MOST_BYTES:
            break
    (FIGURES / "explorer.gif").write_bytes(out.getvalue())
    print(f"docs: explorer.gif, {len(drawn)} frames, {len(out.getvalue()) / 1e6:.2f} MB, {colours} colours")


def _palette(frames: list[Image.Image], colours: int) -> Image.Image:
    """One palette for all frames, so that what does not move is not written again."""
    few = [frame.resize((220, 150)) for frame in frames[:: max(1, len(frames) // 12)]]
    sheet = Image.new("RGB", (220, 150 * len(few)))
    for i, each in enumerate(few):
        sheet.paste(each, (0, 150 * i))
    return sheet.quantize(colours)


if __name__ == "__main__":
    main()
