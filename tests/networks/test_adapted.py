import pytest
import torch
from torch import nn

from partita.networks._adapted import adapted
from partita.networks._dropout import Dropout
from partita.networks.normalise import BatchNorm


@pytest.mark.parametrize(
    ("theirs", "shape"),
    [
        (nn.BatchNorm1d(5, eps=0.1), (16, 5)),
        (nn.BatchNorm1d(5, affine=False), (16, 5, 7)),
        (nn.BatchNorm2d(5, momentum=0.5), (16, 5, 3, 3)),
        (nn.BatchNorm3d(5), (16, 5, 2, 3, 3)),
    ],
)
def test_batch_normalisation_is_ours_with_their_settings(theirs, shape):
    h = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    if theirs.affine:
        theirs.weight.data.copy_(torch.arange(1.0, 6.0))
    ours = adapted(nn.Sequential(theirs))
    assert type(ours[0]) is BatchNorm
    torch.testing.assert_close(ours(h), theirs(h))
    assert [name for name, _ in ours.named_parameters()] == (["0.weight", "0.bias"] if theirs.affine else [])


def test_every_layer_is_found_and_one_in_two_places_stays_one():
    drop = nn.Dropout(0.3)
    module = adapted(nn.ModuleDict({"a": nn.Sequential(drop, nn.Sequential(drop)), "b": nn.Dropout2d(0.2)}))
    assert module["a"][0] is module["a"][1][0]
    assert [(type(m), m.p, m.channels) for m in (module["a"][0], module["b"])] == [
        (Dropout, 0.3, False),
        (Dropout, 0.2, True),
    ]
    assert type(adapted(nn.Dropout(0.1))) is Dropout


def test_what_somebody_made_of_a_layer_is_theirs():
    class Own(nn.Dropout):
        def forward(self, h):
            return h + 1

    assert type(adapted(nn.Sequential(Own()))[0]) is Own


def test_parameters_that_take_no_gradient_are_constants():
    module = adapted(nn.Sequential(nn.Linear(2, 3).requires_grad_(False), nn.Linear(3, 1)))
    assert [name for name, _ in module.named_parameters()] == ["1.weight", "1.bias"]
    assert list(module.state_dict()) == ["0.weight", "0.bias", "1.weight", "1.bias"]
    assert module(torch.ones(4, 2)).shape == (4, 1)
