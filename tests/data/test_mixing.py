import numpy as np
import pytest

from partita.data import load, remake
from partita.data._mixing import mixing_named


def jacobian(mix, z, step=1e-5):
    steps = step * np.eye(len(z))
    return ((mix(z + steps) - mix(z - steps)) / (2 * step)).T


@pytest.mark.parametrize(("condition", "layers"), [(1.0, 1), (10.0, 2), (50.0, 3)])
def test_nonlinear_mixing_is_invertible_with_the_promised_condition(condition, layers):
    rng = np.random.default_rng(0)
    mixing = mixing_named("nonlinear", 5, 12, rng, condition=condition, layers=layers)
    z = 3 * rng.standard_normal((200, 5))
    np.testing.assert_allclose(mixing.unmix(mixing.mix(z)), z, atol=1e-9)
    worst = max(np.linalg.cond(jacobian(mixing.mix, point)) for point in z)
    assert worst <= condition * (1 + 1e-6)
    if condition > 1:
        assert worst > 0.3 * condition  # the bound is of the right size
        flat = np.c_[z, np.ones(200)]
        fitted = flat @ np.linalg.lstsq(flat, mixing.mix(z), rcond=None)[0]
        assert np.mean((fitted - mixing.mix(z)) ** 2) / mixing.mix(z).var() > 0.005  # no linear map does it


def test_linear_mixing_and_its_inverse():
    mixing = mixing_named("linear", 4, 9, np.random.default_rng(1))
    z = np.random.default_rng(2).standard_normal((20, 4))
    np.testing.assert_allclose(mixing.unmix(mixing.mix(z)), z, atol=1e-10)
    assert mixing.condition == pytest.approx(np.linalg.cond(jacobian(mixing.mix, z[0])))


def test_groups_through_a_bent_map_can_be_made_again():
    data = load("groups", groups=(3, 2, 1), mixing="nonlinear", condition=20, layers=3, noise=0.0, size=100)
    np.testing.assert_array_equal(remake(data.description).x, data.x)
    assert data.description["options"]["condition"] == 20.0
    assert not np.allclose(data.x, load("groups", groups=(3, 2, 1), noise=0.0, size=100).x)
    assert "condition" not in load("groups", size=10).description["options"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": 5}, "at least as many features as latents"),
        ({"condition": 0.5}, "condition must be at least 1"),
        ({"condition": np.nan}, "condition"),
        ({"layers": 0}, "layers"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        load("groups", mixing="nonlinear", **options)
