import os
import re
import signal
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import pytest

from twicetold.files import (
    DEEPEST,
    TEMPORARY,
    lock_beside,
    make_once,
    one_at_a_time,
    only_process,
    require_regular,
    unchanged,
    write_file,
    write_folder,
    write_text,
)

ROOT = Path(__file__).parents[2]
HOLD = """
import pathlib, sys, time
from twicetold.files import only_process

with only_process(pathlib.Path(sys.argv[1]), "this"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_failed_write_leaves_the_former_file_and_no_other(tmp_path):
    path = tmp_path / "a.txt"
    write_text(path, "old")
    with pytest.raises(RuntimeError), write_file(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_a_folder_is_replaced_whole_and_a_failure_leaves_the_former_one(tmp_path):
    for name, error in (("one", None), ("two", None), ("three", KeyboardInterrupt)):
        with nullcontext() if error is None else pytest.raises(error), write_folder(tmp_path / "data") as target:
            write_text(target / name, name)
            if error is not None:
                raise error
    assert [p.name for p in (tmp_path / "data").iterdir()] == ["two"]
    assert [p.name for p in tmp_path.iterdir()] == ["data"]


@pytest.mark.parametrize("replaced", [True, False])
def test_a_folder_that_is_replaced_while_it_is_read_is_an_error(tmp_path, replaced):
    folder = tmp_path / "data"
    if replaced:
        with write_folder(folder) as target:
            write_text(target / "one", "1")
    error = pytest.raises(OSError, match=r"data was replaced by another command while it was read")
    with error, unchanged(folder, missing_ok=not replaced):
        with write_folder(folder) as target:
            write_text(target / "one", "2")
        assert (folder / "one").read_text() == "1"  # the message goes before an error that the mixture has led to
    with pytest.raises(OSError, match="was replaced"), unchanged(tmp_path / "gone"):  # for an instant, as it seems
        pass


def test_a_lock_is_held_by_one_process_and_is_free_when_that_is_killed(tmp_path):
    lock = tmp_path / "locks" / "a.lock"
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(lock)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "held\n"
    refused = pytest.raises(BlockingIOError, match=f"process {holder.pid} does this already: a test")
    with refused, only_process(lock, "a test"):
        pass
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert lock.exists()
    for _ in range(2):
        with pytest.raises(RuntimeError), only_process(lock, "a test"):
            assert lock.exists()
            raise RuntimeError
        assert not lock.exists()


PLANTED = {
    "link": (lambda lock, target: lock.symlink_to(target), "a symbolic link"),
    "hard link": (lambda lock, target: os.link(target, lock), "a file with other names besides"),
    "link to nothing": (lambda lock, target: lock.symlink_to(target.with_name("new")), "a symbolic link"),
    "pipe": (lambda lock, target: os.mkfifo(lock), "a pipe"),
    "socket": (lambda lock, target: os.mknod(lock, stat.S_IFSOCK | 0o600), "a socket"),
    "folder": (lambda lock, target: lock.mkdir(), "a folder"),
}


@pytest.mark.parametrize("hold", [lambda lock: only_process(lock, "a test"), one_at_a_time], ids=["only", "one"])
@pytest.mark.parametrize("kind", PLANTED)
def test_a_lock_that_leads_elsewhere_is_refused_and_nothing_is_written(tmp_path, kind, hold):
    make, said = PLANTED[kind]
    target, lock = tmp_path / "thesis.txt", tmp_path / "folder" / "lock"
    target.write_text("years of work")
    lock.parent.mkdir()
    make(lock, target)
    with pytest.raises(ValueError, match=rf"lock .*/folder/lock to be a file .*, got {said}: delete it"), hold(lock):
        pass
    assert target.read_text() == "years of work"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "thesis.txt"]


def test_a_lock_that_is_held_does_not_speak_for_others(tmp_path):
    lock = tmp_path / "lock"
    with one_at_a_time(lock):
        lock.write_text("\x1b[2J" * 9)
        with (
            pytest.raises(BlockingIOError, match=r"^process \(starting\) does this already"),
            only_process(lock, "this"),
        ):
            pass


@pytest.fixture
def umask():
    former = os.umask(0o022)
    yield os.umask
    os.umask(former)


@pytest.mark.parametrize(
    ("mask", "file", "folder"), [(0o022, 0o644, 0o755), (0o077, 0o600, 0o700), (0o002, 0o664, 0o775)]
)
def test_what_is_new_has_the_mode_that_the_umask_leaves(tmp_path, umask, mask, file, folder):
    umask(mask)
    write_text(tmp_path / "folder" / "a", "1")
    with write_folder(tmp_path / "b"):
        pass
    assert stat.S_IMODE((tmp_path / "folder" / "a").stat().st_mode) == file
    assert stat.S_IMODE((tmp_path / "b").stat().st_mode) == folder


def test_what_is_replaced_leaves_its_mode_and_is_never_wider_meanwhile(tmp_path, umask):
    (tmp_path / "a").write_text("secret")
    (tmp_path / "b").mkdir()
    for path, mode in ((tmp_path / "a", 0o640), (tmp_path / "b", 0o710)):
        path.chmod(mode)
        with (write_file if path.is_file() else write_folder)(path) as temporary:
            assert not temporary.stat().st_mode & 0o077
        assert stat.S_IMODE(path.stat().st_mode) == mode
    (tmp_path / "link").symlink_to(tmp_path / "a")
    write_text(tmp_path / "link", "new")
    assert stat.S_IMODE((tmp_path / "link").lstat().st_mode) == 0o644


@pytest.mark.parametrize("name", ["a" * 251 + ".csv", "\N{SNOWMAN}" * 84, "a." + "b" * 253])
def test_names_may_be_as_long_as_the_file_system_takes(tmp_path, name):
    write_text(tmp_path / "one" / name, "1")
    with write_folder(tmp_path / "two" / name) as target:
        write_text(target / name, "2")
    make_once(tmp_path / "three" / name, lambda: write_text(tmp_path / "three" / name, "3"))
    with only_process(lock_beside(tmp_path / "two" / name), "a test"):
        pass
    assert [[p.name for p in (tmp_path / place).iterdir()] for place in ("one", "two", "three")] == [[name]] * 3


def test_what_many_need_at_once_is_made_by_one_of_them(tmp_path):
    made = []

    def make():
        made.append("x")
        time.sleep(0.1)
        write_text(tmp_path / "a", "made")

    with pytest.raises(ZeroDivisionError):
        make_once(tmp_path / "a", lambda: 1 / 0)
    with ThreadPoolExecutor(8) as pool:  # each opens the lock for itself, as processes do
        list(pool.map(lambda _: make_once(tmp_path / "a", make), range(8)))
    assert made == ["x"]
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_dvc_ignores_temporary_names():
    with (ROOT / ".dvcignore").open() as file:
        assert f"{TEMPORARY}*\n" in file


ELSEWHERE = {
    "link": (lambda path: path.symlink_to("/etc/hostname"), "is a symbolic link"),
    "link to a folder": (lambda path: path.symlink_to("/etc"), "is a symbolic link"),
    "link to itself": (lambda path: path.symlink_to(path.parent), "is a symbolic link"),
    "link to nothing": (lambda path: path.symlink_to("nothing"), "is a symbolic link"),
    "pipe": (os.mkfifo, "is a pipe"),
    "socket": (lambda path: os.mknod(path, stat.S_IFSOCK | 0o600), "is a socket"),
    "large JSON": (lambda path: (path.touch(), os.truncate(path, 101)), "expected at most 100 bytes in"),
}


@pytest.mark.parametrize("depth", [0, 2])
@pytest.mark.parametrize("kind", ELSEWHERE)
def test_a_folder_with_anything_else_is_refused_by_name(tmp_path, kind, depth):
    make, said = ELSEWHERE[kind]
    place = Path(*["a"] * depth) / "x.json"
    (tmp_path / place.parent).mkdir(parents=True, exist_ok=True)
    make(tmp_path / place)
    with pytest.raises(ValueError, match=said) as refused:
        require_regular(tmp_path, what="a model folder", json_limit=100)
    assert re.search(rf"\b{place}\b", str(refused.value))


def test_a_folder_with_too_many_levels_is_refused(tmp_path):
    (tmp_path / Path(*["a"] * DEEPEST)).mkdir(parents=True)
    require_regular(tmp_path, what="an index")
    (tmp_path / Path(*["a"] * (DEEPEST + 1))).mkdir()
    with pytest.raises(ValueError, match=f"at most 100,000 entries and {DEEPEST} levels in an index"):
        require_regular(tmp_path, what="an index")


FILL = """
import pathlib, resource, sys
import numpy as np
import safetensors.numpy
from twicetold.files import write_file, write_folder, write_text

