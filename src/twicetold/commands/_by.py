"""Questions that a command answers, such as one that asks a language model: JSON lines to it, JSON lines from it.

For each question the command reads one line, and writes one before it gets the next, as an answer decides what is asked
next:

    {"left": {"text": "red shoe, 42"}, "right": {"text": "Red shoes 42"}}
    {"same": true}

`text` is followed by the further columns that are compared, and `same` is true, false, or null if it cannot say.
"""

import json
import queue
import shlex
import shutil
import subprocess
import threading
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Self

import typer

from twicetold.commands._console import tell
from twicetold.commands._progress import progress
from twicetold.printable import counted, json_text, printable

if TYPE_CHECKING:
    from twicetold.labels.review import Asking

PATIENCE = 120.0  # seconds for an answer
EXPECTED = 'a line such as {"same": true}, with true, false or null'


def arguments_of(by: str) -> list[str]:
    """Split a command, which no shell sees.

    Raises:
        typer.BadParameter: if it is none, or there is no such program.
    """
    try:
        command = shlex.split(by)
    except ValueError as error:
        raise typer.BadParameter(f"--by: {error}") from error
    if not command or shutil.which(command[0]) is None:
        raise typer.BadParameter(f"--by: there is no program {''.join(command[:1])!r}")
    return command


def ask_command(state: "Asking", by: str, *, yes: bool) -> None:
    """Let a command answer the questions, after a person has agreed.

    Args:
        state: the questions and the file of answers.
        by: the command.
        yes: a person has agreed already.

    Raises:
        typer.Abort: if the person does not.
        ValueError: if the command ends early, answers nothing in time, or something else.
    """
    arguments = arguments_of(by)
    if state.question is None:
        return
    texts = " and ".join(["both texts", *([f"the columns {', '.join(state.beside)}"] if state.beside else [])])
    asked = counted(state.count - len(state.table), "question")
    tell(f"up to {asked}, each with {texts}, go to the command {arguments[0]}, which may send them elsewhere")
    if not yes:
        typer.confirm("Go on?", abort=True, err=True)
    with progress(f"waiting for {arguments[0]}"), Answering(arguments) as command:
        while (question := state.question) is not None:
            names, *sides = zip(*state.parts(question), strict=True)
            left, right = (dict(zip(("text", *names[1:]), side, strict=True)) for side in sides)
            state.answer(question, command.answer({"left": left, "right": right}), by=arguments[0])


class Answering:
    """A running command that answers questions.

    Args:
        arguments: its program and what follows.
    """

    def __init__(self, arguments: list[str]) -> None:
        self._name, pipe = arguments[0], subprocess.PIPE
        self._process = subprocess.Popen(arguments, stdin=pipe, stdout=pipe, encoding="utf-8", errors="replace")
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, args=[self._process.stdout], daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()

    def answer(self, question: dict[str, Any]) -> bool | None:
        """Return the answer to a question.

        Raises:
            ValueError: if the command gives none.
        """
        try:
            stdin = self._process.stdin
            assert stdin is not None
            stdin.write(f"{json_text(question, indent=None)}\n")
            stdin.flush()
            line = self._lines.get(timeout=PATIENCE)
        except OSError:  # it reads no more
            line = ""
        except queue.Empty as late:
            raise ValueError(
                f"--by: no answer of {self._name} within {PATIENCE:.0f} s: earlier ones are kept"
            ) from late
        if not line:
            code = self._process.wait(PATIENCE)
            raise ValueError(f"--by: {self._name} ended early, with exit code {code}: earlier answers are kept")
        try:
            same = json.loads(line)["same"]
        except (ValueError, TypeError, KeyError):
            same = line
        if same is not None and not isinstance(same, bool):
            raise ValueError(f"--by: expected {EXPECTED}; {self._name} wrote {printable(line.strip())!r:.80}")
        return same

    def _read(self, stream: IO[str]) -> None:
        for line in stream:
            self._lines.put(line)
        self._lines.put("")
