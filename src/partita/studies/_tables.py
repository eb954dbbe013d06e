"""Scores of many runs as text for a terminal: one line a setting, with intervals over seeds."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from partita.metrics import over_runs

Scores = Mapping[str, Any]

COLUMNS: dict[str, Callable[[Scores], float | None]] = {
    "R2": lambda s: s.get("alignment", {}).get("r2"),
    "latent MSE": lambda s: s.get("alignment", {}).get("mse"),
    "PC": lambda s: s["correlation"]["pc"],
    "PC null": lambda s: s["correlation"]["null"]["pc"]["mean"],
    "TC": lambda s: s["correlation"]["tc"],
    "TC null": lambda s: s["correlation"]["null"]["tc"]["mean"],
    "TC_mean": lambda s: s.get("gaussian_tc", {}).get("mean"),
    "TC_sample": lambda s: s.get("gaussian_tc", {}).get("sample"),
    "PC joint": lambda s: s["correlation"].get("joint", {}).get("pc"),
    "TC joint": lambda s: s["correlation"].get("joint", {}).get("tc"),
    "R2 regrouped": lambda s: s.get("alignment_regrouped", {}).get("r2"),
    "PC at width": lambda s: s["correlation"]["fixed_width"]["pc"],
    "its null": lambda s: s["correlation"]["fixed_width"]["null"]["mean"],
    "recon R2": lambda s: s["reconstruction_r2"],
    "ELBO": lambda s: s.get("elbo"),
    "MIG": lambda s: s.get("metrics", {}).get("mig", {}).get("value"),
    "MIG of groups": lambda s: s.get("group_metrics", {}).get("mig", {}).get("value"),
    "UDR": lambda s: s.get("udr", {}).get("value"),
    "R2 with u": lambda s: s.get("with_u", {}).get("alignment", {}).get("r2"),
    "ELBO given u": lambda s: s.get("with_u", {}).get("conditional_elbo"),
    "MIG with u": lambda s: s.get("with_u", {}).get("metrics", {}).get("mig", {}).get("value"),
}


def summary_lines(results: Sequence[Scores]) -> list[str]:
    """A table over settings; each cell is a mean over seeds with its 95% bootstrap interval over seeds."""
    settings = dict.fromkeys(result["setting"] for result in results)
    shown = [name for name, value in COLUMNS.items() if any(value(result) is not None for result in results)]
    lines = []
    for setting in settings:
        repeats = [result for result in results if result["setting"] == setting]
        lines.append(f"{setting}, {len(repeats)} seeds, {repeats[0]['correlation']['grouping']}")
        for name in shown:
            values = [value for value in map(COLUMNS[name], repeats) if value is not None]
            if values:
                lines.append(f"  {name:<14}{_with_interval(values)}")
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


def _with_interval(values: Sequence[float]) -> str:
    score = over_runs(values)
    if len(values) == 1 or score.interval is None:
        return f"{score.value:9.3f}"
    return f"{score.value:9.3f}   [{score.interval[0]:.3f}, {score.interval[1]:.3f}]"
