"""A fitted estimator, from its file."""

from pathlib import Path

from partita.estimator._building import PARTS
from partita.estimator._files import read_fitted
from partita.estimator.disentangler import Disentangler
from partita.training.model import check_parameters


def load(path, *, method=None, network=None, likelihood=None) -> Disentangler:
    """The estimator that `Disentangler.save` wrote.

    A method, network or likelihood of one's own is found by its name where its module is loaded; it is never imported
    because a file says so. What cannot be found, such as a lambda, is given here again.

    Parameters
    ----------
    path : the file.
    method, network, likelihood : those that cannot be found.

    Returns
    -------
    Disentangler

    Examples
    --------
    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> model = Disentangler("pca", latents=2).fit(np.eye(6))
    >>> with TemporaryDirectory() as folder:
    ...     model.save(Path(folder) / "model.safetensors")
    ...     load(Path(folder) / "model.safetensors")
    Disentangler(latents=2, method='pca')
    """
    settings, fitted = read_fitted(Path(path), {"method": method, "network": network, "likelihood": likelihood})
    estimator = Disentangler(**settings)
    vars(estimator).update(fitted)
    if any(not isinstance(settings[name], str) for name in PARTS):
        try:
            check_parameters(estimator._recipe(), estimator.parameters_)
        except ValueError as error:
            raise ValueError(f"{path} does not fit the functions it is loaded with: {error}") from None
    return estimator
