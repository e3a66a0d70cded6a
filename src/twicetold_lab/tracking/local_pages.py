"""MLflow's pages of a store on this machine: who serves them, and on which port.

Whoever serves a store's pages writes the port to a file beside the database, so that the addresses that trainings print
lead there. A file that a killed server left behind names a port at which nobody listens.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

from twicetold_lab.tracking.store import SQLITE, Settings, address, existing

HOST = "127.0.0.1"
FIRST = 5000  # the port that is tried first where none is named; `make ui` and MLflow itself have the same
TRIED = 20
NOTE = ".pages"  # file beside the database
WITHOUT_ASSISTANT = "mlflow.localhost"
"""Another name of this machine, in Chrome, Edge and Firefox. MLflow opens its Assistant on the first visit to
`localhost`, `127.0.0.1` and `::1`, and only there."""
WITHOUT_JOBS = "MLFLOW_SERVER_ENABLE_JOB_EXECUTION"
"""Else MLflow starts eight processes, of 250 MB each, for the evaluation of language models."""
ALLOWED = (HOST, "localhost", "[::1]", WITHOUT_ASSISTANT)


def port_of(settings: Settings) -> int:
    """The port at which the pages of the local store are served now, or else the one that `make ui` tries first."""
    note = _note(settings)
    if note is not None and note.is_file():
        with suppress(OSError, ValueError):
            port = int(note.read_text(encoding="utf-8"))
            if _listens(port):
                return port
    return FIRST


@contextmanager
def served(settings: Settings, port: int | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """Serve MLflow's pages while the block runs; it begins when they answer.

    Args:
        settings: a local store, which is there already.
        port: where; None for the first free one from 5000 on.

    Raises:
        FileNotFoundError: if there is no store.
        ValueError: if its pages are served already, the port is taken, or the server ends at once.
    """
    existing(settings)
    note = _note(settings)
    if note is not None and note.is_file() and _listens(there := port_of(settings)):
        raise ValueError(f"the pages are served already, at http://{HOST}:{there}: open them there, or end that server")
    port = _free_port() if port is None else port
    if _listens(port):
        raise ValueError(f"port {port} is in use: name another one, with PORT={port + 1} say")
    server = subprocess.Popen(_command(address(settings), port), env={**os.environ, WITHOUT_JOBS: "false"})
    try:
        _wait_for(server, port)
        if note is not None:
            note.write_text(f"{port}", encoding="utf-8")
        yield server
    finally:
        if note is not None:
            note.unlink(missing_ok=True)
        with suppress(KeyboardInterrupt):  # a second Ctrl-C, while it ends
            if server.poll() is None:
                server.send_signal(signal.SIGTERM)
            server.wait()


def _note(settings: Settings) -> Path | None:
    """The file with the port; None if the store is no SQLite file."""
    uri = address(settings)
    return Path(uri.removeprefix(SQLITE)).parent / NOTE if uri.startswith(SQLITE) else None


def _command(uri: str, port: int) -> list[str]:
    allowed = [f"{name}{end}" for name in ALLOWED for end in ("", ":*")]
    origins = [f"http://{name}:{port}" for name in ALLOWED]
    command = [
        sys.executable,
        "-m",
        "mlflow",
        "server",
        "--backend-store-uri",
        uri,
        "--host",
        HOST,
        "--port",
        f"{port}",
    ]
    command += ["--allowed-hosts", ",".join(allowed), "--cors-allowed-origins", ",".join(origins)]
    return [*command, "--workers", "1", "--uvicorn-opts", "--log-level warning"]


def _free_port() -> int:
    """The first port from `FIRST` on at which nobody listens.

    Raises:
        ValueError: if there is none among the first ones.
    """
    for port in range(FIRST, FIRST + TRIED):
        if not _listens(port):
            return port
    raise ValueError(f"the ports {FIRST} to {FIRST + TRIED - 1} are in use: name another one, with PORT=6000 say")


def _listens(port: int) -> bool:
    """Whether anybody listens at a port of this machine."""
    with closing(socket.socket()) as connection:
        connection.settimeout(1.0)
        return connection.connect_ex((HOST, port)) == 0


def _wait_for(server: subprocess.Popen[bytes], port: int) -> None:
    directly = build_opener(ProxyHandler({}))  # a proxy does not see this machine's ports
    while server.poll() is None:
        with suppress(OSError), directly.open(f"http://{HOST}:{port}/health", timeout=5.0):
            return
        time.sleep(0.2)
    raise ValueError(f"MLflow ended before it answered at http://{HOST}:{port}: what it printed above says why")
