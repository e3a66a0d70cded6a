"""Blocks of a large computation on several threads; the result does not depend on their number."""

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import local
from typing import Any, TypeVar

Result = TypeVar("Result")
_here = local()  # `worker`: whether the thread is one of several that compute serially


def in_threads(task: Callable[[int], Result], count: int) -> Iterator[Result]:
    """Compute `task(0)`, `task(1)`, … on several threads; results are in order.

    For NumPy and SciPy, whose loops release the interpreter's lock. There are as many threads as `threads` says.
    """
    with ThreadPoolExecutor(threads()) as pool:
        yield from pool.map(task, range(count))


def in_parallel(task: Callable[[int], Result], count: int) -> Iterator[Result]:
    """Compute `task(0)`, `task(1)`, … on `threads()` threads; results are in order.

    Each thread multiplies matrices serially, so results do not depend on the number of threads, and no thread waits
    for another when the machine is busy.
    """
    with serial_products() as start, ThreadPoolExecutor(threads(), initializer=start) as pool:
        yield from pool.map(task, range(count))


def threads() -> int:
    """Return as many threads as PyTorch uses, where it is in use; else OMP_NUM_THREADS, else as there are cores.

    One, in a thread that is one of several already.
    """
    if getattr(_here, "worker", False):
        return 1
    if (torch := _torch_in_use()) is not None:
        return int(torch.get_num_threads())
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return int(asked) if asked.isdecimal() and int(asked) else _cores()


@contextmanager
def serial_products() -> Iterator[Callable[[], None]]:
    """Let matrix products of NumPy, and of PyTorch where it is in use, have one thread.

    Yields:
        What each thread calls when it starts: PyTorch keeps its number by thread.
    """
    torch = _torch_in_use()
    before = None if torch is None else torch.get_num_threads()
    try:
        with _libraries().limit(limits=1, user_api="blas"):
            yield _start_worker
    finally:
        if torch is not None:
            torch.set_num_threads(before)  # later threads would inherit the setting of the workers


def _start_worker() -> None:
    _here.worker = True
    if (torch := _torch_in_use()) is not None:
        torch.set_num_threads(1)


@cache
def _libraries() -> Any:
    """Return the libraries of linear algebra that are loaded; to look for them takes milliseconds."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _torch_in_use() -> Any:
    """Return the module, if something else has imported it: the import takes a second."""
    return sys.modules.get("torch")


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
