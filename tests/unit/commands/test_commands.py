"""The command as a whole: help, errors and exit codes."""

import os
import resource
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
import typer

from twicetold import commands

ROOT = Path(__file__).parents[3]


def test_help_answers_in_under_half_a_second(process):
    spent = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = process("--help")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert done.returncode == 0
        assert all(name in done.stdout for name in commands.COMMANDS)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(spent) < 0.5  # of the processor: other processes may have it meanwhile


@pytest.mark.parametrize("arguments", [(), ("dedupe",), ("label",), ("index", "add")])
def test_lines_of_help_are_broken_at_the_width_of_the_terminal(arguments):
    command = typer.main.get_command(commands.app)
    for name in arguments:
        command = command.get_command(None, name)
    examples = [part for part in map(str.strip, command.help.split("\n\n")) if "\n" in part]
    assert [part.partition("\n")[0] for part in examples] == ["Examples:"]


def test_help_imports_nothing_heavy(environment):
    program = "import sys, twicetold.commands; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    heavy = {"numpy", "pyarrow", "torch", "scipy", "sklearn", "hydra", "mlflow", "dvc", "pytorch_lightning"}
    assert not heavy & set(done.stdout.split())


def test_every_module_is_a_command():
    modules = {path.stem for path in (ROOT / "src/twicetold/commands").glob("*.py") if not path.stem.startswith("_")}
    assert set(commands.COMMANDS) == modules
    plugins = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"][commands.PLUGINS]
    lab = {path.stem for path in (ROOT / "src/twicetold_lab/commands").glob("*.py") if not path.stem.startswith("_")}
    assert set(plugins) == lab
    assert set(typer.main.get_command(commands.app).list_commands(None)) == modules | lab


def test_the_version_is_that_of_the_package(process):
    assert process("--version").stdout == f"twicetold {version('twicetold')}\n"


def test_wrong_usage_is_exit_code_2_and_a_typo_has_a_proposal(process):
    done = process("scor", "a", "b")
    assert done.returncode == 2
    assert "Did you mean 'score'?" in done.stderr
    assert process("score", "a").returncode == 2
    done = process("score", "a", "b", "c", "--jsn")
    assert done.returncode == 2
    assert "--json" in done.stderr


def test_an_expected_error_is_one_message_and_exit_code_1(process, environment):
    done = process("score", "nowhere", "a", "b")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith(
        "error: no trained model in nowhere: expected recipe.json there; there is no such folder"
    )
    assert "Traceback" not in done.stderr
    assert "TWICETOLD_TRACEBACK" not in done.stderr
    traced = process("score", "nowhere", "a", "b", env={**environment, "TWICETOLD_TRACEBACK": "1"})
    assert traced.returncode == 1
    assert "Traceback" in traced.stderr


@pytest.mark.parametrize(("raised", "code"), [(KeyboardInterrupt, 130), (OSError("full"), 1)])
def test_exit_codes(raised, code):
    with pytest.raises(typer.Exit) as ended, commands.readable_errors():
        raise raised
    assert ended.value.exit_code == code


@pytest.mark.parametrize("arguments", ["index add --help", "--version", "scor"])
def test_a_reader_that_has_gone_ends_a_command_in_silence(arguments, process):
    """As `twicetold --help | head -1` does, where the reader goes before all of it is written."""
    read, write = os.pipe()
    os.close(read)
    gone, other = ("stderr", "stdout") if arguments == "scor" else ("stdout", "stderr")
    done = process(*arguments.split(), capture_output=False, **{gone: write, other: subprocess.PIPE})
    os.close(write)
    assert done.returncode == 141
    assert not getattr(done, other)


@pytest.fixture
def plugged(process, environment, tmp_path):
    """Runs the command beside plug-ins: one that works, one that cannot be imported, and one named dedupe."""
    about = tmp_path / "site/other-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    lines = ["hello = other:hello", "broken = gone.away:command", "dedupe = other:hello"]
    (about / "entry_points.txt").write_text(f"[{commands.PLUGINS}]\n" + "\n".join(lines))
    (about.parent / "other.py").write_text('def hello():\n    """Say hello.\n\n    Much."""\n    print("hello")\n')
    path = f"{environment['PYTHONPATH']}{os.pathsep}{about.parent}"
    return lambda *arguments: process(*arguments, env={**environment, "PYTHONPATH": path})


