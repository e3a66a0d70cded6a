"""Serve MLflow's pages of the local store, and print an address for the runs of each dataset.

Usage: python pipelines/ui.py [--port <number>]

Examples:
    python pipelines/ui.py
    python pipelines/ui.py --port 5050

On port 5000, which the addresses that trainings print have as well, or on --port.
"""

import checkout  # noqa: F401 (for its effects)

import argparse
import os
from collections.abc import Mapping
from pathlib import Path

from twicetold.errors import readable_errors
from twicetold.printable import print
from twicetold_lab import tracking
from twicetold_lab.tracking.pages import HOST, WITHOUT_ASSISTANT, WITHOUT_JOBS, listens, server_command
from twicetold_lab.tracking.store import address, existing

SERVERS = ("http://", "https://")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=tracking.Settings.port)
    port = parser.parse_args().port
    if not 0 < port < 1 << 16:
        parser.error(f"--port must be from 1 to 65535; got {port}")
    settings = tracking.Settings(enabled=True, uri=None, root=Path.cwd(), origin="run", port=port)
    with readable_errors():
        if address(settings).startswith(SERVERS):
            print("MLFLOW_TRACKING_URI names a server, which has the pages:")
            show(tracking.addresses(settings))
            return
        existing(settings)
        if listens(port):
            raise ValueError(f"port {port} is in use: name another one, with PORT={port + 1} say")
        print("MLflow starts. Its pages, the runs of each dataset, in some seconds and until Ctrl-C:")
        show(tracking.addresses(settings))
        hint = f"With {WITHOUT_ASSISTANT} for {HOST}, Chrome, Edge and Firefox open them without MLflow's Assistant."
        print(hint, flush=True)
        command = server_command(settings)
        os.execve(command[0], command, {**os.environ, WITHOUT_JOBS: "false"})


def show(pages: Mapping[str, str]) -> None:
    """Print one line for each dataset."""
    for name, page in pages.items():
        print(f"  {name:<{max(map(len, pages))}}  {page}", flush=True)
    if not pages:
        print("  none yet: train something first, say make demo", flush=True)


if __name__ == "__main__":
    main()
