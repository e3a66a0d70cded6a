"""System metrics of long runs: use of processors, memory, disk, network and GPU, by MLflow's monitor."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from twicetold_lab.tracking.store import Store

AFTER = 60.0  # seconds; shorter runs have none
EVERY = 15.0  # seconds

_logger = logging.getLogger(__name__)


@contextmanager
def system_metrics(store: Store | None, run_id: str | None) -> Iterator[None]:
    """Log metrics `system/...` of a run from its second minute on, in a thread of their own.

    Args:
        store: the open store; None where nothing is tracked.
        run_id: the run.
    """
    if store is None or run_id is None:
        yield
        return
    started: list[Any] = []

    def start() -> None:
        try:
            from mlflow.system_metrics.system_metrics_monitor import SystemMetricsMonitor

            monitor = SystemMetricsMonitor(
                run_id, sampling_interval=EVERY, resume_logging=True, tracking_uri=store.client.tracking_uri
            )
            monitor.start()
            started.append(monitor)
        except Exception as error:  # of any kind: the training is what matters
            _logger.info("no system metrics: %s", error)

    timer = threading.Timer(AFTER, start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join(10.0)  # while it starts the monitor
        for monitor in started:
            with suppress(Exception):
                monitor.finish()
