"""Reuse of memory between training steps."""

import ctypes

# glibc's malloc.h
M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4
MOST = 2**31 - 1


def keep_freed_memory() -> None:
    """Make glibc keep freed memory instead of returning it to the system; without glibc, do nothing.

    By default glibc requests large blocks, such as the gradient of a table of vectors, from the system in every step,
    and the system zeroes each page: more than half of the time of a step with a large table. From here on the process
    never returns memory.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_MAX, 0)
        mallopt(M_TRIM_THRESHOLD, MOST)
