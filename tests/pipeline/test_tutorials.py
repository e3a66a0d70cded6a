"""docs/tutorials/siamese-network.md from beginning to end: its commands and snippets give what the page shows."""

import doctest
import re
import shlex

import pytest
from typer.testing import CliRunner

from lab import PROJECT, Lab, copy_project
from twicetold.commands import app

pytestmark = pytest.mark.slow
PAGE = (PROJECT / "docs/tutorials/siamese-network.md").read_text()
SNIPPETS = re.findall(r"^```pycon\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = re.findall(r"^\$ (.*)\n((?:(?!\$ |```).*\n)*)", PAGE, re.MULTILINE)
STAGES = [
    (stage, settings, shown)
    for command, shown in COMMANDS
    for stage, settings in re.findall(r"^python pipelines/(\w+)\.py (.*)", command)
]
CLEANED = re.findall(r"^\| `(features\.\w+=\w+)` \| (\S+) \|", PAGE, re.MULTILINE)
FIGURE = re.compile(r"\d+\.\d+")
STEPS = {"lower_case", "symbols", "numbers", "stop_words", "user_names"}
CLOSE = 0.02
"""By how much a figure may be another one on another machine."""


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    lab = Lab(tmp_path_factory.mktemp("tutorial") / "lab")
    copy_project(lab)
    return lab


@pytest.fixture(scope="module")
def printed(lab):
    """What the stages of the page printed, in order; then what each training on cleaned texts did."""
    (train,) = (settings for stage, settings, _ in STAGES if stage == "train")
    plain = train.replace("features=words", "features=cleaned features@features.featuriser=words")
    cleaned = [("train", f"{plain}-{step_of(setting)} {setting}") for setting, _ in CLEANED]
    commands = [(stage, settings) for stage, settings, _ in STAGES] + cleaned
    quiet = {"train": ("tracking.enabled=false",), "evaluate": ("tracking.enabled=false",)}
    ended = lab.scripts(*((stage, *shlex.split(settings), *quiet.get(stage, ())) for stage, settings in commands))
    assert not any(code for code, _ in ended), ended
    return [out for _, out in ended]


def step_of(setting):
    return setting.removeprefix("features.").partition("=")[0]


def alike(found, shown):
    """Whether two outputs are the same up to `...`, but for small differences of figures."""
    if shown.endswith(" ..."):
        shown = shown.removesuffix(" ...")
        found = found[: len(shown)]
    numbers = [list(map(float, FIGURE.findall(text))) for text in (found, shown)]
    return FIGURE.sub("0", found) == FIGURE.sub("0", shown) and numbers[0] == pytest.approx(numbers[1], abs=CLOSE)


def test_the_stages_print_what_the_page_shows(printed):
    for (stage, _, shown), out in zip(STAGES, printed):
        lines = [line for line in shown.splitlines() if line]
        assert lines, f"the page shows nothing of {stage}"
        for line in lines:
            assert any(alike(found, line) for found in out.splitlines()), (line, out)


def test_a_step_of_cleaning_has_the_effect_that_the_table_shows(printed):
    assert {step_of(setting) for setting, _ in CLEANED} == STEPS
    for (setting, shown), out in zip(CLEANED, printed[len(STAGES) :], strict=True):
        (found,) = re.findall(r"val auroc (\S+) after", out)
        assert float(found) == pytest.approx(float(shown), abs=CLOSE), setting


def test_the_snippets_give_what_the_page_shows(lab, printed, monkeypatch):
    monkeypatch.chdir(lab.root)
    session = doctest.DocTestParser().get_doctest("\n".join(SNIPPETS), {}, "tutorial", None, 0)
    complaints = []
    doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(session, out=complaints.append)
    assert not complaints, "".join(complaints)
    assert len(session.examples) > 20


def test_own_questions_are_answered_as_the_page_shows(lab, printed, monkeypatch):
    monkeypatch.chdir(lab.root)
    asked = [(command, shown) for command, shown in COMMANDS if command.startswith("twicetold ")]
    assert asked
    for command, shown in asked:
        done = CliRunner().invoke(app, shlex.split(command)[1:])
        assert done.exit_code == 0, done.output
        assert alike(done.output.strip(), shown.strip()), done.output
