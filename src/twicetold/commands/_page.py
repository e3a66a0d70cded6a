"""Questions about pairs of texts on a page of this machine alone, in place of a terminal.

The server listens on 127.0.0.1, at a port that is free. It refuses whatever has not the token of the page's address, is
sent by a page of another origin, or names another host: another site whose name leads to this machine is one. The page
loads nothing from elsewhere, and texts are set as such, never as HTML. One request is answered at a time.
"""

import json
import os
import secrets
import sys
import threading
import webbrowser
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from twicetold.commands._console import tell
from twicetold.dedupe.constraints import Contradiction
from twicetold.printable import LONG, changes_in_brief, printable

if TYPE_CHECKING:
    from twicetold.dedupe.answered_groups import AnsweredGroups
    from twicetold.dedupe.questions import Question
    from twicetold.labels.review import Asking

HOST = "127.0.0.1"
MOST_GROUPS, IN_GROUPS = 30, 300  # that are shown in the end, and characters of a text there
MOST_BYTES = 10_000  # of a request
PATIENCE = 30.0  # seconds for a request to arrive
HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
POLICY = (
    "default-src 'none'; script-src 'nonce-{0}'; style-src 'nonce-{0}'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)


def ask_on_page(state: "Asking") -> None:
    """Show the questions on a page until the person is done there, and then close its port."""
    page = Page(state)
    with Server((HOST, 0), Handler) as server:
        server.page = page
        server.address = f"http://{HOST}:{server.server_port}"
        tell(f"questions on {server.address}/{page.token}/ (Ctrl-C stops; answers are kept)")
        if "BROWSER" in os.environ or sys.platform != "linux" or {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys():
            address = f"{server.address}/{page.token}/"  # else a browser of the terminal would take its place
            threading.Thread(target=webbrowser.open, args=[address], daemon=True).start()
        server.serve_forever(poll_interval=0.1)
        if server.error is not None:
            raise server.error


@dataclass
class Page:
    """Questions as a page shows them.

    Args:
        state: the questions and the file of answers.
        token: that the address of the page has.
        lock: one request changes the answers at a time.
    """

    state: "Asking"
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    lock: threading.Lock = field(default_factory=threading.Lock)
    _counts: list[tuple[int, int] | None] = field(default_factory=list)
    _groups: "AnsweredGroups | None" = None
    _offered: dict[tuple[int, int], "Question"] = field(default_factory=dict)

    def shown(self) -> dict[str, Any]:
        """Return the next question, or the least certain groups if there is none, as JSON."""
        asked, state = self.state.question, self.state
        if len(self._counts) != 1 + len(state.table):
            self._count()
        seen: dict[str, Any] = {"number": len(state.table), "count": state.count, "file": printable(state.file)}
        seen["groups"] = self._counts[-1]
        seen["before"] = self._counts[-2] if len(self._counts) > 1 else None
        self._offered = {} if asked is None else {(asked.left, asked.right): asked}
        if asked is not None:
            return seen | {"question": self._pair(asked)}
        groups = [] if self._groups is None else state.questions.doubtful(self._groups, MOST_GROUPS)
        for inside, outside in groups:
            self._offered |= {(each.left, each.right): each for each in (*inside, *outside)}
        return seen | {"doubtful": [[self._pairs(pairs) for pairs in group] for group in groups]}

    def read(self, sent: Any) -> "tuple[int, Question | None, bool | None]":
        """Return the number of answers that a page knew of, the question that it answers, None to undo, and the answer.

        Raises:
            KeyError: if something is missing, or this was not asked.
            TypeError: if something has another type.
            ValueError: if there are more or less than two rows.
        """
        answers: dict[str, bool | None] = {"undo": None, "same": True, "different": False, "unknown": None}
        answer = answers[sent["answer"]]
        if sent["answer"] == "undo" or sent["number"] != len(self.state.table):
            return sent["number"], None, answer
        left, right = sent["pair"]
        return sent["number"], self._offered[left, right], answer

    def take(self, number: int, asked: "Question | None", answer: bool | None) -> str | None:
        """Keep an answer, or take back the last one; return why not, if so."""
        if number != len(self.state.table):
            return "There were answers on another page: this one shows what is next."
        if asked is None:
            return None if self.state.back(number) else "There is no answer to take back."
        try:
            self.state.answer(asked, answer)
        except Contradiction:
            return "Earlier answers say otherwise. Take them back first (u)."
        return None

    def _count(self) -> None:
        """Group by the answers so far; of each number of answers the last groups are remembered."""
        self._groups = self.state.questions.groups()
        place = len(self.state.table)
        self._counts = [*self._counts[:place], *[None] * (place - len(self._counts))]
        self._counts.append(None if self._groups is None else self._groups.counts)

    def _pairs(self, asked: "list[Question]") -> list[dict[str, Any]]:
        return [self._pair(each, long=IN_GROUPS) for each in asked]

    def _pair(self, asked: "Question", long: int = LONG) -> dict[str, Any]:
        names = [printable(self.state.names[row]) for row in (asked.left, asked.right)]
        parts = [[printable(name), changes_in_brief(*values, long=long)] for name, *values in self.state.parts(asked)]
        return {"pair": (asked.left, asked.right), "names": names, "parts": parts, "probability": asked.probability}


class Server(ThreadingHTTPServer):
    """The server of one page."""

    daemon_threads = True
    page: Page
    address: str
    error: Exception | None = None

    def handle_error(self, request: Any, client_address: Any) -> None:
        """End, so that the command says what is wrong, such as a full disk; a page that went away is nothing."""
        error = sys.exception()
        if isinstance(error, Exception) and not isinstance(error, ConnectionError | TimeoutError):
            self.error = error
            self.shutdown()


class Handler(BaseHTTPRequestHandler):
    """Requests of the page."""

    server: Server
    timeout = PATIENCE
    server_version, sys_version = "twicetold", ""

    def do_GET(self) -> None:
        """Send the page, or what it shows."""
        if (place := self._place()) == "":
            nonce = secrets.token_urlsafe(16)
            page = files("twicetold.commands").joinpath("page.html").read_text(encoding="utf-8")
            self._send(HTTPStatus.OK, page.replace("NONCE", nonce), "text/html", POLICY.format(nonce))
        elif place == "state":
            with self.server.page.lock:
                shown = self.server.page.shown()
            self._send(HTTPStatus.OK, json.dumps(shown), "application/json")
        elif place is not None:
            self._send(HTTPStatus.NOT_FOUND)

    def do_POST(self) -> None:
        """Take an answer, and send what comes next; or end."""
        match self._place():
            case "answer":
                self._answer(self.server.page)
            case "end":
                self._send(HTTPStatus.OK)
                self.server.shutdown()  # each request has a thread of its own
            case str():
                self._send(HTTPStatus.NOT_FOUND)

    def _answer(self, page: Page) -> None:
        length = self.headers.get("Content-Length", "")
        body = self.rfile.read(int(length)) if length.isdecimal() and int(length) <= MOST_BYTES else b""
        with page.lock:
            try:
                read = page.read(json.loads(body))
            except (ValueError, KeyError, TypeError, RecursionError):
                self._send(HTTPStatus.BAD_REQUEST)
                return
            said = page.take(*read)
            shown = page.shown()
        self._send(HTTPStatus.OK, json.dumps({**shown, "said": said}), "application/json")

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the address has the token."""

    def _place(self) -> str | None:
        """Return the path behind the token; refuse all that does not come from the page itself."""
        address, start = self.server.address, f"/{self.server.page.token}/"
        known = secrets.compare_digest(self.path[: len(start)].encode(), start.encode())
        origin = self.headers.get("Origin", "" if self.command == "POST" else address)
        if known and origin == address and self.headers.get_all("Host") == [address.removeprefix("http://")]:
            return self.path[len(start) :]
        self._send(HTTPStatus.FORBIDDEN)
        return None

    def _send(
        self, status: HTTPStatus, body: str = "", kind: str = "text/plain", policy: str = "default-src 'none'"
    ) -> None:
        content = (body or status.phrase).encode()
        self.send_response(status)
        lines = {"Content-Type": f"{kind}; charset=utf-8", "Content-Length": f"{len(content)}"}
        for name, value in {**HEADERS, **lines, "Content-Security-Policy": policy}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)
