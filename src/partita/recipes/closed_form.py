"""Baselines solved rather than trained, in the same linear networks: everything downstream is as for any other method.

Each posterior has the width of the Laplace approximation, 1 / (1 + F_k), F_k the decoder's mean Fisher information of
latent k, which is the best diagonal posterior where decoder and likelihood are linear and Gaussian.
"""

import copy
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from partita.distributions import Groups, as_groups
from partita.measures._ica import independent_coordinates, unmixing
from partita.measures.autoencoder import mean_reconstruction, weight_norm
from partita.recipes.program import Candidate, Phase, Program
from partita.recipes.recipe import Recipe, nonnegative, one_player

Networks = Mapping[str, nn.Module]
STEP = 1e-3
ROWS_FOR_WIDTHS = 500
ROWS_AT_ONCE = 2000


def pca(*, latents: int = 6, **architecture) -> Program:
    """Probabilistic PCA (Tipping and Bishop 1999): the linear Gaussian VAE at its optimum, in closed form.

    The ELBO is then the log-likelihood itself. Network and likelihood are always linear and Gaussian.

    Use it first: what a linear map with no idea of independence already explains. It cannot choose axes beyond
    variance: latents of equal variance are rotated at will.

    Defaults: none.
    """
    return _linear("pca", solve_pca, latents, architecture)


def ica(*, latents: int = 6, groups=None, **architecture) -> Program | Recipe:
    """Linear ICA: FastICA (Hyvarinen 1999; log cosh) on the leading principal components, sources of unit variance.
    With groups, given or "auto": Picard-O (Ablin et al. 2018) from several starts; sources that stay dependent are
    grouped, and turned to where their groups are likeliest.

    Network and likelihood are always linear and Gaussian; the ELBO takes a Gaussian prior, which ICA does not mean.

    Use it second: on the linear data set `groups` its sources, grouped, reach a latent R2 of 0.98. It cannot
    undo a nonlinear mixing.

    Defaults: log cosh and 1000 iterations, the common ones.
    """
    if groups is not None:
        return grouped_ica(latents=latents, groups=groups, **architecture)
    return _linear("ica", solve_ica, latents, architecture)


def grouped_ica(*, latents: int = 6, groups=None, **architecture) -> Recipe:
    """What `ica` is with groups: solved where it starts (`recipes.unmixed`), and nobody takes a step."""
    return _solved("ica", as_groups(groups, latents), latents, architecture)


def ae_ica(*, weight_decay: float = 1e-3, latents: int = 6, **architecture) -> Program:
    """An autoencoder with weight decay, then FastICA of its codes: cheap, and hard to beat.

    Trained without noise and without a KL. Then the codes are made independent and of unit variance by an invertible
    linear map, which goes into the encoder's last layer and out of the decoder's first: reconstructions stay as they
    were. The ELBO of such a model is no bound that was asked for; `kl` and `elbo` are only for comparison.

    Use it beside every other method: it costs one autoencoder. It cannot bend: independence is sought by a
    linear map of the codes alone.

    Defaults: weight_decay 1e-3 is ours.
    """
    nonnegative(weight_decay=weight_decay)
    _diagonal("ae_ica", architecture)
    groups = as_groups(None, latents)
    weights = {"mean_recon": 1, "weight_norm": weight_decay}
    recipe = one_player((mean_reconstruction, weight_norm), weights, groups=groups, latents=latents, **architecture)
    return Program((Candidate((Phase(recipe),), finish=untangle_codes),))


def solve_pca(networks: Networks, x: Tensor, seed: int, weight: Tensor | None = None) -> None:
    """W = U (L - s^2)^(1/2), posterior mean L^-1 (L - s^2)^(1/2) U^T (x - mean), s^2 the mean of what is left out. With
    weights (n,), mean and covariance are those of rows that count so much."""
    mean, axes, variance, noise = _principal(x, networks, seed, weight)
    signal = np.sqrt(np.maximum(variance - noise, 0))
    _write(networks, axes.T * signal, (signal / variance)[:, None] * axes, mean, noise)
    set_widths(networks, x)


def solve_ica(networks: Networks, x: Tensor, seed: int) -> None:
    """Sources R L^(-1/2) U^T (x - mean), R the rotation that FastICA finds."""
    mean, axes, variance, noise = _principal(x, networks, seed)
    whiten = axes / np.sqrt(variance)[:, None]
    rotation = unmixing((_rows(x) - mean) @ whiten.T, seed)
    _write(networks, axes.T * np.sqrt(variance) @ rotation.T, rotation @ whiten, mean, noise)
    set_widths(networks, x)


