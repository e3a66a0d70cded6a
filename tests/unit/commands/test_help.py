"""`--help` helps: a sentence, two examples that run, then options; who waits is told."""

import csv
import io
import re
import shlex
import shutil
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from twicetold import commands
from twicetold.commands._progress import progress
from twicetold.files import write_json

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/guides/using-a-model.md").read_text()


def every(command, path):
    yield path, command
    for name in getattr(command, "list_commands", lambda context: [])(None):
        yield from every(command.get_command(None, name), f"{path} {name}")


APP = typer.main.get_command(commands.app)
ALL = dict(every(APP, "twicetold"))


def examples(path):
    """The arguments of each example in the help of a command."""
    block = re.search(r"\n\nExamples:\n((?:    .*\n?)+)", ALL[path].help)
    assert block, f"{path} --help has no examples"
    return [shlex.split(line) for line in block[1].splitlines()]


@pytest.mark.parametrize("path", ALL)
def test_help_begins_with_a_sentence_and_has_two_examples(path):
    first, second = ALL[path].help.split("\n\n")[:2]
    assert first.endswith(".")
    assert second.lstrip("\n").startswith("Examples:\n")
    assert len(examples(path)) == 2
    for words in examples(path):
        assert words[0] == "twicetold"
        assert path == "twicetold" or f"{shlex.join(words)} ".startswith(f"{path} ")


@pytest.mark.parametrize("path", ALL)
def test_examples_are_lines_that_the_command_takes(path):
    for _, *words in examples(path):
        command, context = APP, None
        while words and hasattr(command, "get_command") and (child := command.get_command(None, words[0])):
            command, words = child, words[1:]
        context = command.make_context("twicetold", words)  # an error if an option is unknown, or something is missing
        assert context.params


@pytest.mark.parametrize("path", ALL)
def test_examples_are_printed_with_their_indent(path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit):
        APP([*path.split()[1:], "--help"], prog_name="twicetold")
    printed = capsys.readouterr().out
    assert re.findall(r"^ ( *)twicetold .*\S *$", printed, re.MULTILINE) == ["    ", "    "]


@pytest.mark.slow
def test_the_examples_run_one_after_the_other(twicetold, tmp_path):
    """From a file to a model, and what it is used for: nothing but the file has to be there. About 30 s."""
    shutil.copy(ROOT / "examples/questions.csv", tmp_path)
    (tmp_path / "new.csv").write_text("id,question\na,How do I learn to swim well?\n")
    (tmp_path / "candidates.csv").write_text("left,right,question,other\na text,another,a question,another one\n")
    answers = {"label": "y\nn\n" * 50, "ask": "y\n?\n", "dedupe": "y\ns\n"}
    names = ("ask", "dedupe", "link", "label", "calibrate", "score", "pairs", "card", *INDEXED)
    for number in (0, 1):
        for name in names:
            if (name, number) in NOT_RUN:
                continue
            _, *words = examples(f"twicetold {name}")[number]
            done = twicetold(*words, input=answers.get(name, ""))
            assert done.returncode == 0, (words, done.stderr)
            if name == "label":
                correct_labels(tmp_path / "pairs.csv")
        shutil.rmtree(tmp_path / "faq", ignore_errors=True)


def correct_labels(file):
    """Say of pairs that most words of one are in the other that they are duplicates, of no others."""
    with file.open(newline="") as read:
        head, *rows = csv.reader(read)
    left, right, label = map(head.index, ("left", "right", "label"))
    for row in rows:
        one, other = (set(row[column].lower().split()) for column in (left, right))
        row[label] = f"{int(len(one & other) > len(one ^ other))}"
    with file.open("w", newline="") as written:
        csv.writer(written).writerows([head, *rows])


INDEXED = ("index build", "search", "index add", "index remove", "index groups", "index info")
NOT_RUN = {("calibrate", 1), ("card", 1)}


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("terminal", [True, False])
def test_who_waits_at_a_terminal_is_told_what_goes_on(terminal, monkeypatch):
    monkeypatch.setattr("sys.stderr", stream := Terminal() if terminal else io.StringIO())
    with progress("loading a model"):
        pass
    assert ("loading a model" in stream.getvalue()) == terminal == bool(stream.getvalue())


@pytest.mark.parametrize(
    ("folder", "named"),
    [
        ("runs/stsb-dae-0", "expected recipe.json there; the folder has the metrics"),
        ("runs/stsb-dae-0", "dvc repro evaluate@stsb-dae-0 makes it"),
        ("elsewhere", "there is no such folder: check the name, or train it first"),
    ],
)
def test_the_command_that_makes_a_model_is_named_by_the_folder(folder, named, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_json(Path("runs/stsb-dae-0/metrics.json"), {})
    done = CliRunner().invoke(commands.app, ["score", folder, "a", "b"])
    assert done.exit_code == 1
    assert named in done.stderr


def test_a_card_prints_rounded_numbers(run, twicetold):
    card = twicetold("card", run()).stdout
    assert not re.findall(r"\d\.\d{7,}", card)
    assert "Numbers are rounded" in card


@pytest.mark.parametrize("path", ALL)
def test_a_command_is_in_the_guide_and_its_options_have_help(path):
    assert f"`{path}" in PAGE or f"\n{path} " in PAGE
    assert [option.name for option in ALL[path].params if not option.help] == []


def test_dedupe_has_at_most_24_options_and_all_commands_107():
    counts = {path: sum(each.param_type_name == "option" for each in ALL[path].params) for path in ALL}
    assert counts["twicetold dedupe"] <= 24  # with columns of records, questions on a page, and engines
    assert sum(counts.values()) - 2 <= 107  # without those for the completion of shells
