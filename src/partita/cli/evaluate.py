"""partita evaluate"""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from partita.cli.plan_file import metrics_of
from partita.cli.values import complain

SETTINGS_PRINTED = 200


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
    metrics: Annotated[
        str | None,
        typer.Option(help="names such as mig,dci, or all (minutes a run); default: what the study's plan says, or mig"),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="measure again what is measured already")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON document")] = False,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda")] = "auto",
    on: Annotated[str, typer.Option(help="where a study is measured: local, ray, ray:ADDRESS, slurm:...")] = "local",
) -> None:
    """Measure every finished run: alignment, PC and TC with null, reconstruction, metrics; or score arrays.

    Goes on where it was stopped. Exit status 1 when a run could not be measured, or none is finished.
    """
    given = (factors, log_variance, groups, factor_groups, protocol, interval)
    if codes is not None and folder is None and not again and on == "local":
        _score_arrays(codes, metrics or "mig", as_json, *given)
    elif folder is not None and codes is None and all(option is None for option in given):
        _measure_study(folder, metrics or metrics_of(folder), as_json, device, again, on)
    else:
        raise ValueError("give a study's folder, or --codes with --factors and their options, not both")


def _measure_study(folder: Path, metrics: str, as_json: bool, device: str, again: bool, on: str) -> None:
    from partita.cli.own_parts import load_own_parts
    from partita.studies import Store
    from partita.studies._measure import measure
    from partita.studies._tables import summary_lines
    from partita.training.device import choose_device

    seen = sys.stderr.isatty()

    def told(number: int, runs: int) -> None:
        print(f"\rmeasuring run {number} of {runs} ", end="\n" if number == runs else "", file=sys.stderr, flush=True)

    store, known = Store(folder), load_own_parts(folder)
    if on != "local":
        from partita.cli.elsewhere import measure_elsewhere

        measure_elsewhere(on, store, metrics, device, again)
        again, known = False, None
    words = {"again": again, "told": told if seen else None, "in_short": not as_json, "known": known}
    found = measure(store, metrics, choose_device(device), **words)
    if as_json:
        print(json.dumps({"folder": str(folder), "runs": found.scores}, indent=1, allow_nan=False))
    elif found.rows:
        scores, more = found.of_settings(SETTINGS_PRINTED)
        print("\n".join(summary_lines(scores)))
        if more:
            print(f"{more} more settings are not printed: --json has all runs, partita compare {folder} all settings")
    for run, why in found.trouble.items():
        complain(f"{run} cannot be measured: {why}")
    waiting, diverged = len(found.survey.unfinished), len(found.survey.diverged)
    if waiting or diverged:
        complain(f"not measured in {folder}: {waiting} runs that are not finished, {diverged} that diverged")
    if not found.rows and not found.trouble:
        complain(f"no run in {folder} is finished, so there is nothing to measure")
    if found.trouble or not found.rows:
        raise typer.Exit(1)


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
    from partita.data._npy import read_npy
    from partita.metrics import evaluate as score
    from partita.studies._rows import in_random_order

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