numbers = np.random.default_rng(0).random(1 << 16)
WAYS = {
    "text": lambda path: path.write_text("x" * numbers.nbytes),
    "npy": lambda path: np.save(path, numbers),
    "safetensors": lambda path: safetensors.numpy.save_file({"a": numbers}, path),
}
path, way, room = pathlib.Path(sys.argv[1]), WAYS[sys.argv[2]], int(sys.argv[3])
if room:
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
try:
    if path.is_dir():
        with write_folder(path) as folder:
            with write_file(folder / f"inner.{sys.argv[2]}") as temporary:
                way(temporary)
    else:
        with write_file(path) as temporary:
            way(temporary)
except OSError as error:
    sys.exit(f"{type(error).__name__}: {error}")
"""
FULL_BY = ("text", "npy", "safetensors")


def _fill(path, way, room):
    line = [sys.executable, "-c", FILL, str(path), way, str(room)]
    return subprocess.run(line, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("way", FULL_BY)
def test_a_full_disk_is_one_error_whoever_writes_and_leaves_what_was_there(tmp_path, way):
    """The largest size of a file stands for the size of the disk: it needs no rights."""
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / f"file.{way}", tmp_path / "folder" / "kept"):
        path.write_text("former")
    for path in (tmp_path / f"file.{way}", tmp_path / "folder"):
        done = _fill(path, way, 1 << 17)
        assert done.returncode == 1
        assert done.stderr.startswith("DiskFullError: expected room for ")
        assert f"/{path.name}" in done.stderr
        assert "Make room or choose another place" in done.stderr
        assert done.stderr.count("\n") == 1
    assert {path.name: path.read_text() for path in tmp_path.rglob("*") if path.is_file()} == {
        f"file.{way}": "former",
        "kept": "former",
    }
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith(TEMPORARY)]


def test_an_error_that_is_not_of_the_disk_stays_what_it_is(tmp_path):
    with pytest.raises(ValueError, match=r"^No space left for jokes$"), write_file(tmp_path / "a"):
        raise ValueError("No space left for jokes")


def test_a_folder_of_regular_files_may_be_read(tmp_path):
    folder = tmp_path / "model"
    write_text(folder / "members" / "dae" / "recipe.json", "{}")
    os.link(folder / "members" / "dae" / "recipe.json", folder / "again.json")
    (tmp_path / "other").symlink_to(folder)
    for place in (folder, tmp_path / "other"):
        require_regular(place, what="a model folder")
