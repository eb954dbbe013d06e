"""What every named data set must do, whatever it is; a new row of DATASETS is tested here without a new line."""

import random
from pathlib import Path

import numpy as np
import pytest

from partita.data import DATASETS, info, load, remake

SHARED = Path(__file__).parents[2] / "../shared/data"
names = pytest.mark.parametrize("name", DATASETS)


@pytest.fixture
def offline(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PARTITA_OFFLINE", "1")
    monkeypatch.setenv("PARTITA_DATA", str(tmp_path / "empty"))


@names
def test_it_loads_or_says_which_file_is_missing(name, offline):
    """Without any file: a data set is made here, or one line says what to put where."""
    card = DATASETS[name].card
    if not card.files and not card.alternatives:
        assert info(name)["state"] == "made here"
        return  # loaded below
    with pytest.raises(OSError) as caught:
        load(name)
    wanted = [file.name.removesuffix(".gz").rstrip("/") for file in card.files] + list(card.alternatives)
    assert any(each in str(caught.value) for each in wanted)
    assert "\n" not in str(caught.value)
    assert str(card.folder) in str(caught.value)


def loaded(name):
    """A data set, or a coarse part of its grid, which is read faster; skipped where its files are not at hand."""
    card = DATASETS[name].card
    coarse = {"every": [max(1, size // 2) for size in card.factor_sizes]} if "every" in DATASETS[name].options else {}
    try:
        return load(name, **coarse), coarse
    except OSError as error:
        pytest.skip(f"its files are not in ../shared/data: {error}")


@names
def test_what_is_loaded_is_what_its_card_says_and_the_same_twice(name, offline, monkeypatch):
    monkeypatch.setenv("PARTITA_DATA", str(SHARED))
    before = (repr(np.random.get_state()), random.getstate())  # noqa: NPY002
    data, coarse = loaded(name)
    card = DATASETS[name].card
    assert data.name == name
    assert data.shape == card.shape
    assert (data.x.dtype == np.uint8) == (len(data.shape) == 3)
    assert data.factor_names == card.factor_names
    if not coarse:
        assert (data.size, data.factor_sizes) == (card.size, card.factor_sizes)
    if data.factors is not None:
        assert data.factors.shape == (data.size, len(data.factor_names))
        assert (data.factors.min(0) >= 0).all()
        assert (data.factors.max(0) < data.factor_sizes).all()
        if card.order == type(card).order:
            assert (data.grid is not None) == (data.size == np.prod(data.factor_sizes))
    if data.truth is not None:
        assert sorted(k for group in data.truth_groups for k in group) == list(range(data.truth.shape[1]))
    seen = data.observations(np.array([0, data.size - 1]))
    assert seen.dtype == np.float32
    assert np.isfinite(seen).all()
    if len(data.shape) == 3:
        assert seen.min() >= 0
        assert seen.max() <= 1
    for again in (load(name, **coarse), remake(data.description)):
        assert np.array_equal(again.x, data.x)
        assert np.array_equal(again.factors, data.factors) if data.factors is not None else again.factors is None
        assert np.array_equal(again.truth, data.truth) if data.truth is not None else again.truth is None
    assert before == (repr(np.random.get_state()), random.getstate())  # noqa: NPY002


@names
def test_it_says_what_it_is(name):
    card = DATASETS[name].card
    assert 10 < len(card.summary) < 90
    for words in (card.summary, card.licence, card.obtain or "fetched"):
        assert words
        assert "\n" not in words
    assert len(card.factor_names) == len(card.factor_sizes)
    assert not card.files or card.citation
    assert all(option.isidentifier() for option in DATASETS[name].options)
