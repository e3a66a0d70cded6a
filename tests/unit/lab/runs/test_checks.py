"""Each numbered check finds the fault where it is, nothing where it is not, and says which file it lacks."""

import json
from pathlib import Path

import pytest

from twicetold import layout
from twicetold.evaluation.guarantee import MeasuredLinks
from twicetold_lab.runs.checks import CHECKS, CLEAR, FEWEST_GROUPS, FOUND, NOT_CHECKED, check, inspect
from twicetold_lab.runs.folder import Cell, CrossDomain, RunFolder

PROMISED = {"link_precision_at_80": 0.8, "link_precision_at_90": 0.9, "link_precision_at_95": 0.85}


def promise(groups):
    return (MeasuredLinks(0.9, 900, groups, 0.9, 0.1, text_precision=0.9, text_spread=0.1, recall=0.5),)


KNOWN = {
    "metrics": {
        "val": {"ari_components": 0.6, "ari_average": 0.7, "ari_complete": 0.5, **PROMISED},
        "test": {
            "ari_components": 0.5,
            "ari_average": 0.7,
            "ari_complete": 0.5,
            "link_precision_at_80": 0.78,
            "link_precision_at_90": 0.91,
        },
    },
    "summary": {
        "tuned_how": "searched, 24 trials",
        "epochs": 10,
        "pretrained_on": ["other news"],
        "seen": ["quora"],
        "intervals": {"link_precision_at_80": [0.7, 0.85], "link_precision_at_90": [0.85, 0.95]},
    },
    "cross_domain": {
        "news": {"f1": 0.1, "average_precision_story": 0.9, "same_share": 0.01},  # its own
        "questions": {"accuracy": 0.7, "same_share": 0.4, "f1": 0.1, "average_precision_cluster": 0.9},
        "articles": {"f1": 0.6, "average_precision_story": 0.7, "same_share": 0.01},
    },
    "audit": {"test": {"equal_texts_in_train": 0.01, "equal_pairs_in_train": 0.0, "texts_before_end_of_train": 0.0}},
    "promised": promise(FEWEST_GROUPS),
}


def run_of(**known):
    """A run of which this is known, without files; the rest is as of the sound one."""
    found = {**KNOWN, **known}
    run = RunFolder(Path("runs/news-static-0"), Cell("news", "static", 0), found.pop("audit"))
    found["cross_domain"] = {data: CrossDomain(metrics, {}) for data, metrics in found["cross_domain"].items()}
    vars(run).update(found)
    return run


SOUND = run_of()


def changed(part, **values):
    """The sound run with other values in one part, for a metric also in one split."""
    now = dict(KNOWN[part])
    for name, value in values.items():
        now[name] = {**now[name], **value} if isinstance(now.get(name), dict) else value
    return run_of(**{part: now})


FAULTS = {
    "TW001": [
        changed("cross_domain", questions={"accuracy": 0.55}),  # always no is right for 0.6
        changed("cross_domain", articles={"f1": 0.3}),
    ],
    "TW003": [changed("audit", test={"texts_before_end_of_train": 0.2})],
    "TW004": [
        changed("audit", test={"equal_texts_in_train": 0.011}),
        changed("audit", test={"equal_pairs_in_train": 0.001}),
    ],
    "TW005": [changed("summary", tuned_how="published"), changed("summary", tuned_how="by analogy")],
    "TW007": [changed("summary", seen=None), changed("summary", seen=["news"])],
    "TW008": [
        changed("summary", intervals={"link_precision_at_90": [0.8, 0.89]}),
        run_of(promised=promise(FEWEST_GROUPS - 1)),
        run_of(metrics={**KNOWN["metrics"], "test": {"ari_components": 0.5, "link_precision_at_80": 0.8}}),
    ],
}


def outcome(number, run):
    return check(run, [number])[0]


def test_a_sound_run_is_clear_of_all():
    assert [each.state for each in check(SOUND)] == [CLEAR] * len(CHECKS)


def test_numbers_are_given_once_in_order():
    assert [each.number for each in CHECKS] == [f"TW{number:03}" for number in (1, 3, 4, 5, 7, 8)]
    assert list(FAULTS) == [each.number for each in CHECKS]


