"""Memory that every step of training frees, and every step takes again."""

import ctypes

# glibc's malloc.h
M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4
MOST = 2**31 - 1


def keep_freed_memory() -> None:
    """Have the C library keep what is freed for the next step, instead of giving it back to the system.

    A gradient of a table of vectors has the table's size. Left alone, glibc takes anything so large from the system
    anew at every step, and the system zeroes each page when it is first touched: more than half of the time of a step
    where the table is large. The process never gives memory back from here on. Numbers stay the same. Without glibc
    nothing happens.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_MAX, 0)
        mallopt(M_TRIM_THRESHOLD, MOST)
