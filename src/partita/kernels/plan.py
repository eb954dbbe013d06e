"""How the Triton kernels share out the work: which kernel sums which block, and how many programs share an axis."""

from collections.abc import Sequence
from dataclasses import dataclass

Block = tuple[int, ...]

# A small block's density is the product of its latents', whose sums come along at no cost.
SMALL = 4
# Programs that keep a large GPU busy, and the fewest components worth a program.
PROGRAMS, LEAST = 4224, 512


@dataclass(frozen=True)
class Plan:
    """`small`: blocks summed with their latents, by size; `direct`: blocks with exponents of their own, by size."""

    small: dict[int, list[Block]]
    direct: dict[int, list[Block]]


def plan(blocks: Sequence[Block], room: Sequence[bool]) -> Plan:
    """Which kernel takes which block; `room` says where a product of densities stays in range."""
    asked = dict(zip(blocks, room))
    small: dict[int, list[Block]] = {}
    covered: set[int] = set()
    for block, fits in asked.items():
        wanted = all((k,) in asked for k in block) and covered.isdisjoint(block)
        if 1 < len(block) <= SMALL and fits and wanted:
            small.setdefault(len(block), []).append(block)
            covered.update(block)
    small.setdefault(1, []).extend(block for block in asked if len(block) == 1 and block[0] not in covered)
    direct: dict[int, list[Block]] = {}
    for block in asked:
        if len(block) > 1 and block not in small.get(len(block), []):
            direct.setdefault(len(block), []).append(block)
    return Plan({h: found for h, found in small.items() if found}, direct)


def shares(length: int, programs: int, tile: int) -> tuple[int, int]:
    """(splits, share): into how many shares, of whole tiles, an axis of `length` is cut so that enough programs run."""
    splits = max(1, min(-(-PROGRAMS // programs), length // LEAST))
    share = -(-length // (splits * tile)) * tile
    return -(-length // share), share
