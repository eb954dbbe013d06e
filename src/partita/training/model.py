"""One trained model: its recipe and its parameters, for looking and measuring."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import numpy as np
import torch
from torch import Tensor, nn

from partita.distributions import Decoded, Posterior
from partita.measures.labels import label_kl
from partita.networks._building import built, own_parameters
from partita.recipes import Ramp, Recipe
from partita.trace import Batch, Dream, Trace, WakeWithLabels
from partita.training.beside import Beside, taken
from partita.training.scale import UNSCALED, Scale

ROWS_A_PASS = 4096
CODES_AVERAGED, DIFFERENCE = 64, 1e-3  # of loadings
NUMBERS_A_PASS = 1 << 19  # on a CPU, where images are encoded almost three times faster while they fit into its cache


def check_parameters(recipe: Recipe, parameters: Mapping[str, Tensor]) -> None:
    """ValueError where these are not the parameters that the recipe's networks have."""
    with torch.device("meta"):  # shapes alone: nothing is drawn, nothing allocated
        modules = {name: make() for name, make in recipe.networks.items()}
    expected = {f"{name}.{key}": p.shape for name, module in modules.items() for key, p in module.state_dict().items()}
    for name in sorted(expected.keys() | parameters.keys()):
        if name not in parameters or name not in expected:
            raise ValueError(f"{name} is {'missing' if name in expected else 'of another model'}")
        if parameters[name].shape != expected[name]:
            raise ValueError(f"{name} is {tuple(parameters[name].shape)}, not {tuple(expected[name])}")


