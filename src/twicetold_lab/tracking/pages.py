"""MLflow's pages of an experiment: its description, named views of its runs, and addresses that open them.

A view holds columns, order and filter of the table of runs, as the page's own button "Views" saves them: as a tag of
the experiment. The page itself would show neither metrics nor parameters until columns are ticked.
"""

import json
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any
from urllib.parse import quote

from twicetold.printable import HIDDEN, without_passwords
from twicetold_lab.tracking.notes import ALWAYS
from twicetold_lab.tracking.store import Settings, Store, address

VIEW = "mlflow.sharedViewState."  # prefix of a tag
DESCRIPTION = "mlflow.note.content"
PARENT = "mlflow.parentRunId"  # the tag by which MLflow's pages show a run within another
LEADERBOARD, SWEEPS = "leaderboard", "sweeps"
OF_LEADERBOARD = "tags.origin != 'sweep'"

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
    test = [f"test/{name}" for name in dict.fromkeys((primary, *FURTHER[kind]))]
    measured, swept = _metrics(*test, "parameters"), [*_metrics("train_seconds"), "tags.`model`", *_params(*ALWAYS)]
    views = {
        LEADERBOARD: ("Leaderboard", _state(OF_LEADERBOARD, primary, *measured, "tags.`origin`")),
        SWEEPS: ("Sweeps", _state("tags.origin = 'sweep'", primary, *swept)),
    }
    for number, (key, (name, state)) in enumerate(views.items()):
        # the newest view is listed first
        envelope = {"name": name, "createdAt": found.creation_time - number, "state": json.dumps(state)}
        wanted[f"{VIEW}{key}"] = json.dumps(envelope)
    for key, value in wanted.items():
        if found.tags.get(key) != value:
            store.client.set_experiment_tag(store.experiment_id, key, value)


def sweep_page(settings: Settings, store: Store, parent: str, *, primary: str, params: Sequence[str]) -> str:
    """Return the address of the runs of one sweep, the best on validation first, with what was swept beside it.

    Args:
        settings: where the store is.
        store: the open store.
        parent: id of the sweep's parent run.
        primary: the primary metric's name.
        params: the keys that were swept.
    """
    key = f"sweep-{parent[:8]}"
    state = _state(f"tags.`{PARENT}` = '{parent}'", primary, *_metrics("train_seconds"), *_params(*params))
    store.client.set_experiment_tag(store.experiment_id, f"{VIEW}{key}", json.dumps(state))  # no name: not in the menu
    return runs_page(settings, store.experiment_id, view=key)


def view_of(client: Any, experiment_id: str) -> str:
    """The leaderboard, or the sweeps of an experiment that has no run of another origin."""
    return LEADERBOARD if client.search_runs([experiment_id], OF_LEADERBOARD, max_results=1) else SWEEPS


def runs_page(settings: Settings, experiment_id: str, *, view: str = LEADERBOARD) -> str:
    """Return the address of an experiment's table of runs.

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
    return uri.rstrip("/") if uri.startswith(("http://", "https://")) else f"http://{HOST}:{settings.port}"


def _state(chosen: str, primary: str, *further: str) -> dict[str, Any]:
    """Return the runs that a filter chooses, the best on validation first.

    Columns stand in this order, each as wide as its head: MLflow would cut names of over 12 letters.
    """
    (best,) = _metrics(f"best/{primary}")
    keys = [best, *further]
    widths = {key: max(NARROWEST, round(LETTER * len(key.partition("`")[2][:-1])) + BESIDE) for key in keys}
    columns = {"selectedColumns": keys, "columnOrder": [*FIXED, *keys], "columnWidths": FIXED | widths}
    return {"orderByKey": best, "orderByAsc": False, "searchFilter": chosen, **columns}


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


def server_command(settings: Settings) -> list[str]:
    """Return the command that serves the pages of a local store."""
    port = settings.port
    allowed = [f"{name}{end}" for name in ALLOWED for end in ("", ":*")]
    origins = [f"http://{name}:{port}" for name in ALLOWED]
    command = [sys.executable, "-m", "mlflow", "server", "--backend-store-uri", address(settings)]
    command += ["--host", HOST, "--port", f"{port}"]
    command += ["--allowed-hosts", ",".join(allowed), "--cors-allowed-origins", ",".join(origins)]
    return [*command, "--workers", "1", "--uvicorn-opts", "--log-level warning"]


def listens(port: int) -> bool:
    """Return true if anybody listens at a port of this machine."""
    with closing(socket.socket()) as connection:
        connection.settimeout(1.0)
        return connection.connect_ex((HOST, port)) == 0
