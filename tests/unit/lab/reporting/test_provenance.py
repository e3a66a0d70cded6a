from twicetold_lab.data.sources import audit, toy_questions
from twicetold_lab.reporting.provenance import audit_table, data_section, split_table
from twicetold_lab.runs.records import Provenance


def texts_of(table):
    return [[name.text, *(cell.text for cell in cells)] for name, cells in table.rows]


def test_the_numbers_of_each_split_are_shown_and_what_is_not_known_is_a_dash():
    known = {"share_of_duplicates": 0.25, "pairs": 12345, "category": {"business": 3}, "rule": "story"}
    table = split_table({"splits": {"train": known, "val": {"pairs": 5}}, "seed": 0})
    assert [column.text for column in table.columns] == ["Pairs", "Share of duplicates"]
    assert texts_of(table) == [["train", "12,345", "25.0 %"], ["val", "5", "–"], ["test", "–", "–"]]
    assert split_table({"seed": 0}) is audit_table({}) is None


def test_what_leaks_is_listed_and_every_finding_is_a_part_of_the_section():
    findings = {"texts_in_train": 0.25, "identical_pairs": 0.0, "frequency_auroc_min": 0.5}
    section = data_section(Provenance("data", "labelled_pairs", {}, {"test": findings}))
    assert section.facts == ["Texts that occur in training pairs: 25.0 %"]
    assert len(section.parts[0].tables[0].rows) == 3
    assert data_section(Provenance("data", "labelled_pairs", {}, {"test": {"identical_pairs": 0.0}})).facts == []


def test_each_finding_that_is_defined_on_test_has_a_row(tmp_path):
    found = audit(toy_questions.read(tmp_path, name="toy_questions", families=60))
    assert len(audit_table(found).rows) == sum(value is not None for value in found["test"].values())
    unknown = {"test": {"new_{finding}": 0.5, "closure_label_mean": None}, "val": {"new_{finding}": None}}
    assert texts_of(audit_table(unknown)) == [["New {finding}", "50.0 %", "–"]]
