"""A bar where somebody looks, and quiet where nobody does."""

import os
import pty
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from partita.estimator import Disentangler
from partita.training import progress


def fit() -> None:
    x = np.random.default_rng(0).normal(size=(50, 4))
    Disentangler("vae", latents=2, steps=40, network="linear", device="cpu").fit(x)


def test_a_terminal_gets_a_bar(monkeypatch):
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w", encoding="utf8") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        monkeypatch.setenv("TERM", "xterm")
        fit()
        terminal.flush()
        seen = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", os.read(ours, 1 << 16).decode())  # without colours
    os.close(ours)
    assert "vae" in seen
    assert "/40 steps" in seen


def test_a_file_gets_nothing(capfd):
    fit()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("widgets", [True, False])
def test_a_notebook_gets_one_where_it_can_be_drawn(monkeypatch, widgets):
    """rich draws with ipywidgets there, and without them would warn at every step."""
    shell = type("ZMQInteractiveShell", (), {})()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setattr(progress, "find_spec", lambda name: object() if widgets else None)
    assert progress.somebody_looks() is widgets


def test_a_bar_goes_from_where_a_model_goes_on(monkeypatch):
    monkeypatch.setattr(progress, "somebody_looks", lambda: True)
    with progress.bars() as shown:
        task = shown.add_task("vae", total=10, quantities="")
        shown.update(task, completed=10, quantities=progress.in_words({"loss": 1.5, "pc": float("nan")}))
        assert shown.finished
    assert progress.in_words({"loss": 1.5, "pc": float("nan")}) == "loss 1.5"
