"""partita evaluate"""

from pathlib import Path
from typing import Annotated

import typer


def evaluate(
    folder: Annotated[Path, typer.Argument(help="a study's folder")],
    metrics: Annotated[str, typer.Option(help="names such as mig,dci, or all (minutes a run)")] = "mig",
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON document")] = False,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda")] = "auto",
) -> None:
    """Measure every finished run: alignment, PC and TC with null, reconstruction, metrics."""
    import sys

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
        results.append(
            {"setting": run.setting, "seed": run.seed, **evaluate_run(store, run, datasets[key], metrics, where)}
        )
    if sys.stderr.isatty():
        print(file=sys.stderr)
    if as_json:
        import json

        print(json.dumps({"folder": str(folder), "runs": results}, indent=1, allow_nan=False))
    else:
        print("\n".join(summary_lines(results)))