@pytest.mark.parametrize(("number", "run"), [(number, run) for number, runs in FAULTS.items() for run in runs])
def test_a_check_finds_its_fault_and_no_other_does(number, run):
    assert [each.check.number for each in check(run) if each.state == FOUND] == [number]
    found = outcome(number, run)
    assert found.detail
    assert "\n" not in found.line
    assert found.line.startswith(f"{number} {found.check.severity}, {found.check.title}: ")


def test_what_was_not_trained_remembers_no_text_of_train():
    leaking = {"test": {**KNOWN["audit"]["test"], "equal_texts_in_train": 0.5}}
    assert outcome("TW004", run_of(audit=leaking)).state == FOUND
    untrained = {**KNOWN["summary"], "epochs": 0}
    assert outcome("TW004", run_of(audit=leaking, summary=untrained)).state == CLEAR
    assert outcome("TW004", run_of(audit=leaking, summary={})).state == FOUND  # it is not known
    ensemble = {**untrained, "parameters": 9, "pretrained_on": [], "tuned_how": "ensembles"}
    assert outcome("TW004", run_of(audit=leaking, summary=ensemble)).state == FOUND  # of trained members


def test_what_was_not_pretrained_is_clean():
    assert outcome("TW007", changed("summary", pretrained_on=[], seen=None)).state == CLEAR


def test_a_promise_that_no_link_of_test_bears_out_is_told_from_one_that_was_not_measured():
    without = {"ari_components": 0.5, "link_precision_at_80": 0.8}
    for further, why in (({"link_ari_at_90": 0.0}, "no pair of test reaches its threshold"), ({}, "was not measured")):
        run = run_of(metrics={**KNOWN["metrics"], "test": {**without, **further}})
        assert f"precision 0.9 is promised, and {why}" in outcome("TW008", run).detail


def test_an_aim_that_validation_did_not_reach_is_no_promise():
    assert "0.95" not in outcome("TW008", FAULTS["TW008"][0]).detail


def test_without_files_each_check_says_what_it_lacks(tmp_path):
    found = check(RunFolder.at(tmp_path))
    assert {each.state for each in found} == {NOT_CHECKED}
    assert all(each.detail for each in found)


def test_an_unknown_number_is_refused():
    with pytest.raises(ValueError, match=r"expected one of TW001, .*, got 'TW999'"):
        check(SOUND, ["TW999"])


@pytest.fixture
def folder(tmp_path):
    """The folder of the sound run, with the card of its data."""

    def write(file, content):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(content))

    run = tmp_path / "runs/news-static-0"
    write(run / layout.METRICS, KNOWN["metrics"])
    write(run / layout.SUMMARY, KNOWN["summary"])
    write(run / layout.ELSEWHERE, {data: {"metrics": each} for data, each in KNOWN["cross_domain"].items()})
    card = {"name": "news", "kind": "documents", "card": {}, "audit": KNOWN["audit"], "files": [], "mined": []}
    write(tmp_path / "cards/news.json", card)
    return run


def test_a_run_folder_is_read_whole(folder):
    cards = folder.parents[1] / "cards"
    found = inspect(folder, cards=cards)
    for name in ("name", "cell", "metrics", "summary", "audit"):
        assert getattr(found, name) == getattr(SOUND, name), name
    assert {data: each.metrics for data, each in found.cross_domain.items()} == KNOWN["cross_domain"]
    assert found.promised == ()
    (folder / "model").mkdir()
    assert inspect(folder / "model", cards=cards) == found


def test_a_folder_of_another_name_has_no_dataset(folder):
    found = inspect(folder.rename(folder.with_name("best")))
    assert (found.cell, found.audit) == (Cell("", "best", 0), None)
    assert outcome("TW007", found).state == NOT_CHECKED


def test_what_is_no_run_is_refused(tmp_path, folder):
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        inspect(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match="is no folder of a run: expected one of"):
        inspect(tmp_path)
    (folder / layout.ELSEWHERE).write_text('{"stsb": 3}')
    with pytest.raises(ValueError, match="expected metrics of 'stsb'"):
        check(inspect(folder))
