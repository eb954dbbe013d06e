"""Methods that use labels u: a prior p(z|u) makes the latents identifiable, or labels name them (docs/glossary.md).

Labels lie between 0 and 1. The encoders of iVAE and IDVAE see u; a `predictor` q(u|x) is trained beside them on the
same labels, so that codes of observations without labels exist too. It owns its network and moves nothing else.
"""

from collections.abc import Mapping
from dataclasses import replace

from partita.distributions import as_groups
from partita.measures.elbo import kl, reconstruction
from partita.measures.labels import (
    conditional_kl,
    label_entropy,
    label_reconstruction,
    predictor_nll,
    prior_kl,
    supervised,
)
from partita.networks import Encoder, Factory
from partita.networks.labels import ConditionalPrior, LabelDecoder, LabelPredictor
from partita.recipes.recipe import Adam, Player, Recipe, nonnegative, one_player, positive
from partita.trace import WakeWithLabels

COLLAPSED = 0.01
X_PART = (reconstruction, conditional_kl)
U_PART = (label_reconstruction, prior_kl)
U_WEIGHTS = {"label_recon": 1, "prior_kl": 1}
PREDICTION = Player(("predictor",), (predictor_nll,), {"predictor_nll": 1})


def full_vae(*, beta: float = 1.0, gamma_sup: float = 64.0, latents: int = 6, **architecture) -> Recipe:
    """FullVAE (eq. 8): beta-VAE with label j read off latent j, sum_j BCE(sigmoid(mean_j), u_j) with weight gamma_sup.

    `beta` is the **total** weight on the KL. Labels come first: latent j is tied to label j, latents beyond them are
    free. Rows without labels count in the ELBO alone. `gamma_sup` = 0 is the beta-VAE; the paper's strengths are for
    sums over batches of 64, so its 1 is our 64. KL in closed form.

    Use it when labels name the factors and each should have its own latent. It cannot use more labels than
    latents, and says nothing about factors without a label.

    Defaults: gamma_sup 64 is the paper's 1 in our units (a mean, not a sum over a batch of 64).
    """
    nonnegative(beta=beta, gamma_sup=gamma_sup)
    labels = architecture.get("labels", 0)
    if labels > latents:
        raise ValueError(f"full_vae ties each label to a latent: {labels} labels need as many latents, got {latents}")
    recipe = one_player(
        (reconstruction, kl, supervised),
        {"recon": 1, "kl": beta, "supervised": gamma_sup},
        groups=as_groups(None, latents),
        latents=latents,
        **architecture,
    )
    return replace(recipe, labels="some")


def ivae(
    *, beta: float = 1.0, prior_width: int = 1000, prior_depth: int = 3, latents: int = 6, **architecture
) -> Recipe:
    """iVAE (eq. 10; Khemakhem et al. 2020): the KL goes to a prior p(z|u) whose networks are learned through that KL.

    `beta` is the **total** weight on the KL. Prior mean and variance both depend on u. `prior_width`, `prior_depth`:
    its hidden layers. KL in closed form.

    Use it with labels that change the distribution of the latents (conditions, sessions, classes): then the
    latents are identifiable up to simple maps. It cannot encode a new row without labels except by guessing
    them first, and too few distinct labels identify nothing.

    Defaults: beta 1, width 1000 and depth 3 are those of the IDVAE paper's release. In the ELBO labels are uniform a
    priori, and KL(q(u|x) || p(u)) is paid for.
    """
    nonnegative(beta=beta)
    recipe = _with_prior(
        X_PART, {"recon": 1, "conditional_kl": beta}, (prior_width, prior_depth), latents, architecture
    )
    model = recipe.players[0]
    model = replace(model, owns=("encoder", "decoder", "prior"), measures=(*model.measures, prior_kl))
    return replace(recipe, players=(model, _at_rate_of(model, PREDICTION)))


def idvae(
    *,
    beta: float = 1.0,
    u_decoder_var: float = 0.01,
    conditional_prior: str = "isolated",
    prior_width: int = 1000,
    prior_depth: int = 3,
    latents: int = 6,
    **architecture,
) -> Recipe:
    """IDVAE (eq. 17): iVAE whose prior q(z|u) is learned from the labels alone, by a VAE of u.

    `beta` is the **total** weight on the KL to that prior. `conditional_prior="isolated"`: the KL moves encoder and
    decoder, never the prior; "joint" lets it move the prior too. `u_decoder_var` is the variance of p(u|z): labels of a
    variance below it are ignored and the prior collapses to N(0, I), which is warned of. KL in closed form.

    Use it as ivae when the prior should follow the labels and not the encoder. It cannot use labels that hardly
    vary: below `u_decoder_var` they count as noise.

    Defaults: width 1000, depth 3 and the isolated prior are the paper's. It does not give u_decoder_var; 0.01 is ours,
    about 1 nat a label of [0, 1]. Its release has 0.5, more than any such label varies: the prior then collapses.
    """
    recipe = _idvae(beta, u_decoder_var, (prior_width, prior_depth), latents, architecture)
    model, prior = recipe.players
    if conditional_prior == "joint":
        weights = {**model.weights, **U_WEIGHTS}
        players = (replace(model, owns=model.owns + prior.owns, measures=X_PART + U_PART, weights=weights),)
    elif conditional_prior == "isolated":
        players = (model, prior)
    else:
        raise ValueError(f"conditional_prior must be 'isolated' or 'joint', got {conditional_prior!r}")
    return replace(recipe, players=(*players, _at_rate_of(model, PREDICTION)))


