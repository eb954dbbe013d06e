"""One run as one page that needs no server and no network: model, runtime, documents and a sample, all inside."""

import base64
import gzip
import hashlib
import html
import json
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from partita.data._some_rows import some_rows
from partita.explorer._documents import diagnosis_document, run_document, tree_document
from partita.explorer._subject import Subject
from partita.explorer.onnx_files import onnx_graphs
from partita.explorer.server import STATIC, Explored
from partita.training.files import write_bytes

POINTS = 5_000
NUMBERS_SHOWN = 1 << 20  # of observations: 256 images of 64 x 64 pixels
NEEDED = ("single.html", "explorer.js", "explorer.css", "ort.wasm.gz")


def write_single_file(explored: Explored, run: str, out: str | Path) -> Path:
    """The page of one run as a single file, about 5.5 MB and the model, that a browser opens from a disk.

    It holds encoder and decoder as ONNX, the runtime that computes them in the browser, the codes of up to 5,000 rows
    and as many observations as fit into a million numbers, and all documents of the run. Its content security policy
    lets nothing in it reach a network.

    Parameters
    ----------
    explored : what is looked at, a study's folder or one model.
    run : the id of the run.
    out : the file to write.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import partita as pt
    >>> rows = np.eye(6)
    >>> shown = pt.explore(pt.Disentangler("pca", latents=2).fit(rows), rows).explored
    >>> with TemporaryDirectory() as folder:
    ...     write_single_file(shown, "model", Path(folder) / "page.html").stat().st_size > 5_000_000
    True
    """
    subject = explored.subject(run)
    if subject.model is None:
        raise ValueError(f"{run} cannot be exported: {subject.problem}")
    page = _assembled(documents(explored, subject))
    write_bytes(Path(out), page.encode())
    return Path(out)


def documents(explored: Explored, subject: Subject) -> dict[str, Any]:
    """What stands in the page, by the name of its element: JSON as it is, everything else as bytes."""
    assert subject.model is not None
    codes, columns = subject.points()
    chosen = some_rows(len(codes), POINTS) if len(codes) else np.zeros(0, int)
    # observations are those of the first points, so a random order makes them a sample of all
    chosen = np.random.default_rng(0).permutation(chosen)
    shown = chosen[: max(1, NUMBERS_SHOWN // prod(subject.shape))]
    run = run_document(subject)
    tree, judged = tree_document(subject), diagnosis_document(subject)
    run |= {"tree": tree["tree"], "tree_problem": tree["problem"], "diagnosis": judged["diagnosis"]}
    run |= {"count": len(chosen), "observations": len(shown)}
    if len(chosen) < len(codes):
        run["notes"] = [f"Codes are those of {len(chosen):,} rows drawn at random from {run['total']:,}."]
    study = explored.study()
    study["runs"] = [row for row in study["runs"] if row["id"] == subject.id]
    observed = np.zeros(0, np.float32)
    if subject.rows is not None:
        observed = subject.rows.observed(np.sort(subject.rows.drawn[shown]))[np.argsort(np.argsort(shown))]
    encoder, decoder = onnx_graphs(subject.model)
    return {
        "study": study,
        "run": run,
        "points": _floats(codes[chosen], columns[chosen]),
        "observations": _floats(observed),
        "encoder": encoder,
        "decoder": decoder,
    }


def _assembled(content: dict[str, Any]) -> str:
    missing = [name for name in NEEDED if not (STATIC / name).is_file()]
    if missing:
        raise OSError(f"{missing[0]} is missing from partita's own files: `./dev web` builds it, or install again")
    script, style = ((STATIC / name).read_text("utf-8") for name in ("explorer.js", "explorer.css"))
    if "</script" in script.lower() or "</style" in style.lower():
        raise ValueError("the bundle would end its own element: build it again")
    parts = [_element(name, each) for name, each in content.items()]
    parts.append(_packed("wasm", (STATIC / "ort.wasm.gz").read_bytes()))
    policy = (
        f"default-src 'none'; script-src {_hash(script)} 'wasm-unsafe-eval'; style-src {_hash(style)}; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    filled = {
        "policy": html.escape(policy, quote=True).replace("&#x27;", "'"),
        "title": html.escape(f"{content['run']['title']} – partita explorer"),
        "css": style,
        "documents": "\n".join(parts),
        "script": script,
    }
    return _filled((STATIC / "single.html").read_text("utf-8"), filled)


def _filled(template: str, values: dict[str, str]) -> str:
    """Each place once, in one go: what is put in is not looked at again."""
    pieces = []
    while "{{" in template:
        before, _, rest = template.partition("{{")
        name, _, template = rest.partition("}}")
        pieces += [before, values[name]]
    return "".join([*pieces, template])


def _element(name: str, content: Any) -> str:
    if isinstance(content, bytes):
        return _packed(name, gzip.compress(content, 9, mtime=0))
    text = json.dumps(content, allow_nan=False).replace("<", "\\u003c").replace(">", "\\u003e")
    return f'<script type="application/json" id="partita-{name}">{text}</script>'


def _packed(name: str, zipped: bytes) -> str:
    text = base64.b64encode(zipped).decode()
    return f'<script type="application/octet-stream" id="partita-{name}">{text}</script>'


def _hash(text: str) -> str:
    """As a browser hashes an inline element: its text, with line ends as an HTML parser leaves them."""
    content = text.replace("\r\n", "\n").replace("\r", "\n").encode()
    return f"'sha256-{base64.b64encode(hashlib.sha256(content).digest()).decode()}'"


def _floats(*arrays: np.ndarray) -> bytes:
    return b"".join(np.ascontiguousarray(array, "<f4").tobytes() for array in arrays)
