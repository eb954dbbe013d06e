"""The tables of a report: which numbers, how they are read from the scores, how they are summarised over seeds."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from partita.metrics import METRICS, Score, over_runs
from partita.reports._style import readable
from partita.reports.study import Record, Setting

Scores = Mapping[str, Any]


@dataclass(frozen=True)
class Column:
    """One number of a run. `explanation` goes into the header's tooltip; `better` is "higher", "lower" or empty."""

    header: str
    band: str
    explanation: str
    better: str
    read: Callable[[Scores], Any]
    digits: int = 3
    interval: bool = True

    @property
    def arrow(self) -> str:
        return {"higher": "↑", "lower": "↓"}.get(self.better, "")

    def value(self, record: Record) -> float | None:
        """The number of this run, or None where it was not measured."""
        if record.scores is None:
            return None
        try:
            found = self.read(record.scores)
        except (KeyError, TypeError, IndexError):
            return None
        return float(found) if isinstance(found, int | float) and math.isfinite(found) else None

    def summary(self, records: Iterable[Record]) -> Score | None:
        """Mean over the runs that have it, with a bootstrap interval over them; None when none has."""
        values = [value for record in records if (value := self.value(record)) is not None]
        return over_runs(values) if values else None

    def words(self, value: float) -> str:
        """The number for people, with a proper minus."""
        return readable(value, self.digits)


def _pc_above_null(scores: Scores) -> float:
    return scores["correlation"]["pc"] - scores["correlation"]["null"]["pc"]["mean"]


ALIGNED, DEPENDENCE, FIT, METRIC = "Alignment with the truth", "Dependence, nats", "Fit", "Metrics"

RESULTS: tuple[Column, ...] = (
    Column(
        "R²", ALIGNED,
        "Each true group predicted linearly from its matched learned group: R², mean over the true groups.",
        "higher", lambda s: s["alignment"]["r2"],
    ),
    Column(
        "MSE", ALIGNED,
        "Mean squared error of the same predictions, in squared units of the true latents.",
        "lower", lambda s: s["alignment"]["mse"],
    ),
    Column(
        "PC", DEPENDENCE,
        "Partial correlation KL(q(z) ‖ ∏ q(z_g)) between the groups, exact for the posteriors of the rows used.",
        "", lambda s: s["correlation"]["pc"], 2,
    ),
    Column(
        "PC null", DEPENDENCE,
        "The same estimate after permuting rows independently per group: what independent groups would show here.",
        "", lambda s: s["correlation"]["null"]["pc"]["mean"], 2, False,
    ),
    Column(
        "PC − null", DEPENDENCE,
        "PC beyond its null: the number to compare between methods. About 0 or below: no dependence that this estimate "
        "can see. Where the null itself is several nats it can see little.",
        "lower", _pc_above_null, 2,
    ),
    Column(
        "TC", DEPENDENCE,
        "Total correlation KL(q(z) ‖ ∏ q(z_k)) between all single latents, exact for the rows used. Dependence inside "
        "groups counts, so neither high nor low is better.",
        "", lambda s: s["correlation"]["tc"], 2,
    ),
    Column(
        "TC null", DEPENDENCE,
        "The same estimate after permuting rows independently per latent.",
        "", lambda s: s["correlation"]["null"]["tc"]["mean"], 2, False,
    ),
    Column(
        "TC_mean", DEPENDENCE,
        "Total correlation of a Gaussian with the correlations of the posterior means. Blind to nonlinear dependence.",
        "", lambda s: s["gaussian_tc"]["mean"], 2,
    ),
    Column(
        "TC_sample", DEPENDENCE,
        "The same of one draw from the posterior of each row, which is what training penalises: it can be near 0 while "
        "the means are strongly correlated.",
        "", lambda s: s["gaussian_tc"]["sample"], 2,
    ),
    Column(
        "recon. R²", FIT,
        "Share of the variance of the observations that decoding the posterior means explains.",
        "higher", lambda s: s["reconstruction_r2"],
    ),
    Column(
        "recon.", FIT,
        "Reconstruction term −E[log p(x|z)], nats per observation, one draw of z a row.",
        "lower", lambda s: s["recon"], 2,
    ),
    Column(
        "KL", FIT,
        "KL(q(z|x) ‖ p(z)), nats per observation, closed form; where the encoder sees labels u, that of z and u.",
        "", lambda s: s["kl"], 2,
    ),
    Column(
        "ELBO", FIT,
        "Evidence lower bound −(reconstruction + KL) on log p(x), nats per observation; labels are never given.",
        "higher", lambda s: s["elbo"], 2,
    ),
    Column(
        "ELBO given u", FIT,
        "Lower bound on log p(x|u), with the true labels given to the encoder: not to be compared with an ELBO.",
        "", lambda s: s["with_u"]["conditional_elbo"], 2, False,
    ),
)  # fmt: skip

# Metrics that are several numbers in one.
PARTS = {
    "dci": ("disentanglement", "completeness", "informativeness"),
    "infomec": ("infom", "infoc", "infoe"),
}


def result_columns(settings: Sequence[Setting]) -> list[Column]:
    """The columns that at least one run fills."""
    return _filled(RESULTS, settings)


def metric_columns(settings: Sequence[Setting]) -> list[Column]:
    """A column for each metric that was measured, in the registry's order, then those it does not know."""
    found: dict[str, Scores] = {}
    for setting in settings:
        for record in setting.records:
            for name, score in ((record.scores or {}).get("metrics") or {}).items():
                found.setdefault(name, score)
    order = [name for name in METRICS if name in found] + [name for name in found if name not in METRICS]
    return _filled([column for name in order for column in _metric_columns(name, found[name])], settings)


def _metric_columns(name: str, score: Scores) -> list[Column]:
    metric = METRICS.get(name)
    about = metric.summary if metric else name
    better = getattr(metric, "better", "higher") if metric else ""
    text = f"{name}: {about}. Protocol {score.get('protocol') or 'not named'}, n = {score.get('n')}."
    if name in PARTS:
        return [
            Column(part, METRIC, f"{part}, of {text}", better, lambda s, n=name, p=part: s["metrics"][n]["parts"][p])
            for part in PARTS[name]
        ]
    return [Column(name, METRIC, text, better, lambda s, n=name: s["metrics"][n]["value"])]


def _filled(columns: Iterable[Column], settings: Sequence[Setting]) -> list[Column]:
    records = [record for setting in settings for record in setting.records]
    return [column for column in columns if any(column.value(record) is not None for record in records)]


def bands(columns: Sequence[Column]) -> list[tuple[str, int]]:
    """The header's upper row: names and how many columns each spans."""
    spans: list[tuple[str, int]] = []
    for column in columns:
        if spans and spans[-1][0] == column.band:
            spans[-1] = (column.band, spans[-1][1] + 1)
        else:
            spans.append((column.band, 1))
    return spans
