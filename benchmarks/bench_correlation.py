"""Exact correlation: seconds, memory, error. On a CUDA device also the bank penalty of a training step, and tiles."""

import math
import resource
import statistics
import sys
import time
from collections.abc import Callable

import torch

from partita.distributions import DiagonalNormal
from partita.kernels import Mixture, log_mixture
from partita.measures import correlation
from partita.measures.aggregate import aggregate_with_bank
from partita.recipes import RECIPES
from partita.training import Ensemble

LATENTS = 10


def posteriors(size: int, device: str, sd: float = 0.1) -> list[torch.Tensor]:
    generator = torch.Generator(device).manual_seed(0)
    mean, noise, widths = torch.randn(3, size, LATENTS, generator=generator, device=device)
    log_variance = 2 * math.log(sd) + 0.5 * widths
    return [mean + torch.exp(log_variance / 2) * noise, mean, log_variance]


def blocks_of(group: int) -> list[tuple[int, ...]]:
    groups = [tuple(range(k, k + group)) for k in range(0, LATENTS, group)]
    return list(dict.fromkeys([tuple(range(LATENTS)), *groups, *((k,) for k in range(LATENTS))]))


def row(name: str, measured: str, note: str = "") -> None:
    print(f"{name:<58} {measured:>14}  {note}", flush=True)


def on_cpu(size: int = 20000) -> None:
    arrays = posteriors(size, "cpu")
    start = time.perf_counter()
    found = correlation(*arrays, groups=(2,) * 5)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    threads = torch.get_num_threads()
    row(f"exact, N={size:,}, K={LATENTS}, G=5, float64, {threads} threads", f"{seconds:.1f} s", f"peak {peak:.2f} GiB")
    row("  limits", "60 s", "2 GiB")
    row("  TC, PC", f"{found.tc:.4f} {found.pc:.4f}")


def error_on_rows(
    arrays: list[torch.Tensor], found: torch.Tensor, blocks: list[tuple[int, ...]], rows: int = 256
) -> float:
    chosen = torch.linspace(0, len(found) - 1, rows, device=found.device).long()
    z, mean, log_variance = (t.double() for t in arrays)
    exact = Mixture.of(mean, log_variance).log_density(z[chosen], blocks, own=chosen, dtype=torch.float64, form="dense")
    return (found[chosen] - exact).abs().max().item()


def device_seconds(work, repeats: int) -> float:
    work()
    times = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        work()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def whole_data_set(size: int = 737280) -> None:
    for sd in (0.3, 0.1, 0.03):
        arrays = posteriors(size, "cuda", sd)
        own = torch.arange(size, device="cuda")
        for group in (2, 5, 1):
            blocks = blocks_of(group)
            for form in ("dense", "matrix"):
                log_mixture(*(t[:4096] for t in arrays), blocks, own=own[:4096], dtype=torch.float32, form=form)
                found = []
                seconds = device_seconds(
                    lambda b=blocks, f=form, o=own, a=arrays, keep=found: keep.append(
                        log_mixture(*a, b, own=o, dtype=torch.float32, form=f)
                    ),
                    repeats=1,
                )
                error = error_on_rows(arrays, found[-1], blocks)
                name = f"all N={size:,}, K={LATENTS}, G={LATENTS // group}, sd {sd}, {form}"
                row(name, f"{seconds:.2f} s", f"error {error:.1e} (limits 3 s, 1e-5)")
            if sd != 0.1:
                break


def by_block(size: int = 737280, components: int = 73728) -> None:
    """Which part takes the time, and at which tile: the numbers to choose the tiles by, from a tenth of the sums."""
    from partita.kernels import triton_lse

    z, mean, log_variance = posteriors(size, "cuda")
    arrays = z, mean[:components].contiguous(), log_variance[:components].contiguous()
    own = torch.arange(size, device="cuda") % components

    def timed(blocks, form="dense"):
        def work():
            log_mixture(*arrays, blocks, own=own, dtype=torch.float32, form=form)

        return f"{10 * device_seconds(work, repeats=2):.2f}"

    before = dict(triton_lse.SMALL_TILES), triton_lse.BLOCK_TILE
    for length in (1, 2):
        blocks = [block for block in blocks_of(length) if len(block) <= length]
        for tile in ((128, 32, 4), (64, 32, 2), (32, 32, 1), (64, 32, 4), (16, 32, 1), (16, 32, 1, 2), (64, 32, 4, 2)):
            triton_lse.SMALL_TILES[length] = triton_lse.Tile(*tile)
            row(f"marginals, with groups of {length}, tile {tile}", f"{timed(blocks)} s")
    triton_lse.SMALL_TILES.update(before[0])
    joint = [tuple(range(LATENTS))]
    for tile in ((64, 32, 4), (32, 32, 2), (32, 64, 4), (64, 32, 4, 2), (32, 32, 4, 2), (128, 32, 8)):
        triton_lse.BLOCK_TILE = triton_lse.Tile(*tile)
        row(f"joint, tile {tile}, dense and fused", f"{timed(joint)} {timed(joint, 'matrix')} s")
    triton_lse.BLOCK_TILE = before[1]


