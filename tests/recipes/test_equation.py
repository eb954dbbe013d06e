import pytest

from partita.recipes import RECIPES, Ramp
from partita.recipes._equation import equation, weight_names


@pytest.mark.parametrize(
    ("method", "text"),
    [
        ("vae", "-E[log p(x|z)] + KL(q(z|x) || p(z))"),
        ("beta_vae", "-E[log p(x|z)] + beta * KL(q(z|x) || p(z))"),
        ("beta_tcvae", "-E[log p(x|z)] + KL(q(z|x) || p(z)) + (beta - 1) * TC(z)"),
        ("pdisvae", "-E[log p(x|z)] + KL(q(z|x) || p(z)) + beta * PC(z)"),
        ("beta_stcvae", "-E[log p(x|z)] + KL(q(z|x) || p(z)) + (beta - 1) * PC(z) - sum_g TC(z_g)"),
        ("annealed_vae", "-E[log p(x|z)] + gamma * |KL - C|"),
    ],
)
def test_the_equation_is_read_off_the_recipe(method, text):
    assert equation(RECIPES[method]) == text


@pytest.mark.parametrize("method", RECIPES)
def test_every_weight_is_a_number_that_cannot_be_negative(method):
    for name in weight_names(RECIPES[method]):
        for bad in (-1.0, float("nan"), float("inf")):
            with pytest.raises(ValueError, match=name):
                RECIPES[method](**{name: bad}, shape=(3,))


def test_a_ramp_rises_and_stays():
    ramp = Ramp(0.0, 10.0, 5)
    assert [ramp.at(step) for step in (0, 1, 5, 50)] == [0.0, 2.0, 10.0, 10.0]
