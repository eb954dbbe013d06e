"""What each group of a pdSprites study knows: column, row, the row mirrored in one half of the bow-tie, and size.

The bow-tie's waist is narrow, so an encoder may mirror one of its triangles at no cost. The mirrored row is nearly
independent of the column and has no linear R2 with the row itself: a group that holds it looks empty of place.
    partita train pdisvae --data pdsprites --network mlp --groups 2,2 --beta 10 --seeds 0:12 --steps 1600 --out STUDY
    python benchmarks/trial_place.py STUDY
"""

import sys
from pathlib import Path

import numpy as np

from partita.data import load
from partita.structure import align
from partita.studies import Store


def main() -> None:
    sprites, store = load("pdsprites"), Store(Path(sys.argv[1]))
    column, row, size = np.asarray(sprites.truth).T
    known = {"column": column, "row": row, "mirrored row": row * np.sign(column), "size": size}
    print("linear R2 of " + ", ".join(known) + " from each group")
    for run in sorted(store.runs(), key=lambda run: (run.method, run.seed)):
        model = store.model(run, sprites.x_scale)
        codes = model.posterior(sprites.x)[0]
        shown = []
        for group in model.recipe.groups:
            own = codes[:, list(group)]
            found = [align(own, values[:, None], (own.shape[1],), (1,)).r2 for values in known.values()]
            shown.append(" ".join(f"{value:.2f}" for value in found))
        print(f"{run.method} seed {run.seed}: {' | '.join(shown)}")


if __name__ == "__main__":
    main()
