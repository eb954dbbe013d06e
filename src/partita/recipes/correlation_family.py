"""Methods that split the KL and weigh its parts: mi, pc, within_tc and dim_kl (docs/glossary.md, Methods as weights).

Two meanings of beta live here. **Total**: beta is the whole weight on the term, 1 is the VAE (beta_tcvae, hfvae,
beta_stcvae). **Extra**: beta comes on top of the ELBO's own weight 1, 0 is the VAE (pdisvae). total = 1 + extra.
In each the KL enters in closed form with weight 1 and a part only with what its weight differs from 1.

The parts are estimated from the batch by one of `measures.weights.WEIGHTS`, or `by="bank"` ("bank:4096") from the batch
and the posteriors of 1024 (4096) other points as they were last seen, which costs as many densities more.
"""

from dataclasses import replace

from partita.distributions import as_groups
from partita.measures.elbo import kl, reconstruction
from partita.measures.parts import Parts
from partita.measures.weights import WEIGHTS, check_weights
from partita.recipes.recipe import Ramp, Recipe, nonnegative, one_player, value_at, whole

# Posteriors of other points a step: eight batches' worth.
IN_A_BANK = 1024
# Of its weight, what an annealed regulariser starts with.
FIRST_SHARE = 0.1


def beta_tcvae(
    *, beta: float = 6.0, by: str = "importance", tc_density: str = "exact", latents: int = 6, **architecture
) -> Recipe:
    """beta-TCVAE (Chen et al. 2018): total correlation with weight beta.

    `beta` is the **total** weight on TC: 1 is the VAE. The KL is in closed form, TC from the sample by the estimator
    `by`. With a posterior that is not diagonal, `tc_density="factorised"` takes TC from the product of single-latent
    densities, as code does that was written for diagonal ones; "exact" is the joint density.

    Use it when every latent is to be independent of every other, and as the baseline of every method with
    groups. It cannot respect groups: what belongs together but depends on each other is pulled apart. Choose
    groups of its latents afterwards with `structure.discover_groups` or `best_grouping`.

    Defaults: beta 6 is the public code's for dSprites.
    """
    nonnegative(beta=beta)
    groups = as_groups(None, latents)
    return _parts({"tc": beta - 1}, groups, by, latents, architecture, tc_density)


def hfvae(
    *,
    groups=None,
    alpha: float = 1.0,
    beta: float = 5.0,
    gamma: float = 1.0,
    by: str = "importance",
    latents: int = 6,
    **architecture,
) -> Recipe:
    """HFVAE (Esmaeili et al. 2019): weights alpha on mutual information, beta between groups, gamma within groups.

    All three are **total** weights: (1, 1, 1) is the VAE. The KL is in closed form, the parts from the sample by `by`.

    Use it when dependence between groups and inside groups should be weighed apart. It cannot find the groups:
    they are given, and with a random start it has the local optima of PDisVAE.

    Defaults: beta 5 between groups matches PDisVAE's extra weight 4; alpha and gamma 1 are the ELBO's own.
    """
    nonnegative(alpha=alpha, beta=beta, gamma=gamma)
    weights = {"mi": alpha - 1, "pc": beta - 1, "within_tc": gamma - 1}
    return _parts(weights, as_groups(groups, latents), by, latents, architecture)


