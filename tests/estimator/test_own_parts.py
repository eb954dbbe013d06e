"""Methods, networks and likelihoods of one's own in the estimator; and what a file keeps of them."""

import importlib
import sys
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from torch import nn

import partita as pt
from partita.training.own_parts import ChangedSource

X = np.array(pt.data.load("groups", size=120).x)
QUICK = {"steps": 6, "likelihood": "gaussian:0.25", "device": "cpu"}


def narrow(*, beta: float = 2.0, groups=None, latents: int = 3, **architecture) -> pt.recipes.Recipe:
    """A beta-VAE of one's own."""
    pt.recipes.nonnegative(beta=beta)
    measures, weights = (pt.measures.reconstruction, pt.measures.kl), {"recon": 1, "kl": beta}
    groups = pt.distributions.as_groups(groups, latents)
    return pt.recipes.one_player(measures, weights, groups=groups, latents=latents, **architecture)


def two_phases(*, latents: int = 3, **architecture) -> pt.recipes.Program:
    recipe = narrow(latents=latents, **architecture)
    phase, stay = (
        pt.recipes.Phase(recipe, 0.5),
        lambda replicas, groups: pt.recipes.Passage(
            [pt.recipes.LatentMap.reordering(range(latents)) for _ in replicas]
        ),
    )
    return pt.recipes.Program((pt.recipes.Candidate((phase, phase), (stay,), 2),), pt.recipes.JUDGES["median"])


def affine(shape, outputs, inputs):
    return nn.Linear(shape[0], outputs), nn.Linear(inputs, shape[0])


def test_a_function_is_a_method_like_any_other():
    mine = pt.Disentangler(narrow, latents=4, network="linear", options={"beta": 4.0}, **QUICK).fit(X)
    ours = pt.Disentangler("beta_vae", latents=4, network="linear", options={"beta": 4.0}, **QUICK).fit(X)
    np.testing.assert_array_equal(mine.transform(X), ours.transform(X))
    assert pt.Disentangler(narrow, **QUICK).fit(X).transform(X).shape == (120, 3)  # its own default
    assert clone(mine).fit(X).get_feature_names_out().tolist() == ["z0", "z1", "z2", "z3"]
    assert pt.Disentangler(narrow, groups=(2, 2), options={"restarts": 2}, **QUICK).fit(X).groups_ == ((0, 1), (2, 3))


def test_a_program_of_ones_own_says_what_is_trained():
    model = pt.Disentangler(two_phases, latents=2, **QUICK).fit(X)
    assert model.history_["step"].tolist() == list(range(1, 7))
    with pytest.raises(ValueError, match="two_phases says itself .*leave restarts out"):
        pt.Disentangler(two_phases, latents=2, options={"restarts": 3}, **QUICK).fit(X)


def test_a_recipe_brings_its_own():
    recipe = narrow(latents=2, shape=(20,), network="linear", likelihood="gaussian:0.25", beta=4.0)
    mine = pt.Disentangler(recipe, steps=6, device="cpu").fit(X)
    ours = pt.Disentangler(narrow, latents=2, network="linear", options={"beta": 4.0}, **QUICK).fit(X)
    np.testing.assert_array_equal(mine.transform(X), ours.transform(X))
    assert pt.Disentangler(recipe, latents=2, groups=(1, 1), network="linear", **QUICK).fit(X).groups_ == ((0,), (1,))
    held_out = pt.Disentangler(recipe, validation=0.2, steps=6, device="cpu").fit(X)
    assert "held_out_loss" in held_out.history_
    for asked, words in [
        ({"latents": 3}, "brings its own latents, 2: leave latents=3 out"),
        ({"groups": (2,)}, "brings its own groups"),
        ({"network": "mlp"}, "brings its own network, linear"),
        ({"likelihood": "gaussian"}, "brings its own likelihood, gaussian:0.25"),
        ({"learning_rate": 1e-2}, "brings its own learning_rate"),
        ({"options": {"beta": 3.0}}, "no option 'beta'"),
    ]:
        with pytest.raises(ValueError, match=words):
            pt.Disentangler(recipe, steps=6, device="cpu", **asked).fit(X)
    with pytest.raises(ValueError, match=r"for observations of shape \(20,\), and these have \(5,\)"):
        pt.Disentangler(recipe, steps=6, device="cpu").fit(X[:, :5])


def without_shape(latents, network, likelihood):
    raise AssertionError("is not called")


def broken(**architecture):
    raise KeyError("sigma")


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (without_shape, r"without_shape takes no .*shape.*: end its parameters with \*\*architecture"),
        (broken, "broken failed: KeyError: 'sigma'"),
        (lambda **architecture: {}, "<lambda> must return a Recipe or a Program, got dict"),
        (3, "must be a name, a Recipe or a function"),
    ],
)
def test_what_is_no_method_is_refused_in_words(method, words):
    with pytest.raises(ValueError, match=words):
        pt.Disentangler(method, **QUICK).fit(X)


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A user's module that can be written again."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(body: str):
        (tmp_path / "users_parts.py").write_text("from torch import nn\nimport partita as pt\n\n" + body)
        sys.modules.pop("users_parts", None)
        importlib.invalidate_caches()
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
        return importlib.import_module("users_parts")

    yield write
    sys.modules.pop("users_parts", None)


