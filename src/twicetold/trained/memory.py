"""Memory of this process, in bytes."""

import resource
import sys
from pathlib import Path

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_FORGET_PEAK = "5"  # proc(5): sets the peak to what is resident now


def resident() -> int:
    """Return resident memory now; on Linux only."""
    return _of_status("VmRSS")


def peak_resident() -> int:
    """Return the most that was resident since the process began, or since `forget_peak`."""
    if _STATUS.exists():  # on Linux, ru_maxrss starts from that of the process that started this one
        return _of_status("VmHWM")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def forget_peak() -> bool:
    """Let `peak_resident` begin anew; False if the system does not allow it."""
    try:
        _CLEAR.write_text(_FORGET_PEAK, encoding="ascii")
    except OSError:
        return False
    return True


def _of_status(name: str) -> int:
    """Return a size that Linux gives in kB."""
    return 1024 * int(_STATUS.read_text(encoding="utf-8").partition(f"{name}:")[2].split()[0])
