"""Runs Python programs in forks of one process that has imported the large packages, which cost each of them seconds.

It reads a line of JSON per request and answers a line per batch: programs that run at the same time, killed if the
batch says so. `Forks` is what tests use of it. The project's own code is not imported here, but in the forks.

Commands that start Python themselves, as DVC does for each stage, find it first on `PATH` in the folder `Forks.python`,
whose `python` asks a second process, a fork of the first, for a fork with its own arguments, folder, environment and
streams.
"""

import atexit
import gc
import hashlib
import importlib
import json
import os
import random
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import NoReturn

IMPORTED = (
    "hydra.main",
    "matplotlib.pyplot",
    "mlflow",
    "mlflow.store.tracking.sqlalchemy_store",
    "optuna",
    "pandas",
    "pyarrow.compute",
    "pyarrow.dataset",
    "pyarrow.parquet",
    "pytorch_lightning",
    "sklearn.feature_extraction.text",
    "sklearn.linear_model",
    "torch",
    "typer",
)
SOCKET = "socket"  # beside `python`
ASKING = """#!{python} -IS
import json, os, socket, sys, time
if len(sys.argv) < 2 or (sys.argv[1].startswith("-") and sys.argv[1] != "-m"):
    os.execv({python!r}, [{python!r}, *sys.argv[1:]])
asked = socket.socket(socket.AF_UNIX)
end = time.monotonic() + 60
while True:
    try:
        asked.connect({address!r})
        break
    except OSError:  # the server is still importing
        if time.monotonic() > end:
            raise
        time.sleep(0.02)
told = json.dumps({{"program": sys.argv[1:], "cwd": os.getcwd(), "environment": dict(os.environ)}}).encode()
socket.send_fds(asked, [len(told).to_bytes(4, "big")], [0, 1, 2])
asked.sendall(told)
code = int(asked.recv(16) or 1)
if code < 0:
    os.kill(os.getpid(), -code)
sys.exit(code)
"""
OF_PYTHON = ("PYTHONPATH", "PYTHONWARNINGS")  # which Python reads when it starts, and a fork does not


@dataclass(frozen=True)
class Batch:
    """Programs that run at the same time."""

    programs: tuple[tuple[str, ...], ...]
    """Of each the path of its script, or `-m` and a module, and its arguments."""
    killed_after: float | None = None
    """Share of the time of the last batch of the request that ran to its end; None: this one does."""
    folder: str | None = None
    """Of whose files to take the digest afterwards."""


@dataclass(frozen=True)
class Program:
    """How a program ended."""

    code: int
    stdout: bytes
    stderr: bytes


@dataclass(frozen=True)
class Answer:
    """How a batch ended."""

    ends: list[Program]
    digest: str | None = None
    """Of the batch's folder; None if it has no files."""


@dataclass(frozen=True)
class Request:
    """Batches, one after another."""

    batches: tuple[Batch, ...]
    cwd: str
    environment: dict[str, str] = field(repr=False)
    input: bytes = b""
    """What each program reads from standard input."""
    together: bool = False
    """Standard error goes where standard output goes."""


class Forks:
    """The process that has imported the packages."""

    def __init__(self) -> None:
        self.python = Path(mkdtemp())
        address, script = f"{self.python / SOCKET}", self.python / "python"
        script.write_text(ASKING.format(python=sys.executable, address=address))
        script.chmod(0o755)
        kept = {name: value for name, value in os.environ.items() if name not in OF_PYTHON}
        self.process = subprocess.Popen(
            [sys.executable, __file__, address],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=kept | {"OMP_NUM_THREADS": "1"},
        )

    def run(self, request: Request, limit: float) -> list[Answer]:
        """Run a request's batches; after `limit` seconds, they and the server are killed."""
        late = threading.Timer(limit, os.killpg, (self.process.pid, signal.SIGKILL))
        with TemporaryDirectory() as place:
            Path(place, "in").write_bytes(request.input)
            told = asdict(request) | {"input": None, "place": place}
            late.start()
            try:
                print(json.dumps(told), file=self.process.stdin, flush=True)
                lines = [self.process.stdout.readline() for _ in request.batches]
            finally:
                late.cancel()
            if not all(lines):
                forks.cache_clear()
                raise RuntimeError(f"{request} has not ended in {limit} s, or the server of forks could not start")
            return [self._answer(json.loads(line), Path(place)) for line in lines]

    def end(self) -> None:
        shutil.rmtree(self.python, ignore_errors=True)
        self.process.stdin.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:  # another process still has the pipe
            os.killpg(self.process.pid, signal.SIGKILL)

    @staticmethod
    def _answer(told: dict, place: Path) -> Answer:
        ends = [
            Program(code, *(read(place / f"{name}.{stream}") for stream in ("out", "err")))
            for name, code in told["ends"].items()
        ]
        return Answer(ends, told["digest"])


