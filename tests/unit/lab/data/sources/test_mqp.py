import csv

import pytest

from twicetold_lab.data.sources import mqp


def write(folder, rows):
    with (folder / mqp.FILE).open("w", encoding="utf-8", newline="") as out:
        csv.writer(out, lineterminator="\n").writerows(rows)


def rows_of(count):
    return [
        (1, f'Is {n}, with a comma, "normal"?', f"{word} {n}?", label)
        for n in range(count)
        for word, label in (("May I say that of", 1), ("What else is", 0))
    ]


def test_the_first_line_is_a_pair_and_quoted_fields_are_read_as_they_are(tmp_path):
    write(tmp_path, rows_of(20))
    corpus = mqp.read(tmp_path, name="mqp")
    assert sum(len(pairs) for pairs in corpus.pairs.values()) == corpus.card["rows"] == 40
    assert 'Is 0, with a comma, "normal"?' in corpus.texts.to_pylist()


def test_pairs_of_a_question_go_to_one_side_by_a_seed(tmp_path):
    write(tmp_path, rows_of(50))
    one, again, other = (mqp.read(tmp_path, name="mqp", seed=seed) for seed in (0, 0, 1))
    assert one.card["audit"]["test"]["equal_texts_in_train"] == 0
    assert {split: len(pairs) for split, pairs in one.pairs.items()} == {"train": 60, "val": 20, "test": 20}
    assert all(pairs.label.mean() == 0.5 for pairs in one.pairs.values())
    assert one.texts_of("test") == again.texts_of("test")
    assert one.texts_of("test") != other.texts_of("test")


def test_bad_rows_are_counted_with_their_lines(tmp_path):
    write(tmp_path, [(1, "a?", "", 1), *rows_of(20), (1, "b?", "c?", 2)])
    card = mqp.read(tmp_path, name="mqp", max_bad_rows=0.5).card
    assert card["malformed_lines"] == {"empty_question": [1], "bad_label": [42]}
    (tmp_path / mqp.FILE).write_text("1,a?,b?\n" + "1,a?,b?,1\n", encoding="utf-8")
    with pytest.raises(ValueError, match="line 1"):
        mqp.read(tmp_path, name="mqp")
