"""Modules whose forward returns a distribution."""

from partita.networks.architecture import Architecture, Decoder, Encoder, Factory
from partita.networks.bodies import BODIES

__all__ = ["BODIES", "Architecture", "Decoder", "Encoder", "Factory"]
