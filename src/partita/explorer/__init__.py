"""A page to look at a study with: served on this computer, as one file, or in a notebook. It reads, and never trains."""

__all__ = ["application", "serve"]

from partita.explorer.server import application, serve
