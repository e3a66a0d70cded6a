"""Expected errors, and their messages without a traceback."""

import numbers
import opcode
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from twicetold.printable import printable, without_passwords

TRACEBACK = "HYDRA_FULL_ERROR"  # Hydra's own switch
EXPECTED = (ValueError, TypeError, OSError, MemoryError)
OF_LIGHTNING = "MisconfigurationException"  # such as of an accelerator that is not there; its package is not imported
OURS = ("twicetold", "twicetold_lab.grid", "typer", "hydra", "omegaconf")  # whose messages are about what a person gave
RAISE = opcode.opmap["RAISE_VARARGS"]
LONGEST = 400  # characters of the reason why a folder is refused


class Pruned(Exception):
    """A search stops a training early, because others are better at its epoch."""


def require(holds: Any, message: str) -> None:
    """Raise ValueError with a message unless something holds."""
    if not holds:
        raise ValueError(message)


def require_number(name: str, value: object, *, whole: bool = False) -> None:
    """Check that an option is a number: a text such as "0.5" is none.

    Args:
        name: of the option.
        value: that was given; None, where an option may be left out, is not for here.
        whole: whether it must be a whole number.

    Raises:
        TypeError: if it is none.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral if whole else numbers.Real):
        kind = "a whole number" if whole else "a number"
        raise TypeError(f"{name}: expected {kind}, got {value!r:.60} of type {type(value).__name__}")


@contextmanager
def readable_errors() -> Iterator[None]:
    """End the program with the message of an expected error alone; `HYDRA_FULL_ERROR=1` shows the traceback."""
    try:
        yield
    except KeyboardInterrupt as stop:
        raise SystemExit(f"stopped. {shown(stop)}".rstrip()) from stop
    except Exception as error:
        expected = _expected(error)
        if expected is None or os.environ.get(TRACEBACK):
            raise
        raise SystemExit(f"error: {shown(expected)}{where_from(expected, TRACEBACK)}") from error


def where_from(error: BaseException, variable: str) -> str:
    """Return a line that names the variable for the traceback; empty where the message is ours and says what to do.

    An error of the operating system names a file. Any other one that a library raised is none that this package
    expected in these words.

    Args:
        error: that ends the program.
        variable: of the environment, which shows the traceback.
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    ours = False
    if trace is not None:
        package = str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0]
        stated = trace.tb_frame.f_code.co_code[trace.tb_lasti] == RAISE  # else Python itself raised it, by a mistake
        ours = stated and package in OURS
    return (
        "" if ours or isinstance(error, (OSError, MemoryError)) else f"\n(set {variable}=1 to see where it came from)"
    )


def shown(error: BaseException) -> str:
    """Return the message of an error, without control characters and without passwords."""
    message = printable(without_passwords(error))
    if not isinstance(error, MemoryError):
        return message
    reason = f" ({message})" if message else ""
    return f"expected more memory than there is{reason}: close other programs, or give fewer or shorter texts"


def damaged(folder: Path, error: BaseException, *, what: str, again: str) -> ValueError:
    """Return the one message for a folder from elsewhere that cannot be read, whatever a file in it brought about.

    Args:
        folder: from elsewhere.
        error: what was raised.
        what: could not be done, such as `load the model`.
        again: what makes such a folder, such as `train the model`.
    """
    said = " ".join(str(error).split())
    reason = said if isinstance(error, (ValueError, OSError)) else f"{type(error).__name__}: {said}"
    return ValueError(
        f"cannot {what} in {folder}: {reason[:LONGEST]}. Copy the folder again, or {again} again; if somebody else "
        "made it, do not use it"
    )


def _expected(error: Exception) -> Exception | None:
    """Return the error to show: itself, or the one that Hydra or OmegaConf wrapped; None for an unexpected error."""
    if type(error).__module__.startswith(("hydra.", "omegaconf.")):
        return error.__cause__ if isinstance(error.__cause__, EXPECTED) else error
    return error if isinstance(error, EXPECTED) or type(error).__name__ == OF_LIGHTNING else None
