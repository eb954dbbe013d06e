"""partita evaluate"""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer


def evaluate(
    folder: Annotated[Path | None, typer.Argument(help="a study's folder")] = None,
    codes: Annotated[Path | None, typer.Option(help="instead of a study: an array (n, latents) from anywhere")] = None,
    factors: Annotated[
        Path | None, typer.Option(help="with --codes: an array (n, factors) of class numbers or real values")
    ] = None,
    log_variance: Annotated[
        Path | None, typer.Option(help="with --codes, posterior means then: an array like it, for scores of posteriors")
    ] = None,
    groups: Annotated[
        str | None, typer.Option(help="with --codes: groups of latents, 2,2,2 or '[[0,3],[1,2]]'")
    ] = None,
    factor_groups: Annotated[str | None, typer.Option(help="with --codes: groups of factors, in the same way")] = None,
    protocol: Annotated[
        str | None, typer.Option(help="with --codes: such as ubisoft-2020, where a metric has it")
    ] = None,
    interval: Annotated[float | None, typer.Option(help="with --codes: level of an interval over rows, 0.95")] = None,
    metrics: Annotated[str, typer.Option(help="names such as mig,dci, or all (minutes a run)")] = "mig",
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON document")] = False,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda")] = "auto",
) -> None:
    """Measure every finished run: alignment, PC and TC with null, reconstruction, metrics; or score arrays."""
    given = (factors, log_variance, groups, factor_groups, protocol, interval)
    if codes is not None and folder is None:
        _score_arrays(codes, metrics, as_json, *given)
    elif folder is not None and codes is None and all(option is None for option in given):
        _measure_study(folder, metrics, as_json, device)
    else:
        raise ValueError("give a study's folder, or --codes with --factors and their options, not both")


def _measure_study(folder: Path, metrics: str, as_json: bool, device: str) -> None:
    from partita.studies import Store, reload
    from partita.studies.evaluate import evaluate_agreement
    from partita.studies.scoring import asked_for
    from partita.studies.tables import summary_lines
    from partita.training.device import choose_device

    store = Store(folder)
    runs = store.finished()
    where = choose_device(device)
    asked_for(metrics)  # an unknown name is refused before anything is measured
    datasets = {key: reload(data, folder) for key, data in {repr(run.data): run.data for run in runs}.items()}
    results = _measured(store, runs, datasets, metrics, where)
    if metrics == "all" or "udr" in metrics.split(","):
        for setting in dict.fromkeys(result["setting"] for result in results):
            same = [result for result in results if result["setting"] == setting]
            repeats = [run for run in runs if run.id in {result["run"] for result in same}]
            agreed = evaluate_agreement(store, repeats, datasets[repr(repeats[0].data)], where)
            for result in same if agreed is not None else ():
                result["udr"] = agreed
    if as_json:
        print(json.dumps({"folder": str(folder), "runs": results}, indent=1, allow_nan=False))
    else:
        print("\n".join(summary_lines(results)))


def _measured(store, runs, datasets, metrics: str, where) -> list[dict[str, Any]]:
    """The scores of every run that can be measured; a run gone astray is named and does not keep back the others."""
    from partita.studies import evaluate_run

    results, failed = [], []
    for number, run in enumerate(runs, 1):
        if sys.stderr.isatty():
            print(f"\rmeasuring run {number} of {len(runs)} ", end="", file=sys.stderr)
        try:
            scores = evaluate_run(store, run, datasets[repr(run.data)], metrics, where)
            results.append({"setting": run.setting, "seed": run.seed, **scores})
        except ValueError as error:
            failed.append(f"{run.setting}, seed {run.seed} cannot be measured: {error}")
    if sys.stderr.isatty():
        print(file=sys.stderr)
    if failed and not results:
        raise ValueError(failed[0])
    for words in failed:
        print(f"partita: {words}", file=sys.stderr)
    return results


def _score_arrays(
    codes: Path,
    metrics: str,
    as_json: bool,
    factors: Path | None,
    log_variance: Path | None,
    groups: str | None,
    factor_groups: str | None,
    protocol: str | None,
    interval: float | None,
) -> None:
    from partita.cli.values import parse_groups
    from partita.data.npy import read_npy
    from partita.metrics import evaluate as score
    from partita.studies.rows import in_random_order

    given = [None if path is None else read_npy(path) for path in (codes, factors, log_variance)]
    scored, truth, widths = in_random_order(given)
    found = score(
        scored,
        truth,
        metrics,
        log_variance=widths,
        groups=None if groups is None else parse_groups(groups),
        factor_groups=None if factor_groups is None else parse_groups(factor_groups),
        protocol=protocol,
        interval=interval,
    )
    if as_json:
        print(json.dumps({name: each.as_dict() for name, each in found.items()}, indent=1, allow_nan=False))
        return
    for name, each in found.items():
        around = "" if each.interval is None else f"   [{each.interval[0]:.4f}, {each.interval[1]:.4f}]"
        print(f"{name:<24}{each.value:9.4f}{around}   {each.protocol}, n={each.n}")
