"""Blocks of a large computation on the threads that torch was given, with the same result on any number of them."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Result = TypeVar("Result")


def in_parallel(task: Callable[[int], Result], count: int) -> Iterator[Result]:
    """`task(0)`, `task(1)`, … in order, computed by as many threads as torch was given.

    Each thread multiplies matrices serially, so that results do not depend on how many threads there are,
    and none waits for another when the machine is busy.
    """
    threads = torch.get_num_threads()
    try:
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            yield from pool.map(task, range(count))
    finally:
        torch.set_num_threads(threads)  # the workers' setting would be inherited by later threads
