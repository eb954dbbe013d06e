"""No public function reads or moves a generator of the whole process: torch's, NumPy's, Python's.

A new public name is tested here by a line of CALLS, and without one this file fails.
"""

import hashlib
import inspect
import pickle
import random
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import torch

import partita as pt
from partita.recipes import RECIPES

CPU = torch.device("cpu")
RNG = np.random.default_rng(0)
FACTORS = np.stack([column.ravel() for column in np.indices((3, 4, 5))], 1)
CODES = FACTORS @ RNG.standard_normal((3, 4)) + 0.1 * RNG.standard_normal((60, 4))
LOG_VARIANCE = np.full((60, 4), -2.0)
BENT = pt.data.load("groups", size=420, seed=1, groups=(2, 2), features=6, noise=0.05, mixing="nonlinear").x
PARTS, TRUTH = ((0, 1), (2, 3)), (FACTORS + 0.1 * RNG.standard_normal((60, 3)))
FEW = {"train": 50, "test": 20}
SHOWN = pt.data.load("pdsprites")
MADE = pt.data.load("groups", size=80)


def _study(folder: Path):
    store = pt.studies.Store(folder)
    runs = pt.studies.plan(["vae", "pdisvae"], MADE, latents=4, groups=(2, 2), network="linear", steps=4, seeds=[0, 1])
    pt.studies.train(runs, MADE, store, device=CPU, log_metrics="gaussian_tc")
    return store, runs


def _evaluated(folder: Path):
    store, runs = _study(folder)
    pt.studies.evaluate_run(store, runs[0], MADE, metrics="gaussian_tc")
    pt.reports.write_page(store, MADE, folder / "page.html")
    pt.reports.learning_curve(pt.reports.settings_of(store), "loss")


def _compared(folder: Path):
    store, runs = _study(folder)
    for run in runs:
        pt.studies.evaluate_run(store, run, MADE, metrics="gaussian_tc")
    return str(pt.studies.compare(folder, metric=["R2", "gaussian_tc"]))


COMPARED = pt.studies.Compared(
    "R2", "R²", "", "higher", "", 0.05, None, (),
    ({"first": "a", "second": "b", "mean": 0.1, "low": 0.0, "high": 0.2, "verdict": "undecided", "pairs": 2,
      "wilcoxon": 0.5, "holm": 0.5, "tost": None, "margin": 0.05},),
    {"ranks": {"a": 1.0, "b": 2.0}, "critical": 1.0, "alike": [["a", "b"]], "friedman": None, "blocks": 2},
    ({"contender": "a", "at": 0.1, "share": 1.0, "low": 0.5, "high": 1.0},), (),
)  # fmt: skip
ALL_COMPARED = pt.studies.Comparison("method", ("runs",), ("a", "b"), ("groups",), (0,), 1, (COMPARED,), ())


def _tracked(folder: Path):
    with pt.studies.tracked(pt.studies.Store(folder), ()) as store:
        return store.folder.name


def _saved(folder: Path) -> np.ndarray:
    model = pt.Disentangler("vae", latents=2, steps=2, network="linear").fit(CODES)
    model.save(folder / "model.safetensors")
    return pt.load(folder / "model.safetensors").transform(CODES)


def _correlation(function, **options):
    return function(CODES, CODES + 0.1, LOG_VARIANCE, groups=PARTS, **options)


