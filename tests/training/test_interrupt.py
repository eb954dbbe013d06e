import signal
import sys
import threading

import pytest

from partita.training import interruptible


def test_a_wish_is_heard_and_the_handlers_are_given_back():
    before = signal.getsignal(signal.SIGTERM)
    with interruptible() as asked:
        assert not asked()
        signal.raise_signal(signal.SIGTERM)
        assert asked()
    assert signal.getsignal(signal.SIGTERM) is before


def test_sigterm_is_one_wish_however_often_it_comes():
    with interruptible() as asked:
        for _ in range(3):
            signal.raise_signal(signal.SIGTERM)
        assert asked()


def test_a_second_ctrl_c_stops_at_once_unless_several_processes_train_together():
    with interruptible(patient=True) as asked:
        for _ in range(3):
            signal.raise_signal(signal.SIGINT)
        assert asked()
    with interruptible() as asked:
        signal.raise_signal(signal.SIGINT)
        assert asked()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


@pytest.mark.timeout(20)
def test_a_signal_that_comes_while_another_is_taken_does_not_wait_for_it_forever():
    """A lock in the handler would: the second signal interrupts whoever holds it."""
    moments = 0

    def at_every_moment(frame, event, argument):
        nonlocal moments
        if event == "call" and _inside_a_handler(frame):
            moments += 1
            signal.raise_signal(signal.SIGTERM)

    with interruptible(patient=True) as asked:
        sys.setprofile(at_every_moment)
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            sys.setprofile(None)
        assert asked()
    assert moments


def _inside_a_handler(frame) -> bool:
    while frame is not None:
        if frame.f_code.co_name == "ask":
            return True
        frame = frame.f_back
    return False


def test_other_threads_are_never_asked():
    heard = []

    def work():
        with interruptible() as asked:
            heard.append(asked())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert heard == [False]
