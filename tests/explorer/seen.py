"""A page of the explorer in a browser, and what is compared with it."""

import io
from pathlib import Path
from urllib.parse import parse_qs

import numpy as np
from PIL import Image

from partita.studies import Store
from partita.training import Model


class Seen:
    """A page, with what a person does there; nothing it complains of may go unnoticed."""

    def __init__(self, page, origin: str):
        self.page, self.origin, self.complaints = page, origin, []
        page.set_default_timeout(20_000)
        page.on("console", lambda said: said.type == "error" and self.complaints.append(said.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def open(self, address: str = "", wait: str = "main section, main table, [role=alert]") -> None:
        self.page.goto("about:blank")
        self.page.goto(f"{self.origin}/#{address}" if self.origin.startswith("http") else f"{self.origin}#{address}")
        self.page.wait_for_selector(wait)
        self.settle()

    def look(self, view: str) -> None:
        """To another view of the same run."""
        self.page.get_by_role("link", name=view.capitalize(), exact=True).click()
        self.page.wait_for_selector(f"nav a[aria-current=page]:text-is('{view.capitalize()}')")
        self.settle()

    def settle(self) -> None:
        """Until pictures show what is asked for. (Under the page's own policy `wait_for_function` may not evaluate.)"""
        asked = """() => !document.querySelector('.waiting') && [...document.querySelectorAll('.decoded')]
            .every(each => each.querySelector('.problem') || each.dataset.decoded)"""
        self.until(asked)

    def until(self, condition: str) -> None:
        for _ in range(400):
            if self.page.evaluate(condition):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"never came true: {condition}\n{self.page.inner_text('body')[:2000]}")

    def decoded(self, figure: int = 0) -> np.ndarray:
        """The code that a picture was decoded at."""
        return np.array(
            [float(v) for v in self.page.locator(".decoded").nth(figure).get_attribute("data-decoded").split(",")]
        )

    def moved_from(self, before: np.ndarray) -> np.ndarray:
        said = ",".join(f"{v:g}" for v in before)
        shown = "document.querySelector('.decoded').dataset.decoded"
        self.until(f"() => {shown} && {shown} !== '{said}'")
        self.page.wait_for_timeout(400)  # the last answer, and the address, which waits a little
        assert not np.allclose(self.decoded(), before)
        return self.decoded()

    def pixels(self, canvas: str = ".decoded canvas", figure: int = 0) -> np.ndarray:
        """A canvas in grey levels, as it is painted."""
        look = """canvas => { const at = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
            return {h: at.height, w: at.width, levels: [...at.data].filter((_, i) => i % 4 === 0)}; }"""
        found = self.page.locator(canvas).nth(figure).evaluate(look)
        return np.array(found["levels"]).reshape(found["h"], found["w"])

    @property
    def address(self) -> dict[str, str]:
        return {key: value[0] for key, value in parse_qs(self.page.url.partition("#")[2]).items()}


def model_of(folder: Path, name: str) -> Model:
    store = Store(folder)
    return store.model(next(run for run in store.runs() if run.id == name))


def levels(values: np.ndarray) -> np.ndarray:
    """What the page paints of values between 0 and 1."""
    return np.rint(255 * np.clip(values, 0, 1))


def as_npy(values: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, values)
    return buffer.getvalue()


def as_png(values: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(levels(values).astype(np.uint8)).save(buffer, "PNG")
    return buffer.getvalue()
