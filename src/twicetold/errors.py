"""Errors as a user reads them: one message, no traceback."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

TRACEBACK = "HYDRA_FULL_ERROR"  # Hydra's own switch


@contextmanager
def readable_errors() -> Iterator[None]:
    """End the program with the message of an expected error alone; `HYDRA_FULL_ERROR=1` shows the traceback."""
    try:
        yield
    except (ValueError, TypeError, OSError) as error:
        if os.environ.get(TRACEBACK):
            raise
        raise SystemExit(f"error: {error}\n(set {TRACEBACK}=1 to see where it came from)") from error
    except KeyboardInterrupt as stop:
        raise SystemExit(f"stopped. {stop}".rstrip()) from stop
