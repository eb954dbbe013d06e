"""InfoGAN on MNIST with a factorised reader Q and with a correlated one (docs/glossary.md).

62 numbers of noise, 10 categories, 2 codes with weight 0.1, batches of 128, rate 2e-4 for everybody. The paper: with
rho = 0 the codes turn and widen a digit, with rho = 0.9 they change which digit it is. Measured here: how often digits
keep their identity over the grid of codes, as a classifier of MNIST sees them, and whether slant and stroke belong to
one code each. The classifier is trained first, on real digits.

    python benchmarks/trial_infogan.py --data-folder FOLDER [--steps 15000] [--seeds 3] [--out FOLDER]
"""

import argparse
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor, nn

from partita.data import Dataset, load
from partita.metrics import mig
from partita.studies import Run, Store, plan, train
from partita.training import Interrupted, Model
from partita.training.device import choose_device
from written import about, in_one_line, keep, markdown, mean_and_range

RANGE, GRID, CATEGORIES, NOISES = 2.0, 9, 10, 10
CLASSES = 10  # of slant and of ink, equally full
SETTINGS = {
    "factorised": {"posterior": ["diagonal"]},
    "correlated": {"posterior": ["correlated"], "rho": [0.9]},
}


def classifier(train_part: Dataset, test_part: Dataset, steps: int, device: torch.device) -> tuple[nn.Module, float]:
    """A small convolutional network on real digits, and its accuracy on those it never saw."""
    torch.manual_seed(0)
    network = nn.Sequential(
        nn.Conv2d(1, 32, 3, 2, 1), nn.ReLU(), nn.Conv2d(32, 64, 3, 2, 1), nn.ReLU(), nn.Flatten(),
        nn.Linear(64 * 49, 128), nn.ReLU(), nn.Linear(128, 10),
    ).to(device)  # fmt: skip
    optimiser = torch.optim.Adam(network.parameters(), 1e-3)
    x, digits = _images(train_part, device), _digits(train_part, device)
    for _ in range(steps):
        rows = torch.randint(len(x), (256,), device=device)
        optimiser.zero_grad()
        nn.functional.cross_entropy(network(x[rows].float() / 255), digits[rows]).backward()
        optimiser.step()
    network.eval().requires_grad_(False)
    seen = _seen(network, _images(test_part, device).float() / 255)
    return network, float((seen == _digits(test_part, device)).float().mean())


def _images(part: Dataset, device: torch.device) -> Tensor:
    return torch.as_tensor(np.array(part.x), device=device)


def _digits(part: Dataset, device: torch.device) -> Tensor:
    return torch.as_tensor(np.array(part.factors)[:, 0], device=device)


def _seen(network: nn.Module, images: Tensor) -> Tensor:
    return torch.cat([network(some).argmax(1) for some in images.split(5000)])


@torch.no_grad()
def generated(model: Model, codes: Tensor, category: int, noise: Tensor) -> Tensor:
    """Images of codes (n, 2) with one category and one draw of noise."""
    chosen = torch.zeros(CATEGORIES, device=codes.device)
    chosen[category] = 1
    rest = torch.cat([chosen, noise]).expand(len(codes), -1)
    return model.networks["decoder"](torch.cat([codes, rest], -1)).mean


def grid_of_codes(device: torch.device) -> Tensor:
    axis = torch.linspace(-RANGE, RANGE, GRID, device=device)
    return torch.stack([axis.repeat(GRID), axis.repeat_interleave(GRID)], 1)


def slant_and_ink(images: Tensor) -> np.ndarray:
    """Columns the image leans per row, from second moments; and how much of it is ink."""
    ink = images[:, 0].double()
    total = ink.sum((1, 2)).clamp(min=1e-6)
    place = torch.arange(28, device=ink.device, dtype=ink.dtype)
    across, down = (ink.sum(1) * place).sum(1) / total, (ink.sum(2) * place).sum(1) / total
    x, y = place[None, None] - across[:, None, None], place[None, :, None] - down[:, None, None]
    lean = (ink * x * y).sum((1, 2)) / (ink * y * y).sum((1, 2)).clamp(min=1e-6)
    return torch.stack([lean, total], 1).cpu().numpy()


