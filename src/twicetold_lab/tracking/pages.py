"""MLflow's pages of an experiment: its description, named views of its runs, and addresses that open them.

A view holds columns, order and filter of the table of runs, as the page's own button "Views" saves them: as a tag of
the experiment. The page itself would show neither metrics nor parameters until columns are ticked.

Whoever serves a store's pages writes the port to a file beside the database, so that the addresses that trainings print
lead there. A file that a killed server left behind names a port at which nobody listens.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote
from urllib.request import ProxyHandler, build_opener

from twicetold.printable import HIDDEN, without_passwords
from twicetold_lab.tracking.notes import ALWAYS
from twicetold_lab.tracking.store import SQLITE, Settings, Store, address, existing

VIEW = "mlflow.sharedViewState."  # prefix of a tag
DESCRIPTION = "mlflow.note.content"
PARENT = "mlflow.parentRunId"  # the tag by which MLflow's pages show a run within another
LEADERBOARD, SWEEPS = "leaderboard", "sweeps"

KINDS = {
    "documents": "documents, of which any two are compared",
    "labelled_pairs": "pairs of texts, labelled as duplicates or not",
    "graded_pairs": "pairs of texts, graded by similarity",
}
FURTHER = {  # metrics of test beside the primary one; the table is as wide as a window of 1,400 pixels
    "documents": ("average_precision_story",),
    "labelled_pairs": ("auroc", "average_precision", "accuracy"),
    "graded_pairs": ("pearson", "spearman"),
}
FIXED = {"attributes.`Run Name`": 150, "runDateAndNestInfo": 145}  # pixels of columns that every table begins with
LETTER, BESIDE = 7.0, 24  # pixels of a letter of a column's head, and of what is beside it
NARROWEST = 70
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


def describe(store: Store, *, data: str, kind: str, counts: Mapping[str, Any], primary: str) -> None:
    """Give an experiment its description, its tags, and the views `leaderboard` and `sweeps`; writes only what is new.

    Args:
        store: the open store.
        data: the dataset's name.
        kind: the corpus's kind.
        counts: the corpus card.
        primary: the primary metric's name.
    """
    found = store.client.get_experiment(store.experiment_id)
    wanted = {DESCRIPTION: _description(data, kind, counts, primary), "kind": kind, "primary": primary}
    best = f"best/{primary}"
    ranked = {"orderByKey": f"metrics.`{best}`", "orderByAsc": False}
    test = [f"test/{name}" for name in dict.fromkeys((primary, *FURTHER[kind]))]
    views = {
        LEADERBOARD: (
            "Leaderboard",
            {
                **ranked,
                "searchFilter": "tags.origin != 'sweep'",
                **_columns(*_metrics(best, *test, "parameters"), "tags.`origin`"),
            },
        ),
        SWEEPS: (
            "Sweeps",
            {
                **ranked,
                "searchFilter": "tags.origin = 'sweep'",
                **_columns(*_metrics(best, "train_seconds"), "tags.`model`", *_params(*ALWAYS)),
            },
        ),
    }
    for number, (key, (name, state)) in enumerate(views.items()):
        # the newest view is listed first
        envelope = {"name": name, "createdAt": found.creation_time - number, "state": json.dumps(state)}
        wanted[f"{VIEW}{key}"] = json.dumps(envelope)
    for key, value in wanted.items():
        if found.tags.get(key) != value:
            store.client.set_experiment_tag(store.experiment_id, key, value)


def sweep_page(settings: Settings, store: Store, parent: str, *, primary: str, params: Sequence[str]) -> str:
    """Address of the runs of one sweep, the best on validation first, with what was swept beside it.

    Args:
        settings: where the store is.
        store: the open store.
        parent: id of the sweep's parent run.
        primary: the primary metric's name.
        params: the keys that were swept.
    """
    key, best = f"sweep-{parent[:8]}", f"best/{primary}"
    state = {
        "orderByKey": f"metrics.`{best}`",
        "orderByAsc": False,
        "searchFilter": f"tags.`{PARENT}` = '{parent}'",
        **_columns(*_metrics(best, "train_seconds"), *_params(*params)),
    }
    store.client.set_experiment_tag(store.experiment_id, f"{VIEW}{key}", json.dumps(state))  # no name: not in the menu
    return runs_page(settings, store.experiment_id, view=key)


def runs_page(settings: Settings, experiment_id: str, *, view: str = LEADERBOARD) -> str:
    """Address of an experiment's table of runs.

    Args:
        settings: where the store is.
        experiment_id: the experiment.
        view: `leaderboard`, `sweeps`, or another view's key.
    """
    # Without workflowType MLflow opens its pages for language models.
    query = f"workflowType=machine_learning&viewStateShareKey={quote(view)}"
    return f"{_server(settings)}/#/experiments/{experiment_id}/runs?{query}"


def _server(settings: Settings) -> str:
    uri = without_passwords(address(settings)).replace(f"{HIDDEN}@", "")  # the browser asks
    return uri.rstrip("/") if uri.startswith(("http://", "https://")) else f"http://{HOST}:{port_of(settings)}"


def _columns(*keys: str) -> dict[str, Any]:
    """The columns of a view, in this order, each as wide as its head: MLflow would cut names of over 12 letters."""
    widths = {key: max(NARROWEST, round(LETTER * len(key.partition("`")[2][:-1])) + BESIDE) for key in keys}
    return {"selectedColumns": [*keys], "columnOrder": [*FIXED, *keys], "columnWidths": FIXED | widths}


def _metrics(*names: str) -> list[str]:
    return [f"metrics.`{name}`" for name in names]


def _params(*names: str) -> list[str]:
    return [f"params.`{name}`" for name in names]


def _description(data: str, kind: str, counts: Mapping[str, Any], primary: str) -> str:
    sizes = [
        f"{split}: " + ", ".join(f"{number:,} {what}" for what, number in found.items() if isinstance(number, int))
        for split, found in counts.get("splits", {}).items()
    ]
    return (
        f"**{data}**: {KINDS[kind]}. {'; '.join(sizes)}.\n\n"
        f"Compare trainings by `best/{primary}`, on validation; `test/...` chooses nothing. The button *Views* has "
        "tables with these columns. `config.yaml` among a run's artifacts has all settings; its parameters are those "
        "that differ from the family's defaults."
    )


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
    if note is not None and note.is_file() and _listens(served_at := port_of(settings)):
        raise ValueError(
            f"the pages are served already, at http://{HOST}:{served_at}: open them there, or end that server"
        )
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
    """True if anybody listens at a port of this machine."""
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
