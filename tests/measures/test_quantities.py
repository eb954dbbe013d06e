import pytest

from partita.measures.quantities import AS_LOGGED, QUANTITIES, in_order, quantity
from partita.recipes import RECIPES, build
from partita.recipes._equation import equation
from partita.reports._captions import typeset


@pytest.mark.parametrize("method", RECIPES)
def test_what_a_method_minimises_is_in_the_table_and_prints_without_code(method):
    for player in build(method, shape=(3,), labels=2).recipe.players:
        for name in player.weights:
            assert quantity(name).unit != AS_LOGGED
    printed = str(typeset(equation(RECIPES[method])))
    assert "_" not in printed
    assert "*" not in printed


def test_a_controlled_weight_has_a_sign_of_its_own():
    assert equation(RECIPES["control_vae"]) == "-E[log p(x|z)] + beta_t * KL(q(z|x) || p(z))"
    assert "β<sub>t</sub> · KL" in typeset(equation(RECIPES["control_vae"]))


def test_rows_made_from_others():
    assert quantity("held_out_recon").label == "held-out reconstruction, −E[log p(x|z)]"
    assert quantity("held_out_off_diagonal").unit == QUANTITIES["off_diagonal"].unit
    assert quantity("discriminator_loss").label == "objective of the discriminator (loss)"
    assert quantity("prior_kl_2").label == "KL(p(z2|u) ‖ N(0, 1))"


def test_what_nobody_entered_is_allowed_and_comes_last():
    assert quantity("my_penalty").symbol == quantity("my_penalty").label == "my penalty"
    assert in_order({"zeal", "kl", "anger", "loss"}) == ["loss", "kl", "anger", "zeal"]
