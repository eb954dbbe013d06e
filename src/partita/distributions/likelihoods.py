"""What a decoder says of an observation, p(x|z): the families there are, each a record of functions.

`LIKELIHOODS` is the only registry of them. A family in it, or one that somebody hands in as a `Likelihood`, is all that
networks, training, studies and reports know of p(x|z).
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from partita.distributions import _densities as of
from partita.distributions import _kinds as kinds
from partita.distributions.decoded import Decoded

# A field that came later: where it is not said, it is no part of what a run knows of somebody's own likelihood.
SINCE_0_2: dict[str, Any] = {"metadata": {"later": True}}


def _none(shape: tuple[int, ...]) -> dict[str, Tensor]:
    return {}


def _itself(x: Tensor) -> Tensor:
    return x


def _nothing(values: np.ndarray) -> str:
    return ""


@dataclass(frozen=True)
class Likelihood:
    """A family of densities p(x|z) whose features are independent, given z.

    Parameters
    ----------
    name : str
        What it is called in settings and files.
    log_density : function
        `(x, *outputs, **parameters)` -> log p(x_d|z) in nats for each feature d, shaped like x.
    mean : function
        `(*outputs, **parameters)` -> E[x|z], shaped like x.
    suits : function or None
        Values, an array -> whether it is a density of each; None: of any number.
    takes : str
        Which values those are, in words: "whole counts of 0 or more".
    unsuited : function
        Values among which there are others -> what they may be and what to do, or "".
    outputs : int
        Numbers that a decoder gives for each feature; each comes as a tensor shaped like x.
    parameters : function
        Shape of an observation -> tensors by name that do not depend on z, and broadcast against x. An `nn.Parameter`
        is learned, another tensor stays as it is. They belong to the decoder: "decoder.log_variance".
    shown : function
        Observations -> what networks that read them are shown: counts, whose sizes span decades, as log(1 + x).
    draw : function or None
        `(rng, *outputs, **parameters)`, NumPy's generator and arrays -> a draw of x.
    counts : bool
        Whether the first output is the logarithm of a rate: it may then be told how many counts are expected.
    unitless : bool
        Whether its width is learned from the start, so that data may be given to it in any unit (`training.scale`).
    summary : str
        A few words for lists of likelihoods.
    unasked : function
        Values (n, ...) -> why they get this family where nobody said which, or "".
    variant : function or None
        What comes after a colon, "0.25" in "gaussian:0.25" -> the family it means, or None.
    of_noise : function or None
        Variance of the noise in the data -> the variant to name where nobody said which.

    Examples
    --------
    The exponential distribution, by the logarithm of its rate:

    >>> waiting = Likelihood(
    ...     "exponential",
    ...     log_density=lambda x, log_rate: log_rate - x * log_rate.exp(),
    ...     mean=lambda log_rate: (-log_rate).exp(),
    ...     suits=lambda values: values >= 0,
    ...     takes="numbers of 0 or more",
    ... )
    >>> waiting.at(torch.zeros(1, 3)).log_prob(torch.ones(1, 3)).item()
    -3.0
    """

    name: str
    log_density: Callable[..., Tensor]
    mean: Callable[..., Tensor]
    suits: Callable[[np.ndarray], np.ndarray] | None = None
    takes: str = "numbers"
    outputs: int = 1
    parameters: Callable[[tuple[int, ...]], Mapping[str, Tensor]] = _none
    shown: Callable[[Tensor], Tensor] = _itself
    summary: str = ""
    unasked: Callable[[np.ndarray], str] = lambda values: ""
    variant: "Callable[[str], Likelihood | None] | None" = None
    of_noise: Callable[[float], str] | None = None
    draw: Callable[..., np.ndarray] | None = field(default=None, **SINCE_0_2)
    counts: bool = field(default=False, **SINCE_0_2)
    unitless: bool = field(default=False, **SINCE_0_2)
    unsuited: Callable[[np.ndarray], str] = field(default=_nothing, **SINCE_0_2)

    def at(
        self,
        decoded: Tensor,
        parameters: Mapping[str, Tensor] | None = None,
        exposure: Tensor | None = None,
        observed: Tensor | None = None,
    ) -> Decoded:
        """p(x|z) where a decoder says `decoded`, (B, outputs * channels, ...). Rates are multiplied by the `exposure`;
        where `observed` is 0, a value is missing and has no density. Both broadcast against x."""
        outputs = decoded.chunk(self.outputs, 1) if self.outputs > 1 else (decoded,)
        if exposure is not None and self.counts:
            outputs = (outputs[0] + exposure.log(), *outputs[1:])
        return Decoded(self, outputs, parameters or {}, observed)

    def check(self, values: np.ndarray, rows: np.ndarray | None = None) -> None:
        """ValueError where this is no density of such values; these are `rows` of the data, where they are not all."""
        if self.suits is not None and not (suited := self.suits(values) | np.isnan(values)).all():
            row, *feature = np.argwhere(~suited)[0].tolist()
            where = f"row {row if rows is None else rows[row]}, feature {', '.join(map(str, feature))}"
            raise ValueError(
                f"likelihood {self.name!r} takes {self.takes}, and the data, as the model sees them, hold "
                f"{values[(row, *feature)]:g} in {where}{self.unsuited(values)}"
            )


def as_likelihood(likelihood: str | Likelihood) -> Likelihood:
    """The family of this name, such as "poisson" or "gaussian:0.25"; a `Likelihood` is returned as it is."""
    if isinstance(likelihood, Likelihood):
        return likelihood
    if isinstance(likelihood, str) and likelihood in LIKELIHOODS:
        return LIKELIHOODS[likelihood]
    family, _, detail = str(likelihood).partition(":")
    variant = LIKELIHOODS[family].variant if family in LIKELIHOODS else None
    if variant is None or (found := variant(detail)) is None:
        raise ValueError(f"unknown likelihood {likelihood!r}: give {listed_likelihoods()}, or a Likelihood of your own")
    return found


def by_name(likelihood: Any) -> Any:
    """A family of ours by its name, which files keep; anything else as it is."""
    ours = isinstance(likelihood, Likelihood) and LIKELIHOODS.get(likelihood.name) == likelihood
    return likelihood.name if ours else likelihood


def listed_likelihoods() -> str:
    """Every name with its few words, for messages and help."""
    return ", ".join(f"{name} ({family.summary})" for name, family in LIKELIHOODS.items())


COUNTS = "whole counts of 0 or more (bytes, which are scaled to [0, 1], as numbers of another type)"


def _gaussian_family(name: str, summary: str, log_variance: Callable[[tuple[int, ...]], Tensor], **more) -> Likelihood:
    return Likelihood(
        name, of.gaussian, lambda mean, log_variance: mean, summary=summary, draw=of.draw_gaussian,
        parameters=lambda shape: {"log_variance": log_variance(shape)}, **more,
    )  # fmt: skip


def _gaussian_of(detail: str) -> Likelihood | None:
    if detail == "learned":
        return LIKELIHOODS["gaussian"]
    variance = _positive(detail)
    if variance is None:
        return None
    return _gaussian_family(f"gaussian:{detail}", "fixed variance", lambda shape: torch.tensor(math.log(variance)))


def _student_family(name: str, summary: str, freedom: float | None = None, **more) -> Likelihood:
    """Degrees of freedom are learned unless given, above 1 in either case: then there is a mean."""

    def parameters(shape: tuple[int, ...]) -> dict[str, Tensor]:
        beyond = torch.tensor(math.log((freedom or of.FIRST_FREEDOM) - 1))
        return {
            "log_scale": nn.Parameter(torch.zeros(())),
            "beyond": nn.Parameter(beyond) if freedom is None else beyond,
        }

    return Likelihood(
        name, of.student, lambda location, log_scale, beyond: location, parameters=parameters, summary=summary,
        draw=of.draw_student, unitless=True, **more,
    )  # fmt: skip


def _student_of(detail: str) -> Likelihood | None:
    freedom = _positive(detail)
    if freedom is None or freedom <= 1:
        return None
    return _student_family(f"student:{detail}", "fixed degrees of freedom", freedom)


def _negative_binomial(name: str, summary: str, start: float = 1.0, **more) -> Likelihood:
    """One dispersion a feature is learned, from this one on: as a variance of logarithms, what latents leave."""
    return Likelihood(
        name, of.negative_binomial, lambda log_mean, log_dispersion: log_mean.exp(), kinds.whole_counts, COUNTS,
        parameters=lambda shape: {"log_dispersion": nn.Parameter(torch.full((1, *shape), math.log(start)))},
        shown=torch.log1p, summary=summary, draw=of.draw_negative_binomial, counts=True, unsuited=kinds.no_counts,
        **more,
    )  # fmt: skip


def _negative_binomial_of(detail: str) -> Likelihood | None:
    start = _positive(detail)
    return (
        None if start is None else _negative_binomial(f"negative_binomial:{detail}", "dispersions from this on", start)
    )


def _positive(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if value > 0 and math.isfinite(value) else None


def _categorical_family(name: str, summary: str, sizes: tuple[int, ...] | None = None, **more) -> Likelihood:
    blocks = of.Blocks(sizes)
    return Likelihood(
        name, blocks.log_density, blocks.mean, blocks.suits, "one-hot blocks: one 1 and else 0 in each",
        summary=summary, draw=blocks.draw, **more,
    )  # fmt: skip


def _categorical_of(detail: str) -> Likelihood | None:
    try:
        sizes = tuple(int(size) for size in detail.split(","))
    except ValueError:
        return None
    if min(sizes) < 2:
        return None
    return _categorical_family(f"categorical:{detail}", f"one-hot blocks of {detail}", sizes)


# In the order in which they are asked whether data that nobody spoke of are theirs.
LIKELIHOODS: dict[str, Likelihood] = {
    family.name: family
    for family in (
        Likelihood(
            "bernoulli", of.bernoulli, torch.sigmoid, kinds.between_0_and_1, "numbers between 0 and 1",
            summary="numbers between 0 and 1, grey ones as probabilities", unasked=kinds.probabilities,
            draw=of.draw_bernoulli,
        ),
        _negative_binomial(
            "negative_binomial",
            "counts that vary more than that, by one learned dispersion a feature; negative_binomial:0.1 starts there",
            unasked=kinds.counts, variant=_negative_binomial_of,
            of_noise=lambda noise: f"negative_binomial:{min(max(noise, 1e-4), 1.0):.2g}",
        ),
        _gaussian_family(
            "gaussian", "one learned variance, or gaussian:0.25 for a fixed one",
            lambda shape: nn.Parameter(torch.zeros(())), variant=_gaussian_of, unasked=kinds.real_numbers,
            of_noise=lambda noise: f"gaussian:{noise:.3g}", unitless=True,
        ),
        _gaussian_family(
            "gaussian:features", "one learned variance a feature",
            lambda shape: nn.Parameter(torch.zeros(1, *shape)), unitless=True,
        ),
        _student_family(
            "student", "robust: long tails, by learned degrees of freedom, or student:4", variant=_student_of
        ),
        Likelihood(
            "poisson", of.poisson, torch.exp, kinds.whole_counts, COUNTS, shown=torch.log1p,
            summary="counts whose variance is their mean", draw=of.draw_poisson, counts=True, unsuited=kinds.no_counts,
        ),
        _categorical_family(
            "categorical", "one class of several, one-hot; categorical:3,4,2 for blocks of these sizes",
            variant=_categorical_of,
        ),
    )
}  # fmt: skip
