"""Expected errors, and their messages without a traceback."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from twicetold.printable import printable, without_passwords

TRACEBACK = "HYDRA_FULL_ERROR"  # Hydra's own switch
EXPECTED = (ValueError, TypeError, OSError)


class Pruned(Exception):
    """A search stops a training early, because others are better at its epoch."""


def require(holds: Any, message: str) -> None:
    """Raise ValueError with a message unless something holds."""
    if not holds:
        raise ValueError(message)


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
        raise SystemExit(f"error: {shown(expected)}\n(set {TRACEBACK}=1 to see where it came from)") from error


def shown(error: BaseException) -> str:
    """What an error says, without what could change the terminal and without passwords."""
    return printable(without_passwords(error))


def _expected(error: Exception) -> Exception | None:
    """The error to show: itself, or the one that Hydra or OmegaConf wrapped; None for an unexpected error."""
    if type(error).__module__.startswith(("hydra.", "omegaconf.")):
        return error.__cause__ if isinstance(error.__cause__, EXPECTED) else error
    return error if isinstance(error, EXPECTED) else None
