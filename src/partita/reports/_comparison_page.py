"""One self-contained page about a comparison, its figures as files, its tables beside them."""

from importlib.metadata import version
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from matplotlib.figure import Figure

from partita.plot._style import DOTS_PER_INCH, readable, signs, styled
from partita.reports._pictures import as_svg
from partita.reports._view import Block
from partita.reports.comparison import difference_plot, profile_plot, rank_plot, weight_plots
from partita.studies._written_tables import p_value
from partita.studies.compare import Compared, Comparison
from partita.training.files import write_bytes

CAPTIONS = {
    "differences": "Mean difference of paired runs, with its 95% bootstrap interval. Blue: Wilcoxon's test, corrected "
    "by Holm, tells the two apart; green: surely within the margin (grey band); grey: undecided.",
    "ranks": "Mean ranks over all pairs of data and seed, the best on the left. A bar joins contenders whose ranks "
    "differ by less than the critical difference (Nemenyi, 0.05).",
    "profiles": "Share of runs that do at least so well, for every threshold; of two or three contenders with Wilson's "
    "95% interval. A line above another everywhere is better whatever counts as success.",
    "weights": "Median over seeds, with quartiles as a band, against a number that runs were trained with.",
}


def write_comparison(comparison: Comparison, folder: str | Path) -> Path:
    """Writes a page (`compare.html`), its figures (PNG and PDF) and its tables (CSV, LaTeX, JSON, parquet where pyarrow
    is installed) into a folder.

    Parameters
    ----------
    comparison : Comparison
        As `studies.compare` finds it.
    folder : str or Path
        Made where it is not there.

    Returns
    -------
    Path
        That of the page.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> comparison = Comparison("method", ("runs",), ("vae", "pdisvae"), ("groups",), (0,), 1, (), ())
    >>> with TemporaryDirectory() as folder:
    ...     write_comparison(comparison, folder).name
    'compare.html'
    """
    folder = Path(folder)
    comparison.write(folder)
    sections = []
    for place, each in enumerate(comparison.scores, 1):
        figures = figures_of(each)
        for name, figure in figures.items():
            _save(figure, folder / "figures" / f"{place:02d}-{_plain_name(each.score)}-{name}")
        sections.append({"score": each, "blocks": _blocks(each, figures)})
    environment = Environment(
        loader=PackageLoader("partita.reports"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    content: dict[str, Any] = {"comparison": comparison, "sections": sections, "answers": answers(comparison)}
    content |= {"readable": readable, "signs": signs, "p_value": p_value, "version": version("partita")}
    html = environment.get_template("compare.html").render(**content)
    write_bytes(folder / "compare.html", html.encode("utf-8", "replace"))
    return folder / "compare.html"


def figures_of(each: Compared) -> dict[str, Figure]:
    """Those of one score, by name."""
    found = {"differences": difference_plot(each)}
    if each.ranks is not None:
        found |= {"ranks": rank_plot(each), "profiles": profile_plot(each)}
    return found | {f"weights-{place}": figure for place, figure in enumerate(weight_plots(each), 1)}


def answers(comparison: Comparison) -> list[str]:
    """A sentence a score: who is surely better than whom, who is not different, and how much is undecided."""
    sentences = []
    for each in comparison.scores:
        verdicts = [row["verdict"] for row in each.differences]
        open_pairs = verdicts.count("undecided")
        sure: dict[str, list[str]] = {}
        for row in each.differences:
            for one, other in ((row["first"], row["second"]), (row["second"], row["first"])):
                if row["verdict"].startswith((f"{one} is better", f"{one} has more")):
                    sure.setdefault(one, []).append(other)
        word = "better than" if each.better else "more than"
        said = [f"{one} is {word} {_several(others)}" for one, others in sure.items()]
        alike = [f"({r['first']}, {r['second']})" for r in each.differences if r["verdict"].startswith("no difference")]
        said += [f"no difference beyond {each.margin:g} between {_several(alike)}"] if alike else []
        said += [f"{open_pairs} of {len(verdicts)} pairs undecided"] if open_pairs else []
        sentences.append(f"{each.header}: {'; '.join(said)}.")
    return sentences


def _several(names: list[str]) -> str:
    shown = names if len(names) <= 4 else [*names[:3], f"{len(names) - 3} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _blocks(each: Compared, figures: dict[str, Figure]) -> list[Block]:
    by_kind: dict[str, list] = {}
    for name, figure in figures.items():
        kind = name.partition("-")[0]
        by_kind.setdefault(kind, []).append(as_svg(figure, f"{each.score}: {kind}"))
    return [Block("", tuple(pictures), CAPTIONS[kind]) for kind, pictures in by_kind.items()]


@styled
def _save(figure: Figure, path: Path) -> None:
    import io

    for form, metadata in (("png", {"Software": None}), ("pdf", {"CreationDate": None})):
        buffer = io.BytesIO()
        figure.savefig(buffer, format=form, dpi=DOTS_PER_INCH, metadata=metadata)
        write_bytes(path.with_name(f"{path.name}.{form}"), buffer.getvalue())


def _plain_name(score: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in score)
