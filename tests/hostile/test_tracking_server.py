"""Eight processes at once on one tracking server: MLflow on PostgreSQL, as compose.yaml starts it."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.request import urlopen

import pytest
import yaml

from lab import LIMIT, PROJECT
from twicetold_lab.tracking.store import connect

psycopg = pytest.importorskip("psycopg", reason="needs psycopg, the driver of PostgreSQL")

WRITERS, EPOCHS, PASSWORD = 8, 5, "f00dcafe"
MODEL = PROJECT / "tests/models/letters"
WRITE = f"""
import os, sys
from pathlib import Path
from twicetold_lab.tracking import Settings, start
import mlflow.pyfunc, pandas, twicetold_lab.tracking.served_model  # imported now, so that all write at once

root, model = map(Path, sys.argv[1:])
gate, opened = os.pipe()
children = []
for number in range({WRITERS}):
    if not (child := os.fork()):
        os.close(opened)
        os.read(gate, 1)  # until the parent closes its end
        tags = {{"data": "toy", "model": "static", "seed": str(number), "fingerprint": str(number)}}
        settings = Settings(True, None, root, "run")
        with start(settings, experiment="toy", name=f"static-{{number}}", tags=tags, params={{"seed": number}}) as run:
            for split in ("train", "val"):
                run.log_dataset("toy", split=split, digest=split, source="toy", counts={{"texts": 7}})
            for epoch in range({EPOCHS}):
                run.log_metrics({{"train/loss": number, "val/auroc": number + epoch / 8}}, epoch)
            run.log_text(f"seed: {{number}}", "config.yaml")
            run.log_model(model, input_example={{"left": ["a"], "right": ["b"]}})
            run.describe_data("toy", kind="labelled_pairs", counts={{"texts": 7}}, primary="auroc")
            tracked = run.tracked
        os._exit(not tracked)
    children.append(child)
os.close(opened)
print([os.waitpid(child, 0)[1] for child in children])
"""


@pytest.mark.slow_hostile
def test_eight_writers_at_once_on_a_server_with_postgresql_lose_nothing(tmp_path: Path):
    """About 20 s of one core."""
    files = tmp_path / "artifacts"
    model_files = {file.name: file.read_bytes() for file in MODEL.iterdir()}
    with postgresql() as address, server(address, files, tmp_path / "server.log") as uri:
        environment = clean() | {"MLFLOW_TRACKING_URI": uri, "PYTHONPATH": f"{PROJECT / 'src'}"}
        command = [sys.executable, "-c", WRITE, tmp_path, MODEL]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False)
        assert (done.stdout, done.stderr) == (f"{[0] * WRITERS}\n", "")
        with psycopg.connect(f"postgresql://mlflow:{PASSWORD}@{address}/mlflow") as store:
            assert store.execute("SELECT count(*) FROM runs WHERE status = 'FINISHED'").fetchone() == (WRITERS,)
        client = connect(uri)
        toy = client.get_experiment_by_name("toy")
        assert toy.tags["primary"] == "auroc"
        runs = client.search_runs([toy.experiment_id])
        assert sorted(run.info.run_name for run in runs) == [f"static-{number}" for number in range(WRITERS)]
        for run in runs:
            seed = int(run.data.params["seed"])
            for metric, step in {"train/loss": 0, "val/auroc": 1 / 8}.items():
                points = [(point.step, point.value) for point in client.get_metric_history(run.info.run_id, metric)]
                assert sorted(points) == [(epoch, seed + epoch * step) for epoch in range(EPOCHS)]
            assert {given.dataset.name for given in run.inputs.dataset_inputs} == {"toy train", "toy val"}
            of_run = files / toy.experiment_id / run.info.run_id
            assert (of_run / "artifacts/config.yaml").read_text() == f"seed: {seed}"
            (model,) = run.outputs.model_outputs
            assert client.get_logged_model(model.model_id).status == "READY"
            logged = files / toy.experiment_id / "models" / model.model_id / "artifacts/artifacts" / MODEL.name
            assert {file.name: file.read_bytes() for file in logged.iterdir()} == model_files


@contextmanager
def server(address: str, files: Path, log: Path) -> Iterator[str]:
    """The server of compose.yaml on loopback, with this database and folder of artifacts; yields its address."""
    service = yaml.safe_load((PROJECT / "compose.yaml").read_text())["services"]["server"]
    settings = {name: value for name, value in service["environment"].items() if value is not None}
    store = settings["MLFLOW_BACKEND_STORE_URI"].replace("${TRACKING_PASSWORD}", PASSWORD)
    settings["MLFLOW_BACKEND_STORE_URI"] = store.replace("database:5432", address)
    port = free_port()
    here = ["--host=127.0.0.1", f"--port={port}", f"--artifacts-destination={files}"]
    with running([*service["command"], *here], log, env=clean() | settings, cwd=log.parent) as wait:
        wait(lambda: urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close())
        yield f"http://127.0.0.1:{port}"


@contextmanager
def postgresql() -> Iterator[str]:
    """A PostgreSQL with an empty database `mlflow`; yields host and port."""
    # It refuses to run as root, and other users cannot enter pytest's folders.
    user = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}
    initdb, postgres = program("initdb"), program("postgres")
    folder = Path(tempfile.mkdtemp(prefix="postgresql-"))
    try:
        secret, data, port = folder / "password", folder / "data", free_port()
        secret.write_text(PASSWORD)
        for path in (folder, secret) if user else ():
            shutil.chown(path, user["user"], user["group"])
        make = [initdb, "-D", f"{data}", "-U", "mlflow", "-A", "scram-sha-256", f"--pwfile={secret}", "--no-sync"]
        subprocess.run(make, check=True, capture_output=True, cwd=folder, timeout=LIMIT, **user)
        command = [postgres, "-D", f"{data}", "-h", "127.0.0.1", "-p", f"{port}", "-k", f"{folder}", "-F"]
        with running(command, folder / "log", stop=signal.SIGQUIT, cwd=folder, **user) as wait:
            first = f"postgresql://mlflow:{PASSWORD}@127.0.0.1:{port}/postgres"
            wait(lambda: psycopg.connect(first).close())
            with psycopg.connect(first, autocommit=True) as connection:
                connection.execute("CREATE DATABASE mlflow")
            yield f"127.0.0.1:{port}"
    finally:
        shutil.rmtree(folder)


@contextmanager
def running(command: list[str], log: Path, stop: signal.Signals = signal.SIGTERM, **options) -> Iterator[Callable]:
    """Run a server; yields a function that waits until a request of it raises no error."""
    with log.open("w") as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, **options)

    def wait(request: Callable[[], None]) -> None:
        end = time.monotonic() + LIMIT
        while True:
            with suppress(OSError, psycopg.OperationalError):
                return request()
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.1)

    try:
        yield wait
    finally:
        process.send_signal(stop)
        process.wait(timeout=LIMIT)


def program(name: str) -> str:
    """A program of PostgreSQL; Debian keeps them out of PATH, by version."""
    versions = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[-3]))
    found = shutil.which(name) or (f"{versions[-1]}" if versions else None)
    if found is None:
        pytest.skip(f"needs PostgreSQL: there is no {name} in PATH or /usr/lib/postgresql")
    return found


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def clean() -> dict[str, str]:
    """The environment without settings of MLflow, and with this Python's programs."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MLFLOW_")}
    return kept | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
