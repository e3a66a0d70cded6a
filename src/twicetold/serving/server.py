"""A trained model over HTTP, in this process and environment: the requests and answers of MLflow's scoring server.

MLflow's own application takes bodies of any size and answers some bad ones with status 500 or a stack trace, so it is
not used. Here a body and its rows have a limit, a request that cannot be answered gets a message of what was expected,
and the model reads a block of rows at a time, for one request at a time. A web page that reaches this server by a name
of its own, which leads to this machine (DNS rebinding), gets no answer.
"""

import asyncio
import json
import logging
import signal
import socket
import tempfile
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from threading import Event
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from twicetold.printable import printable
from twicetold.serving.request_tables import MAX_BYTES, Refused, table_of
from twicetold.tracking import logged_model
from twicetold.tracking.registry import INPUT_EXAMPLE
from twicetold.tracking.store import prepare

BLOCK = 256  # rows that the model reads at once
CONNECTIONS = 32  # at the same time; more are answered with status 503
GRACE = 5  # seconds that requests have to end after Ctrl-C
MAX_DROPPED = 50 * MAX_BYTES  # of a body that is too large; then its connection ends
MAX_MESSAGE = 2000  # characters
HERE = ("localhost", "127.0.0.1", "::1")

_logger = logging.getLogger(__name__)


def serve(
    model_folder: Path,
    *,
    about: str | None = None,
    host: str,
    port: int,
    on_ready: Callable[[str], None],
    names: Collection[str] = (),
) -> None:
    """Answer requests until Ctrl-C or SIGTERM, which end the server within seconds and then raise `KeyboardInterrupt`.

    Args:
        model_folder: the model folder.
        about: the label of the verdicts where a request names none; None: the finest one.
        host: address to listen at.
        port: 0 for any that is free.
        on_ready: called with the server's URL once it accepts connections.
        names: further names of this machine that requests may be for.

    Raises:
        OSError: if the port is taken.
    """
    prepare()
    import uvicorn
    from mlflow import pyfunc

    with _terminated_as_by_ctrl_c(), _listening(host, port) as listener, tempfile.TemporaryDirectory() as scratch:
        saved = Path(scratch) / "saved"
        logged_model.save(model_folder, saved, input_example=INPUT_EXAMPLE, label=about)
        scoring = Scoring(pyfunc.load_model(str(saved)))
        config = uvicorn.Config(
            scoring.application(names=(host, *names)),
            http="h11",
            ws="none",
            lifespan="off",
            log_level="critical",
            access_log=False,
            limit_concurrency=CONNECTIONS + 1,  # the first one that uvicorn refuses
            timeout_graceful_shutdown=GRACE,
        )
        shown = f"[{host}]" if ":" in host else host
        url = f"http://{shown}:{listener.getsockname()[1]}"

        class Server(uvicorn.Server):
            async def startup(self, sockets: list[socket.socket] | None = None) -> None:
                await super().startup(sockets)
                on_ready(url)  # a signal before would end the loop before its first step, which Python warns of

        try:
            Server(config).run(sockets=[listener])
        finally:
            scoring.stop()


