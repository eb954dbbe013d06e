"""A weight that is no number but a controller: it remembers how far the KL was from where it should be."""

from dataclasses import dataclass
from typing import ClassVar

import torch

from partita.distributions import as_groups
from partita.measures.elbo import kl, reconstruction
from partita.recipes.recipe import Recipe, nonnegative, one_player
from partita.trace import Carry, Trace


@dataclass(frozen=True)
class ControlledKL:
    """beta KL: beta = kp / (1 + exp(e)) + I in [0, most], e = set_point - KL; I falls by ki e where beta was inside."""

    carries: ClassVar = {"control": Carry((0.0, 0.0))}  # I and beta after the last step

    def __call__(self, trace: Trace):
        value, knobs, (total, last) = kl(trace)["kl"], trace.knobs, trace.batch.carry["control"].unbind(-1)
        error = knobs["set_point"] - value.detach()
        total = torch.where((last >= 0) & (last <= knobs["most"]), total - knobs["ki"] * error, total)
        beta = knobs["kp"] * torch.sigmoid(-error) + total
        weight, carried = torch.minimum(beta.clamp(min=0), knobs["most"]), torch.stack([total, beta], -1)
        return {"controlled_kl": weight * value, "kl": value, "beta": weight}, {"control": carried}


def control_vae(*, set_point: float = 10.0, kp=0.01, ki=1e-3, most=100.0, latents: int = 6, **architecture) -> Recipe:
    """ControlVAE (Shao et al. 2020): a PI controller sets the KL's weight so that the KL stays at `set_point` nats.

    Use it to say how many nats a code may carry, whatever weight that takes. It cannot say which.

    Defaults: kp is the paper's; ki is ours, ten times the paper's, for thousands of steps instead of a million."""
    nonnegative(set_point=set_point, kp=kp, ki=ki, most=most)
    knobs = {"set_point": set_point, "kp": kp, "ki": ki, "most": most}
    measures, weights = (reconstruction, ControlledKL()), {"recon": 1, "controlled_kl": 1}
    return one_player(measures, weights, groups=as_groups(None, latents), knobs=knobs, latents=latents, **architecture)
