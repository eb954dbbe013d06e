"""How a picture travels inside a page."""

import base64
import io
import warnings
from dataclasses import dataclass

from matplotlib.figure import Figure

from partita.plot._style import DOTS_PER_INCH, styled

PIXELS_PER_INCH = 96


@dataclass(frozen=True)
class Picture:
    """An image of a page: its bytes as a data address, what it shows in words, its natural width in pixels."""

    uri: str
    alt: str
    width: int


def as_svg(figure: Figure, alt: str) -> Picture:
    """For lines and text: sharp at any size."""
    return _picture(figure, alt, "svg", "image/svg+xml", {"Date": None, "Creator": None})


def as_png(figure: Figure, alt: str) -> Picture:
    """For images and clouds of points, whose number must not set the size of the page."""
    return _picture(figure, alt, "png", "image/png", {"Software": None})


@styled
def _picture(figure: Figure, alt: str, form: str, mime: str, metadata: dict) -> Picture:
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # a name in a script the font lacks
        figure.savefig(buffer, format=form, dpi=DOTS_PER_INCH, metadata=metadata)
    width = round(figure.get_size_inches()[0] * PIXELS_PER_INCH)
    return Picture(f"data:{mime};base64,{base64.b64encode(buffer.getvalue()).decode()}", alt, width)
