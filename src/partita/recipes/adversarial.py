"""InfoGAN: no likelihood, two players, and codes that can be read off what they generate."""

from collections.abc import Mapping

from partita.distributions import as_groups
from partita.measures.adversarial import category_nll, code_nll, criticism, persuasion
from partita.networks import Architecture, Factory
from partita.networks.adversarial import Critic, Generator, Reader, Trunk
from partita.recipes.recipe import Adam, Player, Recipe, nonnegative, positive
from partita.trace import Dream

# The critic's loss where it errs once in a hundred on either side; 2 log 2 = 1.39 where it cannot tell.
CERTAIN = 0.02


def infogan(
    *,
    lambda_code: float = 0.1,
    lambda_category: float = 1.0,
    categories: int = 10,
    noise: int = 62,
    latents: int = 2,
    **architecture,
) -> Recipe:
    """InfoGAN (Chen et al. 2016): a generator whose `latents` continuous codes and category can be read off its images.

    The reader Q is the encoder: codes of data are its means. `posterior="correlated", rho=0.9` makes Q a Gaussian with
    correlated noise, as in the mutual-information paper. Codes are uniform on [-1, 1], a category of `categories` is
    drawn beside them (0: none), and `noise` numbers from N(0, 1). There is no likelihood, hence no ELBO. The paper's
    setting: network="infogan" on 28 x 28 images, likelihood="bernoulli" (pixels in [0, 1]), learning_rate=2e-4, batches
    of 128.

    Use it where sharp samples matter more than a likelihood, and to see a category emerge beside continuous
    codes. It cannot reconstruct, has no ELBO, and may fall into a game that nobody wins: look at the samples. Where the
    critic wins, as it does on pdSprites with the convolutions of Burgess et al., the codes of real images mean nothing,
    and a warning says so.

    Defaults: lambda_code 0.1, lambda_category 1, ten categories, 62 numbers of noise, 2 codes are the paper's
    for MNIST.
    """
    nonnegative(lambda_code=lambda_code, lambda_category=lambda_category)
    learning_rate = architecture.pop("learning_rate", 2e-4)
    positive(learning_rate=learning_rate)
    if categories == 1 or categories < 0 or noise < 0:
        raise ValueError(f"categories must be 0 or at least 2, and noise at least 0; got {categories} and {noise}")
    house = Architecture(latents=latents, **architecture)
    weights = {"persuasion": 1, "code_nll": lambda_code}
    measures = (persuasion, code_nll)
    if categories:
        weights, measures = weights | {"category_nll": lambda_category}, (*measures, category_nll)
    settings = Adam(learning_rate, (0.5, 0.999))
    return Recipe(
        networks={
            "encoder": Factory(Reader, house, (("categories", categories),)),
            "decoder": Factory(Generator, house, (("categories", categories), ("noise", noise))),
            "trunk": Factory(Trunk, house),
            "critic": Factory(Critic, house),
        },
        players=(
            Player(("decoder", "encoder"), measures, weights, settings, certain_critic),
            Player(("trunk", "critic"), (criticism,), {"criticism": 1}, settings),
        ),
        noise={"z": latents, "category": categories, "rest": noise},
        groups=as_groups(None, latents),
        trace=Dream(),
    )


def certain_critic(last: Mapping[str, float]) -> str | None:
    """Words, where the critic tells made from real without fail: the reader has then learned from the wrong images."""
    if last["criticism"] >= CERTAIN:
        return None
    return 'the critic won: codes of real data mean nothing; try network="infogan", or a lower learning rate'
