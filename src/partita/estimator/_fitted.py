"""What can be asked of a model once it is fitted."""

from itertools import product
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_feature_names_in, check_array, check_is_fitted, validate_data

from partita.distributions import Groups
from partita.estimator._building import known_recipe
from partita.estimator._diagnosing import diagnosed
from partita.estimator._missing import check_finite, explained, hidden_entries
from partita.estimator._seen import Seen
from partita.metrics.leakage import known_of
from partita.recipes import Recipe
from partita.recipes._own_methods import method_name
from partita.trace import Dream
from partita.training import Model
from partita.training.labels import LabelScale

MOST_DECODED = 100_000


class Fitted(TransformerMixin, BaseEstimator):
    """Codes, decoded observations, bounds and names. `Disentangler` says how a model comes to be."""

    method: Any
    missing: str
    groups_: Groups
    parameters_: dict[str, torch.Tensor]
    seen_: Seen
    shape_: tuple[int, ...]
    label_scale_: LabelScale | None
    x_scale_: float
    seed: int

    def _recipe(self) -> Recipe:
        """What was trained: `Disentangler` knows, which is the only one to inherit this."""
        raise NotImplementedError

    def diagnose(self, X, refit=False, time=False, covariates=None):
        """Did it work, without labels? A `Diagnosis`: `.verdict` is "groups hold", "no clear groups" or "not to be
        trusted", `.reasons` are sentences. Best asked of rows that were not trained on. `refit` trains a second seed
        too; `time`: rows follow each other in time."""
        check_is_fitted(self)
        return diagnosed(self, X, covariates, refit, time)

    def transform(self, X, covariates=None):
        """Posterior means, (n, latents) float32."""
        return self.posterior(X, covariates=covariates)[0]

    def posterior(self, X, y=None, covariates=None):
        """Means and log-variances of q(z|x), (n, latents) float32 each.

        iVAE and IDVAE encode labels too: those given here, else those that the model predicts from X.
        """
        model, (X, beside) = self._fitted(), self._seen(X, covariates)
        scale = self.label_scale_ if model.sees_labels else None
        u = None if y is None or scale is None else scale.of(y, len(X))
        mean, log_variance = model.posterior(X, u, beside)
        return mean.astype(np.float32), log_variance.astype(np.float32)

    def prior(self, y):
        """Means and log-variances of p(z|u) at labels y like those of `fit`, (n, latents) float32 each; ValueError from
        methods other than iVAE, IDVAE and their semi-supervised kin."""
        model = self._fitted()
        if not model.sees_labels or self.label_scale_ is None:
            raise ValueError(f"{method_name(self.method)} has one prior p(z) for all observations: there is no p(z|u)")
        mean, log_variance = model.prior(self.label_scale_.of(y, len(np.atleast_1d(y))))
        return mean.astype(np.float32), log_variance.astype(np.float32)

    def inverse_transform(self, Z, covariates=None):
        """Decoded observations E[x|z], shaped and scaled like X; with average covariates and exposure unless given."""
        model = self._fitted()
        Z = check_array(Z, dtype=np.float64)  # type: ignore[arg-type]
        latents = model.recipe.architecture.latents
        if Z.shape[1] != latents:
            raise ValueError(f"Z has {Z.shape[1]} columns, the model has {latents} latents")
        return self.seen_.as_x(model.decode(Z, self._given(len(Z), covariates)))

    def reconstruct(self, X, covariates=None):
        """E[x|z] at the posterior mean of each row, shaped and scaled like X; where X has gaps, without any."""
        model, (X, beside) = self._fitted(), self._seen(X, covariates)
        return self.seen_.as_x(model.reconstruct(X, beside))

    def traverse(self, which, steps=9, reach=2.0, X=None):
        """Decoded observations while a latent, `which=3`, goes from -reach to reach standard deviations of the prior:
        (steps, *shape of a row). With a group, `which=model.groups_[0]` or any tuple of latents, over the grid of all
        its values: (steps, steps, *shape) for two. The other latents are 0, or with X those of its mean code."""
        latents = self._fitted().recipe.architecture.latents
        moved = (which,) if np.ndim(which) == 0 else tuple(which)
        if not moved or not all(isinstance(k, int | np.integer) and 0 <= k < latents for k in moved):
            raise ValueError(f"which must be a latent of 0 to {latents - 1}, or a tuple of some, got {which!r}")
        if int(steps) < 1 or steps ** len(moved) > MOST_DECODED:
            raise ValueError(f"a grid of {steps} steps in {len(moved)} latents has none or too many: take other steps")
        base = np.zeros(latents) if X is None else self.posterior(X)[0].mean(0)
        values = np.linspace(-reach, reach, int(steps))
        codes = np.tile(base, (len(values) ** len(moved), 1))
        codes[:, list(moved)] = list(product(values, repeat=len(moved)))
        decoded = self.inverse_transform(codes)
        return decoded.reshape(*[len(values)] * len(moved), *self.shape_)

    def loadings(self, X=None, frame=False):
        """How each feature changes with each latent, (features, latents) float64, in units of X: the Jacobian of the
        decoder, averaged over the codes of X, or over the prior. It is exact where the decoder is linear. With `frame`,
        a pandas data frame: a row a feature by its name, columns by group and latent."""
        model, codes = self._fitted(), None if X is None else self.posterior(X)[0]
        found = model.loadings(codes) / self.x_scale_
        if not frame:
            return found
        try:
            import pandas as pd  # type: ignore[import-not-found]
        except ImportError:
            raise ValueError("frame=True needs pandas, which is not installed: pip install pandas") from None
        order = [(g, k) for g, group in enumerate(self.groups_) for k in group]
        names = self.get_feature_names_out()
        columns = pd.MultiIndex.from_tuples([(f"group {g}", names[k]) for g, k in order], names=["group", "latent"])
        rows = getattr(self, "feature_names_in_", [f"x{i}" for i in range(len(found))])
        return pd.DataFrame(found[:, [k for _, k in order]], index=pd.Index(rows, name="feature"), columns=columns)

    def sample(self, n, covariates=None):
        """Observations E[x|z] for n draws z from the prior; the same every time for one seed."""
        model = self._fitted()
        if int(n) < 1:
            raise ValueError(f"n must be at least 1, got {n}")
        return self.seen_.as_x(model.sample(int(n), int(self.seed), self._given(int(n), covariates)))

    def _has_bound(self) -> bool:
        recipe = known_recipe(self.method)
        if recipe is not None and isinstance(recipe.trace, Dream):
            raise AttributeError(f"{method_name(self.method)} has no likelihood, so there is no ELBO to score by")
        return True

    @available_if(_has_bound)
    def score(self, X, y=None, covariates=None, *, draws=1):
        """Mean bound on log p(x) in nats per observation: higher is better. Nats of X as it is, whatever the scale; of
        what of it is observed. The ELBO, with one draw of z a row; with more `draws` the importance-weighted bound

            log (1/K) sum_k p(x|z_k) p(z_k) / q(z_k|x)        (Burda et al. 2016, eq. 8),

        which grows towards log p(x) itself: 64 compare methods by their models, not by how close q comes to p(z|x).

        Labels `y` are not looked at: iVAE and IDVAE draw theirs from q(u|x), and KL(q(u|x) || p(u)) is in the bound.
        Methods without a likelihood have no score, as scikit-learn has it: the attribute is not there.
        """
        if isinstance(draws, bool) or not isinstance(draws, int | np.integer) or draws < 1:
            raise ValueError(f"draws must be a whole number of at least 1, got {draws!r}")
        model, (X, beside) = self._fitted(), self._seen(X, covariates)
        if draws > 1:
            return float(model.importance_bound(X, int(draws), beside=beside).mean())
        recon, kl = model.bound(X, beside=beside)
        return float(-(recon + kl).mean())

    def score_missing(self, X, truth=None, covariates=None, *, share=0.1, seed=0):
        """How well values are predicted that the model is not shown, as R^2 with each feature in its own deviations: 1
        is perfect, 0 what their means would reach. Those missing in X and known in `truth`; without a truth, a `share`
        of the known values of X, hidden at random."""
        check_is_fitted(self)
        if self.missing != "ignore":
            raise ValueError("score_missing is for models fitted with missing='ignore'")
        known = self._valid(X if truth is None else truth, reset=False)
        X = hidden_entries(known, share, seed) if truth is None else X
        return explained(np.asarray(X), known, self.reconstruct(X, covariates))

    def leakage(self, X, covariates):
        """By covariate, the share of its information that each group of latents has, I(z_g; c) / H(c) by nearest
        neighbours, (groups,): latents need not know what encoder and decoder are told."""
        codes, _ = self.posterior(X, covariates=covariates)
        classes = self.seen_.classes(covariates, len(codes))
        return {name: known_of(codes, column[:, None], self.groups_)[0][0] for name, column in classes.items()}

    def get_feature_names_out(self, input_features=None):
        """z0, z1, ...: the latents by number. `input_features`, where given, must be the columns that were fitted."""
        check_is_fitted(self)
        _check_feature_names_in(self, input_features, generate_names=False)
        return np.array([f"z{k}" for k in range(self._recipe().architecture.latents)], dtype=object)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "parameters_")

    def _fitted(self) -> Model:
        check_is_fitted(self)
        # float64: so that a row gets the same code to the last digit alone and among others
        return Model(self._recipe(), self.parameters_, self.x_scale_, dtype=torch.float64, scale=self.seen_.scale)

    def _seen(self, X, covariates=None) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        X = self._valid(X, reset=False)
        if X.shape[1:] != tuple(self.shape_):
            raise ValueError(f"X has observations of shape {X.shape[1:]}, the model was fitted on {tuple(self.shape_)}")
        return self.seen_.rows(X, covariates)

    def _valid(self, X, **checks) -> np.ndarray:
        X = np.asarray(validate_data(self, X, allow_nd=True, dtype="numeric", ensure_all_finite=False, **checks))
        check_finite(X, self.missing)
        return X

    def _given(self, n: int, covariates) -> dict[str, np.ndarray]:
        return self.seen_.average(n) if covariates is None else self.seen_.given(covariates, n)
