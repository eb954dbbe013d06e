"""A fitted model opened for looking: what pictures need of it and of its rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from partita.data import Dataset
from partita.data._some_rows import some_rows
from partita.distributions import Groups, as_groups
from partita.estimator import Disentangler
from partita.measures.gaussian import kl_of_latents
from partita.studies import Run, Store
from partita.studies._seen import beside_of
from partita.training import Model
from partita.training.covariates import columns_of
from partita.training.observations import observations
from partita.training.scale import Scale

ROWS_DRAWN = 2000


@dataclass(frozen=True, eq=False)
class Opened:
    """A model beside rows. Everything is in the units of `x`; `rows` are those that points are drawn of."""

    model: Disentangler | Model
    x: Any
    groups: Groups
    x_scale: float = 1.0
    places: np.ndarray | None = None
    feature_names: tuple[str, ...] = ()
    beside: Callable[[Any], dict[str, np.ndarray]] = lambda rows: {}  # what is known of rows of a study beside x
    covariates: dict[str, np.ndarray] | None = None  # of all rows, where an estimator was fitted with some

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one observation."""
        return tuple(self.x.shape[1:])

    @property
    def is_image(self) -> bool:
        return len(self.shape) == 3

    @property
    def features_are(self) -> str:
        """What the numbers of a row are."""
        return "feature (index)" if self.places is None else "frame"

    @property
    def latents(self) -> int:
        return sum(map(len, self.groups))

    @cached_property
    def rows(self) -> np.ndarray:
        return some_rows(len(self.x), ROWS_DRAWN)

    @cached_property
    def posterior(self) -> tuple[np.ndarray, np.ndarray]:
        """Means and log-variances of `rows`."""
        return self.encode(self.rows)

    @property
    def means(self) -> np.ndarray:
        return self.posterior[0]

    @cached_property
    def used(self) -> np.ndarray:
        """The mean KL of each latent from its prior, nats."""
        return kl_of_latents(*self.posterior)

    @property
    def typical(self) -> int:
        """Of the rows drawn, the one whose code is nearest to 0: a place to stand that the decoder has seen, which 0
        itself need not be."""
        return int((self.means**2).sum(1).argmin())

    @cached_property
    def span(self) -> tuple[float, float]:
        """The darkest and the brightest value among the rows drawn."""
        seen = self.observed(self.rows)
        return float(seen.min()), float(seen.max())

    @cached_property
    def loadings(self) -> np.ndarray:
        """(features, latents), averaged over a few of the rows drawn."""
        codes = self.means[some_rows(len(self.rows), 64)]
        model = self.model._fitted() if isinstance(self.model, Disentangler) else self.model
        return model.loadings(codes) / self.x_scale

    def observed(self, rows: Any) -> np.ndarray:
        return np.asarray(self.x[rows], np.float32)

    def encode(self, rows: Any) -> tuple[np.ndarray, np.ndarray]:
        x = np.asarray(self.x[rows])
        if isinstance(self.model, Disentangler):
            mean, log_variance = self.model.posterior(x, covariates=self._covariates(rows))
        else:
            mean, log_variance = self.model.posterior(x, beside=self.beside(rows))
        return mean, log_variance

    def reconstructed(self, rows: Any) -> np.ndarray:
        """Decoded posterior means, with what is known of these rows beside them."""
        mean = self.encode(rows)[0]
        if isinstance(self.model, Disentangler):
            knows = self.model.seen_.covariates is not None
            return self.model.inverse_transform(mean, self._covariates(rows) if knows else None)
        return self.decode(mean, self.beside(rows))

    def _covariates(self, rows: Any) -> dict[str, np.ndarray] | None:
        return None if self.covariates is None else {name: values[rows] for name, values in self.covariates.items()}

    @property
    def scale(self) -> Scale:
        return self.model.seen_.scale if isinstance(self.model, Disentangler) else self.model.scale

    def seen_and_error(self, rows: Any) -> tuple[np.ndarray, float]:
        """Rows in the units that the model sees, (n, D), and its squared error there."""
        if isinstance(self.model, Disentangler):
            x, beside = self.model._seen(np.asarray(self.x[rows]), self._covariates(rows))
            return self.model._fitted().seen_and_error(x, self.encode(rows)[0], beside)
        return self.model.seen_and_error(np.asarray(self.x[rows]), self.encode(rows)[0], self.beside(rows))

    def decode(self, z: np.ndarray, beside: dict[str, np.ndarray] | None = None) -> np.ndarray:
        model = self.model
        return model.inverse_transform(z) if isinstance(model, Disentangler) else model.decode(z, beside) / self.x_scale


def opened(
    model: Any,
    X: Any,
    groups: Sequence | None = None,
    beside: Callable[[Any], dict[str, np.ndarray]] | None = None,
    covariates: Any = None,
) -> Opened:
    """A fitted estimator, a run of a study as `(store, run)`, or what was opened before, beside rows X: an array, or a
    data set. `beside` is what is known of rows of a study: of `(store, run)` it is found out; an estimator that was
    fitted with covariates is given theirs."""
    if isinstance(model, Opened):
        return model
    known: dict[str, Any] = {}
    x = X
    if isinstance(X, Dataset):
        x, known = X.x, {"x_scale": X.x_scale, "places": X.places, "feature_names": X.feature_names}
    elif X is None:
        raise ValueError("X is missing: give the rows to look at the model with")
    else:
        known = {"feature_names": tuple(map(str, getattr(X, "columns", ())))}
        x, known["x_scale"] = observations(np.asarray(X))
    if isinstance(model, Disentangler):
        own, known["x_scale"] = model.groups_, model.x_scale_
        known["covariates"] = None if covariates is None else columns_of(covariates, len(x))
    else:
        if covariates is not None:
            raise ValueError("covariates are for a fitted Disentangler: those of a study are columns of its data")
        if beside is None and isinstance(X, Dataset) and not isinstance(model, Model):
            beside = partial(beside_of, store_and_run(model)[1], X)
        model = model_of(model, known["x_scale"])
        own = model.recipe.groups
    known |= {} if beside is None else {"beside": beside}
    return Opened(model, x, own if groups is None else as_groups(groups, sum(map(len, own))), **known)


def model_of(run: Any, x_scale: float) -> Model:
    """The trained model of `(store, run)`."""
    if isinstance(run, Model):
        return run
    store, one = store_and_run(run)
    return store.model(one, x_scale)


def store_and_run(run: Any) -> tuple[Store, Run]:
    if isinstance(run, tuple) and len(run) == 2 and isinstance(run[0], Store) and isinstance(run[1], Run):
        return run
    raise ValueError(f"a fitted Disentangler, or (store, run) of a study, is needed; got {type(run).__name__}")


def parts_shown(groups: Sequence | None, own: Groups, latents: int) -> Groups:
    """Which groups to draw: all, or those asked for by their latents."""
    if groups is None:
        return own
    shown = tuple((int(group),) if np.ndim(group) == 0 else tuple(int(k) for k in group) for group in groups)
    for group in shown:
        if not group or not all(0 <= k < latents for k in group):
            raise ValueError(f"there is no group {group}: latents are 0 to {latents - 1}")
    return shown