@dataclass(frozen=True)
class Model:
    """Arrays in, arrays out, a few thousand rows at a time. `x_scale` turns stored values into observations, of which
    the networks see the `scale`. Where covariates are not given, `average` ones (c,) stand in for them."""

    recipe: Recipe
    parameters: Mapping[str, Tensor]
    x_scale: float = 1.0
    device: torch.device | str = "cpu"
    dtype: torch.dtype = torch.float32
    scale: Scale = UNSCALED
    average: np.ndarray | None = None

    @cached_property
    def networks(self) -> dict[str, nn.Module]:
        modules = built(self.recipe.networks)
        for name, module in modules.items():
            module.load_state_dict(own_parameters(name, self.parameters), strict=True)
            module.to(self.device, self.dtype).eval().requires_grad_(False)
        return modules

    @property
    def knobs(self) -> dict[str, Tensor]:
        """The method's numbers that are not weights, where their schedules end."""
        ends = {name: v.end if isinstance(v, Ramp) else v for name, v in self.recipe.knobs.items()}
        return {name: torch.tensor(value, device=self.device, dtype=self.dtype) for name, value in ends.items()}

    @property
    def sees_labels(self) -> bool:
        """Whether the encoder takes labels; without them, it takes those that the model's predictor finds in x."""
        return isinstance(self.recipe.trace, WakeWithLabels)

    def posterior(
        self, x: np.ndarray, u: np.ndarray | None = None, beside: Beside | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Means and log-variances of q(z|x), (n, K) each; where the encoder sees labels u, of q(z|x,u). `beside` has
        what else is known of the rows, by its name in a `Batch`."""

        def numbers(batch: Batch) -> tuple[Tensor, Tensor]:
            q = self.recipe.trace.encode(self.networks, batch)
            return q.mean, q.log_variance

        mean, log_variance = self._by_rows(numbers, x, u, beside)
        return mean, log_variance

    def encode(self, x: np.ndarray, beside: Beside | None = None) -> Posterior:
        """q(z|x) itself, of rows that fit into one pass."""
        return self.recipe.trace.encode(self.networks, self._batch(x, len(x), beside or {}))

    def prior(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means and log-variances of p(z|u) at labels u (n, m) between 0 and 1, (n, K) each; ValueError where the prior
        does not depend on labels."""
        if not self.sees_labels:
            raise ValueError("this method has one prior p(z) for all observations: there is no p(z|u)")

        def density(rows: Tensor) -> tuple[Tensor, Tensor]:
            found = self.networks["prior"](rows)
            return found.mean, found.log_variance

        mean, log_variance = self._in_parts(lambda part: density(self._tensor(u[part])), u.shape)
        return mean, log_variance

    @property
    def has_bound(self) -> bool:
        """Whether there is a likelihood, and so an ELBO."""
        return not isinstance(self.recipe.trace, Dream)

    def decode(self, z: np.ndarray, beside: Beside | None = None) -> np.ndarray:
        """E[x|z] in the units of the observations, (n, *shape)."""
        (mean,) = self._in_parts(lambda part: (self.decoded(z[part], taken(beside, part)).mean,), z.shape)
        return self.scale.back(mean, self._told(len(z), beside or {}).get("covariates"))

    def decoded(self, z: np.ndarray, beside: Beside | None = None) -> Decoded:
        """p(x|z) itself, as the model sees x, of rows that fit into one pass."""
        known = {name: self._tensor(values) for name, values in self._told(len(z), beside or {}).items()}
        if "exposure" in known:
            axes = len(self.recipe.architecture.shape)
            known["exposure"] = self._scale.expected(known["exposure"], axes, known.get("covariates"))
        beside_z = Batch(x=self._tensor(z), size=len(z), carry={}, **known).for_decoder if self.has_bound else ()
        return self.networks["decoder"](self._tensor(z), *beside_z)

    def seen_and_error(
        self, x: np.ndarray, codes: np.ndarray, beside: Beside | None = None
    ) -> tuple[np.ndarray, float]:
        """Observations x in the units that the model sees, (n, D), and there the mean squared error of E[x|z] at their
        codes: as other models of the same rows, PCA say, are to be compared."""
        covariates = (beside or {}).get("covariates")
        both = np.asarray(x, np.float64) * self.x_scale, self.decode(codes, beside)
        seen, decoded = (np.asarray(self.scale.of(each, covariates)).reshape(len(x), -1) for each in both)
        return seen, float(((decoded - seen) ** 2).mean())

    def reconstruct(self, x: np.ndarray, beside: Beside | None = None) -> np.ndarray:
        """E[x|z] at the posterior means."""
        (mean,) = self._by_rows(lambda batch: (self.recipe.trace.reconstruct(self.networks, batch),), x, beside=beside)
        return self.scale.back(mean, self._told(len(x), beside or {}).get("covariates"))

    def sample(self, n: int, seed: int = 0, beside: Beside | None = None) -> np.ndarray:
        """Observations E[x|z] for n draws from the prior, (n, *shape)."""
        trace = self.recipe.trace
        if isinstance(trace, Dream):
            generator = torch.Generator(self.device).manual_seed(seed)
            drawn = {name: self._noise(n, columns, generator) for name, columns in self.recipe.noise.items()}
            with torch.no_grad():
                return self.scale.back(trace.generate(self.networks, drawn)["x"].cpu().numpy())
        return self.decode(self._prior_codes(n, seed), beside)

    def loadings(self, z: np.ndarray | None = None) -> np.ndarray:
        """How each number of an observation changes with each latent, (D, K): the Jacobian of E[x|z], averaged over
        codes `z` (n, K), or over draws from the prior. Of a linear decoder it is the same everywhere, so exact.

        By central differences in float64: any decoder has them, whatever its layers.
        """
        exact = replace(self, dtype=torch.float64)
        codes = (exact._prior_codes(CODES_AVERAGED, 0) if z is None else np.asarray(z)).astype(np.float64)
        columns = []
        for k in range(codes.shape[1]):
            aside = np.zeros_like(codes)
            aside[:, k] = DIFFERENCE
            change = exact.decode(codes + aside).mean(0) - exact.decode(codes - aside).mean(0)
            columns.append(change.ravel() / (2 * DIFFERENCE))
        return np.stack(columns, 1)

    def _prior_codes(self, n: int, seed: int) -> np.ndarray:
        prior = self.recipe.trace.prior_of(self.networks, self.knobs)
        return prior.sample(n, self.recipe.architecture.latents, np.random.default_rng(seed))

    def bound(
        self, x: np.ndarray, seed: int = 0, u: np.ndarray | None = None, beside: Beside | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """-log p(x|z) with one draw of z, and KL(q(z|x) || p(z)), a value a row: the ELBO, minus their sum, is a bound
        on log p(x), in nats of x as it was given, whatever the scale that the model sees it in.

        Where the encoder sees labels, the model is p(u) p(z|u) p(x|z), and u is as latent as z. From Jensen's
        inequality with q(u|x) q(z|x,u), the predictor and the encoder,

            log p(x) >= E_{q(u|x)} [ E_{q(z|x,u)} log p(x|z) - KL(q(z|x,u) || p(z|u)) ] - KL(q(u|x) || p(u)),

        with equality where both are exact. One draw of u and z a row; the second array holds both divergences
        (`measures.labels.label_kl` says what p(u) is). With labels `u` given, the bound is that on log p(x|u): no cost
        of u, and not to be compared with an ELBO.
        """
        generator = torch.Generator(self.device).manual_seed(seed)

        def both(batch: Batch) -> tuple[Tensor, Tensor]:
            trace = self._trace(batch, generator)
            kl = trace.prior.kl(trace.q, trace.z)
            if self.sees_labels and batch.u is None:
                kl = kl + label_kl(trace)
            return -trace.px.log_prob(batch.x), kl

        recon, kl = self._by_rows(both, x, u, beside)
        observed = (beside or {}).get("observed")
        return recon - self.scale.log_jacobian(x.shape[1:], observed), kl

    def importance_bound(self, x: np.ndarray, draws: int, seed: int = 0, beside: Beside | None = None) -> np.ndarray:
        """log (1/K) sum_k p(x|z_k) p(z_k) / q(z_k|x) with K = `draws` of z a row, (n,): a bound on log p(x) that grows
        with K towards it (Burda et al. 2016, eq. 8), whatever the family of q. In nats of x as it was given.

        Where the encoder sees labels, one u is drawn from q(u|x) for all z of a row, and KL(q(u|x) || p(u)) is paid as
        in `bound`.
        """
        generator = torch.Generator(self.device).manual_seed(seed)

        def weights(batch: Batch) -> tuple[Tensor]:
            trace = self._trace(batch, generator)
            total = torch.full((len(batch.x),), -torch.inf, device=self.device, dtype=self.dtype)
            for _ in range(draws):
                z = trace.q.sample(self._noise(len(batch.x), self.recipe.noise["z"], generator))
                each = trace.decode(z).log_prob(batch.x) + trace.prior.log_prob(z) - trace.q.log_prob(z)
                total = torch.logaddexp(total, each)
            cost = label_kl(trace) if self.sees_labels else 0.0
            return (total - math.log(draws) - cost,)

        (found,) = self._by_rows(weights, x, beside=beside)
        return found + self.scale.log_jacobian(x.shape[1:], (beside or {}).get("observed"))

    def _trace(self, batch: Batch, generator: torch.Generator) -> Trace:
        """A pass with fresh noise; labels that are not told are drawn."""
        passed, columns = self.recipe.trace, dict(self.recipe.noise)
        if isinstance(passed, WakeWithLabels):
            passed, columns = replace(passed, imputed=True), columns | {"u": passed.labels}
        rows, told = batch.x, batch.u
        noise = {name: self._noise(len(rows), n, generator) for name, n in columns.items()}
        if isinstance(passed, WakeWithLabels):
            labels = rows.new_zeros(len(rows), passed.labels) if told is None else told
            batch = replace(batch, u=labels, labelled=rows.new_full((len(rows),), float(told is not None)))
        return passed(self.networks, batch, noise, self.knobs)

    def _by_rows(
        self, compute: Callable, x: np.ndarray, u: np.ndarray | None = None, beside: Beside | None = None
    ) -> tuple[np.ndarray, ...]:
        known = {**(beside or {}), **({} if u is None else {"u": u})}
        return self._in_parts(lambda part: compute(self._batch(x[part], len(x), taken(known, part))), x.shape)

    def _in_parts(self, compute: Callable, shape: tuple[int, ...]) -> tuple[np.ndarray, ...]:
        rows = self._rows_a_pass(shape)
        with torch.no_grad():
            parts = [compute(slice(start, start + rows)) for start in range(0, shape[0], rows)]
            pieces = [[piece.cpu().numpy() for piece in part] for part in parts]
        return tuple(np.concatenate(column) for column in zip(*pieces))

    def _batch(self, x: np.ndarray, size: int, beside: Beside) -> Batch:
        known = {name: self._tensor(values) for name, values in self._told(len(x), beside).items()}
        return Batch(size=size, carry={}, **self._scale.seen({"x": self._tensor(x) * self.x_scale, **known}))

    def _told(self, rows: int, beside: Beside) -> Beside:
        """With what networks expect and nobody said."""
        unsaid: dict[str, np.ndarray] = {}
        if self.scale.needs_exposure:
            unsaid["exposure"] = np.ones(rows)
        if self.average is not None:
            unsaid["covariates"] = np.tile(self.average, (rows, 1))
        return {**unsaid, **beside}

    @cached_property
    def _scale(self) -> Scale:
        return self.scale.to(self.device, self.dtype)

    def _rows_a_pass(self, shape: tuple[int, ...]) -> int:
        if torch.device(self.device).type != "cpu":
            return ROWS_A_PASS
        return max(1, min(ROWS_A_PASS, NUMBERS_A_PASS // max(1, prod(shape[1:]))))

    def _noise(self, rows: int, columns: int, generator: torch.Generator) -> Tensor:
        return torch.randn(rows, columns, generator=generator, device=self.device, dtype=self.dtype)

    def _tensor(self, values: np.ndarray) -> Tensor:
        return torch.as_tensor(np.array(values)).to(self.device, self.dtype)