def read(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


@cache
def forks() -> Forks:
    """The server of this process; it ends with it."""
    started = Forks()
    atexit.register(started.end)
    return started


def digest(folder: str) -> str | None:
    """Of all files under a folder, but for temporary ones that kills leave."""
    found, files = hashlib.sha256(), sorted(path for path in Path(folder).rglob("*") if path.is_file())
    files = [path for path in files if ".tmp-" not in str(path)]
    for path in files:
        found.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return found.hexdigest() if files else None


def become(told: dict, name: str, program: list[str]) -> None:
    """In a fork: run a program as if this process had been started for it."""
    place = told["place"]
    for number, (file, how) in enumerate(((f"{place}/in", os.O_RDONLY), (f"{place}/{name}.out", os.O_WRONLY))):
        os.dup2(os.open(file, how | os.O_CREAT), number)
    os.dup2(1 if told["together"] else os.open(f"{place}/{name}.err", os.O_WRONLY | os.O_CREAT), 2)
    run(program, told["cwd"], told["environment"])


def run(program: list[str], cwd: str, environment: dict[str, str]) -> None:
    """In a fork with streams of its own: run a program."""
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    if environment.get("PYTHONWARNINGS") == "ignore":
        warnings.simplefilter("ignore")
    random.seed()
    sys.path[:1] = [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path]
    if program[0] == "-m":
        sys.path.insert(0, cwd)
        sys.argv = program[1:]
        runpy.run_module(program[1], run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, f"{Path(program[0]).resolve().parent}")
        sys.argv = program
        runpy.run_path(program[0], run_name="__main__")


def exit_code(call: Callable[[], None]) -> int:
    """What Python would exit with after a program."""
    try:
        call()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def end(code: int) -> NoReturn:
    """As Python ends, but for taking all modules apart, which takes a second where they are many."""
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def serve_python(address: str) -> NoReturn:
    """Answer whoever runs `python`, until the process that this is a fork of ends."""
    server = os.getppid()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that answer
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        listener.settimeout(1)
        while os.getppid() == server:
            try:
                asked, _ = listener.accept()
            except TimeoutError:
                continue
            with asked:
                if not os.fork():
                    listener.close()
                    answer(asked)
    os._exit(0)


def answer(asked: socket.socket) -> NoReturn:
    """Run one program for a `python`, which dies with it, and the other way round."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    size, streams, *_ = socket.recv_fds(asked, 4, 3)
    told = b""
    while len(told) < int.from_bytes(size, "big"):
        told += asked.recv(1 << 16)
    if not (child := os.fork()):
        asked.close()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        end(exit_code(partial(run, **json.loads(told))))
    for stream in streams:
        os.close(stream)
    for number in range(3):  # or a reader of the program's output would wait for this process too
        os.close(number)
    ready, *_ = select.select([ended := os.pidfd_open(child), asked], [], [])
    if ended not in ready:
        os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        asked.sendall(f"{code}".encode())
    finally:
        os._exit(0)


def serve() -> None:
    """Answer requests until the tests end."""
    for name in IMPORTED:
        importlib.import_module(name)
    gc.freeze()  # or the collector of each fork would copy all that is imported
    if not os.fork():
        serve_python(sys.argv[1])
    while line := sys.stdin.readline():
        told, whole = json.loads(line), 0.0
        os.chdir(told["cwd"])
        for number, batch in enumerate(told["batches"]):
            began, running = time.monotonic(), {}
            for place, program in enumerate(batch["programs"]):
                name = f"{number}-{place}"
                if not (child := os.fork()):
                    end(exit_code(partial(become, told, name, program)))
                running[name] = child
            if batch["killed_after"] is not None:
                time.sleep(batch["killed_after"] * whole)
                for child in running.values():
                    os.kill(child, signal.SIGKILL)
            ends = {name: os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for name, child in running.items()}
            if batch["killed_after"] is None:
                whole = time.monotonic() - began
            found = batch["folder"] and digest(batch["folder"])
            print(json.dumps({"ends": ends, "digest": found}), flush=True)


if __name__ == "__main__":
    serve()
