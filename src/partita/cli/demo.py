"""partita demo"""

from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[Path, typer.Option(help="the study's folder")] = Path("partita-demo"),
    steps: Annotated[int, typer.Option(help="gradient steps a model")] = 1600,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda")] = "auto",
) -> None:
    """Train, measure and report on a small real example; prints the page's path.

    VAE, beta-TCVAE and PDisVAE on pdSprites, a white square whose place and size vary independently, 3 seeds each.
    PDisVAE is told that two of its three latents belong together, and neither which nor what they are to mean.
    """
    from partita.cli.evaluate import evaluate
    from partita.cli.progress import progress
    from partita.data import load
    from partita.reports import write_page
    from partita.studies import Store, plan, train
    from partita.training.device import choose_device

    dataset = load("pdsprites")
    methods = {  # the same extra weight, 8, on what shall be independent
        "vae": {},
        "beta_tcvae": {"beta": [9.0]},
        "pdisvae": {"beta": [8.0], "anneal": [5 * steps // 8], "restarts": [8]},
    }
    settings = {"groups": (2, 1), "network": "small", "seeds": range(3), "steps": steps, "batch_size": 64}
    runs = []
    for method, options in methods.items():
        runs += plan([method], dataset, options=options, **settings)
    print(f"training {len(runs)} models on pdsprites; Ctrl-C stops, the same command goes on")
    store = Store(out)
    with progress(len(runs)) as watch:
        train(runs, dataset, store, device=choose_device(device), watch=watch)
    evaluate(out, device=device)
    page = write_page(store, dataset, out / "report.html")
    print(f"\nopen {page.resolve()}")
    _write_explorer(out)


def _write_explorer(out: Path) -> None:
    """A page to turn the latents of the best run with, where the packages for it are there."""
    from partita.explorer import write_single_file
    from partita.explorer._study import StudyFolder

    explored = StudyFolder(out)
    try:
        best, why = explored.best("pdisvae")
        explorer = write_single_file(explored, best, out / "explorer.html")
    except ValueError as error:
        print(f"no page to explore: {error}")
        return
    print(f"open {explorer.resolve()} to turn the latents of {best} ({why})")
