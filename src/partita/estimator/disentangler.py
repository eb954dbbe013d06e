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
from partita.estimator._building import built_program, chosen_architecture, known_recipe, plain_settings
from partita.estimator._diagnosing import diagnosed, say_what_is_wrong
from partita.estimator._files import write_fitted
from partita.networks.architecture import NetworkFunction
from partita.recipes import Candidate, Program, Recipe
from partita.recipes._own_methods import Method, method_name
from partita.trace import Dream
from partita.training import Ensemble, History, Model
from partita.training.callbacks import Callback, call, check_callbacks
from partita.training.defaults import check_likelihood, choose_latents
from partita.training.device import choose_device
from partita.training.labels import required_labels
from partita.training.observations import observations, why_diverged
from partita.training.program import train_models

LOG_POINTS = 100


class Disentangler(TransformerMixin, BaseEstimator):
    """Learns latents that fall into independent groups.

    X is (n, features) or (n, channels, height, width). It is **never standardised**: put a `StandardScaler` before it
    in a `Pipeline` when features come in different units. Only bytes, as of 8-bit images, are scaled, to [0, 1], and
    `inverse_transform` scales back.

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
        "gaussian:0.25", "bernoulli", "poisson", "negative_binomial"), or "auto": Bernoulli for images in [0, 1], for
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
    callbacks : functions `(step, quantities)`, called at every log point with a dict of floats; True ends training.

    Attributes
    ----------
    groups_ : tuple of tuples of latent indices.
    history_ : dict of arrays, `step` and each logged quantity (means over the steps since the last log point).
    """

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

    def fit(self, X, y=None):
        """Learns from X, and from labels `y` where the method uses them: (n,) or (n, m) numbers, NaN in rows without;
        other methods ignore `y`."""
        X = np.asarray(validate_data(self, X, allow_nd=True, ensure_min_samples=2, dtype="numeric"))
        x, self.x_scale_ = observations(X)
        self.label_scale_, self.shape_ = None, x.shape[1:]
        check_callbacks(self.callbacks)
        if self.latents == "auto":
            self.latents_, why = choose_latents(x)
            if self.verbose:
                print(f"latents {self.latents_}: {why}")
        self.network_, self.likelihood_ = chosen_architecture(self._settings(), x, self.x_scale_)
        program = self._program()
        check_likelihood(program.recipe.architecture.likelihood, x, self.x_scale_)
        labels = required_labels(program.recipe, method_name(self.method), y, len(x))
        if labels is not None:
            self.label_scale_ = labels.scale
            program = self._program()
        device = choose_device(self.device)
        for name, least in (("steps", 1), ("batch_size", 1), ("seed", 0)):
            if int(getattr(self, name)) < least:
                raise ValueError(f"{name} must be at least {least}, got {getattr(self, name)}")

        def make(recipes: list[Recipe], seeds: list[int], program: Program, candidate: Candidate) -> Ensemble:
            return Ensemble(
                recipes,
                seeds,
                x,
                x_scale=self.x_scale_,
                u=None if labels is None else labels.u,
                labelled=None if labels is None else labels.labelled,
                batch_size=min(int(self.batch_size), len(x)),
                device=device,
                hold_out=program.hold_out,
                finish=candidate.finish,
            )

        steps = int(self.steps)
        log_every = max(1, steps // LOG_POINTS)
        (trained,) = train_models([program], [int(self.seed)], make, steps, log_every=log_every, on_log=self._on_log)
        stopped = trained.diverged
        if stopped is not None:
            raise ValueError(f"the loss was no longer finite at step {stopped}: {why_diverged(x, self.x_scale_)}")
        self.groups_, self.history_ = trained.recipe.groups, trained.history.of(0)
        self.candidate_ = trained.candidate
        if self.verbose and trained.words:
            print(trained.words)
        self.parameters_ = trained.model
        say_what_is_wrong(self, X)
        return self

    def diagnose(self, X, refit=False, time=False):
        """Did it work, without labels? A `Diagnosis`: `.verdict` is "groups hold", "no clear groups" or "not to be
        trusted", `.reasons` are sentences. Best asked of rows that were not trained on. `refit` trains a second seed
        too; `time`: rows follow each other in time."""
        check_is_fitted(self)
        return diagnosed(self, self._seen(X), refit, time)

    def transform(self, X):
        """Posterior means, (n, latents) float32."""
        return self.posterior(X)[0]

    def posterior(self, X, y=None):
        """Means and log-variances of q(z|x), (n, latents) float32 each.

        iVAE and IDVAE encode labels too: those given here, else those that the model predicts from X.
        """
        model, X = self._fitted(), self._seen(X)
        scale = self.label_scale_ if model.sees_labels else None
        u = None if y is None or scale is None else scale.of(y, len(X))
        mean, log_variance = model.posterior(X, u)
        return mean.astype(np.float32), log_variance.astype(np.float32)

    def prior(self, y):
        """Means and log-variances of p(z|u) at labels y like those of `fit`, (n, latents) float32 each; ValueError from
        methods other than iVAE, IDVAE and their semi-supervised kin."""
        model = self._fitted()
        if not model.sees_labels or self.label_scale_ is None:
            raise ValueError(f"{method_name(self.method)} has one prior p(z) for all observations: there is no p(z|u)")
        mean, log_variance = model.prior(self.label_scale_.of(y, len(np.atleast_1d(y))))
        return mean.astype(np.float32), log_variance.astype(np.float32)

    def inverse_transform(self, Z):
        """Decoded observations E[x|z], shaped and scaled like X."""
        model = self._fitted()
        Z = check_array(Z, dtype=np.float64)  # type: ignore[arg-type]
        latents = model.recipe.architecture.latents
        if Z.shape[1] != latents:
            raise ValueError(f"Z has {Z.shape[1]} columns, the model has {latents} latents")
        return (model.decode(Z) / self.x_scale_).astype(np.float32)

    def loadings(self, X=None):
        """How each feature changes with each latent, (features, latents) float64, in units of X: the Jacobian of the
        decoder, averaged over the codes of X, or over the prior. It is exact where the decoder is linear."""
        model, codes = self._fitted(), None if X is None else self.transform(X)
        return model.loadings(codes) / self.x_scale_

    def sample(self, n):
        """Observations E[x|z] for n draws z from the prior; the same every time for one seed."""
        model = self._fitted()
        if int(n) < 1:
            raise ValueError(f"n must be at least 1, got {n}")
        return (model.sample(int(n), int(self.seed)) / self.x_scale_).astype(np.float32)

    def _has_bound(self) -> bool:
        recipe = known_recipe(self.method)
        if recipe is not None and isinstance(recipe.trace, Dream):
            raise AttributeError(f"{method_name(self.method)} has no likelihood, so there is no ELBO to score by")
        return True

    @available_if(_has_bound)
    def score(self, X, y=None):
        """Mean ELBO in nats per observation, a bound on log p(x), with one draw of z a row: higher is better.

        Labels `y` are not looked at: iVAE and IDVAE draw theirs from q(u|x), and KL(q(u|x) || p(u)) is in the bound.
        Methods without a likelihood have no score, as scikit-learn has it: the attribute is not there.
        """
        recon, kl = self._fitted().bound(self._seen(X))
        return float(-(recon + kl).mean())

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
        return built_program(self._settings(), self.network_, self.likelihood_, tuple(self.shape_), labels)

    def _recipe(self) -> Recipe:
        """As trained: with the groups that were found, where they had to be."""
        return self._program().candidates[self.candidate_].last(self.groups_)

    def _on_log(self, step: int, history: History) -> bool:
        quantities = dict(zip(history.names, history.row(-1)[:, 0].tolist()))
        if self.verbose and len(history.steps) % (LOG_POINTS // 10) == 0:
            values = "  ".join(f"{name} {v:.4g}" for name, v in quantities.items())
            print(f"step {step} of {self.steps}: {values}")
        return call(check_callbacks(self.callbacks), step, quantities=quantities)

    def _fitted(self) -> Model:
        check_is_fitted(self)
        # float64: so that a row gets the same code to the last digit alone and among others
        return Model(self._recipe(), self.parameters_, self.x_scale_, dtype=torch.float64)

    def _seen(self, X) -> np.ndarray:
        X = np.asarray(validate_data(self, X, reset=False, allow_nd=True, dtype="numeric"))
        if X.shape[1:] != tuple(self.shape_):
            raise ValueError(f"X has observations of shape {X.shape[1:]}, the model was fitted on {tuple(self.shape_)}")
        return X