s, m, d, r, p = pt.structure, pt.metrics, pt.data, pt.reports, pt.plot
LINEAR = pt.Disentangler("vae", latents=3, steps=2, network="linear", likelihood="gaussian:1.0").fit(MADE.x)
DECOMPOSED = s.gaussian_entropy(CODES)
CALLS = {
    "partita.load": _saved,
    "partita.explore": lambda _: pt.explore(LINEAR, MADE).explored.subject("model").points(),
    "explorer.write_single_file": lambda folder: pt.explorer.write_single_file(
        pt.explore(LINEAR, MADE).explored, "model", folder / "page.html"),  # and export_onnx
    "partita.correlation": lambda _: _correlation(pt.correlation).pc,
    "partita.null_correlation": lambda _: _correlation(pt.null_correlation, draws=3),
    "partita.gaussian_tc": lambda _: pt.gaussian_tc(CODES, groups=PARTS),
    "data.batches": lambda _: list(d.batches(MADE, [np.arange(32)])),
    "data.correlate": lambda _: d.correlate(SHOWN, factors=SHOWN.factor_names[:2]).x,
    "data.from_array": lambda _: d.from_array(CODES).x,
    "data.hold_out": lambda _: d.hold_out(SHOWN, {SHOWN.factor_names[0]: [1]}).x,
    "data.info": lambda _: d.info("groups"),
    "data.label": lambda _: d.label(SHOWN, factors=SHOWN.factor_names[0]).labels,
    "data.load": lambda _: [d.load(name).x[:50] for name in ("groups", "independent", "pdsprites")],
    "data.mask_labels": lambda _: d.mask_labels(d.label(SHOWN, factors=SHOWN.factor_names[0]), labelled=0.5).labelled,
    "data.remake": lambda _: d.remake(MADE.description).x,
    "data.subsample": lambda _: d.subsample(MADE, size=10).x,
    "metrics.beta_vae": lambda _: m.beta_vae(CODES, FACTORS, **FEW),
    "metrics.factor_vae": lambda _: m.factor_vae(CODES, FACTORS, **FEW, variance_rows=50),
    "metrics.evaluate": lambda _: m.evaluate(CODES, FACTORS, metrics=["mig", "sap"]),
    "metrics.gaussian_tc": lambda _: m.gaussian_tc(CODES, groups=PARTS),
    "metrics.wasserstein_correlation": lambda _: m.wasserstein_correlation(CODES, groups=PARTS),
    "metrics.udr": lambda _: m.udr([CODES, CODES[:, ::-1]]),
    "metrics.exact_tc": lambda _: m.exact_tc(CODES, LOG_VARIANCE),
    "metrics.monte_carlo_tc": lambda _: m.monte_carlo_tc(CODES, LOG_VARIANCE),
    "metrics.latent_activity": lambda _: m.latent_activity(CODES, LOG_VARIANCE),
    "metrics.leakage": lambda _: m.leakage(CODES, FACTORS, groups=PARTS, factor_groups=((0, 1), (2,))),
    "metrics.inapplicable": lambda _: m.inapplicable(CODES, FACTORS),
    "metrics.over_runs": lambda _: m.over_runs([m.mig(CODES, FACTORS), m.mig(-CODES, FACTORS)]),
    **{f"metrics.{each.__name__}": lambda _, each=each: each(CODES, FACTORS) for each in (
        m.dci, m.dcimig, m.explicitness, m.infomec, m.irs, m.jemmig, m.mcc, m.mig, m.mig_sup, m.modularity, m.sap)},
    "structure.align": lambda _: s.align(CODES, TRUTH[:, :2], PARTS, ((0,), (1,))).r2,
    "structure.best_grouping": lambda _: s.best_grouping(CODES, TRUTH[:, :2], (2, 2), ((0,), (1,)))[0],
    "structure.best_elbo_trajectory": lambda _: s.best_elbo_trajectory(
        np.tile([1.0, 2.0, 3.0, 4.0], 4), [4] * 16, np.repeat([1, 2], 8), np.tile(np.repeat([0, 1], 4), 2),
        -RNG_OF_ELBO.random(16), resamples=5),
    "structure.bottom_up_tree": lambda _: s.bottom_up_tree(DECOMPOSED, 4),
    "structure.top_down_tree": lambda _: s.top_down_tree(DECOMPOSED, 4),
    "structure.free_groups": lambda _: s.free_groups(CODES),
    "structure.groups_of_sizes": lambda _: s.groups_of_sizes(CODES, (2, 2)).groups,
    "structure.line": lambda _: s.line(DECOMPOSED, 4),
    "structure.gaussian_entropy": lambda _: s.gaussian_entropy(CODES)((0, 1)),
    "structure.posterior_entropy": lambda _: s.posterior_entropy(CODES, LOG_VARIANCE)((0, 1)),
    "structure.discrete_entropy": lambda _: s.discrete_entropy(FACTORS)((0, 1)),
    "structure.diagnose_groups": lambda _: s.diagnose_groups(MADE.truth, MADE.truth_groups, MADE.x).numbers,
    "structure.discover_groups": lambda _: s.discover_groups(CODES).groups,
    "structure.disintegration": lambda _: s.disintegration(CODES, FACTORS),
    "structure.dummies": lambda _: s.dummies(CODES, PARTS),
    "structure.effective_rank": lambda _: s.effective_rank(CODES, PARTS),
    "structure.grouping_coefficient": lambda _: s.grouping_coefficient(4, 2),
    "structure.grouping_factors": lambda _: s.grouping_factors(4),
    "structure.latent_report": lambda _: s.latent_report(CODES, LOG_VARIANCE),
    "structure.min_total_correlation": lambda _: s.min_total_correlation(CODES).value,
    "structure.omniscient": lambda _: s.omniscient(CODES, LOG_VARIANCE),
    "structure.unmixed": lambda _: s.unmixed(BENT, 4, (2, 2)).codes(BENT),  # and unbends
    "studies.plan": lambda _: [run.id for run in pt.studies.plan(["vae"], MADE)],
    "studies.train": lambda folder: _study(folder)[0].model(_study(folder)[1][0]).decode(CODES[:, :4]),
    "studies.evaluate_run": _evaluated,  # and reports.learning_curve, settings_of, write_page
    "studies.compare": _compared,
    "studies.tracked": _tracked,
    "studies.reload": lambda _: pt.studies.reload(MADE.description).x,
    **{f"plot.{each.__name__}": lambda _, each=each: each(LINEAR, MADE) for each in (
        p.traversals, p.loadings, p.reconstructions, p.history, p.dependence, p.diagnosis, p.groups)},
    "plot.planes": lambda _: p.planes(LINEAR, MADE, groups=[(0, 1)]),
    "plot.maps": lambda _: p.maps(LINEAR, MADE, places=np.argwhere(np.ones((8, 10)))),
    "reports.aligned_line": lambda _: r.aligned_line(TRUTH[:, 0], CODES[:, 0], "t0", None, ""),
    "reports.aligned_plane": lambda _: r.aligned_plane(TRUTH[:, :2], CODES[:, :2], ["a", "b"]),
    "reports.alignment_matrix": lambda _: r.alignment_matrix(np.eye(2), (0, 1), ["a", "b"], ["c", "d"]),
    "reports.difference_plot": lambda _: r.difference_plot(COMPARED),
    "reports.rank_plot": lambda _: r.rank_plot(COMPARED),
    "reports.profile_plot": lambda _: r.profile_plot(COMPARED),
    "reports.weight_plots": lambda _: r.weight_plots(COMPARED),
    "reports.write_comparison": lambda folder: r.write_comparison(ALL_COMPARED, folder),
    "reports.contact_sheet": lambda _: r.contact_sheet(MADE),
    "reports.write_contact_sheet": lambda folder: r.write_contact_sheet(SHOWN, folder / "sheet.png"),
    "reports.seed_strip": lambda _: r.seed_strip([("a", [0.1, 0.2], None)], "loss"),
    "recipes.build": lambda _: pt.recipes.build("vae", shape=(3,)).replicas,
    "recipes.nonnegative": lambda _: pt.recipes.nonnegative(beta=1.0),
    "recipes.positive": lambda _: pt.recipes.positive(beta=1.0),
    "recipes.whole": lambda _: pt.recipes.whole(least=1, restarts=1),
    "recipes.one_player": lambda _: pt.recipes.one_player(
        (pt.measures.reconstruction, pt.measures.kl), {"recon": 1, "kl": 1}, groups=((0,),), latents=1, shape=(3,)
    ).noise,
    "recipes.with_disintegration": lambda _: pt.recipes.with_disintegration(RECIPES["vae"](shape=(3,)), 1.0).labels,
}  # fmt: skip
RNG_OF_ELBO = np.random.default_rng(1)


