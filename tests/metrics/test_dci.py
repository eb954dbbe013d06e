"""DCI by boosted trees: copies of latents, and rows that the training rows do not speak of."""

import numpy as np
import pytest

from partita import metrics as m

RNG = np.random.default_rng(0)
# disentanglement_lib's own test: ten factors, every latent twice, completeness 0.60 to 0.80
FACTORS = np.stack([RNG.integers(size, size=1500) for size in range(2, 12)], 1)
COPIED = np.concatenate([FACTORS, FACTORS], 1).astype(float)


@pytest.mark.parametrize("seed", range(3))
def test_the_default_sees_copies(seed):
    found = m.evaluate(COPIED, FACTORS, "dci", seed=seed)["dci"]
    assert found.protocol == "dlib-2019-fast-ties"
    assert 0.6 <= found.parts["completeness"] <= 0.8
    assert found.parts["completeness"] == pytest.approx(1 - np.log(2) / np.log(20), abs=0.02)
    assert found.parts["disentanglement"] > 0.99
    assert m.dci(COPIED, FACTORS, protocol="dlib-2019-fast").parts["completeness"] > 0.99


def test_copies_share_as_scikit_learn_lets_them():
    """Twice; and three times, one of them turned round and stretched, one with a little noise."""
    few = FACTORS[:600, :4]
    for copies in ([few, few], [few, 5 - 3.0 * few, few + 1e-9 * RNG.standard_normal(few.shape)]):
        codes = np.concatenate(copies, 1) + 0.0
        slow, fast = (m.dci(codes, few, protocol=p).parts for p in ("dlib-2019", "dlib-2019-fast-ties"))
        assert fast["completeness"] == pytest.approx(slow["completeness"], abs=0.05)
        assert slow["completeness"] < 0.75


def test_without_ties_nothing_changes():
    codes = FACTORS[:, :4] @ RNG.standard_normal((4, 5)) + 0.3 * RNG.standard_normal((1500, 5))
    with_ties, without = (m.dci(codes, FACTORS[:, :4], protocol=f"dlib-2019-fast{e}").parts for e in ("-ties", ""))
    for part in ("disentanglement", "completeness", "informativeness"):
        assert with_ties[part] == pytest.approx(without[part], abs=0.005)


SPLITTING = {"sap": {}, "explicitness": {}, "dci": {"protocol": "dlib-2019-fast"}}


@pytest.mark.parametrize("name", SPLITTING)
def test_a_class_that_was_never_trained_on_is_warned_of(name):
    order = np.argsort(FACTORS[:, 2], kind="stable")
    with pytest.warns(m.UntrainedClasses, match="factor 2: 1 of its 4 values are in the test rows alone") as caught:
        getattr(m, name)(FACTORS[order, :3] + 0.0, FACTORS[order, :3], **SPLITTING[name])
    assert len(caught) == 1
    assert issubclass(caught[0].category, UserWarning)
    assert "\n" not in str(caught[0].message)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("sap", {"continuous": True}),
        ("explicitness", {"protocol": "ubisoft-2020"}),
        ("dci", {"protocol": "ubisoft-2020"}),
    ],
)
def test_where_nothing_is_held_out_nothing_is_warned_of(name, options):
    order = np.argsort(FACTORS[:, 2], kind="stable")[::5]
    getattr(m, name)(FACTORS[order, :3] + 0.0, FACTORS[order, :3], **options)
