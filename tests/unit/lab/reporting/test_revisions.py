import json
import re
import subprocess

import pytest

import compare
from twicetold_lab.reporting.markdown import rendered
from twicetold_lab.reporting.plain import section_text
from twicetold_lab.reporting.revisions import compare_revisions
from twicetold_lab.reporting.tables import Section
from twicetold_lab.tracking import repository

AUROC = {"auroc": 0.80, "f1": 0.70, "threshold": 0.5}
INTERVALS = {"auroc": [0.78, 0.82], "f1": [0.66, 0.74]}


def as_markdown(section):
    return rendered([section])


def git(folder, *arguments):
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    return subprocess.check_output(["git", *identity, *arguments], cwd=folder, text=True).strip()


def publish(folder, cells):
    """Commit run folders: cell -> metrics of test, intervals."""
    for name, (test, intervals) in cells.items():
        run = folder / "runs" / name
        run.mkdir(parents=True, exist_ok=True)
        (run / "metrics.json").write_text(json.dumps({"test": test, "val": {"auroc": test["auroc"]}}))
        (run / "summary.json").write_text(json.dumps({"intervals": intervals}))
    git(folder, "add", "--all")
    git(folder, "commit", "-q", "-m", "results")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def project(tmp_path, monkeypatch):
    git(tmp_path, "init", "-q")
    monkeypatch.setattr(repository, "REPOSITORY", tmp_path)
    return tmp_path


@pytest.fixture
def two(project):
    """Two commits: one metric moves out of its interval, one within, one cell comes, one goes."""
    cells = dict.fromkeys(("quora-dae-0", "quora-film-0", "quora-old-0"), (AUROC, INTERVALS))
    base = publish(project, cells)
    (project / "runs" / "quora-old-0" / "metrics.json").unlink()
    moved = {"auroc": 0.83, "f1": 0.71, "threshold": 0.4}
    return base, publish(project, {"quora-dae-0": (moved, INTERVALS), "quora-new-0": (AUROC, INTERVALS)})


def test_what_is_not_within_the_stored_interval_has_moved_outside_and_the_rest_is_counted(project, two):
    (project / "runs" / "quora-film-0" / "metrics.json").write_text("not committed")
    _, counts = compare_revisions(*two).sentences
    assert counts == (
        "2 cells in both, 1 new, 1 gone. Of 4 metrics of test with an interval, 2 changed; so did 2 further values "
        "without one."  # the threshold and validation have no interval
    )


def test_markdown_has_what_moved_outside_first_and_new_and_gone_cells_folded(two):
    text = as_markdown(compare_revisions(*two))
    open_part, folded = text[: text.index("<details>")], text[text.index("<details>") :]
    assert "1 metric in 1 cell moved outside the interval." in text.splitlines()[2]
    assert "| quora-dae-0 | auroc | 0.800 | 0.780 to 0.820 | 0.830 | +0.0300 |" in open_part
    assert "- quora-new-0" in folded
    assert text.count("<details>") == text.count("</details>") == 2


def test_the_terminal_shows_the_same_cells(two):
    text = section_text(compare_revisions(*two))
    assert re.search(r"quora-dae-0 +auroc +0.800 +0.780 to 0.820 +0.830 +\+0.0300", text)
    assert "1 cell new\n\n  quora-new-0\n\n1 cell gone\n\n  quora-old-0\n" in text


def test_a_value_that_became_undefined_has_moved_outside(project):
    base = publish(project, {"a-b-0": (AUROC, INTERVALS)})
    head = publish(project, {"a-b-0": ({**AUROC, "f1": float("nan")}, INTERVALS)})
    assert "| a-b-0 | f1 |" in as_markdown(compare_revisions(base, head))


def test_values_that_the_head_has_no_more_are_counted(project):
    base = publish(project, {"a-b-0": (AUROC, INTERVALS)})
    head = publish(project, {"a-b-0": ({"auroc": 0.80, "mcc": 0.5}, INTERVALS)})
    said = "Of the cells in both, the head lacks 2 values of the base."
    found = compare_revisions(base, head)
    assert said in section_text(found)
    same = section_text(compare_revisions(head, head))
    assert "the head lacks" not in same
    assert "No metric moved outside its interval." in same


def test_revisions_without_metrics_are_refused(project):
    (project / "file").touch()
    git(project, "add", "file")
    git(project, "commit", "-q", "-m", "no results")
    with pytest.raises(ValueError, match=r"neither HEAD nor HEAD has metrics: expected runs/<cell>/metrics.json"):
        compare_revisions("HEAD", "HEAD")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("no json", "is no JSON"),
        ("[1]", "must hold an object, got list"),
        ('{"test": {"auroc": "high"}}', "something else than metrics"),
    ],
)
def test_a_damaged_file_is_named_with_its_revision(project, two, content, message):
    (project / "runs" / "quora-dae-0" / "metrics.json").write_text(content)
    git(project, "commit", "-aqm", "damaged")
    with pytest.raises(ValueError, match=f"runs/quora-dae-0/metrics.json of HEAD .*{message}"):
        compare_revisions(two[0], "HEAD")


def test_the_script_prints_markdown_where_asked(monkeypatch, capsys):
    monkeypatch.setattr(compare, "compare_revisions", lambda *revisions: Section(" and ".join(revisions)))
    for further, head in (([], ""), (["--markdown"], "## ")):
        monkeypatch.setattr("sys.argv", ["compare.py", "--base", "a", *further])
        compare.main()
        assert capsys.readouterr().out.strip() == f"{head}a and HEAD"
