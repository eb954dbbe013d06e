"""The streaming sums as Triton kernels for CUDA, float32 in and out of registers; `streaming` is their oracle.

A program owns a few queries and walks along the components, `size` of them or, when queries are few, one share of them:
shares are written apart and added in float64, which is exact because they use one shift. Accumulators are tiles
(queries x components) that are summed across once per stretch, so that no long chain of float32 additions forms.
"""

# A kernel is Triton's language, not Python's: the type checker cannot follow it.
# pyright: reportMissingImports=false, reportCallIssue=false, reportArgumentType=false
import triton
import triton.language as tl


@triton.jit
def distance_of(z, centre, scale, FUSED: tl.constexpr):
    """(z - mean) * scale, all queries against all components; `FUSED`, where `centre` is mean * scale, in one
    multiply-add, a little less exact."""
    if FUSED:
        return z[:, None] * scale[None, :] - centre[None, :]
    return (z[:, None] - centre[None, :]) * scale[None, :]


@triton.jit
def component(centre, scale, latent, size, columns):
    """Centre and scale of one latent for a run of components."""
    at = latent.to(tl.int64) * size + columns
    return tl.load(centre + at, mask=columns < size, other=0.0), tl.load(scale + at, mask=columns < size, other=0.0)


@triton.jit
def peak(peaks, row, size, columns):
    """log2 of the highest density of a run of components; past the end they weigh nothing."""
    return tl.load(peaks + row.to(tl.int64) * size + columns, mask=columns < size, other=float("-inf"))


@triton.jit
def queries_of(z, latents, n, rows, H: tl.constexpr):
    """The block's latents and the queries' values of them, kept in registers."""
    chosen = ()
    values = ()
    for h in tl.static_range(H):
        latent = tl.load(latents + h)
        chosen = chosen + (latent,)
        values = values + (tl.load(z + latent.to(tl.int64) * n + rows, mask=rows < n, other=0.0),)
    return chosen, values


