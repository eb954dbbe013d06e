"""Figures and page of a comparison: every number where it belongs, nothing from elsewhere."""

import json
import re

import numpy as np
import pytest
from matplotlib.colors import to_hex
from PIL import Image

from partita.reports import difference_plot, profile_plot, rank_plot, weight_plots, write_comparison
from partita.reports._comparison_page import answers
from partita.reports.comparison import ALIKE, DIFFERS, UNDECIDED
from partita.studies import Run, Store, compare

VALUES = {
    ("vae", None): [0.50, 0.61, 0.47, 0.55, 0.58, 0.52, 0.49],
    ("beta_vae", 1.0): [0.505, 0.612, 0.468, 0.552, 0.579, 0.521, 0.492],
    ("beta_vae", 4.0): [0.70, 0.30, 0.95, 0.41, 0.66, 0.28, 0.91],
    ("pdisvae", None): [0.91, 0.95, 0.88, 0.97, 0.93, 0.90, 0.94],
}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("study"))
    for (method, beta), values in VALUES.items():
        for seed, value in enumerate(values):
            options = {} if beta is None else {"beta": beta}
            run = Run(method, options, {"shape": [5]}, {"name": "groups"}, 10, 2, 0.001, seed)
            store.describe(run)
            (store.folder_of(run) / "result.json").write_text(json.dumps({"status": "finished", "step": 10}))
            scored = {"mig": {"value": value, "protocol": "p", "n": 9}}
            tc = {"gaussian_tc": {"value": 1 - value, "protocol": "p", "n": 9}}
            store.save_scores(run, {"n": 9, "metrics": scored | tc})
    return compare(store.folder, against="vae")


@pytest.fixture(scope="module")
def mig(found):
    return next(score for score in found.scores if score.score == "mig")


def test_a_pair_is_a_dot_in_the_colour_of_its_verdict(mig):
    axes = difference_plot(mig).axes[0]
    dots = [line for line in axes.lines if line.get_marker() == "o"]
    assert [line.get_xdata()[0] for line in dots] == [row["mean"] for row in mig.differences]
    bars = [tuple(line.get_xdata()) for line in axes.lines if len(line.get_xdata()) == 2 and line.get_linewidth() > 1.5]
    assert bars == [(row["low"], row["high"]) for row in mig.differences]
    assert [row["verdict"] for row in mig.differences] == [
        "no difference beyond 0.05", "undecided", "pdisvae is better",
    ]  # fmt: skip
    assert [to_hex(line.get_color()).lower() for line in dots] == [c.lower() for c in (ALIKE, UNDECIDED, DIFFERS)]


def test_ranks_stand_where_they_are_and_bars_join_what_is_alike(mig):
    figure = rank_plot(mig)
    said = {text.get_text().strip() for text in figure.axes[0].texts}
    for name, rank in mig.ranks["ranks"].items():
        assert {f"{name}  {rank:.2f}", f"{rank:.2f}  {name}"} & said
    bars = [line for line in figure.axes[0].lines if line.get_linewidth() > 3]
    assert len(bars) == len(mig.ranks["alike"])
    for bar, together in zip(bars, mig.ranks["alike"]):
        ends = [mig.ranks["ranks"][name] for name in together]
        assert bar.get_xdata() == pytest.approx([min(ends) - 0.02, max(ends) + 0.02])
    assert any(f"critical difference {mig.ranks['critical']:.2f}" in words for words in said)


def test_a_score_that_ranks_nobody_has_no_ranks(mig):
    from dataclasses import replace

    with pytest.raises(ValueError, match="ranks nobody"):
        rank_plot(replace(mig, better="", ranks=None))


def test_profiles_are_lines_of_shares(mig):
    lines = profile_plot(mig).axes[0].lines
    assert len(lines) == 4
    for line, values in zip(lines, VALUES.values()):
        at, shares = line.get_xdata(), line.get_ydata()
        assert shares == pytest.approx([np.mean(np.array(values) >= threshold) for threshold in at])


def test_a_weight_has_a_curve_of_medians(mig):
    (figure,) = weight_plots(mig)
    line = figure.axes[0].lines[0]
    assert line.get_xdata().tolist() == [1.0, 4.0]
    assert line.get_ydata() == pytest.approx([np.median(VALUES["beta_vae", beta]) for beta in (1.0, 4.0)])
    assert figure.axes[0].get_xlabel() == "beta"


def test_the_page_has_every_number_and_loads_nothing(found, mig, tmp_path):
    page = write_comparison(found, tmp_path / "out")
    html = page.read_text()
    assert not re.findall(r'(?:src|href)="(?!data:|#)', html)
    for words in answers(found):
        assert words.replace("-", "−").split(":")[0] in html
    text = re.sub(r"<[^>]+>", " ", html)
    for row in mig.summaries:
        assert f"{row['iqm']:.3f}" in text
        assert f"{row['succeeded']} of {row['ended']}" in text
    for row in mig.differences:
        assert row["verdict"] in text
    figures = sorted(path.name for path in (tmp_path / "out/figures").iterdir())
    assert figures[:2] == ["01-mig-differences.pdf", "01-mig-differences.png"]
    assert len(figures) == 2 * 2 * 4  # two scores, PNG and PDF, four figures
    picture = np.asarray(Image.open(tmp_path / "out/figures/01-mig-ranks.png").convert("L"))
    assert picture.min() < 60
    edges = np.concatenate([picture[0], picture[-1], picture[:, 0], picture[:, -1]])
    assert edges.min() > 250  # nothing is cut off


def test_the_answer_in_words(found):
    said = next(words for words in answers(found) if words.startswith("mig"))
    assert said == (
        "mig: pdisvae is better than vae; no difference beyond 0.05 between (vae, beta_vae beta=1.0); "
        "1 of 3 pairs undecided."
    )
    lower = next(words for words in answers(found) if words.startswith("gaussian_tc"))
    assert "pdisvae is better than vae" in lower
