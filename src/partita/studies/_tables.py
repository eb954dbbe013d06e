"""Scores of many runs as text for a terminal: one line a setting, with intervals over seeds."""

from collections.abc import Sequence

from partita.metrics import Score
from partita.studies.scores import COLUMNS, RunScores


def summary_lines(results: Sequence[RunScores]) -> list[str]:
    """A table over settings; each cell is a mean over seeds with its 95% bootstrap interval over seeds."""
    lines = []
    shown = [column.name for column in COLUMNS if any(column.value(result) is not None for result in results)]
    settings: dict[str, list[RunScores]] = {}
    for result in results:
        settings.setdefault(result["setting"], []).append(result)
    for setting, repeats in settings.items():
        lines.append(f"{setting}, {len(repeats)} seeds, {repeats[0]['correlation']['grouping']}")
        cells = {column.name: column.summary(repeats) for column in COLUMNS}
        lines += [f"  {name:<14}{_with_interval(score)}" for name, score in cells.items() if score is not None]
        lines += verdicts(repeats)
    if results:
        n, width = results[0]["correlation"]["n"], results[0]["correlation"]["fixed_width"]["width"]
        lines.append(f"PC and TC: exact aggregated posterior of {n} rows, in nats; the null permutes rows of groups.")
        lines.append(f"PC at width: standardised means under one kernel of width {width}, the same for every method.")
        if "TC_sample" in shown:
            lines.append("TC_mean, TC_sample: Gaussian, from the correlations of posterior means, of one draw a row.")
        if "PC joint" in shown:
            lines.append(
                "PC, TC of correlated posteriors: the product of the latents' own densities; joint: their own."
            )
    return lines


def verdicts(repeats: Sequence[RunScores]) -> list[str]:
    """What each seed's groups are worth, in words: the verdict and its first reason."""
    said = [(result["seed"], result["diagnosis"]) for result in repeats if "diagnosis" in result]
    return [f"  seed {seed}: {found['verdict']}: {'; '.join(found['reasons'][:2])}" for seed, found in said]


def _with_interval(score: Score) -> str:
    if score.n == 1 or score.interval is None:
        return f"{score.value:9.3f}"
    return f"{score.value:9.3f}   [{score.interval[0]:.3f}, {score.interval[1]:.3f}]"
