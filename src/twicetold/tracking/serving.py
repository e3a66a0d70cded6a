"""A trained model behind MLflow's scoring server, in this process and environment."""

import socket
import tempfile
from collections.abc import Callable
from pathlib import Path

from twicetold.tracking import logged_model
from twicetold.tracking.registry import INPUT_EXAMPLE
from twicetold.tracking.store import prepare


def serve(
    model_folder: Path, *, about: str | None = None, host: str, port: int, on_ready: Callable[[str], None]
) -> None:
    """Answer requests until Ctrl-C, which ends the server and then raises `KeyboardInterrupt`.

    Args:
        model_folder: the model folder.
        about: the label of the verdicts where a request names none; None: the finest one.
        host: address to listen at.
        port: 0 for any that is free.
        on_ready: called with the server's URL once it accepts connections.

    Raises:
        OSError: if the port is taken.
    """
    prepare()
    import uvicorn
    from mlflow import pyfunc
    from mlflow.pyfunc import scoring_server

    with _listening(host, port) as listener, tempfile.TemporaryDirectory() as scratch:
        saved = Path(scratch) / "saved"
        logged_model.save(model_folder, saved, input_example=INPUT_EXAMPLE, label=about)
        application = scoring_server.init(pyfunc.load_model(str(saved)))
        config = uvicorn.Config(application, log_level="warning", access_log=False)
        shown = f"[{host}]" if ":" in host else host
        on_ready(f"http://{shown}:{listener.getsockname()[1]}")
        uvicorn.Server(config).run(sockets=[listener])


def _listening(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise OSError(f"cannot listen at {host}, port {port} ({error.strerror}): choose another with --port") from error
