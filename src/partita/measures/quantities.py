"""What measures return, in the words of print: one table for equations, curves, pages and terminals."""

from dataclasses import dataclass

NATS, AS_LOGGED = "nats per observation", "value as logged"
HELD_OUT, LOSS, PRIOR_KL = "held_out_", "_loss", "prior_kl_"


@dataclass(frozen=True)
class Quantity:
    """A number that is logged in training: its symbol in equations, a label for figures, its unit."""

    name: str
    symbol: str
    label: str
    unit: str = NATS


QUANTITIES: dict[str, Quantity] = {
    each.name: each
    for each in (
        Quantity("loss", "L", "objective (loss)"),
        Quantity("recon", "-E[log p(x|z)]", "reconstruction, −E[log p(x|z)]"),
        Quantity("kl", "KL(q(z|x) || p(z))", "KL(q(z|x) ‖ p(z))"),
        Quantity("capacity_gap", "|KL - C|", "distance to the capacity, |KL − C|"),
        Quantity("controlled_kl", "beta_t * KL(q(z|x) || p(z))", "KL times the controller's weight"),
        Quantity("beta", "beta_t", "the controller's weight of the KL", "weight"),
        Quantity("mi", "I(z;n)", "mutual information I(z;n)"),
        Quantity("tc", "TC(z)", "total correlation TC"),
        Quantity("pc", "PC(z)", "partial correlation PC, between groups"),
        Quantity("within_tc", "sum_g TC(z_g)", "total correlation inside groups"),
        Quantity("conditional_tc", "E[TC(z|x)]", "total correlation inside posteriors"),
        Quantity(
            "posterior_variance", "sum_k E_n[var(z_k|n)]", "posterior variance, summed over latents",
            "mean over observations",
        ),
        Quantity(
            "off_diagonal", "sum_{i!=j} C_ij^2", "squared covariances between latents", "mean over observations"
        ),
        Quantity("diagonal", "sum_i (C_ii - 1)^2", "squared distance of variances to 1", "mean over observations"),
        Quantity(
            "cross_entropy", "-1/2 E[log D(z)] - 1/2 E[log(1 - D(permuted z))]", "cross-entropy of the discriminator"
        ),
        Quantity("conditional_kl", "KL(q(z|x,u) || p(z|u))", "KL(q(z|x,u) ‖ p(z|u))"),
        Quantity("label_recon", "-E[log p(u|z)]", "reconstruction of labels, −E[log p(u|z)]"),
        Quantity("prior_kl", "KL(p(z|u) || N(0, I))", "KL(p(z|u) ‖ N(0, I))"),
        Quantity("supervised", "sum_j BCE(sigmoid(mean_j), u_j)", "cross-entropy of labels and means"),
        Quantity("predictor_nll", "-log q(u|x)", "label predictor, −log q(u|x)"),
        Quantity("label_entropy", "H(q(u|x))", "entropy of predicted labels, H(q(u|x))"),
        Quantity("mean_recon", "-log p(x|mean)", "reconstruction without noise, −log p(x|mean)"),
        Quantity("weight_norm", "||W||^2", "squared weights, summed", "sum over weights"),
        Quantity(
            "disintegration", "sum_j [sum_i r_ij^2 - max_i r_ij^2]", "factors that live in several latents",
            "sum of squared correlations",
        ),
        Quantity("persuasion", "-log D(G(z))", "generator, −log D(G(z))"),
        Quantity("criticism", "-log D(x) - log(1 - D(G(z)))", "surprise of the critic"),
        Quantity("code_nll", "-log Q(z|G(z))", "codes read off, −log Q(z|G(z))"),
        Quantity("category_nll", "-log Q(c|G(z))", "categories read off, −log Q(c|G(z))"),
    )
}  # fmt: skip


def quantity(name: str) -> Quantity:
    """The row of this name; one that nobody entered speaks for itself.

    Rows that are made from others have none of their own: "held_out_kl", "discriminator_loss", "prior_kl_2".

    Parameters
    ----------
    name : as it is logged.

    Returns
    -------
    Quantity

    Examples
    --------
    >>> quantity("held_out_recon").label
    'held-out reconstruction, −E[log p(x|z)]'
    >>> quantity("my_penalty")
    Quantity(name='my_penalty', symbol='my penalty', label='my penalty', unit='value as logged')
    """
    if name in QUANTITIES:
        return QUANTITIES[name]
    if name.startswith(HELD_OUT):
        held = quantity(name.removeprefix(HELD_OUT))
        return Quantity(name, held.symbol, f"held-out {held.label}", held.unit)
    words = name.replace("_", " ")
    if name.endswith(LOSS):
        return Quantity(name, words, f"objective of the {words.removesuffix(' loss')} (loss)")
    if name.startswith(PRIOR_KL):
        latent = name.removeprefix(PRIOR_KL)
        return Quantity(name, f"KL(p(z_{latent}|u) || N(0, 1))", f"KL(p(z{latent}|u) ‖ N(0, 1))")
    return Quantity(name, words, words, AS_LOGGED)


def in_order(names: set[str]) -> list[str]:
    """Those of the table in its order, then the others by name."""
    return [name for name in QUANTITIES if name in names] + sorted(names - QUANTITIES.keys())
