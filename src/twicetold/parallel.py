"""Blocks of a large computation on several threads; the result does not depend on their number."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Result = TypeVar("Result")


def in_parallel(task: Callable[[int], Result], count: int) -> Iterator[Result]:
    """Compute `task(0)`, `task(1)`, … on `torch.get_num_threads()` threads; results are in order.

    Each thread multiplies matrices serially, so results do not depend on the number of threads, and no thread waits
    for another when the machine is busy.
    """
    threads = torch.get_num_threads()
    try:
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            yield from pool.map(task, range(count))
    finally:
        torch.set_num_threads(threads)  # later threads would inherit the setting of the workers