def ss_ivae(
    *,
    beta: float = 1.0,
    alpha: float = 1.0,
    prior_width: int = 1000,
    prior_depth: int = 3,
    latents: int = 6,
    **architecture,
) -> Recipe:
    """Semi-supervised iVAE (eqs. 21-23): rows without labels take them from q(u|x), whose entropy joins the bound.

    `beta` is the **total** weight on the KL, `alpha` that of log q(u|x) over labelled rows (the paper's release: 0.1 on
    another loss). A priori labels are taken to be uniform. Any share of rows may be labelled. KL in closed form, the
    expectation over q(u|x) from one draw.

    Use it when only some rows have labels; NaN marks the others. It cannot rescue a handful of labels: what
    q(u|x) guesses wrong goes into the prior.

    Defaults: alpha 1 is the bound's own; the paper's release has 0.1 on another loss.
    """
    recipe = ivae(beta=beta, prior_width=prior_width, prior_depth=prior_depth, latents=latents, **architecture)
    return _semi_supervised(recipe, recipe.players[0], (), alpha)


def ss_idvae(
    *,
    beta: float = 1.0,
    alpha: float = 1.0,
    u_decoder_var: float = 0.01,
    prior_width: int = 1000,
    prior_depth: int = 3,
    latents: int = 6,
    **architecture,
) -> Recipe:
    """Semi-supervised IDVAE (eqs. 21-23): rows without labels take them from q(u|x), whose entropy is added to the
    bound (the paper's sign is wrong).

    `beta` is the **total** weight on the KL, `alpha` that of log q(u|x) over labelled rows (the paper's release: 0.1 on
    another loss); `u_decoder_var` as in idvae. Any share of rows may be labelled. KL in closed form, the expectation
    over q(u|x) from one draw.

    Use it when only some rows have labels and the prior should follow them alone. It cannot rescue a handful of
    labels: what q(u|x) guesses wrong goes into the prior.

    Defaults: as for ss_ivae and idvae.
    """
    recipe = _idvae(beta, u_decoder_var, (prior_width, prior_depth), latents, architecture)
    model, prior = recipe.players
    # The labels' own bound is a function of drawn labels, so the predictor must see it; encoder and decoder do not.
    model = replace(model, measures=(*model.measures, *U_PART), weights={**model.weights, **U_WEIGHTS})
    return _semi_supervised(recipe, model, (prior,), alpha)


def collapse(last: Mapping[str, float]) -> str | None:
    """Says so when the conditional prior has become N(0, I), whatever the labels."""
    shares = [value for name, value in last.items() if name.startswith("prior_kl_")]
    if shares and max(shares) < COLLAPSED:
        return (
            f"the conditional prior has collapsed to N(0, I): its KL is at most {max(shares):.2g} nats in any latent; "
            "labels say nothing about z; train longer, or lower u_decoder_var far below the labels' variance"
        )
    return None


def _with_prior(measures, weights, size: tuple[int, int], latents: int, architecture: dict) -> Recipe:
    """An encoder that sees labels, a decoder, the network p(z|u) and the predictor q(u|x); one player, so far."""
    width, depth = size
    positive(prior_width=width, prior_depth=depth)
    recipe = one_player(measures, weights, groups=as_groups(None, latents), latents=latents, **architecture)
    house = recipe.architecture
    options = (("width", width), ("depth", depth))
    return replace(
        recipe,
        networks={
            "encoder": Factory(Encoder, house, (("sees_labels", True),)),
            "decoder": recipe.networks["decoder"],
            "prior": Factory(ConditionalPrior, house, options),
            "predictor": Factory(LabelPredictor, house),
        },
        trace=WakeWithLabels(house.labels),
        labels="all",
        players=(replace(recipe.players[0], concern=collapse),),
    )


def _idvae(beta, u_decoder_var, size: tuple[int, int], latents: int, architecture: dict) -> Recipe:
    nonnegative(beta=beta)
    positive(u_decoder_var=u_decoder_var)
    recipe = _with_prior(X_PART, {"recon": 1, "conditional_kl": beta}, size, latents, architecture)
    rate = recipe.players[0].optimiser.learning_rate
    prior = recipe.networks["prior"]
    return replace(
        recipe,
        networks={**recipe.networks, "label_decoder": Factory(LabelDecoder, prior.architecture, prior.options)},
        players=(*recipe.players, Player(("prior", "label_decoder"), U_PART, U_WEIGHTS, Adam(rate, (0.5, 0.9)))),
        noise={**recipe.noise, "prior": latents},
        knobs={"u_decoder_var": u_decoder_var},
    )


def _semi_supervised(recipe: Recipe, model: Player, others: tuple[Player, ...], alpha) -> Recipe:
    nonnegative(alpha=alpha)
    labels = recipe.architecture.labels
    model = replace(
        model,
        owns=(*model.owns, "predictor"),
        measures=(*model.measures, predictor_nll, label_entropy),
        weights={**model.weights, "predictor_nll": alpha, "label_entropy": -1},
    )
    return replace(
        recipe,
        players=(model, *others),
        noise={**recipe.noise, "u": labels},
        trace=WakeWithLabels(labels, imputed=True),
        labels="some",
    )


def _at_rate_of(model: Player, other: Player) -> Player:
    return replace(other, optimiser=replace(other.optimiser, learning_rate=model.optimiser.learning_rate))
