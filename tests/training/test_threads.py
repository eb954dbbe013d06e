"""A fit is a function of its data and its seed, whatever other threads do and whatever the caller has switched on."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from partita import Disentangler
from partita.recipes import RECIPES
from partita.training.device import reproducibly

X = np.random.default_rng(0).standard_normal((64, 8)).astype(np.float32)
LABELS, CPU = X[:, :2], torch.device("cpu")
# the networks beside encoder and decoder, small here
SMALL = {
    "factor_vae": {"width": 16, "depth": 2},
    "rtc_vae": {"width": 16, "depth": 2},
    "pdisvae": {"restarts": 2},
    **{name: {"prior_width": 16, "prior_depth": 2} for name in ("ivae", "idvae", "ss_ivae", "ss_idvae")},
}


def fitted(seed: int, method: str = "vae", steps: int = 2) -> Disentangler:
    groups = (2, 2) if method in ("pdisvae", "hfvae") else None
    model = Disentangler(
        method, latents=4, steps=steps, seed=seed, network="mlp", likelihood="gaussian", batch_size=32, groups=groups,
        options=SMALL.get(method),
    )  # fmt: skip
    return model.fit(X, LABELS)


def bytes_of(model: Disentangler) -> bytes:
    return b"".join(model.parameters_[name].numpy().tobytes() for name in sorted(model.parameters_))


def in_threads(count: int, calls: list) -> list:
    with ThreadPoolExecutor(count) as pool:
        return [future.result() for future in [pool.submit(call) for call in calls]]


def test_fits_in_eight_threads_are_the_fits_alone():
    """The audit's: 11 of 32 differed."""
    alone = [fitted(seed).transform(X) for seed in range(8)]
    for _ in range(4):
        together = in_threads(8, [lambda seed=seed: fitted(seed).transform(X) for seed in range(8)])
        assert [seed for seed in range(8) if not np.array_equal(alone[seed], together[seed])] == []


@pytest.mark.slow
def test_a_hundred_fits_in_eight_threads():
    """Every method, restarts with their ICA among them."""
    calls = [lambda m=method, s=seed: bytes_of(fitted(s, m, steps=20)) for seed in range(5) for method in RECIPES][:100]
    alone = [call() for call in calls]
    assert in_threads(8, calls) == alone


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
@pytest.mark.parametrize("method", RECIPES)
def test_the_default_dtype_is_the_callers_business(method, dtype):
    expected = fitted(1, method)
    torch.set_default_dtype(dtype)
    try:
        found = fitted(1, method)
        codes, drawn = found.transform(X), found.sample(3)
    finally:
        torch.set_default_dtype(torch.float32)
    assert bytes_of(found) == bytes_of(expected)
    assert np.array_equal(codes, expected.transform(X))
    assert np.array_equal(drawn, expected.sample(3))


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("method", ["vae", "pdisvae", "infogan", "ae_ica", "idvae"])
def test_gradients_are_taken_where_the_caller_wants_none(method, mode):
    expected = fitted(1, method)
    with mode():
        found = fitted(1, method)
        codes = found.transform(X)
    assert bytes_of(found) == bytes_of(expected)
    assert np.array_equal(codes, expected.transform(X))
    assert not any(value.is_inference() for value in found.parameters_.values())
    assert np.array_equal(found.transform(X), codes), "what was built under the mode still works without it"


def test_what_inference_mode_leaves_behind_can_be_differentiated():
    """Small indices are kept for the next call: they must not be made tensors of inference."""
    from partita.kernels import guard, mixture

    guard.index_of.cache_clear()
    mixture.membership.cache_clear()
    with torch.inference_mode():
        index, members = guard.index_of((2, 0), CPU), mixture.membership(((0,),), 2, CPU)
    assert not index.is_inference()
    assert not members.is_inference()


def test_overlapping_threads_leave_the_convolutions_switch_as_it_was():
    """The first one in turns it, the last one out turns it back, in whatever order they go."""
    before = torch.backends.cudnn.deterministic
    assert not before
    inside, out = threading.Event(), threading.Event()

    def elsewhere():
        with reproducibly:
            inside.set()
            out.wait(10)

    other = threading.Thread(target=elsewhere)
    with reproducibly:
        other.start()
        inside.wait(10)
    assert torch.backends.cudnn.deterministic
    out.set()
    other.join()
    assert torch.backends.cudnn.deterministic == before