def test_a_plug_in_that_cannot_be_imported_ends_no_other_command(plugged):
    assert plugged("--version").returncode == 0
    assert plugged("hello").stdout == "hello\n"
    assert "Much." in plugged("hello", "--help").stdout
    listed = plugged("--help")
    assert listed.returncode == 0
    assert "Say hello." in listed.stdout
    assert "gone.away:command" in listed.stdout
    for arguments in (["broken", "a", "--option", "b"], ["broken", "--help"]):
        done = plugged(*arguments)
        assert done.returncode == 1
        assert done.stderr.startswith(
            "error: the plug-in broken (gone.away:command) cannot be used: ModuleNotFoundError"
        )
        assert "Traceback" not in done.stderr


def test_a_plug_in_takes_the_place_of_no_command(plugged, tmp_path):
    (tmp_path / "texts.csv").write_text("text\na cat\nA cat\n")
    done = plugged("dedupe", "texts.csv", "--compare", "letters")
    assert "hello" not in done.stdout
    assert "group,representative" in done.stdout
    assert "the plug-in other:hello is not used: twicetold has a command dedupe itself" in done.stderr


OF_TWO = (
    ("ask", "a.csv", "--compare", "letters"),
    ("label", "a.csv", "--compare", "letters", "-o", "pairs.csv"),
    ("link", "a.csv", "b.csv", "--compare", "letters", "--ask", "2"),
    ("dedupe", "a.csv", "--compare", "letters", "--ask", "2"),
    ("dedupe", "-", "--compare", "letters", "--format", "csv"),
)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
@pytest.mark.parametrize("arguments", OF_TWO)
def test_a_closed_stream_is_an_input_at_its_end_or_an_output_without_a_reader(environment, tmp_path, closed, arguments):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("text\nhow to learn swimming\nhow do I learn to swim\nwhere to buy a tent\n")
    line = ["sh", "-c", f'"$@" {closed}', "sh", sys.executable, "-m", "twicetold", *arguments]
    options = {"cwd": tmp_path, "env": environment, "capture_output": True, "text": True, "stdin": subprocess.DEVNULL}
    done = subprocess.run(line, check=False, timeout=120, **options)
    code = 1 if "-" in arguments else 141 if closed == ">&-" and arguments[0] in ("dedupe", "link") else 0
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
    assert closed != "2>&-" or arguments[0] in ("dedupe", "link") or not done.stdout


OPTIONS = {  # a command line of each command, without options
    "score": "m a b",
    "pairs": "m a.csv",
    "dedupe": "a.csv",
    "link": "a.csv b.csv",
    "search": "i a",
    "ask": "a.csv",
    "label": "a.csv",
    "calibrate": "m a.csv",
    "index build": "m a.csv",
    "index add": "i a.csv",
    "index remove": "i a",
    "index groups": "i",
    "index info": "i",
    "card": "m",
    "check": "r",
}


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_that_takes_one_value_is_refused_when_it_is_given_twice(name):
    command = typer.main.get_command(commands.app)
    for word in name.split():
        command = command.get_command(None, word)
    options = [each for each in command.params if each.param_type_name == "option"]
    for option in options:
        value = [] if option.is_flag else ["1"]
        line = [option.opts[0], *value, *OPTIONS[name].split(), option.opts[-1], *value]
        required = [
            word for each in options if each.required and each is not option for word in (each.opts[0], "x.csv")
        ]
        if option.is_flag or option.multiple:
            assert command.make_context(name, [*line, *required])
        else:
            with pytest.raises(typer.BadParameter, match="one value, the option is given 2 times: leave out all but"):
                command.make_context(name, [*line, *required])


def test_every_command_is_asked_for_an_option_twice():
    of_index = {f"index {name}" for name in typer.main.get_command(commands.app).get_command(None, "index").commands}
    every = typer.main.get_command(commands.app).list_commands(None)
    assert set(OPTIONS) == {*every, *of_index} - {"index"}
