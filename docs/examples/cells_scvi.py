"""scVI on the same cells: python cells_scvi.py covid_cells_1000genes.npz, in an environment with scvi-tools.

Eight latents, a negative binomial with a dispersion for each gene, the donor as batch, 100 epochs, everything else by
default. Prints the bound of the cells that cells.py holds out, nats a cell, and how often neighbours name the donor.
"""

import json
import sys

import anndata
import numpy as np
import scvi
from scipy.sparse import csr_matrix
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

with np.load(sys.argv[1]) as file:
    counts = csr_matrix(tuple(file[name] for name in ("data", "indices", "indptr")), tuple(file["shape"]))
    donor = file["donor"].astype(str)
order = np.random.default_rng(0).permutation(counts.shape[0])
test, train = np.sort(order[: len(order) // 5]), np.sort(order[len(order) // 5 :])


def annotated(rows: np.ndarray) -> anndata.AnnData:
    found = anndata.AnnData(counts[rows].astype(np.float32))
    found.obs["donor"] = donor[rows]
    return found


scvi.settings.seed = 0
fitted, held_out = annotated(train), annotated(test)
scvi.model.SCVI.setup_anndata(fitted, batch_key="donor")
model = scvi.model.SCVI(fitted, n_latent=8, gene_likelihood="nb")
model.train(max_epochs=100, accelerator="cpu", enable_progress_bar=False)
codes = model.get_latent_representation(held_out)
named = cross_val_score(KNeighborsClassifier(15), codes, donor[test], cv=5).mean()
print(json.dumps({"bound": float(model.get_elbo(held_out)), "donor named by neighbours": float(named)}))
