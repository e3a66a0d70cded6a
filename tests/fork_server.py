"""Runs Python programs in forks of one process that has imported the large packages, which cost each of them seconds.

Whoever finds Python first on `PATH` in the folder `Forks.python`, as stages of DVC do, starts a script that asks this
process for a fork with its own arguments, folder, environment and streams, and ends as the fork does; either dies with
the other. The project's own code is not imported here, but in the forks.
"""

import atexit
import gc
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
import traceback
import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from tempfile import mkdtemp
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
end = time.monotonic() + 300
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
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            env=kept | {"OMP_NUM_THREADS": "1"},
        )

    def end(self) -> None:
        shutil.rmtree(self.python, ignore_errors=True)
        self.process.kill()
        self.process.wait()


@cache
def forks() -> Forks:
    """The server of this process; it ends with it."""
    started = Forks()
    atexit.register(started.end)
    return started


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


def serve(address: str) -> NoReturn:
    """Answer whoever runs `python`, until the tests end."""
    tests = os.getppid()
    for name in IMPORTED:
        importlib.import_module(name)
    gc.freeze()  # or the collector of each fork would copy all that is imported
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that answer
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        listener.settimeout(1)
        while os.getppid() == tests:
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


if __name__ == "__main__":
    serve(sys.argv[1])
