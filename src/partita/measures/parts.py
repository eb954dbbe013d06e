"""The KL term split along a partition of the latents, as penalties for training."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from partita.distributions import Groups
from partita.measures.aggregate import aggregate, aggregate_with_bank
from partita.trace import Carry, Trace


@dataclass(frozen=True)
class Parts:
    """Estimates of mi, tc, pc and within_tc on the batch, by the estimator `by` (docs/glossary.md, Estimators).

    Only the quantities asked for are computed: pc alone needs no single-latent densities, which are the dear ones.
    `density="factorised"` takes the product of single-latent densities for a block's, as if the latents were
    independent given x: what code written for diagonal posteriors does with any other (docs/glossary.md).
    `by="bank"` sums over posteriors of `bank` points beyond the batch, too (`aggregate_with_bank`): means and
    log-variances as they were when last in one, which it carries from step to step.
    """

    groups: Groups
    by: str
    quantities: tuple[str, ...]
    density: str = "exact"
    bank: int = 0

    def __post_init__(self):
        if self.density not in ("exact", "factorised"):
            raise ValueError(f"tc_density must be 'exact' or 'factorised', got {self.density!r}")

    @property
    def carries(self) -> Mapping[str, Carry]:
        latents = sum(map(len, self.groups))
        return {"bank": Carry((0.0,) * latents + (math.inf,) * latents, self.bank)} if self.bank else {}

    def __call__(self, trace: Trace):
        latents = trace.z.shape[-1]
        joint = (tuple(range(latents)),)
        singles = tuple((k,) for k in range(latents))
        blocks = {
            "mi": joint,
            "pc": joint + self.groups,
            "tc": joint + singles,
            "within_tc": self.groups + singles,
        }
        wanted = tuple(dict.fromkeys(block for name in self.quantities for block in blocks[name]))
        q = (trace.q if self.density == "exact" else trace.q.marginals).resolved
        if self.by == "bank":
            logs = aggregate_with_bank(q.marginals, trace.z, wanted, trace.batch.carry["bank"], size=trace.batch.size)
        else:
            logs = aggregate(q, trace.z, wanted, by=self.by, size=trace.batch.size)

        def log_q(partition: Groups) -> Tensor:
            return sum(
                (logs[..., wanted.index(block)] for block in partition[1:]), logs[..., wanted.index(partition[0])]
            )

        values = {
            "mi": lambda: q.log_prob(trace.z) - log_q(joint),
            "pc": lambda: log_q(joint) - log_q(self.groups),
            "tc": lambda: log_q(joint) - log_q(singles),
            "within_tc": lambda: log_q(self.groups) - log_q(singles),
        }
        quantities = {name: values[name]().mean() for name in self.quantities}
        if not self.bank:
            return quantities
        return quantities, {"bank": torch.cat([q.mean, q.log_variance], -1).detach()}
