"""The two halves of the ELBO, in nats per observation."""

from torch import Tensor

from partita.trace import Trace


def reconstruction(trace: Trace) -> dict[str, Tensor]:
    """recon = -E[log p(x|z)], one draw of z an observation."""
    return {"recon": -trace.px.log_prob(trace.batch.x).mean()}


def kl(trace: Trace) -> dict[str, Tensor]:
    """kl = E_n KL(q(z|n) || p(z)), in closed form where the prior has one, else from the sample."""
    return {"kl": trace.prior.kl(trace.q, trace.z).mean()}


def conditional_tc(trace: Trace) -> dict[str, Tensor]:
    """conditional_tc = E_n KL(q(z|n) || prod_k q(z_k|n)): what correlation between the latents given x adds to the KL.
    0 for a diagonal posterior, the constant c = -1/2 log det R for equicorrelated noise (docs/glossary.md)."""
    return {"conditional_tc": trace.q.conditional_tc.mean()}


def capacity_gap(trace: Trace) -> dict[str, Tensor]:
    """|KL - C| of Burgess et al. 2018, with C the knob `capacity`, and the KL itself."""
    value = kl(trace)["kl"]
    return {"capacity_gap": (value - trace.knobs["capacity"]).abs(), "kl": value}
