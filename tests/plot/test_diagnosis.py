"""Diagnoses as pictures: the verdict and its reasons in words, the numbers on their side of the limit."""

import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from partita import plot
from partita.plot._style import COLOURS, signs
from partita.plot.diagnosis import margins
from partita.structure.diagnosis import HOLD, UNCLEAR, WRONG, Diagnosis

MIXED = Diagnosis(
    WRONG,
    ("the groups share 0.100 nats more than chance", "a long reason " * 10),
    {"cohesion": 3.0, "between": 0.1, "agreement": 0.45, "error": 1.0, "error of PCA": 1.0, "unheard of": 1.0},
)


def test_numbers_lie_on_their_side_of_the_limit(labelled):
    figure = labelled(plot.diagnosis(MIXED))
    said, bars = figure.axes
    assert said.get_title(loc="left") == WRONG
    assert MIXED.reasons[0] in said.texts[0].get_text()
    ends = [line.get_xdata()[1] for line in bars.lines[:4]]
    assert ends == pytest.approx([3.0, 0.5, 0.5, 1.2])
    colours = [to_hex(line.get_color()).upper() for line in bars.lines[:4]]
    assert colours == [COLOURS[0], COLOURS[1], COLOURS[1], COLOURS[0]]
    assert [text.get_text() for text in bars.texts][2] == "nats between groups: 0.10 (at most 0.05)"


def test_what_is_far_off_stays_in_the_picture():
    assert [ratio for *_, ratio in margins({"cohesion": 100.0, "between": -0.1, "agreement": 0.0})] == [4, 0.25, 4]


def test_of_a_model_it_is_what_diagnose_says(model, vectors):
    found = model.diagnose(vectors.x)
    said = plot.diagnosis(model, vectors).axes[0]
    assert said.get_title(loc="left") == found.verdict
    assert signs(" ".join(found.reasons[0].split()[:6])) in said.texts[0].get_text()


def test_of_a_run_and_into_axes_of_ones_own(study, vectors):
    figure = Figure()
    axes = figure.add_subplot()
    assert plot.diagnosis(study, vectors, ax=axes) is figure
    assert axes.get_title(loc="left") in (HOLD, UNCLEAR, WRONG)


def test_without_numbers_there_are_words_alone():
    figure = plot.diagnosis(Diagnosis(WRONG, ("10 rows are too few",)))
    assert len(figure.axes) == 1
