"""Engines: the same rows whatever runs the tasks; lost workers, errors of tasks and engines that are not there."""

import pickle
import shutil
import subprocess
import sys
import time
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from threading import Thread

import pytest

from twicetold.commands._dedupe_options import OfFolder
from twicetold.files import DiskFullError
from twicetold.packages import PackageMissing
from twicetold.staged import folder_dedupe, launch
from twicetold.staged.launch import ENGINES, LOST, here, launching
from twicetold.staged.plan import Settings
from twicetold.staged.tasks import Task

TASKS = [Task("read", name, "") for name in "abc"]


def written(folder, out, launch):
    folder_dedupe.dedupe_folder(folder, Settings(model="", out=f"{out}"), launch)
    return {path.name: path.read_bytes() for path in out.glob("*.parquet")}


@pytest.mark.parametrize("engine", ENGINES)
def test_each_engine_writes_what_this_process_writes_and_names_what_is_wrong(engine, many, parts, tmp_path):
    if find_spec(ENGINES[engine][0]) is None or (engine == "spark" and not shutil.which("java")):
        pytest.skip(f"{ENGINES[engine][0]} is not installed")
    folder = parts(many[:200], 3)
    expected = written(folder, tmp_path / "here", here)
    with launching(engine, 2) as launch:
        assert written(folder, tmp_path / "out", launch) == expected
        (folder / "part-1.parquet").write_bytes(b"damaged")
        with pytest.raises(ValueError, match=r"part-1\.parquet: cannot be read as a Parquet file"):
            written(folder, tmp_path / "other", launch)


def test_an_engine_starts_with_the_first_task_and_ends_after_the_block(monkeypatch, tmp_path):
    told = []

    @contextmanager
    def start(workers):
        told.append(workers)
        yield lambda folder, tasks: ((task, None) for task in tasks)
        told.append("end")

    monkeypatch.setattr(launch, "ENGINES", {"mine": ("joblib", start)})
    with launching("mine", 3) as run:
        assert not told
        assert list(run(tmp_path, TASKS)) + list(run(tmp_path, TASKS)) == 2 * TASKS
        assert told == [3]
    assert told == [3, "end"]


def test_one_worker_is_this_process():
    with launching("processes", 1) as launch:
        assert launch is here


@pytest.fixture
def engine(monkeypatch):
    """Puts an engine in the place of all others, which attempts tasks by a function."""

    def _engine(attempts):
        monkeypatch.setattr(launch, "ENGINES", {"mine": ("joblib", lambda workers: nullcontext(attempts))})

    return _engine


def test_tasks_of_lost_processes_are_attempted_again_some_times(engine, tmp_path):
    told = []

    def attempts(folder, tasks):
        told.append(len(tasks))
        yield tasks[0], None
        if len(tasks) > 1:
            raise BrokenProcessPool("killed")

    engine(attempts)
    many = [Task("read", f"{number}", "") for number in range(9)]
    with launching("mine", 2) as run:
        done = run(tmp_path, many)
        with pytest.raises(OSError, match=r"workers were lost in the stage read.*what is done is kept\nkilled"):
            assert [next(done) for _ in range(9)]
    assert told == [9 - number for number in range(LOST + 1)]
    with launching("mine", 2) as run:
        assert list(run(tmp_path, TASKS)) == TASKS


def test_an_engine_that_replaces_workers_itself_is_asked_once(engine, tmp_path):
    told = []

    def attempts(folder, tasks):
        told.append(tasks)
        raise RuntimeError("given up")
        yield

    engine(attempts)
    with launching("mine", 2) as run, pytest.raises(OSError, match=r"workers were lost.*\ngiven up"):
        list(run(tmp_path, TASKS))
    assert len(told) == 1


def test_an_error_of_a_task_is_raised_as_it_is_and_ends_the_stage(engine, tmp_path):
    engine(lambda folder, tasks: iter([(tasks[0], None), (tasks[1], BrokenProcessPool("of a task")), (tasks[2], None)]))
    with launching("mine", 2) as run:
        done = run(tmp_path, TASKS)
        assert next(done) == TASKS[0]
        with pytest.raises(BrokenProcessPool, match="of a task"):
            next(done)


@pytest.mark.parametrize(
    ("error", "kind"), [(DiskFullError(Path("out"), "no space"), OSError), (PackageMissing("x"), PackageMissing)]
)
def test_the_error_of_a_task_travels_with_its_message_and_where_it_came_from(error, kind, monkeypatch, tmp_path):
    def run(folder, task):
        raise error

    monkeypatch.setattr(launch, "run", run)
    task, found = pickle.loads(pickle.dumps(launch.attempt(tmp_path, TASKS[0])))  # noqa: S301 (of this test)
    assert task == TASKS[0]
    assert type(found) is kind
    assert str(found) == str(error)
    assert "in run\n    raise error" in found.__notes__[0]


def test_tasks_in_threads_of_one_process_run_one_at_a_time(monkeypatch, tmp_path):
    running, most = [], []

    def run(folder, task):
        running.append(task)
        time.sleep(0.01)
        most.append(len(running))
        running.pop()

    monkeypatch.setattr(launch, "run", run)
    threads = [Thread(target=launch.attempt, args=(tmp_path, task)) for task in TASKS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1, 1, 1]


def test_an_engine_that_is_not_there_is_named_with_what_brings_it(monkeypatch):
    with pytest.raises(ValueError, match=r"expected one of the engines processes, .*, got 'sun grid'"):
        launching("sun grid", 2).__enter__()
    monkeypatch.setattr("twicetold.packages.find_spec", lambda name: None)
    for engine, extra in (("dask", "dask"), ("ray", "ray"), ("spark", "spark"), ("slurm", "slurm")):
        monkeypatch.delitem(sys.modules, ENGINES[engine][0], raising=False)
        with pytest.raises(PackageMissing, match=rf"the engine {engine} needs .* pip install '\.\[{extra}\]'"):
            launching(engine, 2).__enter__()


def test_engines_are_loaded_when_they_are_asked_for_and_all_are_in_the_help():
    loaded = "import sys, twicetold.staged.launch; print(*(sys.modules.keys() & set(sys.argv[1:])))"
    command = [sys.executable, "-c", loaded, *(package for package, _ in ENGINES.values() if package != "joblib")]
    assert not subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    (option,) = OfFolder.__dataclass_fields__["engine"].type.__metadata__
    assert all(name in option.help for name in ENGINES)
    assert OfFolder().engine in ENGINES