def penalised(groups: int) -> list[tuple[int, ...]]:
    """The blocks whose densities a penalty asks for: all latents together, and each group."""
    width = LATENTS // groups
    return [tuple(range(LATENTS)), *(tuple(range(k, k + width)) for k in range(0, LATENTS, width))]


def bank_penalty(size: int, queries: int, groups: int, compiled: bool = False) -> Callable[[], tuple]:
    """The penalty of a step against the batch and all other posteriors, and its gradient for the batch."""
    z, mean, log_variance = posteriors(size, "cuda")
    bank = torch.cat([mean[queries:], log_variance[queries:]], 1).T.contiguous()
    noise = (z - mean)[:queries] * torch.exp(-log_variance[:queries] / 2)
    leaves = [t[:queries].clone().requires_grad_() for t in (mean, log_variance)]

    def penalty(mean: torch.Tensor, log_variance: torch.Tensor) -> torch.Tensor:
        drawn = mean + torch.exp(log_variance / 2) * noise
        logs = aggregate_with_bank(DiagonalNormal(mean, log_variance), drawn, penalised(groups), bank, size=size)
        return (logs[:, 0] - logs[:, 1:].sum(1)).mean()

    loss = torch.compile(penalty, fullgraph=True, dynamic=False) if compiled else penalty
    return lambda: torch.autograd.grad(loss(*leaves), leaves)


def bank_step(size: int = 737280, queries: int = 64) -> None:
    for groups, name in ((LATENTS, "TC"), (5, "PC of pairs"), (2, "PC of fives")):
        step = bank_penalty(size, queries, groups)
        row(f"{name}: {queries} queries x {size:,}, value and gradient", f"{1e3 * device_seconds(step, 50):.2f} ms")
        row("  the same as a CUDA graph", f"{1e3 * captured(step):.2f} ms", "limit 1 ms")
        step = bank_penalty(size, queries, groups, compiled=True)
        row("  compiled, as a CUDA graph", f"{1e3 * captured(step):.2f} ms", "limit 1 ms")


def bank_by_tile(size: int = 737280, queries: int = 64) -> None:
    """The same with other tiles."""
    from partita.kernels import triton_bank as bank

    before = dict(bank.TILES)
    tiles = ((64, 32, 2), (32, 32, 2), (32, 32, 4), (16, 32, 1), (16, 32, 2), (16, 32, 4), (16, 32, 8), (16, 16, 4))
    for slopes, groups in ((1, LATENTS), (2, 5), (5, 2), (bank.MOST_SLOPES, 1)):
        step = bank_penalty(size, queries, groups)
        for tile in (*tiles, (8, 32, 2), (16, 128, 4), (8, 128, 4)):
            bank.TILES[slopes] = bank.Tile(*tile)
            row(f"bank step, blocks of {LATENTS // groups}, tile {tile}", f"{1e3 * captured(step):.3f} ms")
        bank.TILES.update(before)


def bank_in_training(size: int = 737280) -> None:
    """A whole step without a penalty, with beta-TCVAE's from the batch, and with the bank of all points."""
    x = torch.randn(size, 20, device="cuda")
    house = {"latents": LATENTS, "shape": (20,), "network": "mlp", "likelihood": "gaussian"}
    recipes = {"vae": RECIPES["vae"](**house)}
    recipes |= {by: RECIPES["beta_tcvae"](beta=6.0, by=by, **house) for by in ("importance", f"bank:{size}")}
    for compiled in (False, True):
        plain = 0.0
        for name, recipe in recipes.items():
            runs = Ensemble([recipe], [0], x, batch_size=64, device=x.device, compiled=compiled)
            runs.advance(10)
            seconds = device_seconds(lambda runs=runs: runs.advance(10), 20) / 10
            plain = plain or seconds
            words = f"a step, MLP, N={size:,}, {name}{', compiled' if compiled else ''}"
            row(words, f"{1e3 * seconds:.2f} ms", f"penalty {1e3 * (seconds - plain):.2f} ms")


def captured(step) -> float:
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return device_seconds(graph.replay, 50)


if __name__ == "__main__":
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads")
    if not torch.cuda.is_available():
        on_cpu(int(sys.argv[1]) if len(sys.argv) > 1 else 20000)
        sys.exit()
    print(torch.cuda.get_device_name())
    bank_step()
    bank_in_training()
    bank_by_tile()
    by_block()
    whole_data_set()
