"""The scikit-learn face: fit an array, get the latents."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_feature_names_in, check_array, check_is_fitted, validate_data

from partita.distributions import Likelihood
from partita.estimator._building import built_program, known_recipe, plain_settings
from partita.estimator._diagnosing import diagnosed, say_what_is_wrong
from partita.estimator._files import write_fitted
from partita.estimator._looking import prepare
from partita.estimator._missing import explained, hidden_entries
from partita.estimator._seen import Seen
from partita.estimator._training import train
from partita.metrics.leakage import known_of
from partita.networks.architecture import NetworkFunction
from partita.recipes import Program, Recipe
from partita.recipes._own_methods import Method, method_name
from partita.trace import Dream
from partita.training import Model
from partita.training.callbacks import Callback, check_callbacks
from partita.training.labels import required_labels
from partita.training.observations import why_diverged


class Disentangler(TransformerMixin, BaseEstimator):
    """Learns latents that fall into independent groups.

    X is (n, features) or (n, channels, height, width): real numbers, counts, booleans, fractions, one-hot blocks. What
    it is made of, and in which units the model sees it, is found out and said in words when verbose; codes, decoded
    observations and `score` are those of X as it is. docs/own_data.md has the whole story.

    Parameters
    ----------
    method : a name of `partita methods`, a `Recipe`, or a function that returns one: it is called with latents, shape,
        network, likelihood, labels, learning_rate and `options`. A `Recipe` brings all of these itself.
    latents : number of latents; None: as many as the groups have, else 6. "auto": as many as the rows show, by BIC of
        probabilistic PCA.
    groups : sizes `(2, 2, 2)`, index tuples `((0, 3), (1,), (2, 4, 5))`, or None: each latent a group of its own.
        "auto" lets pdisvae find them; `groups_` has them.
    options : the method's own keywords, such as `{"beta": 4.0, "by": "importance"}`. Unless something else is said,
        PDisVAE on rows of numbers starts unmixed (`{"start": "unmixed"}`): groups are found before training, which is
        left only for a better bound on a tenth of the rows. On images `restarts` is 8: eight models train at once and
        the best is kept, since one alone rarely separates the groups.
    network : "linear", "nearly_linear", "mlp", "conv" (images of 16 to 256 pixels, square or not), "burgess", "idvae",
        or "auto": convolutions for images ("burgess" for 32 and 64 pixels, "conv" for other sizes), linear or nearly so
        where PDisVAE starts unmixed, else "mlp". Or a function
        `(shape, outputs, inputs) -> (encoder, decoder)` of plain modules.
    likelihood : the name of one in `LIKELIHOODS` ("gaussian": one learned variance, "gaussian:features": one a feature,
        "gaussian:0.25", "student", "bernoulli", "poisson", "negative_binomial", "categorical:3,4,2"), or "auto":
        negative binomial for counts, Bernoulli for booleans and for images in [0, 1], for other
        vectors a Gaussian with the variance that so many latents cannot explain, estimated from rows held out, else one
        learned variance. A learned variance shrinks where a large network remembers the noise, and with it the weight
        of KL and PC. Or a `Likelihood` of your own.
    steps, batch_size, learning_rate : of Adam.
    seed : the run is a function of the data and this number.
    device : "auto", "cpu" or "cuda".
    verbose : say in words what was chosen, and how training goes.
    validation : rows never trained on, a share such as 0.1, or "blocks:0.1" for contiguous stretches of a time series.
        Then the best weights on them are kept, restarts are judged by it, and training ends after 20 log points without
        a better one (`options={"patience": 20}`); `history_` has `held_out_loss`.
    scale : "none", "standard" (each feature centred, in its standard deviation), "one" (centred, all divided by one
        number), or "auto": as they are where sizes are about 1, else one of the two. Counts stay counts; their rates
        are relative to the mean of each feature ("standard"), or of all ("one").
    missing : "error", or "ignore": NaN in X is left out of the likelihood, and filled by what a linear model expects
        where the encoder reads it. `score_missing` says how well hidden entries are predicted.
    exposure : of counts, what their rates are proportional to: "total", each row's sum, or a column of covariates.
    callbacks : functions `(step, quantities)`, called at every log point with a dict of floats; True ends training.

    Attributes
    ----------
    groups_ : tuple of tuples of latent indices.
    history_ : dict of arrays, `step` and each logged quantity (means over the steps since the last log point).
    """

    seen_: Seen
    network_: Any
    likelihood_: Any
    x_scale_: float

    def __init__(
        self,
        method: Method = "pdisvae",
        *,
        latents: int | str | None = None,
        groups: Sequence | str | None = None,
        options: Mapping[str, Any] | None = None,
        network: str | NetworkFunction = "auto",
        likelihood: str | Likelihood = "auto",
        steps: int = 5000,
        batch_size: int = 128,
        learning_rate: float = 1e-3,
        seed: int = 0,
        device: Any = "auto",
        verbose: bool = False,
        validation: float | str | None = None,
        callbacks: Sequence[Callback] = (),
        scale: str = "auto",
        missing: str = "error",
        exposure: str | None = None,
    ):
        self.method = method
        self.latents = latents
        self.groups = groups
        self.options = options
        self.network = network
        self.likelihood = likelihood
        self.steps = steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.seed = seed
        self.device = device
        self.verbose = verbose
        self.validation = validation
        self.callbacks = callbacks
        self.scale = scale
        self.missing = missing
        self.exposure = exposure

    def fit(self, X, y=None, covariates=None):
        """Learns from X, and from labels `y` where the method uses them: (n,) or (n, m) numbers, NaN in rows without;
        other methods ignore `y`. `covariates`, a data frame, dict or array of a row an observation, are seen by encoder
        and decoder, so that latents need not know of them."""
        X = self._valid(X, ensure_min_samples=2)
        check_callbacks(self.callbacks)
        self.label_scale_, self.shape_ = None, X.shape[1:]
        program, x, beside = prepare(self, X, covariates)
        labels = required_labels(program.recipe, method_name(self.method), y, len(x))
        if labels is not None:
            self.label_scale_ = labels.scale
            program = self._program()
        beside |= {} if labels is None else {"u": labels.u, "labelled": labels.labelled}
        trained = train(self, program, self.seen_.trained_on(x, beside.get("covariates")), beside)
        if trained.diverged is not None:
            why = why_diverged(x, self.x_scale_, self.likelihood_, self.seen_.scale.name)
            raise ValueError(f"the loss was no longer finite at step {trained.diverged}: {why}")
        self.groups_, self.history_ = trained.recipe.groups, trained.history.of(0)
        self.candidate_ = trained.candidate
        if self.verbose and trained.words:
            print(trained.words)
        self.parameters_ = trained.model
        say_what_is_wrong(self, X, covariates)
        return self

    def diagnose(self, X, refit=False, time=False, covariates=None):
        """Did it work, without labels? A `Diagnosis`: `.verdict` is "groups hold", "no clear groups" or "not to be
        trusted", `.reasons` are sentences. Best asked of rows that were not trained on. `refit` trains a second seed
        too; `time`: rows follow each other in time."""
        check_is_fitted(self)
        return diagnosed(self, X, covariates, refit, time)

    def fit_transform(self, X, y=None, covariates=None):
        """`fit`, and then `transform` of the same rows."""
        return self.fit(X, y, covariates).transform(X, covariates)

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

    def loadings(self, X=None):
        """How each feature changes with each latent, (features, latents) float64, in units of X: the Jacobian of the
        decoder, averaged over the codes of X, or over the prior. It is exact where the decoder is linear."""
        model, codes = self._fitted(), None if X is None else self.transform(X)
        return model.loadings(codes) / self.x_scale_

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
    def score(self, X, y=None, covariates=None):
        """Mean ELBO in nats per observation, a bound on log p(x), with one draw of z a row: higher is better. Nats of X
        as it is, whatever the scale; of what of it is observed.

        Labels `y` are not looked at: iVAE and IDVAE draw theirs from q(u|x), and KL(q(u|x) || p(u)) is in the bound.
        Methods without a likelihood have no score, as scikit-learn has it: the attribute is not there.
        """
        X, beside = self._seen(X, covariates)
        recon, kl = self._fitted().bound(X, beside=beside)
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
        shown, beside = self._seen(X, covariates)
        return explained(np.asarray(X), known, self.seen_.as_x(self._fitted().reconstruct(shown, beside)))

    def leakage(self, X, covariates):
        """By covariate, the share of its information that each group of latents has, I(z_g; c) / H(c) by nearest
        neighbours, (groups,): latents need not know what encoder and decoder are told."""
        codes = self.transform(X, covariates)
        classes = self.seen_.classes(covariates, len(codes))
        return {name: known_of(codes, column[:, None], self.groups_)[0][0] for name, column in classes.items()}

    def get_feature_names_out(self, input_features=None):
        """z0, z1, ...: the latents by number. `input_features`, where given, must be the columns that were fitted."""
        check_is_fitted(self)
        _check_feature_names_in(self, input_features, generate_names=False)
        return np.array([f"z{k}" for k in range(self._recipe().architecture.latents)], dtype=object)

    def save(self, path):
        """One safetensors file with the weights and everything `partita.load` needs."""
        check_is_fitted(self)
        write_fitted(Path(path), plain_settings(self.get_params(deep=False)), vars(self))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = False
        tags.input_tags.allow_nan = self.missing == "ignore"
        tags.transformer_tags.preserves_dtype = []
        recipe = known_recipe(self.method)
        tags.target_tags.required = recipe is not None and recipe.labels != "none"
        return tags

    def __sklearn_is_fitted__(self):
        return hasattr(self, "parameters_")

    def _settings(self) -> dict[str, Any]:
        """The parameters, with as many latents as were found where that was asked for."""
        settings = plain_settings(self.get_params(deep=False))
        return settings | ({"latents": getattr(self, "latents_", None)} if settings["latents"] == "auto" else {})

    def _program(self) -> Program:
        labels = 0 if self.label_scale_ is None else len(self.label_scale_.offset)
        covariates = 0 if self.seen_.covariates is None else self.seen_.covariates.width
        return built_program(self._settings(), self.network_, self.likelihood_, tuple(self.shape_), labels, covariates)

    def _recipe(self) -> Recipe:
        """As trained: with the groups that were found, where they had to be."""
        return self._program().candidates[self.candidate_].last(self.groups_)

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
        finite = "allow-nan" if self.missing == "ignore" else True
        return np.asarray(validate_data(self, X, allow_nd=True, dtype="numeric", ensure_all_finite=finite, **checks))

    def _given(self, n: int, covariates) -> dict[str, np.ndarray]:
        return self.seen_.average(n) if covariates is None else self.seen_.given(covariates, n)
