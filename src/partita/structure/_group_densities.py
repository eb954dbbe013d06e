"""Densities of groups that are unbent, of many sets of rows at once: mixtures of Gaussians by EM, and ellipses."""

import math

import torch
from torch import Tensor

COMPONENTS = {1: 12, 2: 24}  # of a mixture, at most; of larger groups as of two
# Rows for each number that a mixture has, by the size of its group: with fewer, large groups look less likely than
# their parts; with more, a bend makes Gaussians of what a mixture should fill, rings of two dimensions first of all.
ROWS_A_NUMBER = {1: 4, 2: 4, 3: 6, 4: 12}
EM_STEPS, LEAST_VARIANCE = 20, 2e-3
LEAST_ELLIPSE, LEAST_SPREAD = 3, 1e-5  # dimensions, and variance of any direction


def components_of(size: int, rows: int) -> int:
    """Of a mixture over a group of this size that so many rows are to be fitted by: as many as they bear."""
    numbers = 1 + size + size * (size + 1) // 2
    borne = rows // (ROWS_A_NUMBER[min(size, 4)] * numbers)
    return max(1, min(COMPONENTS.get(size, COMPONENTS[2]), borne))


def log_parts(z: Tensor, logits: Tensor, centre: Tensor, diagonal: Tensor, lower: Tensor) -> Tensor:
    """Log-densities (starts, rows, components) of weighted Gaussians at z (starts, rows, size): `diagonal` are the
    logarithms of the diagonals of their precisions' factors, `lower` what stands below."""
    steep = diagonal.clamp(max=4.0)
    factor = torch.tril(lower, -1) + torch.diag_embed(torch.exp(steep))
    moved = (factor @ centre[..., None])[..., 0]
    weight = torch.log_softmax(logits, -1) + steep.sum(-1) - 0.5 * centre.shape[-1] * math.log(2 * math.pi)
    # all dimensions of all components by one product; a sum over a last axis of one to four takes longer than that
    size, components = centre.shape[-1], centre.shape[-2]
    wide = factor.permute(0, 3, 2, 1).reshape(len(factor), size, size * components)
    apart = (z @ wide).unflatten(-1, (size, components)) - moved.mT[:, None]
    return weight[:, None] - 0.5 * apart.square().sum(-2)


def mixtures_of(z: Tensor, seed: int, components: int) -> list[Tensor]:
    """Logits, centres, log-diagonals and lower factors of mixtures fitted to z (starts, rows, size) by EM.

    A component's log-density is linear in (1, z, z z^T), and so are the moments that a step asks for: both are one
    product of matrices."""
    count, rows, size = z.shape
    drawn = torch.randperm(rows, generator=torch.Generator().manual_seed(seed))[:components]
    centre, logits = z[:, drawn], z.new_zeros(count, components)
    wide = z.std(1).clamp(min=LEAST_VARIANCE**0.5)
    precise = torch.diag_embed((components ** (1 / size) / wide)[:, None].expand_as(centre))
    columns, eye = z.mT, torch.eye(size, dtype=z.dtype)
    squares = (columns[:, :, None] * columns[:, None]).flatten(1, 2)
    powers = torch.cat([z.new_ones(count, 1, rows), columns, squares], 1)
    for _ in range(EM_STEPS):
        precision = precise.mT @ precise
        pulled = (precision @ centre[..., None])[..., 0]
        steep = torch.log(torch.diagonal(precise, dim1=-2, dim2=-1)).sum(-1)
        constant = logits - torch.logsumexp(logits, -1, keepdim=True) + steep - 0.5 * (pulled * centre).sum(-1)
        share = torch.softmax(torch.cat([constant[..., None], pulled, -0.5 * precision.flatten(2)], -1) @ powers, 1)
        moments = share @ powers.mT
        mass = moments[..., :1] + 1e-6
        logits, moments = torch.log(mass[..., 0]), moments / mass
        centre = moments[..., 1 : 1 + size]
        spread = moments[..., 1 + size :].unflatten(-1, (size, size)) - centre[..., None] * centre[..., None, :]
        factor = torch.linalg.cholesky(spread + LEAST_VARIANCE * eye)
        precise = torch.linalg.solve_triangular(factor, eye, upper=False)
    diagonal = torch.log(torch.diagonal(precise, dim1=-2, dim2=-1))
    return [logits, centre, diagonal, torch.tril(precise, -1)]


def log_ellipse(z: Tensor, centre: Tensor, diagonal: Tensor, lower: Tensor, *distances: Tensor) -> Tensor:
    """Log-densities (starts, rows) where only the distance from a centre counts, as in independent subspace analysis
    (Hyvärinen and Hoyer 2000): its logarithm, of coordinates that a factor makes white, is a mixture of Gaussians."""
    size = z.shape[-1]
    factor = torch.tril(lower, -1) + torch.diag_embed(torch.exp(diagonal))
    white = (z - centre[:, None]) @ factor.mT
    distance = 0.5 * torch.log(white.square().sum(-1, keepdim=True) + 1e-9)
    sphere = math.log(2) + 0.5 * size * math.log(math.pi) - math.lgamma(size / 2)
    told = torch.logsumexp(log_parts(distance, *distances), -1)
    return told - size * distance[..., 0] - sphere + diagonal.sum(-1, keepdim=True)


def ellipses_of(z: Tensor, seed: int) -> list[Tensor]:
    """Centre, log-diagonal and lower factor that make z (starts, rows, size) white, and the mixture of distances."""
    size, centre = z.shape[-1], z.mean(1)
    spread = (z - centre[:, None]).mT @ (z - centre[:, None]) / z.shape[1]
    eye = torch.eye(size, dtype=z.dtype)
    precise = torch.linalg.solve_triangular(torch.linalg.cholesky(spread + LEAST_SPREAD * eye), eye, upper=False)
    white = (z - centre[:, None]) @ precise.mT
    distance = 0.5 * torch.log(white.square().sum(-1, keepdim=True) + 1e-9)
    diagonal = torch.log(torch.diagonal(precise, dim1=-2, dim2=-1))
    return [centre, diagonal, torch.tril(precise, -1), *mixtures_of(distance, seed, components_of(1, z.shape[1]))]


def densities_of(z: Tensor, seed: int, components: int) -> list[Tensor]:
    """The parameters of `log_density` for z (starts, rows, size): a mixture of Gaussians and, of three dimensions and
    more, an ellipse: a shell of four is a surface that a few hundred rows bear too few Gaussians for."""
    mixture = mixtures_of(z, seed, components)
    if z.shape[-1] < LEAST_ELLIPSE:
        return mixture
    ellipse = ellipses_of(z, seed)
    odds = z.new_zeros(len(z), 1)
    better = log_ellipse(z, *ellipse) - torch.logsumexp(log_parts(z, *mixture), -1)
    for _ in range(EM_STEPS):
        odds = torch.logit(torch.sigmoid(odds + better).mean(1, keepdim=True), 1e-3)
    return [*mixture, odds, *ellipse]


def log_density(z: Tensor, *parts: Tensor) -> Tensor:
    """Log-densities at z (starts, rows, size) by what `densities_of` found, (starts, rows)."""
    mixture, ellipse = parts[:4], parts[4:]
    told = torch.logsumexp(log_parts(z, *mixture), -1)
    if not ellipse:
        return told
    odds, *ellipse = ellipse
    return torch.logaddexp(
        torch.nn.functional.logsigmoid(-odds) + told, torch.nn.functional.logsigmoid(odds) + log_ellipse(z, *ellipse)
    )
