import os

import pytest

from partita.data import reading

MACHINE = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@pytest.mark.parametrize(("said", "expected"), [("1000000\n", 10**6), ("max\n", MACHINE), (f"{2**63}", MACHINE)])
def test_a_container_may_leave_less_memory_than_the_machine_has(monkeypatch, tmp_path, said, expected):
    (tmp_path / "limit").write_text(said)
    monkeypatch.setattr(reading, "CONTAINER_LIMITS", (tmp_path / "limit", tmp_path / "absent"))
    assert reading.total_memory() == expected


def test_what_does_not_fit_is_refused_with_both_sizes(monkeypatch, tmp_path):
    (tmp_path / "limit").write_text(str(2**30))
    monkeypatch.setattr(reading, "CONTAINER_LIMITS", (tmp_path / "limit",))
    reading.check_fits(2**29, "the stack")
    with pytest.raises(ValueError, match=r"the stack needs 3.0 GiB, this machine has 1.0 GiB"):
        reading.check_fits(3 * 2**30, "the stack")
