"""Processes of this machine, each of which does one task after another; one that is lost leaves the others.

`concurrent.futures` and joblib end all of them if one is killed, by a lack of memory say.
"""

from twicetold.command_line import end_with_parent

import signal
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

CTRL_C = {signal.SIGINT}


class Processes:
    """Processes that are started when there is a task for them, and end with this one.

    Args:
        count: how many there may be.
        serve: called in each with a connection, by which tasks come until `EOFError`, and which takes the result of
            each, and with `arguments`. Ctrl-C is blocked until it says otherwise.
        arguments: further ones of `serve`.
    """

    def __init__(self, count: int, serve: Callable[..., None], *arguments: Any) -> None:
        self._count, self._serve, self._arguments = count, serve, arguments
        self._idle: dict[Connection, BaseProcess] = {}
        self._busy: dict[Connection, tuple[BaseProcess, Any]] = {}

    @property
    def busy(self) -> bool:
        """True if a task is not done."""
        return bool(self._busy)

    @property
    def full(self) -> bool:
        """True if no further task can be started before one is done."""
        return len(self._busy) >= self._count

    def start(self, task: Any) -> None:
        """Start a task in an idle process, or in a new one."""
        connection, process = self._idle.popitem() if self._idle else self._begin()
        connection.send(task)
        self._busy[connection] = process, task

    def results(self) -> Iterator[tuple[Any, Any, str]]:
        """Wait until a task is done; each that is, its result, and what became of its process if that was lost."""
        ready = wait(list(self._busy))
        for connection in [each for each in self._busy if each in ready]:
            process, task = self._busy.pop(connection)
            try:
                result = connection.recv()
            except (EOFError, ConnectionError):
                yield task, None, _lost(process)
            else:
                self._idle[connection] = process
                yield task, result, ""

    def terminate(self) -> None:
        """End what runs."""
        for process, _ in self._busy.values():
            process.terminate()

    def close(self) -> None:
        """End the processes, those that do a task when they have done it."""
        processes = self._idle | {connection: process for connection, (process, _) in self._busy.items()}
        for connection in processes:
            connection.close()  # what a process waits for, and ends
        for process in processes.values():
            process.join()

    def _begin(self) -> tuple[Connection, BaseProcess]:
        context = get_context("spawn")  # a fork would have the threads' locks of this process, and not its threads
        own, other = context.Pipe()
        process = context.Process(target=_run, args=(self._serve, other, *self._arguments))
        signal.pthread_sigmask(signal.SIG_BLOCK, CTRL_C)  # also in the process, until it can end without a traceback
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, CTRL_C)
        other.close()
        return own, process


def _run(serve: Callable[..., None], connection: Connection, *arguments: Any) -> None:
    end_with_parent()
    serve(connection, *arguments)


def _lost(process: BaseProcess) -> str:
    process.join()
    code = process.exitcode or 0
    how = f"was killed by signal {-code}, for lack of memory perhaps" if code < 0 else f"ended with status {code}"
    return f"process {process.pid} {how}"
