"""A page to look at a study with: served on this computer, as one file, or in a notebook. It reads and never trains."""

__all__ = ["application", "explore", "export_onnx", "serve", "write_single_file"]

from partita.explorer.notebook import explore
from partita.explorer.onnx_files import export_onnx
from partita.explorer.server import application, serve
from partita.explorer.single_file import write_single_file
