"""The scikit-learn face: fit an array, get the latents."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from partita.distributions import Likelihood
from partita.estimator._building import built_program, known_recipe, plain_settings, with_network
from partita.estimator._diagnosing import say_what_is_wrong
from partita.estimator._files import write_fitted
from partita.estimator._fitted import Fitted
from partita.estimator._going_on import go_on, goes_on, joined
from partita.estimator._looking import prepare
from partita.estimator._training import train
from partita.measures._arrays import checked_weights
from partita.networks.architecture import NetworkFunction
from partita.recipes import Program, Recipe
from partita.recipes._own_methods import Method, method_name
from partita.training.callbacks import Callback, check_callbacks
from partita.training.defaults import HIDDEN
from partita.training.labels import required_labels
from partita.training.observations import why_diverged

OPTION = "options__"


class Disentangler(Fitted):
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
    options : the method's own keywords, such as `{"beta": 4.0, "by": "importance"}`; one alone is set, and searched by
        grids, as `options__beta`. Unless something else is said, PDisVAE on rows of numbers starts unmixed
        (`{"start": "unmixed"}`): groups are found before training; that start is left only for a better bound on a
        tenth of the rows, reconstructed no worse. With groups of images `restarts` is 8: eight models train at once and
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
    verbose : say in words what was chosen, and how training goes. In terminals and notebooks a bar shows it anyway.
    validation : rows never trained on, a share such as 0.1, or "blocks:0.1" for contiguous stretches of a time series;
        "auto": a tenth, in stretches where neighbouring rows resemble each other, none of fewer than 100. None: of
        PDisVAE, a tenth of rows that start unmixed, and as "auto" of images that the steps go over more than 100 times.
        Then the best weights on them are kept, restarts are judged by it, and training ends after 20 log points without
        a better one (`options={"patience": 20}`); `history_` has `held_out_loss`.
    scale : "none", "standard" (each feature centred, in its standard deviation), "one" (centred, all divided by one
        number), or "auto": as they are where sizes are about 1, else one of the two. Counts stay counts; their rates
        are relative to the mean of each feature ("standard"), or of all ("one").
    missing : "error", or "ignore": NaN in X is left out of the likelihood, and filled by what a linear model expects
        where the encoder reads it. `score_missing` says how well hidden entries are predicted.
    exposure : of counts, what their rates are proportional to: "total", each row's sum, or a column of covariates.
    hidden : widths of the hidden layers of the network "mlp", which "auto" is where they are given.
    precision : of the networks' layers, "float32" or "bf16" (quick on GPUs).
    warm_start : `fit` goes on with the model that is there, for `steps` more, on the rows it is given: units, network,
        likelihood and groups stay; Adam's moments begin anew.
    callbacks : functions `(step, quantities)`, called at every log point with a dict of floats; True ends training.

    Attributes
    ----------
    groups_ : tuple of tuples of latent indices.
    history_ : dict of arrays, `step` and each logged quantity (means over the steps since the last log point).
    """

    network_: Any
    likelihood_: Any
    # no name of `fit`'s signature: scikit-learn would expect weights to equal copies to the last digit, whatever the
    # order of the rows, and minibatches are drawn
    __metadata_request__fit = {"sample_weight": None}  # noqa: RUF012

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
        hidden: Sequence[int] = HIDDEN,
        precision: str = "float32",
        warm_start: bool = False,
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
        self.hidden = hidden
        self.precision = precision
        self.warm_start = warm_start

    def fit(self, X, y=None, covariates=None, **weights):
        """Learns from X, and from labels `y` where the method uses them: (n,) or (n, m) numbers, NaN in rows without;
        other methods ignore `y`. `covariates`, a data frame, dict or array of a row an observation, are seen by encoder
        and decoder, so that latents need not know of them. `sample_weight=`, (n,): rows are drawn in proportion to it,
        to train on and to judge by; `pca` is solved with it. Units and likelihood are chosen from rows as they are."""
        going_on = goes_on(self)
        X = self._valid(X, ensure_min_samples=2, reset=not going_on)
        check_callbacks(self.callbacks)
        weight = checked_weights(weights.pop("sample_weight", None), len(X))
        if weights:
            raise TypeError(f"fit() got an unexpected keyword argument {next(iter(weights))!r}")
        if going_on:
            (program, x, beside), began = go_on(self, X, covariates), int(self.history_["step"][-1])
        else:
            self.label_scale_, self.shape_ = None, X.shape[1:]
            (program, x, beside), began = prepare(self, X, covariates), 0
        labels = required_labels(program.recipe, method_name(self.method), y, len(x), scale=self.label_scale_)
        if labels is not None:
            beside |= {"u": labels.u, "labelled": labels.labelled}
            if not going_on:
                self.label_scale_ = labels.scale
                program = self._program()
        trained = train(self, program, self.seen_.trained_on(x, beside.get("covariates")), beside, weight, began)
        if trained.diverged is not None:
            why = why_diverged(x, self.x_scale_, self.likelihood_, self.seen_.scale.name)
            raise ValueError(f"the loss was no longer finite at step {trained.diverged}: {why}")
        history = trained.history.of(0)
        self.history_ = joined(self.history_, history) if going_on else history
        self.groups_, self.parameters_ = trained.recipe.groups, trained.model
        self.candidate_ = self.candidate_ if going_on else trained.candidate
        self.restarts_ = trained.restarts
        if self.verbose and trained.words:
            print(trained.words)
        say_what_is_wrong(self, X, covariates)
        return self

    def fit_transform(self, X, y=None, covariates=None, **weights):
        """`fit`, and then `transform` of the same rows."""
        return self.fit(X, y, covariates, **weights).transform(X, covariates)

    def set_params(self, **params):
        """Parameters by name; `options__beta=4.0` sets one of `options` and leaves the others."""
        inner = {name: params.pop(name) for name in list(params) if name.startswith(OPTION)}
        super().set_params(**params)
        if inner:
            given = {name.removeprefix(OPTION): value for name, value in inner.items()}
            self.options = {**(self.options or {}), **given}
        return self

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

    def _settings(self) -> dict[str, Any]:
        """The parameters, with latents and rows held out as `fit` found them, where it was to."""
        settings = with_network(plain_settings(self.get_params(deep=False)))
        if settings["latents"] == "auto":
            settings["latents"] = getattr(self, "latents_", None)
        if settings["validation"] in ("auto", None):  # of few images, some are held out unasked
            settings["validation"] = getattr(self, "validation_", None)
        return settings

    def _program(self) -> Program:
        labels = 0 if self.label_scale_ is None else len(self.label_scale_.offset)
        covariates = 0 if self.seen_.covariates is None else self.seen_.covariates.width
        return built_program(self._settings(), self.network_, self.likelihood_, tuple(self.shape_), labels, covariates)

    def _recipe(self) -> Recipe:
        """As trained: with the groups that were found, where they had to be."""
        return self._program().candidates[self.candidate_].last(self.groups_)
