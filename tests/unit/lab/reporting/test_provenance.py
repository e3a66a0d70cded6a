from twicetold_lab.data.corpus import SPLITS
from twicetold_lab.data.sources import audit, toy_questions
from twicetold_lab.reporting.provenance import audit_table, facts, split_table


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


def test_what_is_not_known_is_a_dash_or_left_out():
    table = split_table({"splits": {"train": {"pairs": 5}, "val": {}, "test": {"pairs": 6}}})
    assert texts_of(table) == [["train", "5"], ["val", "–"], ["test", "6"]]
    assert split_table({"seed": 0}) is audit_table({}) is None
    assert facts({}) == []
    card = {"malformed": {"a.csv": {"bad_grade": 2}, "b.csv": {"bad_grade": 1, "not_utf8": 1}}}
    assert facts(card) == [("Malformed rows left out", "4 (bad grade 3, not utf8 1)")]


def test_each_finding_that_is_defined_on_test_has_a_row(tmp_path):
    found = audit(toy_questions.read(tmp_path, name="toy_questions", families=60))
    assert len(audit_table(found).rows) == sum(value is not None for value in found["test"].values())
    unknown = {"test": {"new_{finding}": 0.5, "closure_label_mean": None}, "val": {"new_{finding}": None}}
    assert texts_of(audit_table(unknown)) == [["New {finding}", "50.0 %", "–"]]
