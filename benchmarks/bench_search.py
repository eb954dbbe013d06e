"""How often does PDisVAE find the true groups? Random start, warm start with regrouping, the same with the latents
unmixed half-way by linear ICA, and the best of 8 restarts, four of each kind.

3 data seeds x 10 model seeds on `groups` (success: latent R2 >= 0.95 with the model's own groups), every run counted.
Beside it beta-TCVAE of the same length, and linear ICA, with the same label-free regrouping. Labels only score, but for
the last row: a network that was given them, which says how much of the truth the noise left. `nonlinear` leaves less
than `linear`, `nonlinear40`, with twice the features, about as much.

    python benchmarks/bench_search.py [--steps 20000] [--worlds linear,nonlinear,unequal] [--device auto]

With `--estimator` only `Disentangler(groups=..., seed=...)` is fitted, everything else as it comes.
"""

import argparse
import time

import numpy as np
import torch

from partita.data import load
from partita.distributions import as_groups
from partita.estimator import Disentangler
from partita.measures._regrouping import regroup
from partita.recipes import RECIPES
from partita.recipes.judges import late_loss
from partita.recipes.restarts import put_together
from partita.structure import align
from partita.training import Ensemble, Model
from partita.training.device import choose_device, worth_compiling
from partita.training.fit import fit
from partita.training.latents import map_latents
from partita.training.program import passed, replica_seeds, replicas_of

RESTARTS, SEEDS, BETA, SOLVED = 8, 10, 4.0, 0.95
LINEAR = {"network": "linear", "likelihood": "gaussian:0.25"}
MLP = {"network": "mlp", "hidden": (64, 64), "likelihood": "gaussian:0.25"}
WORLDS = {
    "linear": ({}, (2, 2, 2), LINEAR),
    "nonlinear": ({"mixing": "nonlinear"}, (2, 2, 2), MLP),
    "nonlinear40": ({"mixing": "nonlinear", "features": 40}, (2, 2, 2), MLP),
    "unequal": ({"groups": (3, 2, 1)}, (3, 2, 1), LINEAR),
}


def r2_of(ensemble: Ensemble, dataset, groups) -> np.ndarray:
    found = []
    for position in range(len(ensemble.seeds)):
        model = Model(ensemble.recipe, ensemble.model(position), device=ensemble.device)
        mean, _ = model.posterior(dataset.x)
        found.append(align(mean, dataset.truth, groups, dataset.truth_groups).r2 if np.isfinite(mean).all() else 0.0)
    return np.array(found)


def trial(world: str, data_seed: int, steps: int, device: torch.device) -> dict[str, np.ndarray]:
    options, groups, house = WORLDS[world]
    dataset = load("groups", seed=data_seed, **options)
    house = {**house, "latents": 6, "shape": dataset.shape, "learning_rate": 3e-3}
    grouped = RECIPES["pdisvae"](groups=groups, beta=BETA, **house)
    single = RECIPES["pdisvae"](groups=None, beta=BETA, **house)
    seeds = [seed for first in range(SEEDS) for seed in replica_seeds(first, RESTARTS)]

    def ensemble(recipe, members) -> Ensemble:
        return Ensemble(
            [recipe] * len(members), members, dataset.x,
            batch_size=128, device=device, compiled=worth_compiling(steps, device),
        )  # fmt: skip

    plain = ensemble(grouped, list(range(SEEDS)))
    while plain.step < steps:
        plain.advance(10)
    warm, onward = ensemble(single, seeds), ensemble(grouped, seeds)
    while warm.step < steps // 2:
        warm.advance(10)
    map_latents(warm, onward, passed(warm, put_together, [grouped.groups] * SEEDS, RESTARTS))
    history = fit(onward, steps, log_every=100)
    replicas = [replicas_of(onward, history, run, RESTARTS) for run in range(SEEDS)]
    losses = np.array([[late_loss(replica) for replica in of_a_run] for of_a_run in replicas])
    tcvae = ensemble(single, list(range(SEEDS)))
    while tcvae.step < steps:
        tcvae.advance(10)
    regrouped = ensemble(grouped, list(range(SEEDS)))
    map_latents(tcvae, regrouped, passed(tcvae, put_together, [grouped.groups] * SEEDS))
    each = r2_of(onward, dataset, groups)
    return {
        "random start": r2_of(plain, dataset, groups),
        "warm start, regrouped, every restart": each[0::2],
        "the same, unmixed by ICA before": each[1::2],
        "best of 8 by the training loss": each.reshape(SEEDS, RESTARTS)[range(SEEDS), losses.argmin(1)],
        "beta-TCVAE, regrouped": r2_of(regrouped, dataset, groups),
        "linear ICA, regrouped": np.array([ica_r2(dataset, groups, seed, device) for seed in range(SEEDS)]),
        "a network trained with the labels": np.array([r2_with_labels(dataset, data_seed, options, device)]),
    }


