"""The compiled kernels' file: only what our compiler made is ever loaded, and it is made again when damaged."""

import ctypes
import os
import shutil
import stat
import subprocess
import sys
import threading

import pytest

from partita.kernels import build

try:
    build._version("cc")
except (OSError, subprocess.SubprocessError):
    pytest.skip("no C compiler on this machine", allow_module_level=True)

NAMES = ["batch", "convolutions"]
# Loads both kernels; a file that ran its constructor would say so.
LOADING = "from partita.kernels import build; assert build.library('batch') and build.library('convolutions')"
PLANTED = '#include <stdio.h>\n__attribute__((constructor)) static void run(void) { puts("planted"); }\n'


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A cache with both kernels in it, as two processes' first use leaves it."""
    cache = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(cache))
        patch.delenv("CC", raising=False)
        for name in NAMES:
            assert build.library.__wrapped__(name) is not None
    return cache


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    """A copy of it that may be damaged."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    return tmp_path / "partita" / "kernels"


@pytest.fixture(scope="module")
def foreign():
    """A library that says so when it is loaded."""
    return build._compiled(["cc", *build.FLAGS.split()], PLANTED)


def kept(folder, name="batch"):
    (file,) = folder.glob(f"{name}-*.so")
    return file


def loaded_by_a_process(code=LOADING, **environment):
    """In a process of its own: a damaged library ends the process that loads it."""
    return subprocess.run(
        [sys.executable, "-c", code], env=os.environ | environment, capture_output=True, text=True, timeout=240
    )


def test_the_second_process_loads_what_the_first_one_made(folder):
    made = {name: kept(folder, name).stat() for name in NAMES}
    ended = loaded_by_a_process()
    assert (ended.returncode, ended.stderr) == (0, "")
    assert {name: kept(folder, name).stat().st_mtime_ns for name in NAMES} == {
        n: s.st_mtime_ns for n, s in made.items()
    }
    assert all(not s.st_mode & build.OTHERS_WRITE for s in made.values())
    assert not stat.S_IMODE(folder.stat().st_mode) & build.OTHERS_WRITE
    assert not list(folder.glob("*.part"))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [0, 4096])
def test_a_truncated_or_empty_file_is_made_again(folder, name, size):
    file = kept(folder, name)
    whole = file.read_bytes()
    os.truncate(file, size)
    ended = loaded_by_a_process()
    assert (ended.returncode, ended.stderr) == (0, "")
    assert kept(folder, name).read_bytes() == whole


def test_one_changed_bit_is_found(folder):
    file = kept(folder)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    assert build._kept(folder, file.stem.rpartition("-")[0]) is None
    assert not file.exists()


def planted_over(file, foreign):
    """Another library, whole and named by its digest, in the place of ours."""
    name = file.stem.rpartition("-")[0]
    file.unlink()
    return build._keep(file.parent, name, foreign)


def test_a_planted_file_is_what_a_loader_would_run(folder, foreign):
    """The test of the tests below: nothing but owner and mode keeps it out."""
    planted_over(kept(folder), foreign)
    assert "planted" in loaded_by_a_process().stdout


@pytest.mark.parametrize("mode", [0o666, 0o620])
def test_a_file_that_others_can_write_is_not_loaded(folder, foreign, mode):
    planted_over(kept(folder), foreign).chmod(mode)
    ended = loaded_by_a_process()
    assert (ended.returncode, ended.stdout) == (0, "")
    assert not kept(folder).stat().st_mode & build.OTHERS_WRITE


@pytest.mark.parametrize("mode", [0o777, 0o775])
def test_nothing_is_loaded_from_a_folder_that_others_could_write(folder, foreign, mode):
    planted_over(kept(folder), foreign)
    folder.chmod(mode)
    ended = loaded_by_a_process()
    assert (ended.returncode, ended.stdout) == (0, "")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_file_of_another_user_is_not_loaded(folder, foreign, monkeypatch):
    file = planted_over(kept(folder), foreign)
    name, seen = file.stem.rpartition("-")[0], os.lstat
    assert build._kept(folder, name) == file

    def of_another(path):
        about = list(seen(path))
        about[stat.ST_UID] += 1
        return os.stat_result(about)

    monkeypatch.setattr(os, "lstat", of_another)
    assert build._kept(folder, name) is None


def test_a_folder_of_another_user_is_left_alone_and_the_kernel_had_all_the_same(folder, foreign, monkeypatch):
    file = planted_over(kept(folder), foreign)
    before, seen = file.read_bytes(), os.stat

    def of_another(path, **how):
        about = seen(path, **how)
        if str(path) != str(folder):
            return about
        changed = list(about)
        changed[stat.ST_UID] += 1
        return os.stat_result(changed)

    monkeypatch.setattr(os, "stat", of_another)
    found = build.library.__wrapped__("batch")
    assert isinstance(found, ctypes.CDLL)
    assert found.forward  # ours, not the planted one
    monkeypatch.undo()
    assert file.read_bytes() == before


def test_another_version_of_the_compiler_makes_a_file_of_its_own(folder, monkeypatch):
    monkeypatch.setattr(build, "_version", lambda *compiler: "another")
    assert build.library.__wrapped__("batch") is not None
    assert len(list(folder.glob("batch-*.so"))) == 2


def test_without_a_folder_to_keep_it_in_the_kernel_is_had_all_the_same(tmp_path, monkeypatch, caplog):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.delenv("CC", raising=False)
    assert build.library.__wrapped__("batch") is not None
    assert "every process compiles its own" in caplog.text


def test_builders_at_once_leave_one_whole_file(folder):
    for name in NAMES:
        kept(folder, name).unlink()
    found = []
    threads = [threading.Thread(target=lambda: found.append(build.library.__wrapped__("batch"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert None not in found
    assert kept(folder).stem.endswith(build._digest(kept(folder).read_bytes()))
    assert not list(folder.glob("*.part"))


def test_a_file_is_on_the_disk_before_it_has_its_name(folder, monkeypatch):
    done = []
    for name in ("fsync", "replace"):
        call = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *a, name=name, call=call: (done.append(name), call(*a))[1])
    kept(folder).unlink()
    assert build.library.__wrapped__("batch") is not None
    assert done == ["fsync", "replace", "fsync"]


TRAINING = """
import sys
from partita.cli.main import main
asked = "partita train beta_tcvae --data groups:size=60 --steps 2 --device cpu --out"
sys.argv = [*asked.split(), sys.argv[1]]
main()
"""


def test_without_a_compiler_the_command_line_says_so_once(tmp_path):
    environment = {"CC": "no-such-compiler", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    ended = subprocess.run(
        [sys.executable, "-c", TRAINING, str(tmp_path / "out")],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert ended.returncode == 0, ended.stderr
    (line,) = [line for line in ended.stderr.splitlines() if "compiled kernels" in line]
    assert line.startswith("partita: no compiled kernels here")
    assert "slower" in line
    assert "last digits" in line
    assert "no-such-compiler" in line


def test_both_kernels_missing_are_one_line(monkeypatch, caplog, tmp_path):
    monkeypatch.setenv("CC", "false")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(build, "_told", set())
    assert [build.library.__wrapped__(name) for name in NAMES] == [None, None]
    assert len([record for record in caplog.records if record.levelname == "WARNING"]) == 1
    assert not list(tmp_path.rglob("*.so"))