def untangle_codes(networks: Networks, x: Tensor, seed: int) -> None:
    """Codes h become independent s = T^T (h - centre), and the decoder takes them back."""
    last, first = _layers(networks)
    latents = first.in_features
    codes = np.concatenate([double(networks["encoder"](rows).mean) for rows in x.split(ROWS_AT_ONCE)])
    centre, transform = independent_coordinates(codes, seed)
    weight, bias = (double(p) for p in (last.weight, last.bias))
    _put(last.weight[:latents], transform.T @ weight[:latents])
    _put(last.bias[:latents], transform.T @ (bias[:latents] - centre))
    weight = double(first.weight)
    _put(first.weight, weight @ np.linalg.inv(transform).T)
    if first.bias is not None:  # a normalisation after it takes constants off
        _put(first.bias, double(first.bias) + weight @ centre)
    set_widths(networks, x)


def set_widths(networks: Networks, x: Tensor, expected: Tensor | None = None) -> None:
    """Posterior variances 1 / (1 + F_k), the same for every observation: F_k by a small step of each latent, from
    log p(m|z) - log p(m|z + d e_k) = d^2 F_k / 2 + O(d^3) at m = E[x|z]. Counts come with what is `expected`."""
    last, _ = _layers(networks)
    latents = last.out_features // 2
    known = () if expected is None else (None, expected[:ROWS_FOR_WIDTHS])  # no covariates: what they explain is in it
    z = networks["encoder"](x[:ROWS_FOR_WIDTHS], *(() if expected is None else (None, *known))).mean.double()
    decoder = copy.deepcopy(networks["decoder"]).double()
    here = decoder(z, *known)
    fisher = []
    for k in range(latents):
        step = torch.zeros(latents, dtype=z.dtype, device=z.device)
        step[k] = STEP
        there = decoder(z + step, *known).log_prob(here.mean) + decoder(z - step, *known).log_prob(here.mean)
        fisher.append((2 * here.log_prob(here.mean) - there).mean() / STEP**2)
    last.weight[latents:] = 0
    last.bias[latents:] = -torch.log1p(torch.stack(fisher).clamp(min=0)).to(last.bias)


def _linear(method: str, solve, latents: int, architecture: dict) -> Program:
    recipe = _solved(method, as_groups(None, latents), latents, architecture)
    return Program((Candidate((Phase(recipe),), finish=solve),))


def _solved(method: str, groups: Groups, latents: int, architecture: dict) -> Recipe:
    """The recipe of a linear Gaussian model, with nobody to take steps."""
    _diagonal(method, architecture)
    architecture = architecture | {"network": "linear", "likelihood": "gaussian"}
    return replace(one_player((), {}, groups=groups, latents=latents, **architecture), players=())


def _diagonal(method: str, architecture: dict) -> None:
    posterior = architecture.get("posterior", "diagonal")
    if posterior != "diagonal":
        raise ValueError(f"{method} has a diagonal posterior of its own; it takes no posterior={posterior!r}")


def _principal(
    x: Tensor, networks: Networks, seed: int, weight: Tensor | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Mean (D,), axes (K, D), variances (K,) along them, and the mean variance of the other directions."""
    from sklearn.decomposition import PCA

    latents, rows = _layers(networks)[1].in_features, _rows(x)
    if latents > min(rows.shape[0] - 1, rows.shape[1]):
        raise ValueError(
            f"{latents} latents are more than the principal components of {rows.shape[0]} sample(s) with "
            f"{rows.shape[1]} feature(s)"
        )
    if weight is not None:
        rows = _of_equal_weight(rows, double(weight))
    found = PCA(latents, random_state=seed % 2**32).fit(rows)
    shrink = (len(rows) - 1) / len(rows)  # maximum likelihood divides by n
    least = 1e-6 * max(rows.var(0).mean(), 1e-12)
    noise = max(float(found.noise_variance_) * shrink, least)
    variance = np.maximum(np.asarray(found.explained_variance_) * shrink, noise)
    return np.asarray(found.mean_), np.asarray(found.components_), variance, noise


def _of_equal_weight(rows: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Rows whose plain mean and covariance are those of rows with weights: m + sqrt(w) (x - m), each with its mirror
    image, which keeps their mean where it is."""
    share = weight / weight.sum()
    mean = share @ rows
    aside = np.sqrt(share * len(rows))[:, None] * (rows - mean)
    return mean + np.concatenate([aside, -aside])


def _write(networks: Networks, loading: np.ndarray, unmix: np.ndarray, mean: np.ndarray, noise: float) -> None:
    last, first = _layers(networks)
    latents = first.in_features
    _put(last.weight[:latents], unmix)
    _put(last.bias[:latents], -unmix @ mean)
    _put(first.weight, loading)
    _put(first.bias, mean)
    networks["decoder"].log_variance.fill_(np.log(noise))  # type: ignore[operator]


def _layers(networks: Networks) -> tuple[nn.Linear, nn.Linear]:
    """The encoder's layer whose first rows make the means, and the decoder's that reads the code."""
    return networks["encoder"].makes_code, networks["decoder"].reads_code  # type: ignore[return-value]


def _rows(x: Tensor) -> np.ndarray:
    return x.flatten(1).double().cpu().numpy()


def double(p: Tensor) -> np.ndarray:
    return p.detach().double().cpu().numpy()


def _put(place: Tensor, values: np.ndarray) -> None:
    place.copy_(torch.as_tensor(values))
