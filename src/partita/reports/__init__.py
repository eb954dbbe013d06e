"""What a person sees of a study: figures, tables, one self-contained page."""

__all__ = [
    "Record",
    "Setting",
    "aligned_line",
    "aligned_plane",
    "alignment_matrix",
    "contact_sheet",
    "difference_plot",
    "learning_curve",
    "profile_plot",
    "rank_plot",
    "seed_strip",
    "settings_of",
    "weight_plots",
    "write_comparison",
    "write_contact_sheet",
    "write_page",
]

from partita.reports._comparison_page import write_comparison
from partita.reports.comparison import difference_plot, profile_plot, rank_plot, weight_plots
from partita.reports.contact import contact_sheet, write_contact_sheet
from partita.reports.curves import learning_curve, seed_strip
from partita.reports.groups import aligned_line, aligned_plane, alignment_matrix
from partita.reports.page import write_page
from partita.reports.study import Record, Setting, settings_of
