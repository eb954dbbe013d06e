import json
from contextlib import nullcontext

import numpy as np
import pytest
import torch

from partita import metrics, structure
from partita.data import load
from partita.data._some_rows import shuffled_rows
from partita.studies import Store, execute, plan, train
from partita.training import Interrupted

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def sprites():
    return load("pdsprites")


def trained(sprites, folder, steps=40, **options):
    runs = plan(["pdisvae"], sprites, network="mlp", steps=steps, batch_size=16, seeds=[0, 1])
    train(runs, sprites, Store(folder), device=CPU, **options)
    return runs, Store(folder)


def test_scores_are_in_the_log_and_change_nothing_else(sprites, tmp_path):
    runs, with_scores = trained(sprites, tmp_path / "a", log_metrics="all")
    _, without = trained(sprites, tmp_path / "b")
    for run in runs:
        weights = [(store.folder_of(run) / "weights.safetensors").read_bytes() for store in (with_scores, without)]
        assert weights[0] == weights[1]
        history, plain = with_scores.history(run), without.history(run)
        assert all(np.array_equal(history[name], plain[name]) for name in plain)
        assert set(history) - set(plain) == {"mig", "sap", "modularity", "gaussian_tc", "alignment"}
        looked = np.flatnonzero(np.isfinite(history["mig"]))
        assert (looked + 1).tolist() == [10, 20, 30, 40]
        rows = shuffled_rows(sprites.size)
        codes = with_scores.model(run, sprites.x_scale).posterior(sprites.x[rows])[0]
        factors = sprites.factors[rows]
        assert history["mig"][-1] == pytest.approx(metrics.mig(codes, factors).value, abs=1e-6)
        assert history["sap"][-1] == pytest.approx(metrics.sap(codes, factors, continuous=True).value, abs=1e-6)
        aligned = structure.align(codes, sprites.truth[rows], run.recipe.groups, sprites.truth_groups)
        assert history["alignment"][-1] == pytest.approx(aligned.r2, abs=1e-6)


def test_it_goes_on_with_its_scores_or_with_others(sprites, tmp_path, monkeypatch):
    runs, straight = trained(sprites, tmp_path / "a", log_metrics="mig")
    for folder, names in (("b", "mig"), ("c", "gaussian_tc")):
        asked = iter([False] * 24 + [True] * 100)
        with monkeypatch.context() as patch:
            patch.setattr(execute, "interruptible", lambda asked=asked, **how: nullcontext(lambda: next(asked)))
            with pytest.raises(Interrupted):
                trained(sprites, tmp_path / folder, log_metrics="mig")
        _, resumed = trained(sprites, tmp_path / folder, log_metrics=names)
        for run in runs:
            files = [store.folder_of(run) / "history.jsonl" for store in (straight, resumed)]
            if names == "mig":
                assert files[0].read_bytes() == files[1].read_bytes()
            rows = [json.loads(line) for line in files[1].read_text().splitlines()]
            assert [row["step"] for row in rows] == list(range(1, 41))
            assert {name for name in ("mig", "gaussian_tc") if name in rows[-1]} == {names}
            assert rows[-1][names] is not None


def test_what_cannot_be_logged(sprites, tmp_path):
    with pytest.raises(ValueError, match="cannot log 'dci' while training"):
        trained(sprites, tmp_path, log_metrics="mig,dci")
    groups = load("groups", size=100)
    with pytest.raises(ValueError, match="groups has no known factors"):
        train(plan(["vae"], groups, steps=2), groups, Store(tmp_path), device=CPU, log_metrics="mig")
