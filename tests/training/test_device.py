import os
import subprocess
import sys
import threading
import warnings

import pytest
import torch

from partita.training import device

AFTER_THE_COMPILER = """
import os
import partita.training.device as device
import torch._inductor.runtime.cache_dir_utils as own
own.cache_dir()  # what an optimiser or vmap may bring about: the compiler settles on a temporary folder
device.prepare_compiler()
print(os.environ["TORCHINDUCTOR_CACHE_DIR"], own.cache_dir())
"""


@pytest.mark.parametrize("said", [None, "said"])
def test_compiled_code_is_kept_for_the_next_start_where_the_user_says_or_in_the_cache(tmp_path, said):
    kept = {"XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path), "LOCALAPPDATA": str(tmp_path)}
    without = {name: value for name, value in os.environ.items() if not name.startswith("TORCHINDUCTOR")}
    chosen = {} if said is None else {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / said)}
    ended = subprocess.run(
        [sys.executable, "-c", AFTER_THE_COMPILER], env=without | kept | chosen, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    folder, used = ended.stdout.split()
    assert folder == used
    assert folder.startswith(str(tmp_path))
    assert folder.endswith("said" if said else "inductor")


def test_bf16_is_refused_where_the_gpu_has_none(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: False)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "an old GPU")
    with pytest.raises(ValueError, match="an old GPU has no bf16; use --precision float32"):
        device.check_precision("bf16", torch.device("cuda"))
    device.check_precision("float32", torch.device("cuda"))


def test_what_cannot_be_compiled_runs_as_it_is_and_says_so(caplog):
    def awkward(x):
        print("a side effect that no graph holds")
        return 2 * x

    function = device.compiled(awkward)
    assert function(torch.ones(())) == 2
    assert function(torch.ones(())) == 2
    assert len([m for m in caplog.messages if "cannot be compiled" in m]) == 1


def lowered_with_a_warning(monkeypatch) -> list[bool]:
    """Makes the compiler warn of itself, as PyTorch's does of its own parts; says what it then compiled."""
    from torch._inductor.graph import GraphLowering

    lowered, made = [], GraphLowering.__init__

    def warning(self, *arguments, **named):
        warnings.warn("a part of the compiler is old", DeprecationWarning, stacklevel=1)
        lowered.append(bool(named.get("is_backward")))
        return made(self, *arguments, **named)

    monkeypatch.setattr(GraphLowering, "__init__", warning)
    monkeypatch.setattr("torch._inductor.config.force_disable_caches", True)
    return lowered


@pytest.mark.skipif(not device.worth_compiling(1 << 30, torch.device("cpu")), reason="no C++ compiler on this machine")
def test_a_warning_filter_does_not_decide_what_is_compiled(monkeypatch, caplog):
    lowered = lowered_with_a_warning(monkeypatch)
    x = torch.randn(30, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        before = list(warnings.filters)
        value = device.compiled(lambda x: (x.sin() * x.exp()).sum())(x)
        (gradient,) = torch.autograd.grad(value, x)
        assert list(warnings.filters) == before
        with pytest.raises(UserWarning):  # the caller's are again what they were
            warnings.warn("of the caller", UserWarning, stacklevel=1)
    assert lowered == [False, True]  # the value and its gradient
    assert "cannot be compiled" not in caplog.text
    torch.testing.assert_close(gradient, ((x.sin() + x.cos()) * x.exp()).detach())


def test_filters_of_other_threads_come_and_go_and_ours_does_not_stay():
    """Every order in which this context and another thread's catch_warnings may be entered and left."""
    orders = [
        ("ours", "theirs", "ours", "theirs"),
        ("theirs", "ours", "theirs", "ours"),
        ("ours", "theirs", "theirs", "ours"),
    ]
    for order in orders:
        before = list(warnings.filters)
        contexts = {"ours": device.unwarned(), "theirs": warnings.catch_warnings()}
        entered = set()
        for name in order:
            if name in entered:
                contexts[name].__exit__(None, None, None)
            else:
                contexts[name].__enter__()
                entered.add(name)
        assert list(warnings.filters) == before, order


def test_threads_that_compile_leave_the_filters_as_they_were():
    before = list(warnings.filters)
    shown = []

    def compiling():
        for _ in range(200):
            with device.unwarned():
                try:
                    warnings.warn("of the compiler", DeprecationWarning, stacklevel=1)
                except DeprecationWarning as error:
                    shown.append(error)

    threads = [threading.Thread(target=compiling) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not shown
    assert list(warnings.filters) == before


def test_a_gpu_by_number_becomes_the_current_one(monkeypatch):
    current = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", current.append)
    assert device.choose_device("cuda") == torch.device("cuda")
    assert device.choose_device("cuda:1") == torch.device("cuda:1")
    assert current == [torch.device("cuda:1")]
    with pytest.raises(ValueError, match="there are 2 GPUs"):
        device.choose_device("cuda:2")
