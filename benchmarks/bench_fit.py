"""What a default fit costs, and what it gives, beside ICA in the same run.

    python benchmarks/bench_fit.py

CPU seconds of `Disentangler` as it comes, of FastICA and of Picard-O, each on the same rows; the second fit each.
Quality is the latent R2 of rows held out where the truth is known: of ICA with its components grouped as ours are.
"""

import time
import warnings

import numpy as np
import torch
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.preprocessing import StandardScaler

import partita as pt
from partita.measures._ica import picard, unmixing
from partita.structure import align, groups_of_sizes
from partita.structure._principal import Principal

torch.set_num_threads(1)
warnings.simplefilter("ignore")


def timed(function):
    function()  # first use imports and compiles
    began = time.process_time()
    made = function()
    return time.process_time() - began, made


def by_ica(solve, x: np.ndarray, sizes):
    principal = Principal.of(x, sum(sizes))
    white = principal.white(x)
    rotation = solve(white, 0).T
    return principal, rotation, groups_of_sizes(white @ rotation, sizes).groups


def main() -> None:
    tables = {
        "groups, 2000 x 20": (pt.data.load("groups", seed=904), (2, 2, 2)),
        "groups bent, 2000 x 20": (pt.data.load("groups", seed=904, mixing="nonlinear", condition=3.0), (2, 2, 2)),
        "wine, 178 x 13": (StandardScaler().fit_transform(load_wine().data), (2, 2, 2)),
        "breast cancer, 569 x 30": (StandardScaler().fit_transform(load_breast_cancer().data), (2, 2, 2)),
    }
    print("| rows | Disentangler, CPU s | R2 | FastICA, CPU s | R2 | Picard-O, CPU s | R2 | times Picard-O |")
    print("|---|---|---|---|---|---|---|---|")
    for name, (data, sizes) in tables.items():
        known = isinstance(data, pt.data.Dataset)
        x = np.asarray(data.x if known else data, np.float64)
        test = None
        if known:
            test = pt.data.load("groups", **data.description["options"] | {"sample": 1})
        took, model = timed(lambda x=x, sizes=sizes: pt.Disentangler(groups=sizes, device="cpu").fit(x))
        cells = [f"{took:.1f}", _r2(model.transform(test.x), test, model.groups_) if test else "–"]
        for solve in (unmixing, picard):
            seconds, (principal, rotation, groups) = timed(lambda s=solve, x=x, sizes=sizes: by_ica(s, x, sizes))
            codes = principal.white(np.asarray(test.x, float)) @ rotation if test else None
            cells += [f"{seconds:.2f}", _r2(codes, test, groups) if test else "–"]
        print(f"| {name} | {' | '.join(cells)} | {took / seconds:.0f} |")


def _r2(codes, test, groups) -> str:
    return f"{align(codes, test.truth, groups, test.truth_groups).r2:.3f}"


if __name__ == "__main__":
    main()