def estimator_trial(world: str, data_seed: int, device: torch.device) -> dict[str, np.ndarray]:
    options, groups, _ = WORLDS[world]
    dataset, found = load("groups", seed=data_seed, **options), []
    for seed in range(SEEDS):
        model = Disentangler(groups=groups, seed=seed, device=device.type).fit(dataset.x)
        found.append(align(model.transform(dataset.x), dataset.truth, model.groups_, dataset.truth_groups).r2)
        print(f"data {data_seed}, seed {seed}: {model.network_}, {model.likelihood_}, R2 {found[-1]:.3f}", flush=True)
    return {"Disentangler as it comes": np.array(found)}


def ica_r2(dataset, groups, seed: int, device: torch.device) -> float:
    (candidate,) = RECIPES["ica"](latents=6, shape=dataset.shape).candidates
    recipe = candidate.recipe
    runs = Ensemble([recipe], [seed], dataset.x, batch_size=128, device=device, finish=candidate.finish)
    mean, log_variance = map(torch.as_tensor, Model(recipe, runs.model(0), device=device).posterior(dataset.x))
    z = mean + torch.exp(0.5 * log_variance) * torch.randn(mean.shape, generator=torch.Generator().manual_seed(0))
    found = regroup(z.double(), mean.double(), log_variance.double(), [len(group) for group in as_groups(groups, 6)])
    return align(mean.numpy(), dataset.truth, found, dataset.truth_groups).r2


def r2_with_labels(dataset, data_seed: int, options: dict, device: torch.device, steps: int = 4000) -> float:
    """Of the best guess of the truth from an observation, learned from 100,000 other rows of the same world."""
    others = load("groups", seed=data_seed, size=100_000, sample=1, **options)
    x, truth = (torch.as_tensor(t, dtype=torch.float32, device=device) for t in (others.x, others.truth))
    torch.manual_seed(0)
    layers = [torch.nn.Linear(x.shape[1], 256), torch.nn.SiLU(), torch.nn.Linear(256, 256), torch.nn.SiLU()]
    network = torch.nn.Sequential(*layers, torch.nn.Linear(256, truth.shape[1])).to(device)
    optimiser = torch.optim.Adam(network.parameters())
    slowing = torch.optim.lr_scheduler.OneCycleLR(optimiser, 2e-3, steps)
    for _ in range(steps):
        rows = torch.randint(len(x), (512,), device=device)
        optimiser.zero_grad()
        (network(x[rows] / x.std()) - truth[rows]).square().mean().backward()
        optimiser.step()
        slowing.step()
    with torch.no_grad():
        found = network(torch.as_tensor(dataset.x, device=device) / x.std()).cpu().numpy()
    return float(1 - (found - dataset.truth).var(0).mean() / dataset.truth.var(0).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20000)
    parser.add_argument("--worlds", default="linear")
    parser.add_argument("--data-seeds", type=int, default=3)
    parser.add_argument("--estimator", action="store_true", help="Disentangler as it comes, at its own steps")
    parser.add_argument("--device", default="auto")
    arguments = parser.parse_args()
    device = choose_device(arguments.device)
    for world in arguments.worlds.split(","):
        start, trials = time.perf_counter(), []
        for seed in range(arguments.data_seeds):
            if arguments.estimator:
                trials.append(estimator_trial(world, seed, device))
            else:
                trials.append(trial(world, seed, arguments.steps, device))
            length = "its own" if arguments.estimator else arguments.steps
            words = f"{world}, {length} steps a model, {len(trials)} data seeds, {device.type}"
            print(f"{words}, {time.perf_counter() - start:.0f} s")
            show(trials)


def show(trials: list[dict[str, np.ndarray]]) -> None:
    """What was found so far: the table of the last data seed is that of all."""
    print(f"{'how':<40}{'solved':>12}{'mean R2':>9}   R2 of each run")
    for how in trials[0]:
        found = np.concatenate([each[how] for each in trials])
        shown = " ".join(f"{value:.2f}" for value in found) if len(found) <= 30 else f"{len(found)} runs"
        rate = f"{(found >= SOLVED).sum()}/{len(found)}"
        print(f"{how:<40}{rate:>12}{found.mean():>9.3f}   {shown}", flush=True)


if __name__ == "__main__":
    main()
