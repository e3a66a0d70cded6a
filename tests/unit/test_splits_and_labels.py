"""`tools/splits_and_labels.py`: which pairs it keeps, what it would run, what it leaves out, and its tables."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from twicetold.data.audit import audit
from twicetold.data.corpus import UNKNOWN, Corpus, Pairs
from twicetold.reporting.studies import write_study

ROOT = Path(__file__).parents[2]
SIZES = {"quora": 60, "quora_wang": 50, "quora_disjoint": 40}


@pytest.fixture
def tool(script_of_tools):
    return script_of_tools("splits_and_labels")


def corpus_of(name, pairs):
    """Pairs of texts, each text in two of them; every third pair says the same."""
    texts, rows = [f"{name} {n}" for n in range(pairs + 20)], np.arange(pairs)
    train = Pairs(rows, (rows + 1) % pairs, (rows % 3 == 0).astype(np.float32))
    held = {s: Pairs(at, at + 1, np.array([0, 1], np.float32)) for s, at in held_out(pairs)}
    return Corpus(
        name=name,
        kind="labelled_pairs",
        ids=pa.array(map(str, range(len(texts)))),
        texts=pa.array(texts),
        groups={"cluster": np.where(np.arange(len(texts)) < pairs, 0, UNKNOWN)},
        members={"train": rows, **{s: np.arange(at[0], at[1] + 2) for s, at in held_out(pairs)}},
        pairs={"train": train, **held},
    )


def news():
    """Twenty headlines of ten stories, ids in the order of time; of stories 0 to 5 train."""
    story = np.arange(20) // 2
    return Corpus(
        name="uci_news",
        kind="documents",
        ids=pa.array(map(str, np.random.default_rng(0).permutation(20) + 5)),
        texts=pa.array([f"headline {n}" for n in range(20)]),
        groups={"category": np.arange(20) % 2, "story": story},
        members={
            s: np.flatnonzero(np.isin(story, of)) for s, of in (("train", range(6)), ("val", (6, 7)), ("test", (8, 9)))
        },
    )


def held_out(pairs):
    return (("val", np.array([pairs, pairs + 1])), ("test", np.array([pairs + 10, pairs + 11])))


@pytest.fixture
def runner(tool, tmp_path):
    """Notes the calls and writes what they would; an evaluation is as good as there are pairs of train."""
    calls = []

    class Recorded(tool.Runner):
        def __call__(self, call):
            calls.append(call)
            call.writes.parent.mkdir(parents=True, exist_ok=True)
            if call.script == "prepare":
                name = call.writes.parent.name
                corpus = news() if name == "uci_news" else corpus_of(name, SIZES[name])
                replace(corpus, card={"audit": audit(corpus)}).save(call.writes.parent)
            elif call.script == "evaluate":
                metrics = {"auroc": 0.75, "accuracy": 0.5, "auroc_category": 0.8, "average_precision_story": 0.4}
                call.writes.write_text(json.dumps({"val": metrics, "test": metrics}))
                summary = {"intervals": {"auroc": [0.7, 0.8]}}
                (call.writes.parent / "summary.json").write_text(json.dumps(summary))
            else:
                call.writes.write_text("{}")
            self.note(call)
            return 3.0

    found = Recorded(tmp_path / "done.json", tmp_path / "log")
    object.__setattr__(found, "calls", calls)
    return found


def asked(tool, *arguments):
    return tool.options().parse_args(list(arguments))


def test_fewer_pairs_are_among_more_and_bring_the_texts_and_clusters_of_their_own(tool):
    from fewer_pairs import with_fewer_pairs

    whole = corpus_of("quora", 60)
    few, more = (with_fewer_pairs(whole, count, seed=1) for count in (6, 18))
    pairs = [
        set(zip(c.pairs["train"].left.tolist(), c.pairs["train"].right.tolist(), strict=True)) for c in (few, more)
    ]
    assert pairs[0] < pairs[1] < set(zip(range(60), [*range(1, 60), 0], strict=True))
    for split in ("val", "test"):
        assert few.pairs[split] is whole.pairs[split]
        np.testing.assert_array_equal(few.members[split], whole.members[split])
    train = few.pairs["train"]
    np.testing.assert_array_equal(few.members["train"], np.unique([train.left, train.right]))
    known = few.groups["cluster"] != UNKNOWN
    np.testing.assert_array_equal(np.flatnonzero(known), few.members["train"])
    same = few.groups["cluster"][train.left] == few.groups["cluster"][train.right]
    np.testing.assert_array_equal(same, train.label == 1)  # no chain of duplicates is that long here
    assert few.card["audit"]["test"]["equal_texts_in_train"] == 0


@pytest.mark.parametrize("count", [0, 61])
def test_more_pairs_than_there_are_cannot_be_kept(tool, count):
    from fewer_pairs import with_fewer_pairs

    with pytest.raises(ValueError, match=f"expected 1 to 60 pairs to keep of quora, got {count}"):
        with_fewer_pairs(corpus_of("quora", 60), count, seed=0)


def test_another_split_has_as_many_texts_on_each_side_and_an_audit_of_its_own(tool):
    from split_again import split_again

    corpus = news()
    time = np.array([int(each) for each in corpus.ids.to_pylist()])
    for how in ("random", "time"):
        other = split_again(corpus, how, seed=3)
        assert [len(other.members[split]) for split in ("train", "val", "test")] == [12, 4, 4]
        assert len(np.unique(np.concatenate([*other.members.values()]))) == 20
        assert other.card["audit"] == audit(other, time=time)
    by_time = [time[other.members[split]] for split in ("train", "val", "test")]
    assert by_time[0].max() < by_time[1].min()
    assert by_time[1].max() < by_time[2].min()
    random = [split_again(corpus, "random", seed=seed).members["test"].tolist() for seed in (0, 0, 1)]
    assert random[0] == random[1] != random[2]
    assert np.bincount(corpus.groups["category"][random[0]]).tolist() == [2, 2]
    with pytest.raises(ValueError, match="expected documents, got labelled_pairs"):
        split_again(corpus_of("quora", 60), "time", seed=0)


def test_every_split_is_trained_on_with_all_pairs_and_with_as_many_as_the_last(tool):
    planned = tool.planned(asked(tool, "--study", "splits", "--seeds", "0", "1"))
    assert {(t.data, t.pairs) for t in planned} == {
        *((data, tool.ALL) for data in tool.SPLITS),
        ("quora", tool.SAME),
        ("quora_wang", tool.SAME),
    }
    assert [t.seed for t in planned if t.model == "tfidf" and t.pairs == tool.ALL] == [0, 0, 0]
    assert len(planned) == 5 * 3 + 5 * 3 - 3
    assert len({t.name for t in planned}) == len(planned)


def test_what_is_there_is_not_trained_again_and_corpora_have_the_pairs_that_were_asked_for(tool, runner, tmp_path):
    planned, file = tool.planned(asked(tool, "--models", "static", "--seeds", "0")), tmp_path / "results.json"
    assert tool.run(planned, file, runner, last="quora_disjoint", minutes=10) == []
    rows = tool.read(file)
    sizes = {(row["data"], row["pairs"]): row.get("train_pairs", row.get("train_texts")) for row in rows.values()}
    assert sizes == {
        ("quora", tool.ALL): 60,
        ("quora", tool.SAME): 40,
        ("quora_wang", tool.ALL): 50,
        ("quora_wang", tool.SAME): 40,
        ("quora_disjoint", tool.ALL): 40,
        ("quora_disjoint", "10 %"): 4,
        ("quora_disjoint", "30 %"): 12,
        ("uci_news", "at random"): 12,
        ("uci_news", "by time"): 12,
        ("uci_news", "by story"): 12,
    }
    assert [call.script for call in runner.calls].count("train") == len(planned) == 10
    before = len(runner.calls)
    assert tool.run(planned, file, runner, last="quora_disjoint", minutes=10) == []
    assert len(runner.calls) == before


def test_the_tables_have_a_column_for_each_split_and_each_share_of_pairs(tool, runner, tmp_path):
    planned, file = tool.planned(asked(tool, "--models", "static", "--seeds", "0")), tmp_path / "results.json"
    tool.run(planned, file, runner, last="quora_disjoint", minutes=10)
    said = tool.tables(tool.read(file))
    head = "| model | quora_disjoint, 10 % | quora_disjoint, 30 % | quora_disjoint, all pairs |"
    assert said.count(head) == 2
    row = "| static | 0.750 (0.700 to 0.800) | 0.750 (0.700 to 0.800) | 0.750 (0.700 to 0.800) |"
    assert said.splitlines().count(row) == 1
    assert "| quora_wang (as many as the last) | 40 | 2 | 50.0 % | 0.0 % |" in said
    assert "| uci_news (by time) | 12 | 4 | 0.0 % | 25.0 % |" in said
    assert tool.tables({}) == "Nothing has been measured yet.\n"


def test_every_training_composes(tool, composed):
    for training in tool.planned(asked(tool, "--seeds", "0")):
        assert composed("train", *training.arguments).data.label == (
            "category" if training.data == "uci_news" else "cluster"
        )


def test_the_page_and_the_report_have_the_tables_of_the_results(tool, tmp_path):
    copy = tmp_path / "page.md"
    copy.write_text(tool.PAGE.read_text())
    rows = tool.read(tool.RESULTS)
    tool.write_page(copy, rows)
    assert copy.read_text() == tool.PAGE.read_text(), "python tools/splits_and_labels.py --render writes it anew"
    write_study(tool.study(rows), tool.RESULTS.stem, tmp_path)
    name = f"study-{tool.RESULTS.stem}.json"
    assert (tmp_path / name).read_text() == (ROOT / "runs" / name).read_text()
