"""A comparison as text for a terminal, and its tables as files."""

import csv
import io
import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from partita.training.files import make_folder, write_bytes

if TYPE_CHECKING:
    from partita.studies.compare import Compared, Comparison

Row = dict[str, Any]
LATEX = {"\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
         "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "−": "$-$", "²": "$^2$", "≥": r"$\geq$",
         "≤": r"$\leq$"}  # fmt: skip


def as_text(comparison: "Comparison") -> str:
    """What a person reads in a terminal: for each score who did how well, and who differs from whom."""
    what, on = _counted(len(comparison.contenders), comparison.by), " and ".join(comparison.data)
    lines = [
        f"{what}, paired by seed and data: {comparison.pairs} pairs of runs on {on}, seeds "
        f"{_seeds(comparison.seeds)}; {' and '.join(comparison.studies)}"
    ]
    for each in comparison.scores:
        lines += ["", *_score_lines(each)]
    lines += ["", *(f"note: {words}" for words in comparison.notes)] if comparison.notes else []
    return "\n".join([*lines, "", *_legend(comparison)])


def _score_lines(each: "Compared") -> list[str]:
    better = f"{each.better} is better" if each.better else "neither more nor less is better"
    title = f"{each.score} ({better}{', protocol ' + each.protocol if each.protocol else ''})"
    rows = [[
        row["contender"], str(row["runs"]), _spread(row, "mean"), _spread(row, "iqm"),
        f"{number(row['median'])} ({number(row['quartile_1'])}, {number(row['quartile_3'])})",
        f"{row['succeeded']}/{row['ended']} [{row['success_low']:.2f}, {row['success_high']:.2f}]"
        if "success" in row else "",
        number(each.ranks["ranks"][row["contender"]]) if each.ranks else "",
    ] for row in each.summaries]  # fmt: skip
    sign = "<=" if each.better == "lower" else ">="
    success = "" if each.success_at is None else f"{sign} {each.success_at:g}"
    head = ["", "runs", "mean [95%]", "IQM [95%]", "median (quartiles)", success, "rank" if each.ranks else ""]
    lines = [title, *_aligned([head, *rows])]
    pairs = [[
        f"{row['first']} - {row['second']}", number(row["mean"]), _interval(row, ""), p_value(row["wilcoxon"]),
        p_value(row["holm"]), p_value(row["tost"]), row["verdict"],
    ] for row in each.differences]  # fmt: skip
    head = ["difference", "mean", "95%", "Wilcoxon p", "Holm", f"TOST {each.margin:g}", ""]
    lines += _aligned([head, *pairs])
    if each.ranks is not None:
        friedman = "" if each.ranks["friedman"] is None else f"; Friedman p {p_value(each.ranks['friedman'])}"
        lines.append(f"  critical difference of ranks {each.ranks['critical']:.2f}{friedman}")
    for row in each.curves:
        others = f" {row['others']}" if row["others"] else ""
        spread = f"{number(row['median'])} ({number(row['quartile_1'])}, {number(row['quartile_3'])})"
        lines.append(f"  {row['method']}{others} at {row['weight']} {row['at']:g} on {row['data']}: median {spread}")
    return lines


def _legend(comparison: "Comparison") -> list[str]:
    return [
        "Intervals: 95% bootstrap over pairs (BCa), of shares Wilson's. IQM: mean of the middle half. Wilcoxon: signed "
        "ranks, two-sided; Holm: over the pairs",
        "of one score. TOST: two one-sided t tests; below 0.05 the mean difference is surely within the margin. Ranks: "
        "1 is best; critical difference: Nemenyi, 0.05.",
    ]


def number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if abs(value) < 1000 else f"{value:.1f}"


def p_value(value: float | None) -> str:
    if value is None:
        return "-"
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def write_tables(comparison: "Comparison", folder: Path) -> list[Path]:
    """Each table as CSV and LaTeX, and as parquet where pyarrow is installed; all of it as JSON and as text."""
    make_folder(folder)
    files: dict[str, bytes] = {
        "comparison.json": json.dumps(comparison.as_dict(), indent=1, allow_nan=False).encode(),
        "comparison.txt": f"{comparison}\n".encode(),
    }
    for name, rows in comparison.tables.items():
        if rows:
            files |= {f"{name}.csv": as_csv(rows).encode(), f"{name}.tex": as_latex(rows).encode()}
            files |= {f"{name}.parquet": as_parquet(rows)} if find_spec("pyarrow") else {}
    for name, content in files.items():
        write_bytes(folder / name, content)
    return [folder / name for name in files]


def columns_of(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def as_csv(rows: Sequence[Row]) -> str:
    """One line a row, every digit; empty where there is nothing."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns_of(rows), restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def as_latex(rows: Sequence[Row]) -> str:
    """A `tabular` that needs no package; numbers with three digits."""
    names = columns_of(rows)
    texts = [name for name in names if any(isinstance(row.get(name), str) for row in rows)]
    lines = [rf"\begin{{tabular}}{{{''.join('l' if name in texts else 'r' for name in names)}}}", r"\hline"]
    lines += [" & ".join(_latex(name.replace("_", " ")) for name in names) + r" \\", r"\hline"]
    lines += [" & ".join(_cell(row.get(name)) for name in names) + r" \\" for row in rows]
    return "\n".join([*lines, r"\hline", r"\end{tabular}", ""])


def as_parquet(rows: Sequence[Row]) -> bytes:
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table({name: [row.get(name) for row in rows] for name in columns_of(rows)})
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(table, buffer)
    return buffer.getvalue()


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"${number(value)}$"
    return "--" if value is None else _latex(str(value))


def _latex(text: str) -> str:
    return "".join(LATEX.get(letter, letter) for letter in text)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    kept = [i for i in range(len(rows[0])) if any(row[i] for row in rows)]
    widths = {i: max(len(row[i]) for row in rows) for i in kept}
    return ["  " + "  ".join(row[i].ljust(widths[i]) for i in kept).rstrip() for row in rows]


def _spread(row: Row, name: str) -> str:
    return f"{number(row[name])} {_interval(row, name + '_')}".rstrip()


def _interval(row: Row, prefix: str) -> str:
    if row[f"{prefix}low"] is None:
        return ""
    return f"[{number(row[f'{prefix}low'])}, {number(row[f'{prefix}high'])}]"


def _counted(count: int, by: str) -> str:
    return f"{count} {by}s" if by in ("method", "setting") else f"{count} values of {by}"


def _seeds(seeds: Sequence[int]) -> str:
    if len(seeds) > 2 and list(seeds) == list(range(seeds[0], seeds[-1] + 1)):
        return f"{seeds[0]} to {seeds[-1]}"
    return ", ".join(map(str, seeds))
