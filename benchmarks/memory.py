"""Memory of a benchmark's process."""

import resource
import sys
from pathlib import Path


def peak_resident() -> int:
    """Greatest resident size of this process so far, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():  # on Linux, ru_maxrss starts from that of the process that started this one
        return 1024 * int(status.read_text().split("VmHWM:")[1].split()[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