def gap_between_codes(codes: np.ndarray, statistics: np.ndarray) -> list[float]:
    """(I_best - I_second) / H for slant and for ink, each in classes of equal size."""
    edges = np.quantile(statistics, np.linspace(0, 1, CLASSES + 1)[1:-1], axis=0)
    classes = np.stack([np.searchsorted(edges[:, k], statistics[:, k]) for k in range(2)], 1)
    return [mig(codes, classes[:, k : k + 1]).value if len(set(classes[:, k])) > 1 else 0.0 for k in range(2)]


@torch.no_grad()
def measured(model: Model, judge: nn.Module, test_part: Dataset, history: dict, device) -> dict[str, Any]:
    generator = torch.Generator(device).manual_seed(0)
    noise = torch.randn(NOISES, 62, generator=generator, device=device)
    grid, agreeing, gaps = grid_of_codes(device), [], []
    codes = 2 * torch.rand(2000, 2, generator=generator, device=device) - 1
    for category in range(CATEGORIES):
        for draw in range(NOISES):
            seen = _seen(judge, generated(model, grid, category, noise[draw]))
            agreeing.append(float(torch.bincount(seen, minlength=10).max() / len(seen)))
        images = generated(model, codes, category, noise[0])
        gaps.append(gap_between_codes(codes.cpu().numpy(), slant_and_ink(images)))
    x = _images(test_part, device).float() / 255
    networks = model.networks
    logits = torch.cat([networks["encoder"](networks["trunk"](some))[1] for some in x.split(5000)])
    table = np.zeros((CATEGORIES, 10))
    np.add.at(table, (logits.argmax(1).cpu().numpy(), np.asarray(test_part.factors)[:, 0]), 1)
    best = table[linear_sum_assignment(-table)].sum() / table.sum()
    samples = _seen(judge, torch.as_tensor(model.sample(5000, seed=0), device=device))
    last = {name: float(np.mean(values[-10:])) for name, values in history.items()}
    return {
        "same_digit": float(np.mean(agreeing)),
        "gap_slant": float(np.mean([gap[0] for gap in gaps])),
        "gap_ink": float(np.mean([gap[1] for gap in gaps])),
        "category_accuracy": float(best),
        "digits_made": int((torch.bincount(samples, minlength=10) >= 50).sum()),
        "code_information": 2 * np.log(2) - last["code_nll"],
        "category_information": np.log(10) - last["category_nll"],
        "criticism": last["criticism"],
        "persuasion": last["persuasion"],
        "last_tenth_moves": {
            name: float(np.mean(v[-10:]) - np.mean(v[-20:-10])) for name, v in history.items() if name != "step"
        },
    }


