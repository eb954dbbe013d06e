from partita.data._nearest import listed, nearest


def test_near_names():
    assert nearest("dsprite", ["groups", "dsprites"]) == " (did you mean 'dsprites'?)"
    assert nearest("step", ["steps", "seeds"], prefix="--") == " (did you mean --steps?)"
    assert nearest("zzz", ["groups"]) == ""


def test_long_lists_are_cut_short():
    assert listed(["a", "b"]) == "a, b"
    assert listed([]) == "none"
    assert listed(range(1_000_000)) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ... and 999,990 more"
    assert len(listed(["x" * 10**6] * 20)) < 700
