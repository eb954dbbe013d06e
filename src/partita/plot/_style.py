"""How every picture looks."""

import io
import re
import unicodedata
from typing import Any

from matplotlib import rc_context
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

INK, FAINT = "#222222", "#8a8a8a"

RC: dict[Any, Any] = {
    "font.size": 9.0,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.labelsize": 9.0,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "legend.frameon": False,
    "figure.facecolor": "white",
    "figure.constrained_layout.use": True,
    "svg.fonttype": "path",
    "svg.hashsalt": "partita",
    # names come from files: a dollar sign in one is a dollar sign, not the start of a formula
    "text.parse_math": False,
}

# Okabe and Ito 2008 without yellow, which is too faint on white; dashes tell settings apart once colours repeat.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#4d4d4d")
DASHES = ("solid", "dashed", "dotted", "dashdot")

# Angles. The circle runs through lightness and blue-yellow, which people who confuse red and green see as others do.
ANGLE_MAP = LinearSegmentedColormap.from_list(
    "partita angle", ["#1d2a5b", "#2b6fb8", "#8fc4e8", "#eecb5a", "#c2701c", "#5a2b2f", "#1d2a5b"]
)
VALUE_MAP = "cividis"
CHANGE_MAP = "RdBu_r"

DOTS_PER_INCH = 160


def styled(function):
    """Runs a figure function under the page's style."""
    return rc_context(RC)(function)


class Drawing(Figure):
    """A figure that a notebook shows although pyplot knows nothing of it."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png")
        return buffer.getvalue()


def readable(value: float, digits: int = 2) -> str:
    """A number for people: fixed digits in the usual range, powers of ten beyond it, a proper minus."""
    size = abs(value)
    text = f"{value:.2e}" if size >= 1e5 else f"{value:.{digits if size < 1000 else 1}f}"
    return text.replace("-", "−") if float(text) else text.removeprefix("-")


def signs(words: str) -> str:
    """A sentence with the minus of print before its numbers."""
    return re.sub(r"(?<![\w.])-(?=\d)", "−", words)


def plain(text: str, most: int = 28) -> str:
    """A name fit for a figure: one line, nothing unprintable, cut in the middle when long."""
    text = "".join(" " if unicodedata.category(c).startswith(("C", "Z")) else c for c in str(text))
    text = re.sub(" +", " ", text).strip()
    return text if len(text) <= most else f"{text[: most - most // 3 - 1]}…{text[-(most // 3) :]}"


def latents_named(group) -> str:
    """A group of latents by its members."""
    names = [f"z{k}" for k in group]
    return " ".join(names) if len(names) <= 4 else f"{names[0]} {names[1]} … {names[-1]} ({len(names)})"
