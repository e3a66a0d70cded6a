import csv
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from twicetold import layout
from twicetold.tables import streams
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.data.sources import documents

SUFFIXES = [suffix for suffix in streams.SUFFIXES if suffix != ".xlsx"]  # of which tests of tables tell
COLUMNS = ("headline", "topic", "event", "key")
ROWS = [(f'He said "{n}",\nthen left', "ab"[n % 2], f"e{n // 3}", f"k{n}") for n in range(30)]


def write(path, rows=ROWS, columns=COLUMNS):
    if path.suffix == ".parquet":
        pq.write_table(pa.table(dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True))), path)
    elif path.suffix in (".jsonl", ".ndjson"):
        path.write_text("".join(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows))
    else:
        with path.open("w", newline="", encoding="utf-8") as out:
            writer = csv.writer(out, delimiter="," if path.suffix == ".csv" else "\t", lineterminator="\n")
            writer.writerows([columns, *rows])
    return path


def read(path, **options):
    options = {"text": "headline", "category": "topic"} | options
    return documents.read(path.parent, name="mine", path=path, **options)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_format_gives_the_same_corpus(tmp_path, suffix):
    corpus = read(write(tmp_path / f"mine{suffix}"), story="event", id="key")
    assert corpus.texts.to_pylist() == [row[0] for row in ROWS]
    assert corpus.ids.to_pylist() == [row[3] for row in ROWS]
    assert corpus.group_names == {"category": ["a", "b"]}
    assert corpus.groups["category"].tolist() == [n % 2 for n in range(30)]
    assert len(np.unique(corpus.groups["story"])) == 10
    assert corpus.card["audit"]["test"]["stories_in_train"] == 0.0


@pytest.mark.parametrize("complete", [True, False])
def test_whether_all_labels_are_there_is_what_the_settings_say(complete, tmp_path):
    file = write(tmp_path / "mine.csv")
    read(file, story="event", complete_labels=complete).save(tmp_path / "corpus")
    assert Corpus.load(tmp_path / "corpus").complete is complete
    assert not read(file, story="event").complete


def test_without_a_story_column_texts_are_dealt_by_category(tmp_path):
    corpus = read(write(tmp_path / "mine.csv"))
    assert corpus.card["split"] == "rows"
    assert [len(m) for m in corpus.members.values()] == [18, 6, 6]
    assert corpus.ids[3].as_py() == "3"


def test_a_column_may_say_the_split(tmp_path):
    rows = [(f"t{n}", "a", name) for n, name in enumerate(["train", "Dev", "test", "train"])]
    corpus = read(write(tmp_path / "m.tsv", rows, ("headline", "topic", "part")), split_column="part")
    assert {s: m.tolist() for s, m in corpus.members.items()} == {"train": [0, 3], "val": [1], "test": [2]}


def test_an_empty_label_is_unknown(tmp_path):
    rows = [(f"t{n}", "" if n == 4 else "a") for n in range(10)]
    corpus = read(write(tmp_path / "m.csv", rows, ("headline", "topic")))
    assert corpus.groups["category"][4] == -1
    assert corpus.card["unlabelled"] == {"category": 1}


def test_limit_cuts_the_corpus(tmp_path):
    assert 10 <= len(read(write(tmp_path / "m.csv"), story="event", limit=12)) <= 15


def test_no_label_column_at_all_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"data.source.category=<column>"):
        read(write(tmp_path / "m.csv"), category=None)


def test_a_repeated_id_is_named(tmp_path):
    rows = [*ROWS[:5], (*ROWS[5][:3], "k2")]
    with pytest.raises(ValueError, match="line 12, column 'key': expected an id that no earlier row has; got 'k2'"):
        read(write(tmp_path / "m.csv", rows), id="key")


def test_an_unknown_split_name_is_named(tmp_path):
    rows = [("t", "a", "train"), ("u", "a", "training")]
    with pytest.raises(ValueError, match=r"line 3, column 'part': expected one of train, val.*got 'training'"):
        read(write(tmp_path / "m.csv", rows, ("headline", "topic", "part")), split_column="part")


@pytest.mark.parametrize(("text", "message"), [("", "is empty"), (" \n", "is empty"), ("headline,topic\n", "no rows")])
def test_empty_files_are_refused(tmp_path, text, message):
    path = tmp_path / "m.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read(path)


def test_unknown_suffixes_and_missing_files_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"ends in .csv, .tsv, .jsonl, .ndjson, .parquet, .xlsx.*got '.xls'"):
        read(tmp_path / "m.xls")
    with pytest.raises(FileNotFoundError, match=r"data.source.path"):
        read(tmp_path / "m.csv")


def test_a_label_column_that_is_empty_everywhere_is_refused(tmp_path):
    with pytest.raises(ValueError, match="column 'topic' is empty in every row"):
        read(write(tmp_path / "m.csv", [("a", ""), ("b", "")], ("headline", "topic")))


