"""What a run is decides its name: where what it computes has changed, so has its edition."""

import pytest

from partita.studies import plan


@pytest.mark.parametrize(("method", "options", "groups", "edition"), [
    ("pdisvae", {"restarts": 2}, None, 2),  # took one training before
    ("pdisvae", {"restarts": 2, "by": "bank:20"}, None, 3),
    ("pdisvae", {"by": "bank:20"}, None, 2),
    ("pdisvae", {"restarts": 2}, (2, 1), 1),
    ("pdisvae", {"restarts": 1}, None, 1),
    ("vae", {"restarts": 2}, None, 1),
    ("beta_tcvae", {"restarts": 2}, None, 1),
])  # fmt: skip
def test_editions_count_what_changed(method, options, groups, edition, small_data):
    asked = {name: [value] for name, value in options.items()}
    (run,) = plan([method], small_data, latents=3, groups=groups, options=asked, steps=4)
    assert run.edition == edition
    assert ("edition" in run.as_json()) == (edition > 1)
