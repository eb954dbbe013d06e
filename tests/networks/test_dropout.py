import pytest
import torch
from torch import nn
from torch.func import functional_call

from partita.networks._dropout import Dropout, dropping, keyed, uniform


def passed(module, h, key):
    return functional_call(module, keyed(module, torch.tensor(key)), (h,))


def test_without_a_key_it_does_nothing():
    h = torch.randn(4, 3)
    for layer in (Dropout(0.5).train(), Dropout(0.5).eval()):
        assert layer(h) is h


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 1.0])
def test_it_drops_a_share_and_keeps_the_mean(p):
    found = passed(Dropout(p), torch.ones(300, 400), 0.3)
    torch.testing.assert_close(found[found != 0], torch.full_like(found[found != 0], 1 / (1 - p) if p < 1 else 0))
    assert (found == 0).float().mean().item() == pytest.approx(p, abs=0.01)


def test_channels_are_dropped_whole():
    found = passed(Dropout(0.5, channels=True), torch.ones(50, 40, 6), 0.3)
    assert torch.equal(found, found[..., :1].expand(-1, -1, 6))
    assert (found == 0).float().mean().item() == pytest.approx(0.5, abs=0.03)


def test_numbers_are_even_and_without_a_pattern():
    """Between neighbours, rows, keys and calls alike: correlations of 10^5 numbers stay within five standard errors."""
    u = uniform(torch.tensor(0.7), (400, 250), 1)
    others = [
        uniform(torch.tensor(0.7), (400, 250), 2),
        uniform(torch.tensor(0.7000001), (400, 250), 1),
        u.roll(1, 1),
        u.roll(1, 0),
    ]
    histogram = torch.histc(u, 20, 0, 1)
    assert ((histogram - 5000).square() / 5000).sum() < 45  # chi-squared, 19 degrees of freedom
    for other in others:
        assert abs(torch.corrcoef(torch.stack([u.flatten(), other.flatten()]))[0, 1]) < 5 / 100_000**0.5


def test_layers_and_calls_of_one_layer_drop_different_numbers():
    layer = Dropout(0.5)
    twice, h = nn.Sequential(layer, layer, Dropout(0.5)), torch.ones(200, 50)
    assert (passed(twice, h, 0.1) == 0).float().mean().item() == pytest.approx(7 / 8, abs=0.01)
    assert torch.equal(passed(twice, h, 0.1), passed(twice, h, 0.1))
    assert not torch.equal(passed(twice, h, 0.1), passed(twice, h, 0.2))
    assert dropping({"a": twice, "b": nn.Linear(1, 1)}) == ["a"]
