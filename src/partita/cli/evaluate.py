"""partita evaluate"""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer


def evaluate(
    folder: Annotated[Path | None, typer.Argument(help="a study's folder")] = None,
    codes: Annotated[Path | None, typer.Option(help="instead of a study: an array (n, latents) from anywhere")] = None,
    factors: Annotated[Path | None, typer.Option(help="with --codes: an array (n, factors) of class numbers")] = None,
    metrics: Annotated[str, typer.Option(help="names such as mig,dci, or all (minutes a run)")] = "mig",
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON document")] = False,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda")] = "auto",
) -> None:
    """Measure every finished run: alignment, PC and TC with null, reconstruction, metrics; or score arrays."""
    if codes is not None and folder is None:
        _score_arrays(codes, factors, metrics, as_json)
    elif folder is not None and codes is None and factors is None:
        _measure_study(folder, metrics, as_json, device)
    else:
        raise ValueError("give a study's folder, or --codes with --factors, not both")


def _measure_study(folder: Path, metrics: str, as_json: bool, device: str) -> None:
    from partita.studies import Store, evaluate_run, reload
    from partita.studies.tables import summary_lines
    from partita.training.device import choose_device

    store = Store(folder)
    runs = store.finished()
    where = choose_device(device)
    datasets = {}
    results = []
    for number, run in enumerate(runs, 1):
        key = repr(run.data)
        if key not in datasets:
            datasets[key] = reload(run.data)
        if sys.stderr.isatty():
            print(f"\rmeasuring run {number} of {len(runs)} ", end="", file=sys.stderr)
        scores = evaluate_run(store, run, datasets[key], metrics, where)
        results.append({"setting": run.setting, "seed": run.seed, **scores})
    if sys.stderr.isatty():
        print(file=sys.stderr)
    if as_json:
        print(json.dumps({"folder": str(folder), "runs": results}, indent=1, allow_nan=False))
    else:
        print("\n".join(summary_lines(results)))


def _score_arrays(codes: Path, factors: Path | None, metrics: str, as_json: bool) -> None:
    from partita.data.npy import read_npy
    from partita.metrics import evaluate as score

    found = score(read_npy(codes), None if factors is None else read_npy(factors), metrics)
    if as_json:
        print(json.dumps({name: each.as_dict() for name, each in found.items()}, indent=1, allow_nan=False))
        return
    for name, each in found.items():
        print(f"{name:<24}{each.value:9.4f}   {each.protocol}, n={each.n}")
