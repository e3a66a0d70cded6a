"""Serve MLflow's pages of the local store, and print an address for the runs of each dataset.

Usage: python pipelines/ui.py [--port <number>]

Examples:
    python pipelines/ui.py
    python pipelines/ui.py --port 5050

On the first free port from 5000 on, or on --port. The addresses that trainings print meanwhile have the same port.
"""

import checkout  # noqa: F401 (for its effects)

import argparse
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from twicetold.errors import readable_errors
from twicetold.printable import print
from twicetold_lab import tracking
from twicetold_lab.tracking.pages import HOST, WITHOUT_ASSISTANT, served
from twicetold_lab.tracking.store import address

SERVERS = ("http://", "https://")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int)
    chosen = parser.parse_args()
    if chosen.port is not None and not 0 < chosen.port < 1 << 16:
        parser.error(f"--port must be from 1 to 65535; got {chosen.port}")
    settings = tracking.Settings(enabled=True, uri=None, root=Path.cwd(), origin="run")
    with readable_errors():
        if address(settings).startswith(SERVERS):
            print("MLFLOW_TRACKING_URI names a server, which has the pages:")
            show(tracking.addresses(settings))
            return
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # end the server as Ctrl-C does
        print("MLflow starts ...", flush=True)
        with suppress(KeyboardInterrupt), served(settings, chosen.port) as server:
            print("MLflow's pages, the runs of each dataset, until Ctrl-C:")
            show(tracking.addresses(settings))
            print(
                f"With {WITHOUT_ASSISTANT} for {HOST}, Chrome, Edge and Firefox open them without MLflow's Assistant."
            )
            server.wait()


def show(pages: Mapping[str, str]) -> None:
    """Print one line for each dataset."""
    for name, page in pages.items():
        print(f"  {name:<{max(map(len, pages))}}  {page}", flush=True)
    if not pages:
        print("  none yet: train something first, say make demo", flush=True)


if __name__ == "__main__":
    main()
