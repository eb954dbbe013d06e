"""Small real studies, trained and measured here, and a reader of pages."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import torch

from partita.data import Dataset, from_array, load
from partita.studies import Store, evaluate_run, plan, train

VOID = {"meta", "img", "br", "line", "link", "input", "hr"}


@dataclass
class Element:
    tag: str
    attributes: dict
    parent: "Element | None" = None
    children: list = field(default_factory=list)

    def all(self, tag: str) -> "list[Element]":
        found = []
        for child in self.children:
            if isinstance(child, Element):
                found += [child] * (child.tag == tag) + child.all(tag)
        return found

    @property
    def text(self) -> str:
        return " ".join("".join(c if isinstance(c, str) else c.text for c in self.children).split())


class Reader(HTMLParser):
    """A page as a tree; fails on a tag that is closed but not open."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.root = self.here = Element("root", {})

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> repeats an attribute"
        element = Element(tag, dict(attrs), self.here)
        self.here.children.append(element)
        if tag not in VOID:
            self.here = element

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        assert self.here.tag == tag, f"</{tag}> closes <{self.here.tag}>"
        self.here = self.here.parent or self.root

    def handle_data(self, data):
        self.here.children.append(data)


def _read(path: Path) -> Element:
    reader = Reader()
    reader.feed(path.read_text("utf-8"))
    reader.close()
    assert reader.here is reader.root, f"<{reader.here.tag}> is never closed"
    return reader.root


def _make_study(
    folder: Path, dataset: Dataset, methods=("vae",), *, scored: bool = True, metrics=("mig",), **options
) -> Store:
    store = Store(folder)
    options = {"steps": 20, "batch_size": 32, "learning_rate": 3e-3, "seeds": (0,)} | options
    if options.get("network", "mlp") == "mlp":
        options["hidden"] = (8,)
    for method in methods:
        train(plan([method], dataset, **options), dataset, store, device=torch.device("cpu"))
    if scored:
        for run in store.finished():
            evaluate_run(store, run, dataset, list(metrics))
    return store


@pytest.fixture(scope="session")
def pairs() -> Dataset:
    """Vectors with known latents: a ring and a single latent."""
    return load("groups", size=120, groups=(2, 1), features=5)


@pytest.fixture(scope="session")
def squares() -> Dataset:
    """Images with factors and known latents."""
    full = load("pdsprites")
    rows = np.arange(0, full.size, 7)
    return Dataset(
        name="squares",
        x=np.ascontiguousarray(full.x[rows][:, :, ::4, ::4]),
        factors=full.factors[rows],
        factor_names=full.factor_names,
        factor_sizes=full.factor_sizes,
        truth=full.truth[rows],
        truth_groups=full.truth_groups,
        description={"name": "squares"},
    )


@pytest.fixture(scope="session")
def pairs_store(pairs, tmp_path_factory) -> Store:
    folder = tmp_path_factory.mktemp("pairs")
    options = {"latents": 3, "network": "linear", "likelihood": "gaussian:0.25", "seeds": (0, 1, 2)}
    _make_study(folder, pairs, ["vae"], **options)
    return _make_study(folder, pairs, ["pdisvae"], groups=(2, 1), **options)


@pytest.fixture(scope="session")
def squares_store(squares, tmp_path_factory) -> Store:
    return _make_study(
        tmp_path_factory.mktemp("squares"), squares, ["pdisvae"], groups=(2, 1), network="mlp", likelihood="bernoulli"
    )


@pytest.fixture
def table() -> Dataset:
    """Plain numbers about which nothing is known."""
    return from_array(np.random.default_rng(0).standard_normal((40, 3)), name="table")


@pytest.fixture(scope="session")
def read():
    return _read


@pytest.fixture(scope="session")
def make_study():
    return _make_study