def draw(model: Model, device: torch.device, path: Path, words: str) -> None:
    """Rows are categories, columns one code from -2 to 2, first and second; beside them both codes of one digit."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    noise = torch.randn(62, generator=torch.Generator(device).manual_seed(1), device=device)
    axis = torch.linspace(-RANGE, RANGE, GRID, device=device)
    still = torch.zeros_like(axis)
    panels = {
        "category (rows), code 1 (columns)": [torch.stack([axis, still], 1)] * CATEGORIES,
        "category (rows), code 2 (columns)": [torch.stack([still, axis], 1)] * CATEGORIES,
        "code 1 (columns), code 2 (rows), first category": list(grid_of_codes(device).split(GRID)),
    }
    figure, places = plt.subplots(1, 3, figsize=(12, 4.6))
    for place, (title, rows) in zip(places, panels.items()):
        fixed = title.startswith("code 1")
        made = [generated(model, codes, 0 if fixed else k, noise)[:, 0] for k, codes in enumerate(rows)]
        sheet = torch.cat([torch.cat(list(images), 1) for images in made]).cpu().numpy()
        place.imshow(sheet, cmap="gray", vmin=0, vmax=1)
        place.set_title(title, fontsize=9)
        place.axis("off")
    figure.suptitle(words, fontsize=10)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


COLUMNS = {
    "same_digit": "same digit over the grid of codes",
    "gap_slant": "slant: gap between the codes",
    "gap_ink": "ink: gap between the codes",
    "category_accuracy": "digits by category, test part",
    "digits_made": "digits made, of 10",
    "code_information": "codes, nats of 1.39",
    "category_information": "category, nats of 2.30",
    "criticism": "critic's loss",
    "persuasion": "generator's loss",
}


def report(results: dict[str, list[dict[str, Any]]], lines: list[str], made: dict[str, str]) -> str:
    rows = [
        [name, len(runs), *(mean_and_range([run.get(key) for run in runs], 2) for key in COLUMNS)]
        for name, runs in results.items()
    ]
    return "\n".join([
        f"{made['date']}, {made['device']}, torch {made['torch']}", f"`{made['command']}`", "",
        markdown(("reader Q", "runs", *COLUMNS.values()), rows), "",
        f"Mean over seeds (smallest to largest). Grid: {GRID} x {GRID} codes from -2 to 2, {CATEGORIES} categories x "
        f"{NOISES} draws of noise. Gap: (best - second) / H of the two codes' information, codes in [-1, 1].",
        "Paper (P3-C8, by eye): slant and width on one code each with a factorised Q; none, and digits that change "
        "along the codes, with rho = 0.9. (P3-C9): the losses settle in both cases; 2 log 2 = 1.39 is the critic's "
        "loss when it cannot tell, log 2 = 0.69 the generator's.",
        *lines,
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-folder", help="holds mnist/*.gz; also PARTITA_DATA")
    parser.add_argument("--readers", default=",".join(SETTINGS))
    parser.add_argument("--steps", type=int, default=15000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--classifier-steps", type=int, default=2000)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", type=Path, default=Path("runs/trial_infogan"))
    asked = parser.parse_args()
    if asked.data_folder:
        os.environ["PARTITA_DATA"] = asked.data_folder
    device = choose_device(asked.device)
    train_part, test_part = load("mnist", part="train"), load("mnist", part="test")
    judge, accuracy = classifier(train_part, test_part, asked.classifier_steps, device)
    lines = [f"The classifier knows {accuracy:.1%} of the test digits."]
    print(lines[0], flush=True)
    results: dict[str, list[dict[str, Any]]] = {}
    for name, options in ((name, SETTINGS[name]) for name in asked.readers.split(",")):
        store = Store(asked.out / "runs")
        runs: list[Run] = plan(
            ["infogan"], train_part, options=options, latents=2, network="infogan", likelihood="bernoulli",
            seeds=range(asked.seeds), steps=asked.steps, batch_size=128, learning_rate=2e-4,
        )  # fmt: skip
        try:
            start = time.perf_counter()
            train(runs, train_part, store, device=device)
            lines.append(f"{name}: {len(runs)} models at once, {time.perf_counter() - start:.0f} s of training.")
            results[name] = []
            for run in runs:
                model = store.model(run, train_part.x_scale, device)
                results[name].append({"seed": run.seed} | measured(model, judge, test_part, store.history(run), device))
                picture = asked.out / f"infogan-{options['posterior'][0]}-seed{run.seed}.png"
                draw(model, device, picture, f"InfoGAN, {name} Q, seed {run.seed}, {asked.steps} steps")
        except Interrupted:
            raise
        except Exception as error:
            lines.append(f"{name}: {in_one_line(error)}")
        print(lines[-1], flush=True)
        made = about(device)
        keep(asked.out, "infogan", report(results, lines, made), {"about": made, "results": results, "lines": lines})


if __name__ == "__main__":
    main()
