"""A journal that a kill or a full disk cut off is opened and written as if its last line had never begun."""

import json
import os
import signal
import time

import optuna
import pytest

from twicetold_lab.grid.journal import WRITING, open_journal

optuna.logging.set_verbosity(optuna.logging.WARNING)
LR = {"lr": optuna.distributions.FloatDistribution(0, 1)}


def study_of(file):
    return optuna.create_study(study_name="one", storage=open_journal(file), load_if_exists=True)


def values(file):
    return [trial.value for trial in study_of(file).trials]


@pytest.fixture
def journal(tmp_path):
    """Of three finished trials."""
    study = study_of(tmp_path / "journal.log")
    for value in range(3):
        study.tell(study.ask(LR), value)
    return tmp_path / "journal.log"


def test_wherever_the_last_line_is_cut_the_search_goes_on(journal):
    whole = journal.read_bytes()
    last = whole.rfind(b"\n", 0, -1) + 1
    assert values(journal) == [0, 1, 2]
    for size in range(last, len(whole)):
        journal.write_bytes(whole[:size])
        assert values(journal) == [0, 1, None]
        assert journal.read_bytes().startswith(whole[:last])
    study = study_of(journal)
    study.tell(study.ask(LR), 7)
    assert values(journal) == [0, 1, None, 7]


def test_an_empty_and_a_missing_journal_and_one_that_was_cut_in_its_first_line_are_empty(tmp_path):
    for content in (None, b"", b'{"op_code":0,"wor'):
        file = tmp_path / "journal.log"
        if content is None:
            file.unlink(missing_ok=True)
        else:
            file.write_bytes(content)
        assert values(file) == []


def test_what_one_worker_left_of_a_line_is_no_part_of_the_next_line_of_another(journal):
    study = study_of(journal)  # it is open when the other one is killed
    with journal.open("ab") as file:
        file.write(b'{"op_code":5,"worker_id":"x","trial')
    study.tell(study.ask(LR), 3)
    assert values(journal) == [0, 1, 2, 3]
    assert all(json.loads(line) for line in journal.read_bytes().splitlines())


@pytest.mark.parametrize("damage", [b"{", b"[1]", b"3", b"\0\0", b"", b'{"trial":1}'])
def test_a_line_in_the_middle_that_is_damaged_is_one_error_with_the_file_and_what_to_do(journal, damage):
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([*lines[:-2], damage + b"\n", *lines[-1:]]))
    before, number = journal.read_bytes(), len(lines) - 1
    with pytest.raises(ValueError, match=rf"journal.log, is damaged: line {number} is no entry") as error:
        open_journal(journal)
    assert f"sed -i '{number},$d' {journal}" in str(error.value)
    assert f"rm -r {journal.parent}" in str(error.value)
    assert journal.read_bytes() == before


def test_entries_that_do_not_follow_from_each_other_are_one_error_with_the_file(journal):
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([*lines, b'{"op_code":4}\n', lines[-1]]))  # a trial of nothing
    with pytest.raises(ValueError, match=r"journal.log, is damaged: its entries do not follow from each other"):
        open_journal(journal)


def test_processes_that_are_killed_while_they_write_leave_the_journal_whole(journal):
    for attempt in range(20):
        if not (child := os.fork()):
            study = study_of(journal)
            while True:
                study.tell(study.ask(LR), 9)
        time.sleep(0.05 + attempt * 0.005)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert values(journal)[:3] == [0, 1, 2]
    assert len(values(journal)) > 3
    assert not journal.with_name(WRITING).exists(), "the last one removed it"