def state() -> tuple:
    """All generators that belong to the process."""
    tensors = [torch.get_rng_state(), *(torch.cuda.get_rng_state_all() if torch.cuda.is_available() else ())]
    parts = [*(tensor.tolist() for tensor in tensors), random.getstate(), pickle.dumps(np.random.get_state())]  # noqa: NPY002
    return tuple(hashlib.sha256(repr(part).encode()).hexdigest() for part in parts)


def seeded(seed: int) -> None:
    torch.manual_seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    random.seed(seed)


def test_every_public_function_is_called_here():
    public = set()
    for room in ("data", "metrics", "plot", "recipes", "reports", "structure", "studies"):
        module = import_module(f"partita.{room}")
        public |= {f"{room}.{name}" for name in module.__all__ if inspect.isfunction(getattr(module, name))}
    public |= {f"partita.{name}" for name in pt.__all__ if inspect.isfunction(getattr(pt, name))}
    assert public - CALLS.keys() == {f"reports.{name}" for name in ("learning_curve", "settings_of", "write_page")}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_public_functions_leave_the_callers_generators_alone(name, tmp_path):
    seeded(1)
    before = state()
    CALLS[name](tmp_path)
    assert state() == before


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", RECIPES)
def test_a_model_neither_reads_nor_moves_them(method):
    """The same bytes whatever their state, and their state the same afterwards."""
    answers = []
    for seed in (1, 2):
        seeded(seed)
        before = state()
        model = pt.Disentangler(method, latents=4, steps=3, network="mlp", batch_size=16).fit(CODES, FACTORS)
        codes = model.transform(CODES)
        answers.append([codes, *model.posterior(CODES), model.inverse_transform(codes), model.sample(3)])
        if method != "infogan":
            answers[-1].append(np.array(model.score(CODES)))
        assert state() == before
    assert all(np.array_equal(*both) for both in zip(*answers))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("groups", ["auto", (2, 2)])
def test_groups_are_found_without_them(groups):
    seeded(1)
    before = state()
    pt.Disentangler(latents=4, groups=groups, steps=4, network="linear", options={"restarts": 2}).fit(CODES)
    assert state() == before


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_on_a_gpu_neither():
    seeded(1)
    before = state()
    pt.Disentangler("pdisvae", latents=4, groups=(2, 2), steps=30, device="cuda").fit(CODES).sample(3)
    assert state() == before
