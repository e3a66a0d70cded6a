"""Start and end of the scripts of `pipelines/`.

They import this module before all others, because the import has three effects:

- Ctrl-C ends the script with one line, also while it imports large packages or Hydra composes the configuration.
- A stage that DVC started ends when DVC is killed. Otherwise it would go on, and the next `dvc repro` would start it
  once more.
- A standard stream that is closed, as by `<&-`, is an input at its end, an output without a reader, or discards errors.
  Otherwise the next file that is opened would take its number.
"""

import ctypes
import os
import signal
import sys
from types import TracebackType

STAGE = "DVC_STAGE"  # DVC sets it for the commands of stages
PR_SET_PDEATHSIG = 1  # linux/prctl.h


def end_with_parent() -> None:
    """Have the kernel kill this process when the thread that started it ends; on Linux only."""
    if sys.platform == "linux":
        prctl = ctypes.CDLL(None).prctl
        prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _stop_in_one_line(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.unraisablehook = lambda _: None  # what the signal left half built may fail at exit
        print("stopped", file=sys.stderr)  # then Python ends by the signal, which a shell shows as status 130
    elif isinstance(error.__cause__, KeyboardInterrupt):  # pybind11 raises its own ImportError from it
        _stop_at_once()
    else:
        sys.__excepthook__(kind, error, trace)


def _stop_although_ignored(ignored: "sys.UnraisableHookArgs") -> None:
    """End after a Ctrl-C in code whose exceptions Python ignores, such as a callback of an import lock."""
    if issubclass(ignored.exc_type, KeyboardInterrupt):
        _stop_at_once()
    else:
        sys.__unraisablehook__(ignored)


def _stop_at_once() -> None:
    print("stopped", file=sys.stderr)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)


def _replace_closed_streams() -> None:
    """Open the standard streams that are None."""
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_RDONLY), encoding="utf-8")
    if sys.stdout is None:
        read, write = os.pipe()
        os.close(read)
        os.dup2(write, 1)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")


_replace_closed_streams()
sys.excepthook = _stop_in_one_line
sys.unraisablehook = _stop_although_ignored
if STAGE in os.environ:
    end_with_parent()
