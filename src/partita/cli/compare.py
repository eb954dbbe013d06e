"""partita compare"""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from partita.cli.values import complain


def compare(
    folders: Annotated[list[Path], typer.Argument(help="studies that were measured", metavar="DIR ...")],
    metric: Annotated[
        str | None, typer.Option(help="scores such as R2,mig; default: every score that all runs have")
    ] = None,
    by: Annotated[
        str, typer.Option(help="setting, method (mean of its settings), or an option such as beta, all others alike")
    ] = "setting",
    against: Annotated[str | None, typer.Option(help="compare all with this one; default: all pairs")] = None,
    margin: Annotated[
        float | None, typer.Option(help="what counts as no difference; default 0.05, 0.1 of what is in nats")
    ] = None,
    success: Annotated[
        float | None, typer.Option(help="from where on a run succeeds; default 0.9 of scores between 0 and 1")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="a folder for page, figures and tables (CSV, LaTeX, parquet, JSON)")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON document")] = False,
) -> None:
    """Compare methods or settings of one or several studies, paired by seed and data.

    Differences with bootstrap intervals, Wilcoxon with Holm, TOST, interquartile means, success rates, ranks. Runs that
    were measured by other protocols, on other rows or other data are refused.
    """
    from partita.cli.own_parts import load_own_parts
    from partita.studies import compare as compare_studies

    for folder in folders:
        load_own_parts(folder)
    found = compare_studies(folders, metric, by, against=against, margin=margin, success=success)
    written = None
    if out is not None:
        from partita.reports import write_comparison

        written = write_comparison(found, out)
        if find_spec("pyarrow") is None:
            complain("no tables as parquet, which needs pyarrow: pip install 'partita[arrow]'")
    if as_json:
        print(json.dumps(found.as_dict(), indent=1, allow_nan=False))
        return
    print(found)
    if written is not None:
        print(f"\n{written}")
