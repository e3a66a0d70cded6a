import numpy as np
import pytest

from twicetold_lab.data.sources import pairs


def write(path, rows, columns=("a", "b", "same")):
    path.write_text("\n".join("\t".join(map(str, row)) for row in [columns, *rows]) + "\n")
    return path


def read(path, **options):
    options = {"left": "a", "right": "b", "label": "same"} | options
    return pairs.read(path.parent, name="mine", path=path, **options)


ROWS = [(f"n/a {n}", f"b{n}", ["1", "False", "0", "TRUE"][n % 4]) for n in range(80)]


def test_labels_may_be_numbers_or_words_and_equal_texts_are_one(tmp_path):
    corpus = read(write(tmp_path / "p.tsv", [*ROWS, ("n/a 0", "b1", "0")]))
    assert corpus.kind == "labelled_pairs"
    assert len(corpus) == 160
    assert sum(p.label.sum() for p in corpus.pairs.values()) == 40
    assert all(0.3 < p.label.mean() < 0.7 for p in corpus.pairs.values())


def test_labels_are_incomplete_unless_the_settings_say_otherwise(tmp_path):
    file = write(tmp_path / "p.tsv", ROWS)
    assert read(file, complete_labels=True).complete
    assert not read(file).complete


def test_a_pair_that_comes_twice_is_on_one_side_with_its_first_label(tmp_path):
    turned = [(b, a, {"1": "0", "TRUE": "0"}.get(same, "1")) for a, b, same in ROWS]
    corpus = read(write(tmp_path / "p.tsv", [*ROWS, *turned]))
    once = read(write(tmp_path / "q.tsv", ROWS))
    assert corpus.card["repeated_pairs_left_out"] == len(ROWS)
    assert corpus.card["audit"]["test"]["equal_pairs_in_train"] == 0
    assert sum(map(len, corpus.pairs.values())) == len(ROWS)
    assert sum(p.label.sum() for p in corpus.pairs.values()) == sum(p.label.sum() for p in once.pairs.values())


def test_the_disjoint_split_shares_no_text(tmp_path):
    rows = [*ROWS, *[(f"n/a {n}", f"c{n}", "0") for n in range(80)]]
    corpus = read(write(tmp_path / "p.tsv", rows), split="disjoint")
    assert corpus.card["audit"]["test"]["texts_in_train"] == 0.0
    assert not np.intersect1d(corpus.members["val"], corpus.members["test"]).size


def test_graded_pairs_need_a_positive_grade_and_take_any_numbers(tmp_path):
    rows = [(f"a{n}", f"b{n}", ["-1.5", "+2", "3e0", ".5"][n % 4]) for n in range(40)]
    path = write(tmp_path / "p.tsv", rows)
    with pytest.raises(ValueError, match=r"data.source.positive_grade"):
        read(path, graded=True)
    corpus = read(path, graded=True, positive_grade=3)
    assert corpus.kind == "graded_pairs"
    assert sorted(set(np.concatenate([p.label for p in corpus.pairs.values()]))) == [-1.5, 0.5, 2, 3]
    assert corpus.card["positive_grade"] == 3
    assert corpus.card["clusters"]["clusters"] == np.count_nonzero(corpus.pairs["train"].label == 3)


def test_a_column_may_say_the_split(tmp_path):
    rows = [(f"a{n}", f"b{n}", n % 2, ["train", "val", "test"][n // 2 % 3]) for n in range(12)]
    corpus = read(write(tmp_path / "p.tsv", rows, ("a", "b", "same", "part")), split_column="part")
    assert [len(p) for p in corpus.pairs.values()] == [4, 4, 4]


@pytest.mark.parametrize(
    ("label", "said"), [("yes", "; got 'yes'"), ("0.5", "; got '0.5'"), ("", ", not an empty one; got ''")]
)
def test_a_wrong_label_is_named_by_its_line(tmp_path, label, said):
    rows = [("a", "b", "1"), ("c", "d", "0"), ("e", "f", label)]
    with pytest.raises(ValueError, match=f"line 4, column 'same': expected 0, 1, true or false{said}"):
        read(write(tmp_path / "p.tsv", rows))


def test_limit_keeps_both_labels_in_every_split(tmp_path):
    corpus = read(write(tmp_path / "p.tsv", ROWS), limit=20)
    assert all(set(p.label) == {0.0, 1.0} for p in corpus.pairs.values())
    assert sum(len(p) for p in corpus.pairs.values()) <= 24


def test_an_unknown_split_is_refused(tmp_path):
    with pytest.raises(ValueError, match="'pairs' or 'disjoint'"):
        read(tmp_path / "p.tsv", split="random")


def test_too_few_pairs_for_three_splits_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="split 'val' is empty"):
        read(write(tmp_path / "p.tsv", [("a", "b", "1"), ("c", "d", "0")]))


@pytest.mark.parametrize(
    ("options", "bad", "counts"),
    [
        ({}, [("x", "y", "maybe"), ("", "y", "1"), ("x", "y", "")], {"bad_label": 2, "empty": 1}),
        ({"split_column": "part"}, [("x", "y", "1", "live")], {"bad_split": 1}),
        ({"graded": True, "positive_grade": 1}, [("x", "y", "1e9"), ("x", "y", "high")], {"bad_grade": 2}),
    ],
)
def test_bad_rows_are_left_out_on_request_counted_and_listed(tmp_path, options, bad, counts):
    labelled = [(a, b, {"False": "0", "TRUE": "1"}.get(same, same)) for a, b, same in ROWS]
    columns = ("a", "b", "same", "part")[: 3 + ("split_column" in options)]
    rows = [(*row, ("train", "val", "test")[n // 2 % 3])[: len(columns)] for n, row in enumerate(labelled)]
    path = write(tmp_path / "p.tsv", [*rows[:7], *bad, *rows[7:]], columns)
    with pytest.raises(ValueError, match=r"(?s)p.tsv: .*data.source.bad_rows=skip:\n  line \d+, column "):
        read(path, **options)
    corpus = read(path, **options, bad_rows="skip", max_bad_rows=0.1)
    assert sum(map(len, corpus.pairs.values())) == 80
    assert corpus.card["rows"] == 80 + len(bad)
    assert corpus.card["malformed"] == counts
    assert [line for _, line, _ in corpus.left_out] == [9 + n for n in range(len(bad))]
