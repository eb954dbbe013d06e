"""Modules whose forward returns a distribution."""

__all__ = [
    "BODIES",
    "POSTERIORS",
    "Architecture",
    "BatchNorm",
    "ConditionalPrior",
    "Critic",
    "Decoder",
    "Discriminator",
    "Encoder",
    "Factory",
    "Generator",
    "LabelDecoder",
    "LabelPredictor",
    "Reader",
    "Trunk",
]

from partita.networks.adversarial import Critic, Generator, Reader, Trunk
from partita.networks.architecture import Architecture, Decoder, Encoder, Factory
from partita.networks.bodies import BODIES
from partita.networks.discriminator import Discriminator
from partita.networks.labels import ConditionalPrior, LabelDecoder, LabelPredictor
from partita.networks.normalise import BatchNorm
from partita.networks.posteriors import POSTERIORS
