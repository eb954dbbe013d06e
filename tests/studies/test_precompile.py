"""Structures compiled by processes of their own, ahead of training."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest
import torch

from partita.data import load
from partita.studies import _precompile as module
from partita.studies import plan
from partita.studies._precompile import Order, precompile
from partita.training import device
from partita.training.device import worth_compiling

CPU = torch.device("cpu")
LONG = 20000

needs_a_compiler = pytest.mark.skipif(not worth_compiling(LONG, CPU), reason="no C++ compiler on this machine")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(device, "COMPILED_HERE", str(tmp_path))
    return tmp_path


def order(method="pdisvae", models=2, size=300, **options):
    dataset = load("groups", size=300)
    run = plan([method], dataset, options={k: [v] for k, v in options.items()}, seeds=[0], steps=LONG)[0]
    return Order(run.as_json(), models, size)


def test_a_mark_is_of_the_structure_not_of_weights_or_seeds(folder):
    same = order(beta=2.0)
    reseeded = replace(same, run={**same.run, "seed": 7})
    assert {order(beta=5.0).mark(CPU), reseeded.mark(CPU)} == {same.mark(CPU)}
    others = [order(groups=(3, 3)), order(models=3), order(size=200), order("vae"), order(by="mss")]
    assert len({same.mark(CPU), *(other.mark(CPU) for other in others)}) == 6


def companies(*methods):
    dataset = load("groups", size=300)
    return [plan([method], dataset, options={}, seeds=range(2), steps=LONG) for method in methods]


@needs_a_compiler
def test_a_wish_to_stop_ends_the_helpers(folder, monkeypatch):
    started = []
    monkeypatch.setattr(module, "_started", lambda *a, start=module._started: started.append(start(*a)) or started[-1])
    monkeypatch.setattr(Order, "carry_out", lambda *_: None)  # of this process
    precompile(companies("vae", "pdisvae"), 300, CPU, lambda: True)
    assert [helper.returncode for helper in started] == [-9]
    assert not list(folder.glob("partita/*"))


@needs_a_compiler
def test_a_helper_that_fails_leaves_no_mark_and_no_trace(folder, monkeypatch):
    monkeypatch.setattr(Order, "carry_out", lambda *_: None)  # of this process; the other's is its own
    precompile(companies("vae", "pdisvae"), -1, CPU, lambda: False)  # no data has so few rows
    assert not list(folder.glob("partita/*"))


@needs_a_compiler
def test_no_more_helpers_than_structures_or_cores(folder, monkeypatch):
    started = []
    monkeypatch.setattr(Order, "carry_out", lambda *_: None)
    monkeypatch.setattr(module, "_started", lambda order, _: started.append(order) or subprocess.Popen(["true"]))
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    precompile(companies(*["vae"] * 5, "pdisvae"), 300, CPU, lambda: False)
    assert [order.run["method"] for order in started] == ["pdisvae"]
    started.clear()
    precompile(companies("vae", "beta_tcvae", "pdisvae", "dip_vae_i", "ica_vae"), 300, CPU, lambda: False)
    assert len(started) == 2


@needs_a_compiler
def test_a_machine_that_starts_no_process_trains_all_the_same(folder, monkeypatch):
    monkeypatch.setattr(module, "_started", lambda *_: (_ for _ in ()).throw(OSError("no more processes")))
    precompile(companies("vae", "pdisvae"), 300, CPU, lambda: False)


def test_one_structure_alone_needs_no_helper(folder, monkeypatch):
    monkeypatch.setattr(module, "_started", lambda *_: pytest.fail("a helper was started"))
    precompile(companies("pdisvae"), 300, CPU, lambda: False)


FIRST_STEP = """
import torch
from partita.data import load
from partita.studies import plan
from partita.training import Ensemble
from torch._dynamo.utils import counters
data = load("groups", size=300)
runs = plan(["pdisvae"], data, options={"beta": [9.0]}, seeds=[5, 6], steps=20000)
recipes = [run.recipe for run in runs]
Ensemble(recipes, [5, 6], data.x, batch_size=128, device=torch.device("cpu"), compiled=True).advance(1)
print(counters["inductor"]["fxgraph_cache_hit"], counters["inductor"]["fxgraph_cache_miss"])
"""


@pytest.mark.slow
@pytest.mark.filterwarnings("default::DeprecationWarning")  # the compiler's own
@needs_a_compiler
def test_what_helpers_made_is_found_by_training(folder):
    runs = companies("vae", "pdisvae")
    precompile(runs, 300, CPU, lambda: False)
    marks = [Order(company[0].as_json(), 2, 300).mark(CPU) for company in runs]
    assert all(mark.exists() for mark in marks)
    done = subprocess.run(
        [sys.executable, "-c", FIRST_STEP], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    hits, misses = map(int, done.stdout.split())
    assert hits >= 2
    assert misses == 0
