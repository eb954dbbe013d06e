"""Names of 0.1.0 that moved: the old one works, and says so."""

import importlib
import sys

import pytest
import torch
from torch.distributions import Bernoulli, Normal

from partita import distributions
from partita._moved import MOVED


@pytest.mark.parametrize("old", MOVED)
def test_a_module_is_found_by_its_old_name(old):
    sys.modules.pop(old, None)
    new = importlib.import_module(MOVED[old])
    spec, name = new.__spec__, new.__name__
    with pytest.warns(DeprecationWarning, match="now; the old name goes"):
        assert importlib.import_module(old) is new
    assert (new.__spec__, new.__name__) == (spec, name)
    sys.modules.pop(old, None)


def test_densities_are_found_by_their_old_names():
    x, mean = torch.rand(3, 2), torch.randn(3, 2)
    with pytest.warns(DeprecationWarning, match=r"Bernoulli is LIKELIHOODS\['bernoulli'\].at now"):
        density = distributions.Bernoulli(mean)
    torch.testing.assert_close(density.log_prob(x), Bernoulli(logits=mean, validate_args=False).log_prob(x).sum(1))
    with pytest.warns(DeprecationWarning, match="Gaussian"):
        density = distributions.Gaussian(mean, torch.tensor(0.5))
    assert density.mean is mean
    torch.testing.assert_close(density.log_prob(x), Normal(mean, torch.exp(torch.tensor(0.25))).log_prob(x).sum(1))
    with pytest.raises(AttributeError, match="no attribute 'Bernouli'"):
        distributions.Bernouli  # noqa: B018
