"""What stands on a terminal and in a log: no control characters, no passwords."""

import json
import logging
from pathlib import Path

import pytest

from twicetold.errors import readable_errors
from twicetold.printable import (
    changes_in_brief,
    differing,
    json_text,
    print,
    printable,
    without_passwords,
    word_changes,
)
from twicetold_lab.tracking import Settings
from twicetold_lab.tracking.pages import runs_page
from twicetold_lab.tracking.run import flatten
from twicetold_lab.tracking.store import warn_untracked

CONTROLS = [chr(code) for code in [*range(9), *range(11, 32), *range(127, 160), 0x202E, 0x2066, 0x2028, 0xD800]]
SECRET = "s3cr:t/w@rd"
ADDRESSES = {
    f"postgresql://mlflow:{SECRET}@db.example:5432/mlflow": "postgresql://***@db.example:5432/mlflow",
    f"postgresql+psycopg2://mlflow:{SECRET}@db": "postgresql+psycopg2://***@db",
    f"http://user:{SECRET}@mlflow.example": "http://***@mlflow.example",
    f"HTTPS://{SECRET}@mlflow.example": "HTTPS://***@mlflow.example",
    "mysql://h/db?user=u&password=s3cr&ssl=1": "mysql://h/db?user=u&password=***&ssl=1",
    "https://h/x?X-Amz-Signature=s3cr": "https://h/x?X-Amz-Signature=***",
    "could not connect: host=h user=u password=s3cr": "could not connect: host=h user=u password=***",
}
KEPT = [
    "sqlite:////home/me/mlruns/mlflow.db",
    "http://127.0.0.1:5000/#/experiments/1",
    "features.tokenizer=words optimizer.key=3",
    "me@example.org",
]


@pytest.mark.parametrize("letter", CONTROLS, ids=lambda letter: f"U+{ord(letter):04X}")
def test_a_character_that_changes_the_terminal_is_not_printed(letter, capsys):
    print(f"a{letter}b", {letter: letter})
    assert letter not in capsys.readouterr().out
    assert printable(f"a{letter}b") == "a\N{REPLACEMENT CHARACTER}b"
    text = json_text({letter: [f"a{letter}"]})
    assert letter not in text
    assert json.loads(text) == {letter: [f"a{letter}"]}


def test_letters_of_any_language_are_printed_as_they_are():
    text = "naïve – 日本語\tمی‌خواهم 👩‍👩‍👧 \N{NO-BREAK SPACE}\n"
    assert printable(text) == text
    assert json_text(text, indent=None) == json.dumps(text, ensure_ascii=False)


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_is_shown_without_its_password(address):
    assert without_passwords(f"cannot open '{address}': no") == f"cannot open '{ADDRESSES[address]}': no"


@pytest.mark.parametrize("text", KEPT)
def test_an_address_without_a_password_stays(text):
    assert without_passwords(text) == text


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_error_of_mlflow_prints_and_logs_no_password(address, caplog, tmp_path):
    caplog.set_level(logging.DEBUG)
    error = RuntimeError(f"unexpected {address}\x1b[2J")
    warn_untracked("start the run", error)
    with pytest.raises(SystemExit) as ended, readable_errors():
        raise OSError(str(error))
    logged = flatten({"tracking": {"uri": address}, "list": [address]})
    said = f"{caplog.text} {ended.value} {logged}"
    assert "s3cr" not in said
    assert "\x1b" not in said
    page = runs_page(Settings(True, address, tmp_path, "run"), "1")
    assert "s3cr" not in page
    assert "***@" not in page


def test_a_failed_run_keeps_no_password(tmp_path):
    from types import SimpleNamespace

    from twicetold_lab.tracking.run import TrackedRun

    tags, texts = {}, {}
    client = SimpleNamespace(
        set_tag=lambda _, name, value: tags.update({name: value}),
        set_terminated=lambda *_: None,
        log_text=lambda _, text, file: texts.update({file: text}),
    )
    run = TrackedRun(SimpleNamespace(client=client, experiment_id="1"), "id", name="a")
    with pytest.raises(OSError, match="db"), run.ending():
        run.log_text("tracking:\n  uri: postgresql://u:s3cret@db/x\n", "config.yaml")
        raise OSError("no postgresql://u:s3cret@db/x")
    assert tags["error"] == "OSError: no postgresql://***@db/x"
    assert texts["config.yaml"] == "tracking:\n  uri: postgresql://***@db/x\n"


@pytest.mark.parametrize("folder", ["src/twicetold/commands", "pipelines"])
def test_commands_and_scripts_print_by_these_functions(folder):
    import ast

    root = Path(__file__).parents[2]
    for file in sorted((root / folder).rglob("*.py")):
        tree = ast.parse(file.read_text())
        imported = {
            f"{node.module}.{name.name}"
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for name in node.names
        }
        prints = any(isinstance(node, ast.Name) and node.id == "print" for node in ast.walk(tree))
        # report.py prints a leaderboard, of names that `reporting` made printable; checkout.py prints
        # the help of a script, which is text of this checkout
        assert not prints or "twicetold.printable.print" in imported or file.name in {"report.py", "checkout.py"}, file
        assert "rich.console.Console" not in imported, file


LONG = "The committee met on Monday in the large hall to talk about the new bridge over the river, "


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("a tent", "A  Tent!", ("a tent", "A Tent!")),
        ("same", "same", ("same", "same")),
        (f"{LONG}which costs 4711 euros", f"{LONG.upper()}which costs 4712 euros", ("4711", "4712")),
        (f"{LONG}and went home {LONG}", f"{LONG}and went {LONG}", ("went home", "went The")),
        (LONG, f"{LONG} again", ("over the river,", "over the river, again")),
    ],
)
def test_excerpts_of_two_texts_show_the_first_place_where_they_differ(one, other, expected):
    found = differing(one, other, width=40)
    for excerpt, part in zip(found, expected, strict=True):
        assert part in excerpt
        assert len(excerpt) <= 42
    assert found[0].startswith("…") == (len(one) > 40)


@pytest.mark.parametrize(
    ("one", "other", "changes"),
    [
        ("a red tent", "A red tent", [("a red tent", "A red tent", True)]),
        ("EOS 70D", "EOS 80D", [("EOS", "EOS", True), (" 70D", " 80D", False)]),
        (
            "a tent, red",
            "a red tent",
            [("a", "a", True), ("", " red", False), (" tent", " tent", True), (", red", "", False)],
        ),
        ("東京は晴れ", "東京は雨", [("東京は", "東京は", True), ("晴れ", "雨", False)]),
        ("", "b", [("", "b", False)]),
        ("", "", []),
    ],
)
def test_words_that_one_of_two_texts_has_alone(one, other, changes):
    assert word_changes(one, other) == changes


def test_of_long_texts_the_places_that_differ_are_shown_also_far_apart():
    text = "word " * 9_999
    for one, other in ((f"{text}one {text}", f"{text}two {text}"), (f"one {text} two", f"two {text} one")):
        changes = changes_in_brief(one, other)
        differ = [change[:2] for change in changes if not change[2]]
        assert ("one", "two") in [tuple(map(str.strip, each)) for each in differ]
        assert one.count("two") == sum("two" in each for each, _ in differ)
        assert sum(map(len, next(zip(*changes)))) < 1_200
