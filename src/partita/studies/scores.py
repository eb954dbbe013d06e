"""What is stored of a measured run, and the one list of its numbers that terminals and pages show."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NotRequired, Required, TypedDict

from partita.metrics import Score, over_runs


class Alignment(TypedDict):
    """Learned groups against true ones; `grouping` says whose the groups are."""

    r2: float
    mse: float
    matrix: list[list[float]]
    assignment: list[int]
    groups: list[list[int]]
    grouping: str


class Null(TypedDict):
    """An estimate with rows permuted between groups."""

    mean: float
    sd: float


class AtFixedWidth(TypedDict):
    width: float
    pc: float
    null: Null


class Dependence(TypedDict):
    """Of the aggregated posterior, in nats; `by` is the estimator, `n` the rows it saw. `joint` is there where the
    latents are correlated given x."""

    mi: float
    tc: float
    pc: float
    within_tc: float
    dim_kl: float
    kl: float
    null: dict[str, Null]
    fixed_width: AtFixedWidth
    joint: NotRequired[dict[str, float]]
    density: NotRequired[str]
    by: str
    n: int
    groups: list[list[int]]
    grouping: str


class Scores(TypedDict, total=False):
    """`scores.json` of a run: what of it could be measured. `metrics` and the like hold `Score.as_dict()` by name."""

    run: Required[str]
    scored: Required[dict[str, Any]]
    n: Required[int]
    reconstruction_mse: Required[float]
    reconstruction_r2: Required[float]
    recon: float
    kl: float
    elbo: float
    groups: Required[list[list[int]]]
    alignment: Alignment
    alignment_fixed: Alignment
    alignment_regrouped: Alignment
    correlation: Required[Dependence]
    gaussian_tc: dict[str, Any]
    metrics: dict[str, dict[str, Any]]
    group_metrics: dict[str, dict[str, Any]]
    structure: dict[str, Any]
    diagnosis: dict[str, Any]  # verdict, reasons, numbers of `structure.Diagnosis`, where groups have several latents
    udr: dict[str, Any]
    with_u: dict[str, Any]
    covariates: dict[str, Any]


class RunScores(Scores):
    """Scores of a run among others: with its setting, all that it is but its seed."""

    setting: str
    seed: int


@dataclass(frozen=True)
class Column:
    """One number of a run.

    `name` is for terminals, `header` for print. `better` is "higher", "lower" or empty. On a page, columns with the
    same `band` stand together, a `strip` is the axis of a figure with a dot a run, and `page=False` are left out.
    `metric` is the entry of METRICS it is, or is a part of.
    """

    name: str
    band: str
    explanation: str
    better: str
    read: Callable[[Any], Any]
    digits: int = 3
    interval: bool = True
    strip: str = ""
    page: bool = True
    metric: str = ""

    @property
    def header(self) -> str:
        return self.name.replace("R2", "R²").replace(" - ", " − ")

    @property
    def arrow(self) -> str:
        return {"higher": "↑", "lower": "↓"}.get(self.better, "")

    def value(self, scores: Any) -> float | None:
        """The number of a run with these scores, or None where it was not measured."""
        try:
            found = self.read(scores)
        except (KeyError, TypeError, IndexError):
            return None
        return float(found) if isinstance(found, int | float) and math.isfinite(found) else None

    def summary(self, several: Iterable[Any]) -> Score | None:
        """Mean over the runs that have it, with a bootstrap interval over them; None when none has."""
        values = [value for scores in several if (value := self.value(scores)) is not None]
        return over_runs(values) if values else None


ALIGNED, DEPENDENCE, FIT, METRIC = "Alignment with the truth", "Dependence, nats", "Fit", "Metrics"

COLUMNS: tuple[Column, ...] = (
    Column(
        "R2", ALIGNED,
        "Each true group predicted linearly from its matched learned group: R², mean over the true groups.",
        "higher", lambda s: s["alignment"]["r2"], strip="alignment R²",
    ),
    Column(
        "latent MSE", ALIGNED,
        "Mean squared error of the same predictions, in squared units of the true latents.",
        "lower", lambda s: s["alignment"]["mse"],
    ),
    Column(
        "R2 regrouped", ALIGNED, "R² of the grouping with the smallest PC, found without the truth.",
        "higher", lambda s: s["alignment_regrouped"]["r2"], page=False,
    ),
    Column(
        "R2 with u", ALIGNED, "R² of codes made with the true labels given to the encoder.",
        "higher", lambda s: s["with_u"]["alignment"]["r2"], page=False,
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
        "PC - null", DEPENDENCE,
        "PC beyond its null: the number to compare between methods. About 0 or below: no dependence that this estimate "
        "can see. Where the null itself is several nats it can see little.",
        "lower", lambda s: s["correlation"]["pc"] - s["correlation"]["null"]["pc"]["mean"], 2,
        strip="PC − null, nats",
    ),
    Column(
        "TC", DEPENDENCE,
        "Total correlation KL(q(z) ‖ ∏ q(z_k)) between all single latents, exact for the rows used. Dependence inside "
        "groups counts, so neither high nor low is better.",
        "", lambda s: s["correlation"]["tc"], 2,
    ),
    Column(
        "TC null", DEPENDENCE, "The same estimate after permuting rows independently per latent.",
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
        "PC joint", DEPENDENCE, "PC by the joint densities of posteriors whose latents are correlated given x.",
        "", lambda s: s["correlation"]["joint"]["pc"], 2, page=False,
    ),
    Column(
        "TC joint", DEPENDENCE, "TC by the joint densities of posteriors whose latents are correlated given x.",
        "", lambda s: s["correlation"]["joint"]["tc"], 2, page=False,
    ),
    Column(
        "PC at width", DEPENDENCE, "PC of standardised means under one kernel, the same for every method.",
        "", lambda s: s["correlation"]["fixed_width"]["pc"], 2, page=False,
    ),
    Column(
        "its null", DEPENDENCE, "The same after permuting rows independently per group.",
        "", lambda s: s["correlation"]["fixed_width"]["null"]["mean"], 2, False, page=False,
    ),
    Column(
        "groups hold", DEPENDENCE,
        "Share of runs of which structure.diagnose_groups says, without labels, that their groups hold.",
        "higher", lambda s: float(s["diagnosis"]["verdict"] == "groups hold"), 2, False,
    ),
    Column(
        "recon R2", FIT,
        "Share of the variance of the observations that decoding the posterior means explains.",
        "higher", lambda s: s["reconstruction_r2"], strip="reconstruction R²",
    ),
    Column(
        "recon", FIT, "Reconstruction term −E[log p(x|z)], nats per observation, one draw of z a row.",
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
        "higher", lambda s: s["elbo"], 2, strip="ELBO, nats per observation",
    ),
    Column(
        "ELBO given u", FIT,
        "Lower bound on log p(x|u), with the true labels given to the encoder: not to be compared with an ELBO.",
        "", lambda s: s["with_u"]["conditional_elbo"], 2, False,
    ),
    Column(
        "MIG", METRIC, "MIG of posterior means, latent by latent.",
        "higher", lambda s: s["metrics"]["mig"]["value"], page=False,  # a page has all metrics
    ),
    Column(
        "MIG of groups", METRIC, "MIG between groups of latents and of factors.",
        "higher", lambda s: s["group_metrics"]["mig"]["value"], page=False,
    ),
    Column(
        "MIG with u", METRIC, "MIG of codes made with the true labels given to the encoder.",
        "higher", lambda s: s["with_u"]["metrics"]["mig"]["value"], page=False,
    ),
    Column(
        "UDR", METRIC, "How far the runs of a setting agree on their latents.",
        "higher", lambda s: s["udr"]["value"], page=False,
    ),
)  # fmt: skip