BAD = [("  ", "a", "e", "k"), ("t", "a", "e", "k0"), ("u", "a", "e", "")]  # empty text, repeated id, empty id


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_bad_rows_are_an_error_that_names_the_way_to_leave_them_out(tmp_path, suffix):
    message = r"(?s)3 rows cannot.*data.source.bad_rows=skip:.*expected a text, not an empty one; .*no earlier row has"
    with pytest.raises(ValueError, match=message):
        read(write(tmp_path / f"m{suffix}", [*ROWS, *BAD]), id="key")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_bad_rows_are_left_out_on_request_counted_and_listed(tmp_path, suffix):
    path = write(tmp_path / f"m{suffix}", [BAD[0], *ROWS, *BAD[1:]])
    corpus = read(path, id="key", bad_rows="skip", max_bad_rows=0.1)
    assert corpus.texts.to_pylist() == [row[0] for row in ROWS]
    assert corpus.card["rows"] == 33
    assert corpus.card["malformed"] == {"empty": 2, "repeated_id": 1}
    where = (2, 63, 64) if suffix in (".csv", ".tsv") else (1, 32, 33)  # 30 rows of two lines between
    why = [
        "column 'headline': expected a text, not an empty one; got ''",
        "column 'key': expected an id that no earlier row has; got 'k0'",
        "column 'key': expected a text, not an empty one; got ''",
    ]
    assert corpus.left_out == tuple((path.name, line, said) for line, said in zip(where, why, strict=True))
    assert corpus.card["malformed_lines"] == {"empty": [where[0], where[2]], "repeated_id": [where[1]]}

    corpus.save(tmp_path / "saved")
    with (tmp_path / "saved" / layout.LEFT_OUT).open(newline="") as file:
        assert list(csv.reader(file)) == [["file", "line", "why"], *([f, str(n), w] for f, n, w in corpus.left_out)]
    read(write(tmp_path / f"m{suffix}")).save(tmp_path / "saved")
    assert not (tmp_path / "saved" / layout.LEFT_OUT).exists()


def test_more_bad_rows_than_the_stated_share_are_an_error_that_names_share_and_first_row(tmp_path):
    path = write(tmp_path / "m.csv", [*ROWS, *BAD])
    with pytest.raises(
        ValueError,
        match=r"m.csv: 3 of 33 rows are bad \(empty 2 .*, repeated_id 1 .*\), and at most 1.0% are left out. The first "
        r"one is line 62, column 'headline': expected .*data.source.max_bad_rows=<share>",
    ):
        read(path, id="key", bad_rows="skip")
    with pytest.raises(ValueError, match="max_bad_rows is a share from 0 to 1; got 2"):
        read(path, bad_rows="skip", max_bad_rows=2)
    with pytest.raises(ValueError, match="3 of 3 rows are bad") as caught:
        read(write(tmp_path / "all.csv", [("", "a", "e", "k")] * 3), bad_rows="skip", max_bad_rows=1)
    assert "max_bad_rows" not in str(caught.value)


def test_lines_that_cannot_be_read_are_left_out_as_well(tmp_path):
    good = [json.dumps({"headline": f"t{n}", "topic": "ab"[n % 2]}) for n in range(20)]
    lines = [*good[:10], '{"headline"', "[1]", '{"topic": "a"}', '{"headline": null, "topic": "a"}', *good[10:]]
    path = tmp_path / "m.jsonl"
    path.write_bytes("\n".join(lines).encode() + b'\n{"headline": "Z\xfcrich", "topic": "a"}\n')
    corpus = read(path, bad_rows="skip", max_bad_rows=0.5)
    assert len(corpus) == 20
    assert corpus.card["malformed"] == {"bad_json": 2, "not_utf8": 1, "empty": 2}
    assert [line for _, line, _ in corpus.left_out] == [11, 12, 13, 14, 25]
    assert corpus.left_out[2][2] == "column 'headline': expected a text, not an empty one; got None"

    path = tmp_path / "m.csv"
    text = "headline,topic\n" + "".join(f"t{n},a\n" for n in range(20)) + 'x,y,z\n"open,a\n'
    path.write_bytes(text.encode() + b"Z\xfcrich,a\n")
    corpus = read(path, bad_rows="skip", max_bad_rows=0.5)
    assert corpus.card["malformed"] == {"wrong_column_count": 1, "unclosed_quote": 1, "not_utf8": 1}
    assert [line for _, line, _ in corpus.left_out] == [22, 23, 24]

    raw = pa.array([b"t%d" % n for n in range(20)] + [b"\xff\xfe"], pa.binary())
    pq.write_table(pa.table({"headline": raw.view(pa.string()), "topic": ["a"] * 21}), tmp_path / "m.parquet")
    corpus = read(tmp_path / "m.parquet", bad_rows="skip", max_bad_rows=0.5)
    assert corpus.left_out == (("m.parquet", 21, "column 'headline': expected UTF-8"),)


@pytest.mark.parametrize("options", [{}, {"bad_rows": "skip", "max_bad_rows": 1}], ids=["error", "skip"])
def test_a_column_of_another_name_and_another_encoding_are_errors_also_where_rows_may_be_left_out(tmp_path, options):
    for suffix in SUFFIXES:
        with pytest.raises(ValueError, match=r"no column 'head_line'. Did you mean 'headline'\? .*'topic', 'event'"):
            read(write(tmp_path / f"m{suffix}"), text="head_line", **options)
    (tmp_path / "n.tsv").write_bytes("headline\ttopic\nok\ta\n".encode("utf-16"))
    with pytest.raises(ValueError, match=r"line 1: expected UTF-8, got UTF-16.*iconv -f UTF-16 -t UTF-8"):
        read(tmp_path / "n.tsv", **options)
