"""Freed memory is kept for the next step."""

import subprocess
import sys

import pytest

PAGE, SIZE, TIMES = 4096, 64 << 20, 10
SETTLING = 20  # small allocations take pieces of what was freed, until there is a place for each

COUNT = f"""
import resource, sys
import torch
from twicetold_lab.training.memory import keep_freed_memory

if sys.argv[1] == "kept":
    keep_freed_memory()
for _ in range({SETTLING}):
    torch.ones({SIZE} // 4)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range({TIMES}):
    torch.ones({SIZE} // 4)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def pages_taken(how: str) -> int:
    """Pages that the system had to give while a large tensor was made and dropped, time and again."""
    found = subprocess.run([sys.executable, "-c", COUNT, how], capture_output=True, text=True, check=True)
    return int(found.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's settings")
def test_pages_are_taken_once() -> None:
    all_pages = TIMES * SIZE // PAGE
    assert pages_taken("kept") < all_pages / 100
    if pages_taken("left alone") < all_pages / 2:
        pytest.skip("this machine has large pages, or another allocator: nothing to save here")
