"""One place writes: whole or absent, synced, as the umask says, and leftovers are told from files being written."""

import os
import stat
import subprocess
import sys
import time

import pytest

from partita.training.files import (
    abandoned,
    append_line,
    make_folder,
    move,
    read_json,
    remove,
    remove_folder,
    write_bytes,
    write_json,
)


@pytest.fixture
def synced(monkeypatch):
    """The paths that were synced, in order, beside those that were replaced."""
    seen, names = [], {}
    plain_open, plain_fsync, plain_replace = os.open, os.fsync, os.replace

    def opened(path, *arguments, **settings):
        handle = plain_open(path, *arguments, **settings)
        names[handle] = str(path)
        return handle

    def fsync(handle):
        plain_fsync(handle)
        seen.append(("sync", names[handle]))

    def replace(source, target):
        plain_replace(source, target)
        seen.append(("replace", str(target)))

    for name, call in {"open": opened, "fsync": fsync, "replace": replace}.items():
        monkeypatch.setattr(os, name, call)
    return seen


def test_a_file_is_synced_moved_to_its_place_and_its_folder_synced(tmp_path, synced):
    write_bytes(tmp_path / "file", b"content")
    (first, temporary), *rest = synced
    assert first == "sync"
    assert temporary != str(tmp_path / "file")
    assert rest == [("replace", str(tmp_path / "file")), ("sync", str(tmp_path))]


def test_folders_are_synced_when_something_comes_or_goes(tmp_path, synced):
    make_folder(tmp_path / "a" / "b")
    assert synced == [("sync", str(tmp_path)), ("sync", str(tmp_path / "a"))]
    (tmp_path / "a" / "file").write_bytes(b"x")
    synced.clear()
    move(tmp_path / "a" / "file", tmp_path / "a" / "b" / "file")
    assert synced[1:] == [("sync", str(tmp_path / "a" / "b")), ("sync", str(tmp_path / "a"))]
    synced.clear()
    remove(tmp_path / "a" / "b" / "file")
    remove(tmp_path / "a" / "b" / "file")  # gone already
    remove_folder(tmp_path / "a" / "b")
    remove_folder(tmp_path)  # not empty: left alone
    assert synced == [("sync", str(tmp_path / "a" / "b")), ("sync", str(tmp_path / "a"))]
    assert (tmp_path / "a").is_dir()


@pytest.mark.parametrize("umask", [0o022, 0o002, 0o077])
def test_files_have_the_mode_that_the_umask_leaves(tmp_path, umask):
    before = os.umask(umask)
    try:
        write_bytes(tmp_path / "whole", b"content")
        append_line(tmp_path / "log", "line\n")
    finally:
        os.umask(before)
    for name in ("whole", "log"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o666 & ~umask


@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
def test_a_full_disk_names_the_file_and_leaves_the_old_one(tmp_path, monkeypatch, call):
    path = tmp_path / "file"
    write_bytes(path, b"old")

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, call, full)
        with pytest.raises(OSError, match="No space left on device") as error:
            write_bytes(path, b"new")
    assert error.value.filename == str(path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_temporary_file_is_abandoned_once_its_process_is_gone(tmp_path):
    program = (
        "import os, sys, time; from pathlib import Path\n"
        "from partita.training import files\n"
        "def stuck(*_):\n    print('here', flush=True)\n    time.sleep(100)\n"
        "os.replace = stuck\n"
        "files.write_bytes(Path(sys.argv[1]) / 'file', b'content')"
    )
    writer = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    assert writer.stdout.readline() == "here\n"
    (temporary,) = tmp_path.iterdir()
    assert not abandoned(temporary)
    writer.kill()
    writer.wait()
    assert abandoned(temporary)
    writer.stdout.close()


def test_what_others_may_still_write_is_left_alone_for_a_day(tmp_path):
    """Of another machine's processes, and of partita 0.1, whose names do not say whose they are."""
    for name in (".partita-ffffffff-1-1.part", ".weights.safetensors.abcd1234"):
        path = tmp_path / name
        path.write_bytes(b"half")
        assert not abandoned(path)
        os.utime(path, (time.time() - 90000,) * 2)
        assert abandoned(path)
    for name in ("run.json", ".lock", "weights.safetensors"):
        path = tmp_path / name
        path.write_bytes(b"whole")
        os.utime(path, (0, 0))
        assert not abandoned(path)


def test_a_sealed_file_that_was_changed_is_refused(tmp_path):
    path = tmp_path / "result.json"
    write_json(path, {"step": 30, "status": "finished"}, sealed=True)
    assert read_json(path)["step"] == 30
    path.write_text(path.read_text().replace("30", "90"))
    with pytest.raises(ValueError, match=r"result.json is damaged: its content does not match its digest"):
        read_json(path)


@pytest.mark.parametrize("content", [b"[]", b"null", b"{", b"", b"\xff", b"[" * 100_000, b'{"a":' * 100_000])
def test_what_is_no_json_object_is_refused_by_name(tmp_path, content):
    path = tmp_path / "result.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="result.json"):
        read_json(path)
