"""The same cells by scvi-tools, for cells.py: run in an environment of its own that has scvi-tools.

python docs/examples/cells_scvi.py [--data FOLDER] [--epochs 30] --out NUMBERS.json
"""

import argparse
import json
import os
from pathlib import Path

import anndata
import numpy as np
import scvi
from scipy.sparse import csr_matrix

LATENTS = 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("PARTITA_DATA", "data")))
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    with np.load(asked.data / "covid_cells/covid_cells_1000genes.npz", allow_pickle=False) as file:
        counts = csr_matrix(tuple(file[name] for name in ("data", "indices", "indptr")), tuple(file["shape"]))
        donor = file["donor"].astype(str)
    order = np.random.default_rng(0).permutation(counts.shape[0])  # the same rows as cells.py holds out
    cut = len(order) // 5
    held, fitted = np.sort(order[:cut]), np.sort(order[cut:])
    scvi.settings.seed = 0
    parts = [anndata.AnnData(counts[rows].astype(np.float32), {"donor": donor[rows]}) for rows in (fitted, held)]
    scvi.model.SCVI.setup_anndata(parts[0], batch_key="donor")
    model = scvi.model.SCVI(parts[0], n_latent=LATENTS, gene_likelihood="nb")
    model.train(max_epochs=asked.epochs, train_size=1.0, enable_progress_bar=False, accelerator="cpu")
    nats = -abs(float(model.get_elbo(parts[1])))
    codes = model.get_latent_representation(parts[1])
    asked.out.write_text(json.dumps({"nats": nats, "epochs": asked.epochs, "codes": np.round(codes, 4).tolist()}))
    print(f"scvi-tools {scvi.__version__}: {nats:.1f} nats a cell")


if __name__ == "__main__":
    main()
