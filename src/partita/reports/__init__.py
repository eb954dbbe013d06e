"""What a person sees of a study: figures, tables, one self-contained page."""

__all__ = [
    "Record",
    "Setting",
    "aligned_line",
    "aligned_plane",
    "alignment_matrix",
    "contact_sheet",
    "learning_curve",
    "seed_strip",
    "settings_of",
    "write_contact_sheet",
    "write_page",
]

from partita.reports.contact import contact_sheet, write_contact_sheet
from partita.reports.curves import learning_curve, seed_strip
from partita.reports.groups import aligned_line, aligned_plane, alignment_matrix
from partita.reports.page import write_page
from partita.reports.study import Record, Setting, settings_of
