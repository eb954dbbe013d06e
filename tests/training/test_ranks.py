"""Two processes that share the rows of every batch find what one process finds, whatever the method."""

import multiprocessing
import socket

import pytest
import torch
from safetensors.torch import load_file

from partita.recipes import RECIPES
from partita.training.ranks import ALONE, Ranks
from tests.forking import may_fork

from .ranks_at_work import BATCH, CASES, TRAINED, ensemble, gradients, recipe, results, work


@pytest.fixture(scope="module")
def one():
    return results(ALONE)


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """What each of two gloo processes found."""
    folder = tmp_path_factory.mktemp("ranks")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    common = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    start = multiprocessing.get_context("fork" if may_fork() else "spawn").Process
    own = [common | {"RANK": rank, "LOCAL_RANK": rank} for rank in "01"]
    started = [start(target=work, args=(variables, folder), daemon=True) for variables in own]
    for process in started:
        process.start()
    for process in started:
        process.join(240)
    assert [process.exitcode for process in started] == [0, 0]
    return [load_file(folder / f"{rank}.st") for rank in range(2)]


def of(case: str, part: str, found: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    chosen = {name: value for name, value in found.items() if name.startswith(f"{case}/{part}")}
    assert chosen
    return chosen


@pytest.mark.parametrize("case", CASES)
def test_gradients_are_those_of_one_process(case, one, two):
    """In float64, where 1e-6 of the largest entry would be a mistake and not rounding."""
    for found in two:
        for name, expected in of(case, "gradient", one).items():
            error = (found[name] - expected).abs().max()
            assert error <= 1e-10 * expected.abs().max().clamp(min=1), name


@pytest.mark.parametrize("case", TRAINED)
def test_weights_after_ten_steps_are_those_of_one_process(case, one, two):
    """And the bank, where there is one."""
    for found in two:
        for name, expected in of(case, "state/", one).items():
            if not name.endswith("/total"):
                torch.testing.assert_close(found[name], expected, rtol=1e-5, atol=1e-5, msg=name)


@pytest.mark.parametrize("case", TRAINED)
def test_what_is_logged_is_said_of_the_whole_batch(case, one, two):
    for found in two:
        torch.testing.assert_close(found[f"{case}/logged"], one[f"{case}/logged"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("case", [*TRAINED, "restarts", "auto"])
def test_ranks_hold_the_same_models_bit_for_bit(case, two):
    for name, value in of(case, "" if case in ("restarts", "auto") else "state/parameters", two[0]).items():
        assert torch.equal(value, two[1][name]), name


@pytest.mark.parametrize("case", ["restarts", "auto"])
def test_groups_found_on_the_way_are_those_one_process_finds(case, one, two):
    for name, expected in of(case, "", one).items():
        torch.testing.assert_close(two[0][name], expected, rtol=1e-4, atol=1e-4, msg=name)


def test_rows_that_cannot_be_shared_are_everyones(one, two):
    for found in two:
        for name, expected in of("uneven", "", one).items():
            torch.testing.assert_close(found[name], expected, rtol=1e-12, atol=1e-12, msg=name)


def test_what_ranks_say_to_each_other(two):
    for heard in two:
        assert heard["said/shared"].tolist() == [0, 0, 0]
        assert heard["said/words"].tolist() == [1, 2]
        assert heard["said/mean"].tolist() == [[0.5, 0.5], [0.5, 0.5]]
        assert heard["said/number"].item() == 0.5
        assert heard["said/wishes"].tolist() == [False, True, True]


@pytest.mark.parametrize("method", ["pdisvae", "beta_tcvae", "dip_vae_i"])
def test_ranks_that_saw_only_their_own_rows_would_be_wrong(method, one):
    """The mean of what each half of the batch says by itself: far from what the tests above allow."""
    runs = ensemble([recipe(method)] * 2, [0, 1])
    whole = runs.draws.index(0, 1)[0]
    halves = []
    for rank in range(2):
        rows = Ranks(rank, 2).rows(BATCH)
        arguments = (runs._observe(whole[:, rows]), runs.draws.noise(0, 1)[0][:, rows], runs.values(0, 1)[0])
        loss = runs._batched(0)(runs.parameters, {}, *arguments)[0]
        halves.append(torch.autograd.grad(loss.sum(), list(runs.parameters.values())))
    local = dict(zip(runs.parameters, ((a + b) / 2 for a, b in zip(*halves))))
    right = gradients(ensemble([recipe(method)] * 2, [0, 1]), ALONE)
    worst = max(float((local[name] - right[f"gradient/0/{name}"]).abs().max()) for name in local)
    assert worst > 1e-3


def test_a_batch_that_cannot_be_shared_is_refused():
    with pytest.raises(ValueError, match="2 processes cannot share a batch of 15 rows evenly"):
        ensemble([recipe("vae")], [0], Ranks(0, 2), batch_size=15)


def test_batch_normalisation_is_refused():
    assert "infogan" in RECIPES
    with pytest.raises(ValueError, match=r"batch normalisation.*--split runs"):
        ensemble([recipe("infogan")], [0], Ranks(0, 2))