class Scoring:
    """Answers to requests by a model.

    Args:
        model: an `mlflow.pyfunc.PyFuncModel`.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._worker = ThreadPoolExecutor(1)
        self._stopping = Event()

    def application(self, *, names: Iterable[str] = ()) -> ASGIApp:
        """The ASGI application.

        Args:
            names: names and addresses of this machine that requests may be for, besides `HERE` and the address that
                they came in at.
        """
        routes = [Route(path, _well, methods=["GET"]) for path in ("/ping", "/health")]
        routes += [
            Route("/version", _version, methods=["GET"]),
            Route("/invocations", self._invocations, methods=["POST"]),
        ]
        return Starlette(routes=routes, middleware=[Middleware(OnlyNamed, names=[*HERE, *names])])

    def stop(self) -> None:
        """End the work on requests, after the block that the model reads."""
        self._stopping.set()
        self._worker.shutdown(cancel_futures=True)

    async def _invocations(self, request: Request) -> Response:
        try:
            body = await _body(request)
            kind = request.headers.get("content-type")
            answer = await asyncio.get_running_loop().run_in_executor(self._worker, self._answer, body, kind)
        except Refused as error:
            return _refusal(error.status, str(error))
        except ClientDisconnect:
            return Response(status_code=HTTPStatus.BAD_REQUEST)  # nobody reads it
        except Exception:
            _logger.exception("the model failed")
            return _refusal(HTTPStatus.INTERNAL_SERVER_ERROR, "the model failed; the server's terminal says more")
        return Response(answer, media_type="application/json")

    def _answer(self, body: bytes, content_type: str | None) -> bytes:
        """The model's predictions for the table in a body, as JSON.

        Raises:
            Refused: if the body has no such table, or the model cannot read it.
        """
        from mlflow.exceptions import MlflowException

        rows: list[str] = []
        try:
            table, params = table_of(body, content_type)
            for start in range(0, max(len(table), 1), BLOCK):  # the model says what it expects if there are no rows
                if self._stopping.is_set():
                    raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, "the server was stopped")
                found = self._model.predict(table.iloc[start : start + BLOCK], params=params)
                rows.append(json.dumps(found.to_dict("records"))[1:-1])
        except MlflowException as error:
            raise Refused(error.get_http_status_code(), error.message) from error
        except RecursionError as error:
            raise Refused(HTTPStatus.BAD_REQUEST, "expected texts, got values that are nested too deeply") from error
        return f'{{"predictions": [{", ".join(rows)}]}}'.encode()


class OnlyNamed:
    """Lets requests through that are for this machine by one of its names, or the address that they came in at.

    Args:
        app: the application.
        names: names and addresses.
    """

    def __init__(self, app: ASGIApp, names: Collection[str]) -> None:
        self._app = app
        bare = (name if name.count(":") > 1 and name[0] != "[" else _without_port(name) for name in names)  # "::1"
        self._names = {name.lower() for name in bare}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        header = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
        name = _without_port(header).lower()
        app = self._app
        if name not in self._names and name != (scope.get("server") or ("",))[0]:
            known = ", ".join(sorted(self._names))
            message = f"expected a request for one of {known}, got one for {header!r}: see --allow-host"
            app = _refusal(HTTPStatus.BAD_REQUEST, message)
        await app(scope, receive, send)


def _without_port(host: str) -> str:
    return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]


async def _body(request: Request) -> bytes:
    """The body. One that is too large is read and dropped: most clients listen only once they have sent all."""
    body, size = bytearray(), 0
    async for part in request.stream():
        size += len(part)
        if size <= MAX_BYTES:
            body += part
        elif size > MAX_DROPPED:
            break
    if size > MAX_BYTES:
        raise Refused(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            f"expected a body of at most {MAX_BYTES:,} bytes: send several requests",
        )
    return bytes(body)


def _refusal(status: int, message: str) -> JSONResponse:
    if len(message) > MAX_MESSAGE:  # MLflow puts the data before what it expected
        message = f"{message[: MAX_MESSAGE // 2]} … {message[-MAX_MESSAGE // 2 :]}"
    return JSONResponse({"error_code": HTTPStatus(status).name, "message": printable(message)}, status_code=status)


async def _well(_: Request) -> Response:
    return Response("\n", media_type="application/json")


async def _version(_: Request) -> Response:
    from mlflow.version import VERSION

    return Response(VERSION, media_type="application/json")


@contextmanager
def _terminated_as_by_ctrl_c() -> Iterator[None]:
    """Raise KeyboardInterrupt on SIGTERM in the block, so that the copy of the model is removed.

    When uvicorn has ended, it sends itself the signal again.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    former = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)


def _listening(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise OSError(f"cannot listen at {host}, port {port} ({error.strerror}): choose another with --port") from error