def pdisvae(
    *,
    groups=None,
    beta: float = 4.0,
    by: str = "importance",
    anneal: int = 0,
    latents: int = 6,
    **architecture,
) -> Recipe:
    """PDisVAE (eq. 3): ELBO - beta * PC, with PC = KL(q(z) || prod_g q(z_g)) between the groups.

    `beta` is the **extra** weight on PC: 0 is the VAE, and the total weight is 1 + beta. Inside a group the latents
    may depend on each other as the ELBO allows. Any partition: unequal sizes, any indices. The KL is in closed form, PC
    from the sample by the estimator `by`; "bank" also looks at the posteriors of 1024 other points, as last seen.

    With groups fixed from a random start most runs end in a local optimum that mixes groups. `restarts` above 1 finds
    the groups without labels: that many models train at once, half of the steps with every latent alone, then
    regrouped by the smallest PC, every second one after linear ICA of its latents; the lowest loss is kept
    (`recipes.restarts`).

    `start="unmixed"` finds the groups of rows of numbers before training, and trains one model from there: principal
    coordinates are unmixed by ICA, grouped and, where they are bent, unbent (`recipes.unmixed`).

    With `anneal`, KL + beta * PC has a tenth of its weight at first and all of it from that step on. A code that may
    say little from the start says it cheaply: big things far out, small ones near the middle, size mixed with place.
    From there training seldom comes back; where the code is rich at first, latents more often become plain coordinates.

    `groups="auto"` finds number and sizes of the groups, too: after half of the steps with every latent alone, latents
    that `structure.discover_groups` shows to be dependent are merged, and training goes on with these groups
    (`recipes.auto_groups`).

    Use it when some factors belong together: a place of two coordinates, a colour, a pose. It cannot tell which
    of several flexible encodings is meant: with a nonlinear encoder dependent coordinates can be bent until
    they are independent, so look at the alignment of several seeds.

    Defaults: beta 4 and fixed groups are the paper's; restarts and anneal are ours.
    """
    nonnegative(beta=beta)
    whole(least=0, anneal=anneal)
    return _annealed(_parts({"pc": beta}, as_groups(groups, latents), by, latents, architecture), anneal)


def beta_stcvae(
    *, grouping: int = 2, beta: float = 6.0, by: str = "importance", latents: int = 6, **architecture
) -> Recipe:
    """beta-STCVAE (eq. 7): weight beta between consecutive groups of `grouping` latents, none within them.

    `beta` is the **total** weight on PC. The within-group TC, which the ELBO penalises with weight 1, is added back,
    so beta = 1 is not the VAE unless grouping = 1. The last group is smaller when `grouping` does not divide the
    number of latents. The KL is in closed form, PC and within-group TC from the sample by `by`.

    Use it to ask how much grouping the data want: sweep `grouping` at a fixed number of latents and look at the
    ELBO (`structure` has the V-shaped analysis). It cannot take groups of different sizes, except a smaller
    last one.

    Defaults: grouping 2 is ours; beta 6 as for beta_tcvae.
    """
    nonnegative(beta=beta)
    if not 1 <= grouping <= latents:
        raise ValueError(f"grouping must be between 1 and the {latents} latents, got {grouping}")
    full, rest = divmod(latents, grouping)
    groups = as_groups((grouping,) * full + ((rest,) if rest else ()), latents)
    return _parts({"pc": beta - 1, "within_tc": -1}, groups, by, latents, architecture)


def _parts(weights: dict, groups, by: str, latents: int, architecture: dict, density: str = "exact") -> Recipe:
    by, bank = _estimator(by, architecture)
    measures = (reconstruction, kl, Parts(groups, by, tuple(weights), density, bank))
    return one_player(measures, {"recon": 1, "kl": 1, **weights}, groups=groups, latents=latents, **architecture)


def _annealed(recipe: Recipe, steps: int) -> Recipe:
    """The recipe whose regulariser, all but the reconstruction, comes in over the first `steps` steps."""
    if not steps:
        return recipe
    player = recipe.players[0]
    whole = {name: value_at(weight, 0) for name, weight in player.weights.items()}
    coming = {name: Ramp(FIRST_SHARE * weight, weight, steps) for name, weight in whole.items() if name != "recon"}
    return replace(recipe, players=(replace(player, weights={**whole, **coming}),))


def _estimator(by: str, architecture: dict) -> tuple[str, int]:
    """The name of the estimator, and how many posteriors of a bank it takes: "bank" or "bank:4096"."""
    if not isinstance(by, str):
        raise ValueError(f"by must be the name of an estimator, got {by!r}")
    name, colon, count = by.partition(":")
    if name != "bank":
        if by not in WEIGHTS:
            raise ValueError(f"unknown estimator {by!r}: choose from {', '.join(WEIGHTS)}, bank")
        check_weights(by, 2, 2)
        return by, 0
    if architecture.get("posterior", "diagonal") != "diagonal":
        raise ValueError(f'by="bank" needs posterior="diagonal", got {architecture["posterior"]!r}')
    if colon and not (count.isdecimal() and int(count)):
        raise ValueError(f'by="bank:{count}": the number of posteriors must be a whole number of at least 1')
    return name, int(count) if count else IN_A_BANK
