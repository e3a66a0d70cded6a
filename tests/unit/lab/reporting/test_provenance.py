from twicetold_lab.data.corpus import SPLITS
from twicetold_lab.data.sources import audit, toy_questions
from twicetold_lab.reporting.provenance import audit_in_words, facts, split_table


def texts_of(table):
    return [[name.text, *(cell.text for cell in cells)] for name, cells in table.rows]


def test_every_count_of_a_card_is_shown_exactly_once():
    card = {
        "splits": {s: {"pairs": 10, "share_of_duplicates": 0.25, "category": {"business": 3}} for s in SPLITS},
        "malformed": {"train": {"bad_label": 2}, "test": {"bad_label": 1, "empty": 0}},
        "clusters": {"clusters": 4, "largest": 12345},
        "seed": 0,
        "nothing": None,
    }

    table = split_table(card)

    assert table is not None
    assert [column.text for column in table.columns] == ["Pairs", "Share of duplicates", "Category business"]
    assert texts_of(table)[0] == ["train", "10", "25.0 %", "3"]
    assert facts(card) == [
        ("Clusters", "4"),
        ("Clusters largest", "12,345"),
        ("Seed", "0"),
        ("Malformed rows left out", "3 (bad label 3)"),
    ]


def test_a_split_that_counts_something_the_others_do_not_leaves_a_dash():
    table = split_table({"splits": {"train": {"pairs": 5}, "val": {}, "test": {"pairs": 6}}})

    assert table is not None
    assert texts_of(table) == [["train", "5"], ["val", "–"], ["test", "6"]]


def test_a_card_without_counts_per_split_has_no_table():
    assert split_table({"seed": 0}) is None
    assert facts({}) == []


def test_every_finding_of_the_audit_of_pairs_has_a_sentence_of_its_own(tmp_path):
    found = audit(toy_questions.read(tmp_path, name="toy_questions", families=60))

    sentences = audit_in_words(found)

    assert len(sentences) == sum(value is not None for value in found["test"].values())
    assert not [sentence for sentence in sentences if " on test, " in sentence]


def test_where_no_text_of_test_is_in_train_no_fair_split_is_claimed_from_their_counts():
    apart = {split: {"texts_in_train": 0.0, "frequency_auroc_min": 0.5} for split in ("val", "test")}
    some = {split: {**found, "texts_in_train": 0.1} for split, found in apart.items()}

    assert "0.500 would be a fair split" in audit_in_words(some)[1]
    assert "0.500 whatever the split" in audit_in_words(apart)[1]
    assert "fair" not in audit_in_words(apart)[1]


def test_an_unknown_finding_is_shown_by_name_and_a_missing_one_as_not_defined():
    found = {"test": {"new_{finding}": 0.5}, "val": {"new_{finding}": None}}

    assert audit_in_words(found) == ["New {finding}: 50.0 % on test, not defined on validation."]


def test_without_an_audit_nothing_is_claimed():
    assert audit_in_words({}) == []


def test_malformed_rows_of_several_files_are_added_up():
    card = {"malformed": {"a.csv": {"bad_grade": 2}, "b.csv": {"bad_grade": 1, "not_utf8": 1}}}

    assert facts(card) == [("Malformed rows left out", "4 (bad grade 3, not utf8 1)")]
