"""`twicetold ask`: questions about the pairs of a file's texts that the matcher is least sure of."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from twicetold.commands._console import tell
from twicetold.commands._options import Browser, Compare, File, Id, OfSense, On, Reading, with_options
from twicetold.commands._outputs import require_apart
from twicetold.commands._progress import progress
from twicetold.commands._session import ask_all
from twicetold.printable import counted

if TYPE_CHECKING:
    from twicetold.commands._dedupe_file import TextFile
    from twicetold.dedupe.limits import Limits
    from twicetold.dedupe.options import Choices
    from twicetold.dedupe.questions import Answers, Questions
    from twicetold.labels.review import Asking
    from twicetold.use.model import Model

COUNT, MOST = 20, 50  # questions to a person, and to a command


@with_options
def ask(
    file: File,
    reading: Reading,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="CSV file for the answers.", show_default="FILE.answers.csv"),
    ] = None,
    count: Annotated[
        int | None,
        typer.Option(
            "--count",
            "-n",
            min=1,
            help="Number of questions, earlier answers included.",
            show_default="20, with --by 50",
        ),
    ] = None,
    id_column: Id = None,
    compare: Compare = None,
    sense: OfSense = "same",
    on: On = None,
    browser: Browser = False,
    by: Annotated[
        str | None,
        typer.Option("--by", metavar="COMMAND", help="Let a command answer, such as one that asks a language model."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="With --by, do not ask before texts go to the command.")] = False,
) -> None:
    """Answer questions about the pairs that dedupe is least sure of.

    Examples:
        twicetold ask questions.csv
        twicetold ask questions.csv --compare letters -n 40 -o answers.csv

    Shows one pair at a time, with the words that differ marked: y if the two texts are the same, n if not, ? if you
    cannot say, u undo, s stop. The hardest pair comes first, and each answer decides which one comes next. Answers are
    written at once, and the same command resumes where it stopped. Without a terminal, answers are read from standard
    input, one a line. dedupe FILE --pairs FILE.answers.csv groups by the answers; dedupe FILE --ask N does both.

    With --by, COMMAND reads each question as a line of JSON and writes a line such as {"same": true}. These answers
    have its name in the column by, and calibrate leaves them out.
    """
    if browser and by is not None:
        raise typer.BadParameter("--browser asks you, and --by a command: leave one of them out")
    answers = answers_beside(file) if out is None else out
    require_apart({"answers": answers}, {"texts": file, "vectors": compare})
    ask_questions = asking(browser=browser) if by is None else _by_command(by, yes=yes)
    with progress("loading libraries"):
        from twicetold.commands._columns import fitted_to, text_and_others, values_of
        from twicetold.commands._dedupe_file import TextFile

    text, columns = text_and_others(reading.text, on)
    read = TextFile.read(file, replace(reading, text=text), id_column=id_column, needed=columns, added=())
    model = fitted_to(read, compare)
    beside = dict(zip(columns, values_of(read, [], [], columns)["also"], strict=True))
    count = count or (COUNT if by is None else MOST)
    ask_of_file(model, read, answers, count=count, options={"sense": sense}, beside=beside, ask=ask_questions)


def asking(*, browser: bool) -> "Callable[[Asking], None]":
    """Return what asks a person: the terminal, or a page."""
    if not browser:
        return ask_all
    from twicetold.commands._page import ask_on_page

    return ask_on_page


def _by_command(by: str, *, yes: bool) -> "Callable[[Asking], None]":
    from twicetold.commands._by import arguments_of, ask_command

    arguments_of(by)
    return partial(ask_command, by=by, yes=yes)


def answers_beside(file: str) -> Path:
    """Return the file of answers about a file of texts.

    Raises:
        ValueError: if the texts come from standard input.
    """
    from twicetold.tables.streams import STANDARD

    if file == STANDARD:
        raise ValueError("expected a file of texts, as standard input is for the answers")
    return Path(f"{Path(file)}.answers.csv")  # beside a folder, not in it


def ask_of_file(
    model: "Model",
    read: "TextFile",
    answers: Path,
    *,
    count: int,
    options: "Choices",
    beside: "Mapping[str, Sequence[str]]",
    ask: "Callable[[Asking], None]" = ask_all,
) -> "Answers":
    """Ask about pairs of one file; arguments: `ask_about`.

    Args:
        model: that is fitted to the texts.
        read: the texts.
        answers: file of answers.
        count: of pairs.
        options: of the dedupe that the answers are for.
        beside: further columns, which are compared as well.
        ask: the terminal, or what asks in its place.
    """
    from twicetold.dedupe.limits import Limits

    def begin(pairs: "Answers") -> "Questions":
        about: Choices = {**options, "also": list(beside.values()), "pairs": pairs}
        return model.questions(read.texts, **about)

    limits = Limits.of(len(read.texts), options.get("same", ()), options.get("within", ()))
    known: Any = options.get("pairs")
    return ask_about(begin, [read], answers, count=count, known=known, limits=limits, beside=beside, ask=ask)


def ask_about(
    begin: "Callable[[Answers], Questions]",
    files: "Sequence[TextFile]",
    answers: Path,
    *,
    count: int,
    known: "Answers | None",
    limits: "Limits | None",
    beside: "Mapping[str, Sequence[str]]",
    ask: "Callable[[Asking], None]" = ask_all,
) -> "Answers":
    """Ask until the file of answers has `count` pairs, or the person stops.

    Args:
        begin: from answers to the questions that are left.
        files: of the texts; two for pairs across them.
        answers: file of answers.
        count: of pairs that are asked about, with those that are in the file.
        known: other answers; their pairs are not asked about.
        limits: of links, which answers must not contradict.
        beside: further columns to show, a value of each row of all files.
        ask: the terminal, or what asks in its place.

    Returns:
        all pairs with answers, as the questions count rows: the known ones before those of the file.
    """
    from twicetold.commands._pairs_file import pairs_of
    from twicetold.files import lock_beside, only_process
    from twicetold.labels.review import SAME, Asking
    from twicetold.tables.columns import MISSING, answers_of

    with only_process(lock_beside(answers), f"ask {answers}"):
        pairs: list[Any] = [known or ([], [], [])]
        stale: Any = ()
        if answers.exists():
            of_file, stale = pairs_of(str(answers), files[0], limits, right=[*files, None][1], unanswered=True)
            pairs.append(of_file)
        left, right, same = ([each for side in sides for each in side] for sides in zip(*pairs, strict=True))
        with progress("comparing the texts"):
            questions = begin((left, right, same))
        names = [name for file in files for name in file.names.to_pylist()]
        state = Asking.begin(answers, questions, names, count=count, beside=beside, stale=stale)
        try:
            ask(state)
            if state.next is None and len(state.table) < state.count:
                tell("no other pair is similar enough to ask about")
        finally:  # also where a person presses Ctrl-C
            if len(state.table):
                given = int((answers_of(state.table[SAME]) != MISSING).sum())
                command = "dedupe" if len(files) == 1 else "link"
                asked = counted(len(state.table), "pair")
                tell(f"{given:,} of {asked} answered. In {answers}, for {command} --pairs {answers}")
    return questions.pairs
