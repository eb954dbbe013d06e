"""The Triton kernels' arithmetic, program by program, in float32 torch: same shift, base 2, shares and stretches."""

import torch

from partita.kernels.guard import own_exponents
from partita.kernels.plan import plan, shares


def _distance(z, mean, log_scale, fused):
    scale = torch.exp2(log_scale)
    if fused:  # one rounding instead of two: float64 holds the product exactly
        exact = z.double()[:, None] * scale.double() - (mean * scale).double()
        return exact.float()
    return (z[:, None] - mean) * scale


def _walk(s, splits, share, stretch, tile, terms):
    """Partial sums (splits, n) of `terms(columns)`: a tile of accumulators, summed across after each stretch."""
    size, n = s.mean.shape[1], s.z.shape[1]
    partial = torch.zeros(splits, n)
    for split in range(splits):
        last = min((split + 1) * share, size)
        for start in range(split * share, last, stretch):
            lanes = torch.zeros(n, tile)
            for column in range(start, min(start + stretch, last), tile):
                found = terms(slice(column, min(column + tile, last)))
                lanes[:, : found.shape[1]] += found
            partial[split] += lanes.sum(1)
    return partial


def log_sums(s, blocks, own, *, fused=False, tile=32, stretch=128, queries=16):
    """(n, blocks) float64, and the number of shares each block's sum was made of."""
    n, size = s.z.shape[1], s.mean.shape[1]
    chosen = plan(blocks, [True] * len(blocks))
    logs, pieces = {}, {}

    def density(k, columns):
        log_scale = s.log_scale[k, columns]
        return torch.exp2(log_scale - _distance(s.z[k], s.mean[k, columns], log_scale, fused).square())

    def product(block, columns):
        found = torch.ones(())
        for k in block:
            found = found * density(k, columns)
        return found

    for same in chosen.small.values():
        splits, share = shares(size, -(-n // queries) * len(same), tile)
        for block in same:
            for part in {block, *((k,) for k in block)}:
                partial = _walk(s, splits, share, stretch, tile, lambda columns, part=part: product(part, columns))
                logs[part], pieces[part] = partial.double().sum(0).log2(), splits
    for same in chosen.direct.values():
        splits, share = shares(size, -(-n // queries) * len(same), tile)
        shift = own_exponents(s, same, own)
        for b, block in enumerate(same):

            def shifted(columns, block=block, shift=shift[:, b, None]):
                squares = sum(_distance(s.z[k], s.mean[k, columns], s.log_scale[k, columns], fused) ** 2 for k in block)
                peaks = sum(s.log_scale[k, columns] for k in block)
                return torch.exp2(peaks - squares - shift)

            partial = _walk(s, splits, share, stretch, tile, shifted)
            logs[block], pieces[block] = partial.double().sum(0).log2() + shift[:, b], splits
    return torch.stack([logs[block] for block in blocks], 1), pieces


def query_gradients(s, blocks, logs, weights):
    """d (weights * logs).sum() / dz from the shares 2^(exponent - log sum), small blocks as products of latents."""
    chosen = plan(blocks, [True] * len(blocks))
    log_sum = dict(zip(blocks, logs.float().unbind(1)))
    weight = dict(zip(blocks, weights.float().unbind(1)))
    gradient = torch.zeros_like(s.z)

    def moves(k):
        return _distance(s.z[k], s.mean[k], s.log_scale[k], False) * torch.exp2(s.log_scale[k])

    for block in (block for same in chosen.small.values() for block in same):
        parts = {}
        for k in block:
            distance = _distance(s.z[k], s.mean[k], s.log_scale[k], False)
            parts[k] = torch.exp2((s.log_scale[k] - log_sum[k,][:, None]) - distance.square())
        balance = sum(log_sum[k,] for k in block) - log_sum[block]
        together = weight[block] * torch.exp2(balance.clamp(max=100.0)) if len(block) > 1 else torch.zeros(())
        product = torch.stack(list(parts.values())).prod(0)
        for k in block:
            part = weight[k,][:, None] * parts[k] + together[..., None] * product
            gradient[k] -= 2 * (part * moves(k)).sum(1)
    for block in (block for same in chosen.direct.values() for block in same):
        squares = sum(_distance(s.z[k], s.mean[k], s.log_scale[k], False) ** 2 for k in block)
        peaks = sum(s.log_scale[k] for k in block)
        part = weight[block][:, None] * torch.exp2((peaks - log_sum[block][:, None]) - squares)
        for k in block:
            gradient[k] -= 2 * (part * moves(k)).sum(1)
    return gradient
