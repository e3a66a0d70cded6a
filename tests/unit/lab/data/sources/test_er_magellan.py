import pytest

from twicetold_lab.data.sources import er_magellan

FOLDER = "Textual/Abt-Buy"


def record(name, description="", price=""):
    return f"COL name VAL {name} COL description VAL {description} COL price VAL {price}"


PARTS = {
    "train": [
        (record("sony kdl-40", "a tv", "399.0"), record("sony kdl40", "", "400"), "1"),
        (record("sony kdl-40", "a tv", "399.0"), record("sony kdl46"), "0"),
        (record("a stand"), record("stand", "  for a  tv "), "1"),
    ],
    "valid": [(record("sony kdl-40", "a tv", "399.0"), record("kdl 40"), "1"), (record("a"), record("b"), "0")],
    "test": [(record("a stand"), record("sony kdl46"), "0"), (record("c"), record("c"), "1")],
}


def write(folder, parts):
    (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    for part, rows in parts.items():
        (folder / FOLDER / f"{part}.txt").write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")


def read(folder, **options):
    return er_magellan.read(folder, name="x", folder=FOLDER, columns=["name", "description", "price"], **options)


@pytest.fixture
def corpus(tmp_path):
    write(tmp_path, PARTS)
    return read(tmp_path)


def test_the_text_of_a_record_is_its_values_in_a_line_and_its_columns_are_fields(corpus):
    texts = corpus.texts.to_pylist()
    row = texts.index("sony kdl-40 a tv 399.0")
    assert {name: values[row].as_py() for name, values in corpus.fields.items()} == {
        "name": "sony kdl-40",
        "description": "a tv",
        "price": "399.0",
    }
    assert corpus.fields["description"][texts.index("stand for a tv")].as_py() == "for a  tv"


def test_splits_are_those_of_the_files_and_equal_records_one_text(corpus):
    texts = corpus.texts.to_pylist()
    pairs = {
        split: [(texts[a], texts[b], int(y)) for a, b, y in zip(p.left, p.right, p.label, strict=True)]
        for split, p in corpus.pairs.items()
    }
    assert pairs["val"] == [("sony kdl-40 a tv 399.0", "kdl 40", 1), ("a", "b", 0)]
    assert pairs["test"] == [("a stand", "sony kdl46", 0), ("c", "c", 1)]
    assert len(pairs["train"]) == 3
    assert texts.count("sony kdl46") == 1
    assert corpus.card["audit"]["test"]["texts_in_train"] == pytest.approx(2 / 3)


def test_malformed_rows_are_counted_per_file(tmp_path):
    odd = [
        (record("a"), record("b"), "yes"),
        (record("a"), "COL name VAL b", "1"),
        (record("a"), record(" "), "0"),
        (record("a"), "1"),
    ]
    write(tmp_path, {**PARTS, "test": PARTS["test"] * 5 + odd})
    card = read(tmp_path, max_bad_rows=0.5).card
    counts = {"wrong_column_count": 1, "bad_label": 1, "other_columns": 1, "empty_record": 1}
    assert card["malformed"] == {"test.txt": counts}
    assert card["malformed_lines"]["test.txt"]["other_columns"] == [12]
    with pytest.raises(ValueError, match=r"test\.txt: 4 of 14 rows are bad"):
        read(tmp_path)


def test_a_limit_keeps_both_labels_and_the_fields_of_the_texts_that_stay(tmp_path):
    rows = [(record(f"left {n}"), record(f"right {n}", price=str(n)), str(n % 2)) for n in range(40)]
    write(tmp_path, {**PARTS, "train": rows})
    corpus = read(tmp_path, limit=20)
    assert len(corpus) < 60
    assert set(corpus.pairs["train"].label) == {0, 1}
    values = zip(*(column.to_pylist() for column in corpus.fields.values()), strict=True)
    assert [" ".join(" ".join(row).split()) for row in values] == corpus.texts.to_pylist()
