import pytest


@pytest.fixture(autouse=True)
def nothing_of_this_machine(tmp_path_factory, monkeypatch):
    """No data folder and no cache of the user: each test starts with its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.delenv("PARTITA_DATA", raising=False)
    monkeypatch.delenv("PARTITA_OFFLINE", raising=False)