@triton.jit
def small_block_sums(
    z, centre, scale, peaks, latents, each_out, block_out, n, size, share, stretch,
    H: tl.constexpr, QUERIES: tl.constexpr, COMPONENTS: tl.constexpr, FUSED: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """For blocks of H latents (a grid axis): the sums of every latent's density, and of the block's, their product."""
    rows = tl.program_id(0) * QUERIES + tl.arange(0, QUERIES)
    block, split = tl.program_id(1), tl.program_id(2)
    chosen, values = queries_of(z, latents + block * H, n, rows, H)
    totals = ()
    for _ in tl.static_range(H + 1):
        totals = totals + (tl.zeros((QUERIES,), tl.float32),)
    last = tl.minimum((split + 1) * share, size)
    for start in range(split * share, last, stretch):
        sums = ()
        for _ in tl.static_range(H + 1):
            sums = sums + (tl.zeros((QUERIES, COMPONENTS), tl.float32),)
        for column in tl.range(start, tl.minimum(start + stretch, last), COMPONENTS, num_stages=STAGES):
            columns = column + tl.arange(0, COMPONENTS)
            product = tl.full((QUERIES, COMPONENTS), 1.0, tl.float32)
            added = ()
            for h in tl.static_range(H):
                centre_h, scale_h = component(centre, scale, chosen[h], size, columns)
                distance = distance_of(values[h], centre_h, scale_h, FUSED)
                density = tl.exp2(peak(peaks, chosen[h], size, columns)[None, :] - distance * distance)
                product = product * density
                added = added + (sums[h] + density,)
            sums = added + (sums[H] + product,)
        moved = ()
        for h in tl.static_range(H + 1):
            moved = moved + (totals[h] + tl.sum(sums[h], 1),)
        totals = moved
    written = split * tl.num_programs(1) + block
    for h in tl.static_range(H):
        tl.store(each_out + (written.to(tl.int64) * H + h) * n + rows, totals[h], mask=rows < n)
    if H > 1:
        tl.store(block_out + written.to(tl.int64) * n + rows, totals[H], mask=rows < n)


@triton.jit
def _exponents(
    z, centre, scale, peaks, latents, chosen, values, n, size, rows, columns, block,
    H: tl.constexpr, QUERIES: tl.constexpr, COMPONENTS: tl.constexpr, KEPT: tl.constexpr, FUSED: tl.constexpr,
):  # fmt: skip
    """log2 density of the block for every query and component; the queries in registers (`KEPT`) or read again."""
    squares = tl.zeros((QUERIES, COMPONENTS), tl.float32)
    if KEPT:
        for h in tl.static_range(H):
            centre_h, scale_h = component(centre, scale, chosen[h], size, columns)
            distance = distance_of(values[h], centre_h, scale_h, FUSED)
            squares += distance * distance
    else:
        for h in range(H):
            latent = tl.load(latents + h)
            value = tl.load(z + latent.to(tl.int64) * n + rows, mask=rows < n, other=0.0)
            centre_h, scale_h = component(centre, scale, latent, size, columns)
            distance = distance_of(value, centre_h, scale_h, FUSED)
            squares += distance * distance
    return peak(peaks, block, size, columns)[None, :] - squares


@triton.jit
def block_sums(
    z, centre, scale, peaks, latents, shift, out, n, size, share, stretch,
    H: tl.constexpr, QUERIES: tl.constexpr, COMPONENTS: tl.constexpr, KEPT: tl.constexpr, FUSED: tl.constexpr,
    STAGES: tl.constexpr,
):  # fmt: skip
    """For blocks of H latents: the sum of 2^(exponent - shift), the shift being that of the query's own component."""
    rows = tl.program_id(0) * QUERIES + tl.arange(0, QUERIES)
    block, split = tl.program_id(1), tl.program_id(2)
    latents += block * H
    chosen, values = queries_of(z, latents, n, rows, H if KEPT else 0)
    moved = tl.load(shift + block.to(tl.int64) * n + rows, mask=rows < n, other=0.0)
    total = tl.zeros((QUERIES,), tl.float32)
    last = tl.minimum((split + 1) * share, size)
    for start in range(split * share, last, stretch):
        sums = tl.zeros((QUERIES, COMPONENTS), tl.float32)
        for column in tl.range(start, tl.minimum(start + stretch, last), COMPONENTS, num_stages=STAGES):
            columns = column + tl.arange(0, COMPONENTS)
            exponents = _exponents(
                z, centre, scale, peaks, latents, chosen, values, n, size, rows, columns, block,
                H, QUERIES, COMPONENTS, KEPT, FUSED,
            )  # fmt: skip
            sums += tl.exp2(exponents - moved[:, None])
        total += tl.sum(sums, 1)
    written = split * tl.num_programs(1) + block
    tl.store(out + written.to(tl.int64) * n + rows, total, mask=rows < n)


@triton.jit
def small_block_gradients(
    z, mean, scale, peaks, latents, each_logs, each_weights, block_logs, block_weights, out, n, size, share,
    H: tl.constexpr, QUERIES: tl.constexpr, COMPONENTS: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """d sums / dz for blocks of H latents and all their latents together, as `small_block_sums` took them."""
    rows = tl.program_id(0) * QUERIES + tl.arange(0, QUERIES)
    inside = rows < n
    block, split = tl.program_id(1), tl.program_id(2)
    chosen, values = queries_of(z, latents + block * H, n, rows, H)
    logs = ()
    weights = ()
    pulls = ()
    # The block's share of a pair is the product of its latents' shares, times 2^(sum of their logs - its own).
    balance = -tl.load(block_logs + block.to(tl.int64) * n + rows, mask=inside, other=0.0)
    for h in tl.static_range(H):
        at = (block * H + h).to(tl.int64) * n + rows
        log_sum = tl.load(each_logs + at, mask=inside, other=0.0)
        logs = logs + (log_sum,)
        weights = weights + (tl.load(each_weights + at, mask=inside, other=0.0),)
        pulls = pulls + (tl.zeros((QUERIES, COMPONENTS), tl.float32),)
        balance += log_sum
    together = tl.load(block_weights + block.to(tl.int64) * n + rows, mask=inside, other=0.0)
    together *= tl.exp2(tl.minimum(balance, 100.0))
    for column in tl.range(split * share, tl.minimum((split + 1) * share, size), COMPONENTS, num_stages=STAGES):
        columns = column + tl.arange(0, COMPONENTS)
        product = tl.full((QUERIES, COMPONENTS), 1.0, tl.float32)
        parts = ()
        moves = ()
        for h in tl.static_range(H):
            mean_h, scale_h = component(mean, scale, chosen[h], size, columns)
            distance = distance_of(values[h], mean_h, scale_h, False)
            peak_h = peak(peaks, chosen[h], size, columns)
            part = tl.exp2((peak_h[None, :] - logs[h][:, None]) - distance * distance)
            product = product * part
            parts = parts + (part,)
            moves = moves + (distance * scale_h[None, :],)
        added = ()
        for h in tl.static_range(H):
            part = weights[h][:, None] * parts[h]
            if H > 1:
                part += together[:, None] * product
            added = added + (pulls[h] + part * moves[h],)
        pulls = added
    for h in tl.static_range(H):
        written = (split * tl.num_programs(1) + block) * H + h
        tl.store(out + written.to(tl.int64) * n + rows, -2.0 * tl.sum(pulls[h], 1), mask=inside)


@triton.jit
def query_gradients(
    z, mean, scale, peaks, latents, logs, weights, out, n, size, share,
    H: tl.constexpr, QUERIES: tl.constexpr, COMPONENTS: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """d sum / dz of blocks of H latents: -2 sum_j share_ij distance_ij 2^log_scale_j for each latent."""
    rows = tl.program_id(0) * QUERIES + tl.arange(0, QUERIES)
    inside = rows < n
    block, split = tl.program_id(1), tl.program_id(2)
    chosen, values = queries_of(z, latents + block * H, n, rows, H)
    log_sum = tl.load(logs + block.to(tl.int64) * n + rows, mask=inside, other=float("inf"))
    pulls = ()
    for _ in tl.static_range(H):
        pulls = pulls + (tl.zeros((QUERIES, COMPONENTS), tl.float32),)
    for column in tl.range(split * share, tl.minimum((split + 1) * share, size), COMPONENTS, num_stages=STAGES):
        columns = column + tl.arange(0, COMPONENTS)
        squares = tl.zeros((QUERIES, COMPONENTS), tl.float32)
        distances = ()
        scales = ()
        for h in tl.static_range(H):
            mean_h, scale_h = component(mean, scale, chosen[h], size, columns)
            distance = distance_of(values[h], mean_h, scale_h, False)
            squares += distance * distance
            distances = distances + (distance,)
            scales = scales + (scale_h,)
        part = tl.exp2((peak(peaks, block, size, columns)[None, :] - log_sum[:, None]) - squares)
        added = ()
        for h in tl.static_range(H):
            added = added + (pulls[h] + part * (distances[h] * scales[h][None, :]),)
        pulls = added
    weight = -2.0 * tl.load(weights + block.to(tl.int64) * n + rows, mask=inside, other=0.0)
    for h in tl.static_range(H):
        written = (split * tl.num_programs(1) + block) * H + h
        tl.store(out + written.to(tl.int64) * n + rows, weight * tl.sum(pulls[h], 1), mask=inside)


@triton.jit
def query_gradients_one_by_one(
    z, mean, scale, peaks, latents, logs, weights, out, n, size, share,
    H: tl.constexpr, QUERIES: tl.constexpr, COMPONENTS: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """The same for blocks too large for registers: a program for each latent, the exponents taken again."""
    rows = tl.program_id(0) * QUERIES + tl.arange(0, QUERIES)
    inside = rows < n
    block, split = tl.program_id(1) // H, tl.program_id(2)
    latent = tl.load(latents + tl.program_id(1))
    value = tl.load(z + latent.to(tl.int64) * n + rows, mask=inside, other=0.0)
    log_sum = tl.load(logs + block.to(tl.int64) * n + rows, mask=inside, other=float("inf"))
    pull = tl.zeros((QUERIES, COMPONENTS), tl.float32)
    for column in tl.range(split * share, tl.minimum((split + 1) * share, size), COMPONENTS, num_stages=STAGES):
        columns = column + tl.arange(0, COMPONENTS)
        exponents = _exponents(
            z, mean, scale, peaks, latents + block * H, (), (), n, size, rows, columns, block,
            H, QUERIES, COMPONENTS, False, False,
        )  # fmt: skip
        mean_k, scale_k = component(mean, scale, latent, size, columns)
        move = distance_of(value, mean_k, scale_k, False) * scale_k[None, :]
        pull += tl.exp2(exponents - log_sum[:, None]) * move
    weight = -2.0 * tl.load(weights + block.to(tl.int64) * n + rows, mask=inside, other=0.0)
    written = split * tl.num_programs(1) + tl.program_id(1)
    tl.store(out + written.to(tl.int64) * n + rows, weight * tl.sum(pull, 1), mask=inside)


@triton.jit
def component_gradients(
    z, mean, scale, peaks, latents, logs, weights, mean_out, scale_out, n, size, share,
    H: tl.constexpr, QUERIES: tl.constexpr, COMPONENTS: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """d sum / d mean_j and d log_scale_j of one latent of a block at a time, over a share of the queries."""
    columns = tl.program_id(0) * COMPONENTS + tl.arange(0, COMPONENTS)
    block, position, split = tl.program_id(1) // H, tl.program_id(1) % H, tl.program_id(2)
    latents += block * H
    latent = tl.load(latents + position)
    mean_k, scale_k = component(mean, scale, latent, size, columns)
    pull_sum = tl.zeros((QUERIES, COMPONENTS), tl.float32)
    widen_sum = tl.zeros((QUERIES, COMPONENTS), tl.float32)
    for row in tl.range(split * share, tl.minimum((split + 1) * share, n), QUERIES, num_stages=STAGES):
        rows = row + tl.arange(0, QUERIES)
        at = block.to(tl.int64) * n + rows
        log_sum = tl.load(logs + at, mask=rows < n, other=float("inf"))
        weight = tl.load(weights + at, mask=rows < n, other=0.0)
        exponents = _exponents(
            z, mean, scale, peaks, latents, (), (), n, size, rows, columns, block,
            H, QUERIES, COMPONENTS, False, False,
        )  # fmt: skip
        part = weight[:, None] * tl.exp2(exponents - log_sum[:, None])
        value = tl.load(z + latent.to(tl.int64) * n + rows, mask=rows < n, other=0.0)
        distance = distance_of(value, mean_k, scale_k, False)
        pull_sum += part * distance
        widen_sum += part * (1.0 - 1.3862943611198906 * distance * distance)
    written = split * tl.num_programs(1) + tl.program_id(1)
    at = written.to(tl.int64) * size + columns
    tl.store(mean_out + at, 2.0 * scale_k * tl.sum(pull_sum, 0), mask=columns < size)
    tl.store(scale_out + at, tl.sum(widen_sum, 0), mask=columns < size)
