"""The scikit-learn face: fit an array, get the latents."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_feature_names_in, check_array, check_is_fitted, validate_data

from partita.data._nearest import nearest
from partita.recipes import RECIPES, Candidate, Program, Recipe, build
from partita.recipes._equation import keywords
from partita.trace import Dream
from partita.training import Ensemble, History, Model
from partita.training.defaults import check_likelihood, choose_likelihood, choose_network
from partita.training.device import choose_device
from partita.training.labels import LabelScale, required_labels
from partita.training.observations import observations, units_in_words, why_diverged
from partita.training.plain import as_json, from_json, plain
from partita.training.program import train_models
from partita.training.tensors import read_tensors, write_tensors

LOG_POINTS = 100
RESTARTS = 8


class Disentangler(TransformerMixin, BaseEstimator):
    """Learns latents that fall into independent groups.

    X is (n, features) or (n, channels, height, width). It is **never standardised**: put a `StandardScaler` before it
    in a `Pipeline` when features come in different units. Only bytes, as of 8-bit images, are scaled, to [0, 1], and
    `inverse_transform` scales back.

    Parameters
    ----------
    method : a name of `partita methods`.
    latents : number of latents.
    groups : sizes `(2, 2, 2)`, index tuples `((0, 3), (1,), (2, 4, 5))`, or None: each latent a group of its own.
        "auto" lets pdisvae find them half-way through training; `groups_` has them.
    options : the method's own keywords, such as `{"beta": 4.0, "by": "importance"}`. Unless given here, `restarts` is
        8: PDisVAE with groups trains eight models at once and keeps the best, since one alone rarely separates them.
        With groups="auto" or posterior="full" it is 1.
    network : "linear", "mlp", "burgess", "idvae", or "auto": convolutions for images of 32 or 64 pixels, else "mlp".
    likelihood : a `Likelihood`, the name of one in `LIKELIHOODS` ("gaussian", "gaussian:0.25", "bernoulli", "poisson"),
        or "auto": Bernoulli for images in [0, 1], for vectors a Gaussian with the variance that so many latents cannot
        explain, from rows held out, else one learned: which shrinks where a large network remembers noise.
    steps, batch_size, learning_rate : of Adam.
    seed : the run is a function of the data and this number.
    device : "auto", "cpu" or "cuda".
    verbose : say in words what was chosen, and how training goes.
    validation : rows never trained on, a share such as 0.1, or "blocks:0.1" for contiguous stretches of a time series.
        Then the best weights on them are kept, restarts are judged by it, and training ends after 20 log points without
        a better one (`options={"patience": 20}`); `history_` has `held_out_loss`.

    Attributes
    ----------
    groups_ : tuple of tuples of latent indices.
    history_ : dict of arrays, `step` and each logged quantity (means over the steps since the last log point).
    """

    def __init__(
        self,
        method="pdisvae",
        *,
        latents=6,
        groups=None,
        options=None,
        network="auto",
        likelihood="auto",
        steps=5000,
        batch_size=128,
        learning_rate=1e-3,
        seed=0,
        device="auto",
        verbose=False,
        validation=None,
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

    def fit(self, X, y=None):
        """Learns from X, and from labels `y` where the method uses them: (n,) or (n, m) numbers, NaN in rows without;
        other methods ignore `y`."""
        X = np.asarray(validate_data(self, X, allow_nd=True, ensure_min_samples=2, dtype="numeric"))
        x, self.x_scale_ = observations(X)
        self.label_scale_ = None
        program = self._program(x)
        check_likelihood(program.recipe.architecture.likelihood, x, self.x_scale_)
        labels = required_labels(program.recipe, self.method, y, len(x))
        if labels is not None:
            self.label_scale_ = labels.scale
            program = self._built(self.network_, self.likelihood_, tuple(x.shape[1:]))
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
        self.shape_, self.groups_, self.history_ = x.shape[1:], trained.recipe.groups, trained.history.of(0)
        self.candidate_ = trained.candidate
        self.parameters_ = trained.model
        return self

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
            raise ValueError(f"{self.method} has one prior p(z) for all observations: there is no p(z|u)")
        mean, log_variance = model.prior(self.label_scale_.of(y, len(np.atleast_1d(y))))
        return mean.astype(np.float32), log_variance.astype(np.float32)

    def inverse_transform(self, Z):
        """Decoded observations E[x|z], shaped and scaled like X."""
        model = self._fitted()
        Z = check_array(Z, dtype=np.float64)  # type: ignore[arg-type]
        if Z.shape[1] != self.latents:
            raise ValueError(f"Z has {Z.shape[1]} columns, the model has {self.latents} latents")
        return (model.decode(Z) / self.x_scale_).astype(np.float32)

    def sample(self, n):
        """Observations E[x|z] for n draws z from the prior; the same every time for one seed."""
        model = self._fitted()
        if int(n) < 1:
            raise ValueError(f"n must be at least 1, got {n}")
        return (model.sample(int(n), int(self.seed)) / self.x_scale_).astype(np.float32)

    def _has_bound(self) -> bool:
        if self.method in RECIPES and isinstance(build(self.method, shape=(1,)).recipe.trace, Dream):
            raise AttributeError(f"{self.method} has no likelihood, so there is no ELBO to score by")
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
        return np.array([f"z{k}" for k in range(int(self.latents))], dtype=object)

    def save(self, path):
        """One safetensors file with the weights and everything `partita.load` needs."""
        model = self._fitted()
        about = {
            "parameters": as_json(self._settings()),
            "architecture": {"network": self.network_, "likelihood": self.likelihood_, "shape": list(self.shape_)},
            "x_scale": self.x_scale_,
            "n_features_in": self.n_features_in_,  # type: ignore[attr-defined]
            "feature_names_in": list(getattr(self, "feature_names_in_", [])) or None,
            "groups": [list(group) for group in self.groups_],
            "candidate": self.candidate_,
            "label_scale": None if self.label_scale_ is None else asdict(self.label_scale_),
        }
        history = {f"history/{name}": torch.as_tensor(values) for name, values in self.history_.items()}
        weights = {f"weights/{name}": value for name, value in model.parameters.items()}
        write_tensors(Path(path), "disentangler", weights | history, about)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = False
        tags.transformer_tags.preserves_dtype = []
        tags.target_tags.required = self.method in RECIPES and build(self.method, shape=(1,)).recipe.labels != "none"
        return tags

    def __sklearn_is_fitted__(self):
        return hasattr(self, "parameters_")

    def _settings(self) -> dict[str, Any]:
        """The parameters in Python's own types: refused before training is what could not be saved after it."""
        return {name: plain(value, name) for name, value in self.get_params(deep=False).items()}

    def _program(self, x: np.ndarray) -> Program:
        if self.method not in RECIPES:
            meant = nearest(self.method, RECIPES)
            raise ValueError(f"unknown method {self.method!r}{meant}; choose from {', '.join(RECIPES)}")
        network, why_network = choose_network(x.shape[1:]) if self.network == "auto" else (self.network, "as asked")
        auto = self.likelihood == "auto"
        likelihood, why = choose_likelihood(x, self.x_scale_, self.latents) if auto else (self.likelihood, "as asked")
        self.network_, self.likelihood_ = network, likelihood
        if self.verbose:
            print(f"network {network}: {why_network}\nlikelihood {likelihood}: {why}")
            print(units_in_words(x, self.x_scale_))
        return self._built(network, likelihood, tuple(x.shape[1:]))

    def _built(self, network: str, likelihood: str, shape: tuple[int, ...]) -> Program:
        known, settings = keywords(RECIPES[self.method]), self._settings()
        options: dict[str, Any] = dict(settings["options"] or {})
        for name in options:
            if name not in known or name in ("latents", "groups"):
                raise ValueError(f"{self.method} has no option {name!r}{nearest(name, known)}")
        if "groups" in known:
            options["groups"] = settings["groups"]
        elif self.groups is not None:
            raise ValueError(f"{self.method} has no groups; use pdisvae or hfvae, or groups=None")
        if settings["validation"] is not None:
            options["validation"] = settings["validation"]
        if self.method == "pdisvae":
            alone = isinstance(settings["groups"], str) or options.get("posterior") == "full"
            options.setdefault("restarts", 1 if alone else RESTARTS)
        return build(
            self.method, **options, latents=settings["latents"], network=network, likelihood=likelihood, shape=shape,
            labels=0 if self.label_scale_ is None else len(self.label_scale_.offset),
            learning_rate=settings["learning_rate"],
        )  # fmt: skip

    def _recipe(self) -> Recipe:
        """As trained: with the groups that were found, where they had to be."""
        program = self._built(self.network_, self.likelihood_, tuple(self.shape_))
        return program.candidates[self.candidate_].last(self.groups_)

    def _on_log(self, step: int, history: History) -> None:
        if self.verbose and len(history.steps) % (LOG_POINTS // 10) == 0:
            values = "  ".join(f"{name} {v:.4g}" for name, v in zip(history.names, history.row(-1)[:, 0]))
            print(f"step {step} of {self.steps}: {values}")

    def _fitted(self) -> Model:
        check_is_fitted(self)
        # float64: so that a row gets the same code to the last digit alone and among others
        return Model(self._recipe(), self.parameters_, self.x_scale_, dtype=torch.float64)

    def _seen(self, X) -> np.ndarray:
        X = np.asarray(validate_data(self, X, reset=False, allow_nd=True, dtype="numeric"))
        if X.shape[1:] != tuple(self.shape_):
            raise ValueError(f"X has observations of shape {X.shape[1:]}, the model was fitted on {tuple(self.shape_)}")
        return X


def load(path) -> Disentangler:
    """The estimator that `Disentangler.save` wrote."""
    tensors, about = read_tensors(Path(path), "disentangler")
    estimator = Disentangler(**from_json(about["parameters"]))
    estimator.network_, estimator.likelihood_ = about["architecture"]["network"], about["architecture"]["likelihood"]
    estimator.shape_ = tuple(about["architecture"]["shape"])
    estimator.x_scale_, estimator.n_features_in_ = about["x_scale"], about["n_features_in"]  # type: ignore[attr-defined]
    if about.get("feature_names_in"):
        estimator.feature_names_in_ = np.array(about["feature_names_in"], dtype=object)  # type: ignore[attr-defined]
    scale = about.get("label_scale")
    estimator.label_scale_ = scale and LabelScale(tuple(scale["offset"]), tuple(scale["factor"]))
    estimator.history_ = {n.removeprefix("history/"): t.numpy() for n, t in tensors.items() if n.startswith("history/")}
    weights = {n.removeprefix("weights/"): t for n, t in tensors.items() if n.startswith("weights/")}
    estimator.groups_ = tuple(tuple(group) for group in about["groups"])
    estimator.candidate_ = about.get("candidate", 0)
    estimator.parameters_ = weights
    return estimator