BODY = """
def network(shape, outputs, inputs):
    return nn.Linear(shape[0], outputs), nn.Linear(inputs, shape[0])


def method(*, latents=2, **architecture):
    return pt.RECIPES["vae"](latents=latents, **architecture)


likelihood = pt.distributions.Likelihood(
    "laplace", log_density=lambda x, middle: -abs(x - middle), mean=lambda middle: middle
)
"""


def test_a_model_with_ones_own_functions_comes_back(module, tmp_path):
    parts, path = module(BODY), tmp_path / "model.safetensors"
    model = pt.Disentangler(parts.method, network=parts.network, **QUICK).fit(X)
    model.save(path)
    back = pt.load(path)
    assert back.method is parts.method
    assert back.network is back.network_ is parts.network
    np.testing.assert_array_equal(back.transform(X), model.transform(X))
    assert pt.load(path, method=parts.method, network=parts.network).network is parts.network


@pytest.mark.parametrize("cloned", [False, True])
def test_a_model_with_ones_own_likelihood_comes_back(module, tmp_path, cloned):
    parts, path = module(BODY), tmp_path / "model.safetensors"
    model = pt.Disentangler("vae", latents=2, **QUICK | {"likelihood": parts.likelihood})
    model = (clone(model) if cloned else model).fit(X)
    model.save(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for back in (pt.load(path), pt.load(path, likelihood=parts.likelihood)):
            assert back.likelihood is back.likelihood_ is parts.likelihood
            assert back.score(X) == model.score(X)
            np.testing.assert_array_equal(decoded(back), decoded(model))
    del sys.modules["users_parts"]
    with pytest.raises(
        ValueError, match=r"a likelihood of your own.*import users_parts first.*load\(path, likelihood="
    ):
        pt.load(path)
    assert pt.load(path, likelihood=parts.likelihood).score(X) == model.score(X)
    with pytest.warns(ChangedSource, match="source of users_parts:likelihood"):
        pt.load(path, likelihood=module(BODY.replace("-abs(", "-2 * abs(")).likelihood)


def decoded(model):
    return model.inverse_transform(model.transform(X))


def test_a_likelihood_of_ours_is_kept_by_its_name(tmp_path):
    ours = pt.distributions.LIKELIHOODS["gaussian"]
    model = clone(pt.Disentangler("vae", latents=2, **QUICK | {"likelihood": ours})).fit(X)
    model.save(tmp_path / "model.safetensors")
    assert pt.load(tmp_path / "model.safetensors").likelihood_ == "gaussian"


def test_a_file_never_makes_python_import_anything(module, tmp_path):
    parts, path = module(BODY), tmp_path / "model.safetensors"
    pt.Disentangler("vae", network=parts.network, **QUICK).fit(X).save(path)
    del sys.modules["users_parts"]
    with pytest.raises(ValueError, match=r"a network of your own.*import users_parts first.*load\(path, network="):
        pt.load(path)
    assert "users_parts" not in sys.modules
    assert pt.load(path, network=parts.network).network_ is parts.network


def test_changed_source_is_a_warning_and_other_shapes_an_error(module, tmp_path):
    path = tmp_path / "model.safetensors"
    model = pt.Disentangler("vae", network=module(BODY).network, **QUICK).fit(X)
    model.save(path)
    module(BODY.replace("    return nn.Linear(shape[0]", "    # the same\n    return nn.Linear(shape[0]"))
    with pytest.warns(ChangedSource, match="source of users_parts:network, the network of .* has changed"):
        back = pt.load(path)
    np.testing.assert_array_equal(back.transform(X), model.transform(X))
    module(BODY.replace("nn.Linear(inputs, shape[0])", "nn.Linear(inputs, shape[0], bias=False)"))
    with pytest.warns(ChangedSource), pytest.raises(ValueError, match="does not fit the functions it is loaded with"):
        pt.load(path)
    module("def network(): pass".replace("network", "another"))
    with pytest.raises(ValueError, match="users_parts:network is gone"):
        pt.load(path)


def test_what_has_no_name_is_asked_for_again(tmp_path):
    def local(shape, outputs, inputs):
        return affine(shape, outputs, inputs)

    recipe = narrow(shape=(20,), network=lambda shape, outputs, inputs: affine(shape, outputs, inputs))
    cases = [{"network": lambda shape, outputs, inputs: affine(shape, outputs, inputs)}, {"network": local}]
    for parts in (*cases, {"method": recipe, "likelihood": "auto"}):
        path = tmp_path / "model.safetensors"
        model = pt.Disentangler(**QUICK | {"method": "vae", "latents": 3} | parts).fit(X)
        model.save(path)
        (name,) = parts.keys() - {"likelihood"}
        with pytest.raises(ValueError, match=rf"a {name} of your own.*load\(path, {name}="):
            pt.load(path)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            back = pt.load(path, **{name: parts[name]})
        np.testing.assert_array_equal(back.transform(X), model.transform(X))
    with pytest.warns(ChangedSource):
        pt.load(path, method=narrow(shape=(20,), beta=3.0, network=affine))


def test_a_part_that_the_file_names_itself_is_refused(tmp_path):
    pt.Disentangler("vae", latents=2, network="linear", **QUICK).fit(X).save(tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match="saved with network='linear': leave network out"):
        pt.load(tmp_path / "model.safetensors", network=affine)


def test_latents_are_those_of_the_groups():
    assert pt.Disentangler("pdisvae", groups=(2, 1), options={"restarts": 1}, **QUICK).fit(X).transform(X).shape[1] == 3
    assert pt.Disentangler("vae", **QUICK).fit(X).transform(X).shape[1] == 6
