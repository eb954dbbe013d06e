"""Cells of three donors in independent groups: the pictures and numbers of cells.md.

    python docs/examples/cells.py [--data FOLDER] [--out FOLDER] [--steps 2000]

FOLDER holds `covid_cells/covid_cells_1000genes.npz`; some minutes on a CPU.
"""

import argparse
import json
import os
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import numpy as np

import partita as pt

matplotlib.use("Agg")
from matplotlib import pyplot as plt

GROUPS = (2, 2, 2, 2)
GENES_SHOWN = 8
NEIGHBOURS = 15


@dataclass(frozen=True)
class Cells:
    """Counts (cells, genes), names of the genes, and the donor of each cell; a fifth of the cells is held out."""

    counts: np.ndarray
    genes: np.ndarray
    donor: np.ndarray

    def parts(self) -> tuple["Cells", "Cells"]:
        order = np.random.default_rng(0).permutation(len(self.counts))
        cut = len(order) // 5
        held, fitted = np.sort(order[:cut]), np.sort(order[cut:])
        return self.rows(fitted), self.rows(held)

    def rows(self, rows: np.ndarray) -> "Cells":
        return Cells(self.counts[rows], self.genes, self.donor[rows])

    @property
    def covariates(self) -> dict[str, np.ndarray]:
        return {"donor": self.donor}

    def log_normalised(self) -> np.ndarray:
        """log(1 + count for every 1,000 of the cell), as PCA of cells is usually done."""
        return np.log1p(1000 * self.counts / self.counts.sum(1, keepdims=True))


def cells(path: Path) -> Cells:
    from scipy.sparse import csr_matrix

    with np.load(path, allow_pickle=False) as file:
        parts = tuple(file[name] for name in ("data", "indices", "indptr"))
        counts = csr_matrix(parts, tuple(file["shape"])).toarray().astype(np.int32)
        return Cells(counts, file["genes"].astype(str), file["donor"].astype(str))


def fitted(method: str, rows: Cells, steps: int, *, told: bool = True, **more) -> pt.Disentangler:
    """Negative binomial; rates in proportion to what was counted in the cell at all. `told` the donor, or not."""
    model = pt.Disentangler(method, likelihood="negative_binomial", exposure="total", steps=steps, **more)
    return model.fit(rows.counts, covariates=rows.covariates if told else None)


def genes_of(model: pt.Disentangler, rows: Cells) -> list[list[str]]:
    """Of each group, the genes whose rate changes most with its latents, relative to its mean."""
    relative = relative_loadings(model, rows)
    strength = [np.linalg.norm(relative[:, list(group)], axis=1) for group in model.groups_]
    return [rows.genes[np.argsort(-each)[:GENES_SHOWN]].tolist() for each in strength]


def relative_loadings(model: pt.Disentangler, rows: Cells) -> np.ndarray:
    """(genes, latents): the change of a rate with a latent, over its mean; less of genes that are hardly seen."""
    mean = rows.counts.mean(0)
    return model.loadings() / (mean + np.median(mean))[:, None]


def donor_known(codes: np.ndarray, donor: np.ndarray) -> float:
    """How often 15 neighbours name the donor of a cell, by five-fold cross-validation; guessing gives the largest
    donor's share."""
    from sklearn.model_selection import cross_val_score
    from sklearn.neighbors import KNeighborsClassifier

    standard = (codes - codes.mean(0)) / np.maximum(codes.std(0), 1e-9)
    return float(cross_val_score(KNeighborsClassifier(NEIGHBOURS), standard, donor, cv=5).mean())


def draw_genes(model: pt.Disentangler, rows: Cells, path: Path) -> None:
    """A panel a group: its genes, and how their rates change with its latents."""
    relative = relative_loadings(model, rows)
    figure, panels = plt.subplots(1, len(model.groups_), figsize=(2.3 * len(model.groups_), 3.0), layout="constrained")
    reach = float(np.quantile(np.abs(relative), 0.999))
    for group, names, axes in zip(model.groups_, genes_of(model, rows), np.atleast_1d(panels)):
        places = [int(np.flatnonzero(rows.genes == name)[0]) for name in names]
        shown = relative[np.ix_(places, list(group))]
        picture = axes.imshow(shown, cmap="RdBu_r", vmin=-reach, vmax=reach, aspect="auto")
        axes.set_yticks(range(len(names)), names, fontsize=8)
        axes.set_xticks(range(len(group)), [f"z{k}" for k in group])
        axes.tick_params(length=0)
    figure.colorbar(picture, ax=panels, label="change of the rate, relative")
    _save(figure, path)


def _save(figure, path: Path) -> None:
    figure.savefig(path, dpi=130, metadata={"Software": None})
    plt.close(figure)


def analyse(data: Cells, out: Path, steps: int = 2000) -> dict:
    """Everything on the page; returns its numbers."""
    out.mkdir(parents=True, exist_ok=True)
    train, test = data.parts()
    latents = sum(GROUPS)
    model = fitted("pdisvae", train, steps, groups=GROUPS, options={"restarts": 2})
    plain = fitted("vae", train, steps, latents=latents)
    blind = fitted("vae", train, steps, latents=latents, told=False)
    pca = pt.Disentangler("pca", latents=latents).fit(train.log_normalised())
    codes = {
        "PDisVAE": model.transform(test.counts, test.covariates),
        "VAE": plain.transform(test.counts, test.covariates),
        "VAE, not told the donor": blind.transform(test.counts),
        "PCA of logarithms": pca.transform(test.log_normalised()),
    }
    nats = {
        "PDisVAE": model.score(test.counts, covariates=test.covariates),
        "VAE": plain.score(test.counts, covariates=test.covariates),
        "VAE, not told the donor": blind.score(test.counts),
    }
    numbers = {
        "cells, genes": list(data.counts.shape),
        "held-out bound, nats a cell": nats,
        "donor named by neighbours": {name: donor_known(each, test.donor) for name, each in codes.items()},
        "largest donor": float(np.unique(test.donor, return_counts=True)[1].max() / len(test.donor)),
        "leakage by group": model.leakage(test.counts, test.covariates)["donor"].tolist(),
        "genes": genes_of(model, train),
    }
    look = pt.plot.groups(model, test.counts, colour=test.donor, label="donor", covariates=test.covariates)
    _save(look, out / "cells_groups.png")
    draw_genes(model, train, out / "cells_genes.png")
    (out / "cells.json").write_text(json.dumps(numbers, indent=1) + "\n")
    return numbers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("PARTITA_DATA", "data")))
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "figures")
    parser.add_argument("--steps", type=int, default=2000)
    asked = parser.parse_args()
    data = cells(asked.data / "covid_cells/covid_cells_1000genes.npz")
    print(json.dumps(analyse(data, asked.out, asked.steps), indent=1))


if __name__ == "__main__":
    main()
