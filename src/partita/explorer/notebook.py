"""The explorer in a notebook."""

from typing import Any

import numpy as np

from partita.estimator import Disentangler
from partita.explorer._documents import diagnosis_document, plain, run_document, tree_document
from partita.explorer._model import OneModel
from partita.explorer.server import STATIC, Explored

DOCUMENTS = {"run": run_document, "tree": tree_document, "diagnosis": diagnosis_document}


def explore(model: Disentangler, X: Any = None, covariates: Any = None) -> Any:
    """The explorer as a widget: a slider for each latent, planes, codes, learning curves, what the latents know.

    It is the page of `partita explore`, which asks the notebook's kernel instead of a server.

    Parameters
    ----------
    model : a fitted `Disentangler`.
    X : rows to look at: an array or data frame like that it was fitted on, or a data set; without, only the decoder.
    covariates : those of X, where it was fitted with some.

    Returns
    -------
    anywidget.AnyWidget
        Shown where it is the last value of a cell.

    Examples
    --------
    >>> rows = np.random.default_rng(0).standard_normal((80, 6))
    >>> widget = explore(Disentangler("pca", latents=2).fit(rows), rows)
    >>> widget.explored.study()["kind"]
    'model'
    """
    if not isinstance(model, Disentangler):
        raise ValueError(
            f"a fitted Disentangler is needed, got {type(model).__name__}; `partita explore` opens studies"
        )
    return _widget(OneModel(model, X, covariates))


def answer(explored: Explored, asked: Any, buffers: Any = ()) -> tuple[dict[str, Any], list[bytes]]:
    """What is sent back for a message of the page: `{"id", "ok", "document" or "problem"}`, and numbers as float32."""
    asked = asked if isinstance(asked, dict) else {}
    number = asked.get("id")
    try:
        document, arrays = _found(explored, asked, [bytes(buffer) for buffer in buffers or ()])
    except KeyError:
        return {"id": number, "ok": False, "problem": "there is no such run here"}, []
    except (ValueError, OSError) as error:
        return {"id": number, "ok": False, "problem": str(error)}, []
    body = [b"".join(np.ascontiguousarray(array, "<f4").tobytes() for array in arrays)] if arrays else []
    return {"id": number, "ok": True, "document": document}, body


def _found(explored: Explored, asked: dict[str, Any], buffers: list[bytes]) -> tuple[Any, list[np.ndarray]]:
    kind = asked.get("kind")
    if kind == "study":
        return explored.study(), []
    subject = explored.subject(str(asked.get("run")))
    if kind in DOCUMENTS:
        return DOCUMENTS[kind](subject), []
    if kind == "points":
        return None, list(subject.points())
    if kind == "observation":
        return None, [subject.observation(int(asked.get("row", -1)))]
    if kind == "decode" and buffers:
        return None, [subject.decode(subject.codes(buffers[0]))]
    if kind == "encode" and buffers:
        return plain(subject.encode_file(buffers[0], str(asked.get("filename", "")))), []
    raise ValueError(f"no answer to {kind!r}")


def _widget(explored: Explored) -> Any:
    try:
        import anywidget
    except ImportError:
        raise ValueError('pt.explore needs the package anywidget: pip install "partita[explore]"') from None

    class Explorer(anywidget.AnyWidget):
        """The page, its messages answered by `explored`."""

        _esm = STATIC / "explorer.js"
        _css = STATIC / "explorer.css"

        def __init__(self) -> None:
            super().__init__()
            self.explored = explored
            self.on_msg(self._heard)

        def _heard(self, widget: Any, asked: Any, buffers: Any) -> None:
            content, body = answer(explored, asked, buffers)
            self.send(content, buffers=body)

    return Explorer()
