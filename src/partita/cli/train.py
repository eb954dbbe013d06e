"""partita train"""

from pathlib import Path
from typing import Annotated

import typer

from partita.cli.planned import keep_plan, with_own_words
from partita.cli.values import complain

TABLES = (".csv", ".parquet")  # whose columns are observations, unless they are said to be something else


def train(
    context: typer.Context,
    method: Annotated[
        str, typer.Argument(help="a method of `partita methods`, several (vae,pdisvae), or module:function")
    ],
    data: Annotated[str, typer.Option(help="a name of `partita data`, NAME:option=value, or a path")],
    samples: Annotated[str | None, typer.Option(help="of a movie: pixels (a time course each) or frames")] = None,
    latents: Annotated[int | None, typer.Option(help="number of latents")] = None,
    groups: Annotated[str | None, typer.Option(help="sizes 2,2,2, indices '[[0,3],[1],[2,4,5]]', or auto")] = None,
    labels: Annotated[str | None, typer.Option(help="factors to learn from, such as shape,scale; default all")] = None,
    labelled: Annotated[str | None, typer.Option(help="how many rows show their labels: 0.1 of them, or 500")] = None,
    network: Annotated[
        str, typer.Option(help="auto, linear, mlp, conv, burgess, idvae, infogan, or module:function")
    ] = "auto",
    hidden: Annotated[str, typer.Option(help="widths of the hidden layers of mlp, such as 512,128")] = "256,256",
    likelihood: Annotated[str, typer.Option(help="auto, a name, or module:object")] = "auto",
    scale: Annotated[
        str, typer.Option(help="units that models see data in: auto, none, standard (each feature), one (all alike)")
    ] = "auto",
    covariates: Annotated[
        str | None, typer.Option(help="columns that encoder and decoder see, such as donor,total, and latents need not")
    ] = None,
    exposure: Annotated[
        str | None, typer.Option(help="of counts, what rates are proportional to: total (of each row), or a column")
    ] = None,
    precision: Annotated[
        str, typer.Option(help="of the networks' layers: float32, or bf16 (quick on GPUs)")
    ] = "float32",
    steps: Annotated[
        int | None,
        typer.Option(help="gradient steps; without it 5000, or, of few images, until rows held out gain no more"),
    ] = None,
    batch_size: Annotated[int, typer.Option(help="rows a step")] = 128,
    learning_rate: Annotated[float, typer.Option(help="Adam's step size")] = 1e-3,
    seeds: Annotated[str, typer.Option(help="0:10, or 1,4,7")] = "0",
    metrics: Annotated[
        str | None, typer.Option(help="what `partita evaluate` is to measure: names such as mig,dci, or all")
    ] = None,
    log_metrics: Annotated[
        str | None, typer.Option(help="scores to log on the way: mig,sap,modularity,gaussian_tc,alignment, or all")
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(help="a study as a TOML file, such as DIR/study.toml, instead of METHOD and its flags"),
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda")] = "auto",
    out: Annotated[Path, typer.Option(help="the study's folder")] = Path("runs"),
    track: Annotated[
        str, typer.Option(help="who else is told of it: tensorboard, wandb (offline), or another that is installed")
    ] = "",
    checkpoint_seconds: Annotated[float, typer.Option(help="how often to save what a crash would lose")] = 20.0,
    split: Annotated[
        str, typer.Option(help="under torchrun, what processes share: auto, runs or rows of each batch")
    ] = "auto",
    models_at_once: Annotated[
        int | None, typer.Option(min=1, help="at most so many in one ensemble, the piece of work a worker gets")
    ] = None,
    on: Annotated[
        str, typer.Option(help="local, ray (a cluster started for it), ray:ADDRESS, slurm:partition=NAME,time=60")
    ] = "local",
    detach: Annotated[
        bool, typer.Option("--detach", help="with --on: leave the work to the cluster; else Ctrl-C stops it")
    ] = False,
    resume: Annotated[bool, typer.Option(help="go on from checkpoints; --no-resume starts again")] = True,
) -> None:
    """Train METHOD on data. Any keyword of the method is an option too: --beta 1,2,4 trains one run a value.

    A method, network or likelihood of your own is module:name, where module.py is in the current folder, or installed.

    Several values or seeds make the cross product, trained together where structure allows. The study's folder keeps
    the whole of it as study.toml, which --plan takes. Exit status 1 when a run diverged.
    """
    from partita.cli.elsewhere import train_elsewhere
    from partita.cli.own_parts import part_named
    from partita.cli.progress import progress
    from partita.cli.values import (
        parse_data,
        parse_groups,
        parse_options,
        parse_seeds,
        parse_widths,
        say_held_out,
        say_likelihood,
        say_scale,
        with_labels,
    )
    from partita.data import load
    from partita.recipes._own_methods import has_no_groups
    from partita.studies import Store, tracked
    from partita.studies import plan as plan_runs
    from partita.studies import train as train_runs
    from partita.studies._scoring import asked_for
    from partita.studies._shares import splits_rows
    from partita.studies._watching import watched_metrics
    from partita.studies.plan import takes_groups
    from partita.studies.trackers import makers_of
    from partita.training.device import choose_device
    from partita.training.ranks import joined

    makers_of(track)
    where, options = parse_data(data)
    if samples is not None:
        options["samples"] = samples
    if covariates and Path(where).suffix in TABLES and not options.keys() & {"columns", "factors", "covariates"}:
        options["covariates"] = covariates.split(",")
    dataset = with_labels(load(where, **options), labels, labelled)
    methods = [part_named(name) for name in method.split(",")]
    if groups not in (None, "auto") and not any(map(takes_groups, methods)):
        raise has_no_groups(method)
    runs, unsaid = [], []  # all, and those of which nobody says how many rows are held out
    try:
        asked_for(metrics or ())
    except ValueError as error:
        raise ValueError(f"--metrics {metrics}: {error}") from None
    flags = [flag for each in context.command.params for flag in each.opts]
    for each, words in with_own_words(context, methods):
        own = parse_options(words, each, flags)
        planned = plan_runs(
            [each],
            dataset,
            options=own,
            latents=latents,
            groups=None if groups is None else parse_groups(groups),
            network=part_named(network),
            likelihood=part_named(likelihood, likelihood=True),
            precision=precision,
            hidden=parse_widths(hidden),
            seeds=parse_seeds(seeds),
            steps=steps,
            batch_size=batch_size,
            learning_rate=learning_rate,
            scale=scale,
            exposure=exposure,
            covariates=covariates.split(",") if covariates else (),
        )
        runs += planned
        unsaid += planned if steps is None and "validation" not in own else []
    if likelihood == "auto":
        say_likelihood(runs[0], dataset)
    say_scale(runs, dataset)
    say_held_out(unsaid)
    store = Store(out)
    choose_device(device)  # what is wrong is said before anything is written
    splits_rows(split, len(runs), 1)
    if log_metrics:
        watched_metrics(log_metrics, dataset)
    elsewhere = on != "local" or detach
    if elsewhere:
        diverged = train_elsewhere(
            on, runs, dataset, store, device=device, resume=resume, detach=detach, log_metrics=log_metrics or (),
            checkpoint_seconds=checkpoint_seconds, models_at_once=models_at_once, track=track,
            once_there=lambda: keep_plan(context, store),
        )  # fmt: skip
        _say_end(runs, diverged, dataset, out)
        return
    keep_plan(context, store)
    with (
        tracked(store, track) as store,
        joined(choose_device(device)) as (ranks, own),
        progress(len(runs), shown=ranks.first) as watch,
    ):
        diverged = train_runs(
            runs,
            dataset,
            store,
            device=own,
            resume=resume,
            watch=watch,
            log_metrics=log_metrics or (),
            checkpoint_seconds=checkpoint_seconds,
            ranks=ranks,
            split=split,
            models_at_once=models_at_once,
        )
    if ranks.first:
        _say_end(runs, diverged, dataset, out)


def _say_end(runs, diverged, dataset, out: Path) -> None:
    from partita.training.observations import why_diverged

    print(f"{len(runs) - len(diverged)} of {len(runs)} runs are in {out}; next: partita evaluate {out}")
    if diverged:
        first = diverged[0]
        why = why_diverged(dataset.x, dataset.x_scale, first.recipe.architecture.likelihood, first.scale)
        complain(f"{len(diverged)} runs diverged: {', '.join(run.id for run in diverged)}; {why}")
        raise typer.Exit(1)
