"""Files of rows: what is read, what is refused, and what is written."""

import gzip
import io
import json
import os
import random
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from delimited_text import delimited
from twicetold.tables import reading, streams
from twicetold.tables.blocks import Block
from twicetold.tables.files import choose_pair, choose_text, open_rows, write_rows
from twicetold.tables.sheets import SheetWriter
from twicetold_lab.data.sources import documents
from twicetold_lab.data.sources.user_table import UserTable

ROWS = [
    ["1", "How do I swim?", "How to swim?"],
    ["2", 'He said "no",\nthen left', " é, ü "],
    ["3", "n/a", "NA"],
]
HEADER = ["id", "question1", "question2"]


def packed(data, suffix):
    if suffix.endswith(".gz"):
        return gzip.compress(data)
    return pa.compress(data, "zstd", asbytes=True) if suffix.endswith(".zst") else data


def written(folder, suffix):
    path = folder / f"in{suffix}"
    if suffix.startswith(".parquet"):
        pq.write_table(pa.table(dict(zip(HEADER, zip(*ROWS)))), stream := io.BytesIO())
        data = stream.getvalue()
    elif suffix.startswith(".xlsx"):
        stream = io.BytesIO()
        writer = SheetWriter(stream)
        writer.write(Block(pa.table(dict(zip(HEADER, zip(*ROWS)))), np.arange(len(ROWS))))
        writer.close()
        data = stream.getvalue()
    elif suffix.startswith((".jsonl", ".ndjson")):
        data = "".join(json.dumps(dict(zip(HEADER, row)), ensure_ascii=False) + "\n" for row in ROWS).encode()
    else:
        data = delimited([HEADER, *ROWS], "\t" if suffix.startswith(".tsv") else ",").encode()
    path.write_bytes(packed(data, suffix))
    return path


def rows_of(path, **options):
    with open_rows(path) as rows:
        blocks = list(rows.blocks(["question1"], **options))
    return pa.concat_tables([block.table for block in blocks]).to_pylist(), np.concatenate([b.lines for b in blocks])


def copy(source, target, texts=(), *, added=None, **options):
    """Write a file of another one, with further columns."""
    with open_rows(source) as rows, write_rows(target, **options) as write:
        for block in rows.blocks(texts):
            write(block if added is None else block.with_columns(added))
    return target


SUFFIXES = [f"{suffix}{packing}" for suffix in streams.SUFFIXES for packing in ("", *streams.COMPRESSIONS)]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_rows_are_the_same_in_every_format(suffix, tmp_path):
    found, _ = rows_of(written(tmp_path, suffix))
    assert [list(row.values()) for row in found] == ROWS
    assert list(found[0]) == HEADER


@pytest.mark.parametrize("target", SUFFIXES)
@pytest.mark.parametrize("source", [".csv", ".jsonl", ".parquet"])
def test_columns_stay_as_they_are_and_new_ones_follow(source, target, tmp_path):
    added = {"score": np.float32([0.1, 1e-7, 2]), "duplicate": [True, False, True]}
    found, _ = rows_of(copy(written(tmp_path, source), tmp_path / f"out{target}", ["question1"], added=added))
    assert [list(row.values())[:3] for row in found] == ROWS
    assert [float(row["score"]) for row in found] == pytest.approx([0.1, 1e-7, 2])
    assert [str(row["duplicate"]).lower() for row in found] == ["true", "false", "true"]
    assert list(found[0]) == [*HEADER, "score", "duplicate"]


def test_json_lines_keep_their_spelling_and_their_types(tmp_path):
    path = tmp_path / "in.jsonl"
    first = '{"text": "\\u00e9", "n": 1.50, "big": 123456789012345678901, "deep": {"a": [1, null]}'
    path.write_text(first + ' }\n\n{"text":"b"}\n')
    out = copy(path, tmp_path / "out.jsonl", ["text"], added={"score": np.float32([0.25, 0.5])})
    assert out.read_text().splitlines() == [first + ', "score": 0.25}', '{"text":"b", "score": 0.5}']


def test_parquet_keeps_its_types(tmp_path):
    path = tmp_path / "in.parquet"
    table = pa.table({"text": pa.array(["a", "b"]).dictionary_encode(), "n": [1, None], "list": [[1], None]})
    pq.write_table(table, path)
    out = copy(path, tmp_path / "out.parquet", ["text"], added={"x": [True, False]})
    assert pq.read_table(out).drop_columns("x").equals(pq.read_table(path))
    assert copy(path, tmp_path / "out.csv").read_text() == "text,n,list\na,1,[1]\nb,,\n"


def test_parquet_in_several_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "ROWS", 3)
    texts = [f"t{n}" for n in range(10)]
    pq.write_table(pa.table({"question1": texts}), tmp_path / "in.parquet")
    found, lines = rows_of(tmp_path / "in.parquet")
    assert ([row["question1"] for row in found], lines.tolist()) == (texts, list(range(1, 11)))


@pytest.mark.parametrize("size", [1, 7, 50, 1000])
def test_rows_and_lines_do_not_depend_on_the_size_of_blocks(size, tmp_path, monkeypatch):
    """Records over several lines, malformed ones and bytes that are no UTF-8, anywhere between blocks."""
    chance = random.Random(size)
    whole, expected, line = ["id,question1\n"], [], 2
    for number in range(300):
        kind = chance.choice(["plain", "lines", "wide", "quote", "bytes", "bad lines"])
        text = {
            "plain": f"{number},one text\n",
            "lines": f'{number},"a text\nof ""three""\nlines, with comma"\n',
            "wide": f"{number},too,many\n",
            "quote": f'{number},"closed" too early\n',
            "bytes": f"{number},caf\udce9\n",
            "bad lines": f'{number},"a text\n\nof a caf\udce9\n"\n',
        }[kind]
        expected.append((line, kind))
        expected += [(line + more, kind) for more in (2, 3) if kind == "bad lines"]  # the second one is empty
        line += text.count("\n")
        whole.append(text)
    path = tmp_path / "in.csv"
    path.write_bytes("".join(whole).encode("utf-8", "surrogateescape"))
    monkeypatch.setattr(reading, "BLOCK", size)
    with open_rows(path) as rows:
        blocks = list(rows.blocks(["question1"], skip_bad=True))
    assert np.concatenate([b.lines for b in blocks]).tolist() == [
        at for at, kind in expected if kind in ("plain", "lines")
    ]
    bad = [f"line {at}: {fault}" for at, kind in expected if (fault := FAULTS.get(kind))]
    assert all(said.startswith(start) for said, start in zip(rows.bad.listed, bad[:10], strict=True))
    assert rows.bad.count == len(bad)
    assert rows.count == sum(kind in ("plain", "lines") for _, kind in expected)


NOT_JSON = r"""5 rows.*
  line 2: expected a JSON object.*
  line 3, column 'question1': expected a text, got 3
  line 4, column 'question1': expected a text, not an empty one; got None
  line 5: .*surrogate.*
  line 6: expected one JSON object"""
FAULTS = {
    "wide": "expected 2 fields (id, question1), got 3",
    "quote": "a field begins with a quote",
    "bytes": "expected UTF-8, got the byte 0xe9",
    "bad lines": "expected UTF-8, ",
}


def test_a_quote_that_is_never_closed_costs_one_line_only(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "BLOCK", 100)
    path = tmp_path / "in.csv"
    path.write_text('id,question1\n1,"open\n' + "".join(f"{n},text\n" for n in range(5000)))
    found, _ = rows_of(path, skip_bad=True)
    assert len(found) == 5000


@pytest.mark.parametrize(
    ("suffix", "content", "message"),
    [
        (".csv", "id,question1\n1,a\n2,\n3,  \n", r"2 rows cannot.*\n  line 3, .*: expected a text.*\n  line 4"),
        (".csv", "id,question1\n1,a,b\n", r"line 2: expected 2 fields \(id, question1\), got 3"),
        (".csv", "", "expected a header"),
        (".csv", "id,title\n1,a\n", "no column 'question1'. Columns there are: 'id', 'title'"),
        (".csv", "id,question\n1,a\n", "Did you mean 'question'"),
        (".csv", "question1,question1\n1,a\n", "is there 2 times"),
        (".csv", b"\xff\xfei\0d\0", "expected UTF-8, got UTF-16"),
        (".csv", b"id,caf\xe9\n", "line 1: expected UTF-8, got the byte 0xe9"),
        (".csv.gz", b"id,question1\n", "in.csv.gz: .*gzip"),
        (".csv.gz", gzip.compress(b"question1\n" + b"a\n" * 9, mtime=0)[:-9], "in.csv.gz: cannot be unpacked as gzip"),
        (".parquet.zst", b"id,question1\n", "in.parquet.zst: cannot be unpacked as zstd"),
        (".csv.zst", packed(b"question1\n" + b"a\n" * 99, ".zst")[:-5], "in.csv.zst: cannot be unpacked as zstd"),
        (".jsonl", '{"question1": "a"}\n[1]\n{"question1": 3}\n{"b": 1}\n{"question1": "\\ud800"}\n{"', NOT_JSON),
        (".jsonl", "", "is empty: expected JSON objects"),
        (".jsonl", "[" * 100_000 + "\n", "nested too deeply"),
        (".parquet", "text", "in.parquet: cannot be read as a Parquet file"),
        (".txt", "text", "from the name; say --format csv or tsv or jsonl or parquet or xlsx; if each line is a text"),
        (".xls", b"PK", "from the name; save the sheet as .xlsx or CSV"),
        (".xlsx", b"PK", "in.xlsx: cannot be read as an .xlsx file"),
        (".json", "[]", "from the name; say --format .*, with an object a line; `jq -c"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_named(suffix, content, message, tmp_path):
    path = tmp_path / f"in{suffix}"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=f"(?s){message}"):
        rows_of(path)


def test_no_parquet_goes_to_a_terminal(monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    with pytest.raises(ValueError, match="name a file with -o, or say --format csv"), write_rows("-", format="parquet"):
        pass


FAULTY = {
    ".csv": "text,topic\na,x\nb,y,z\n,x\nc,\n",
    ".tsv": 'text\ttopic\na\tx\n"b\ty\n\tx\n',
    ".jsonl": '{"text": "a", "topic": "x"}\n{"text": 3}\n{"topic": "x"}\n{"text": NaN, "topic": "x"}\n{"text"\n[]\n"',
}


@pytest.mark.parametrize("suffix", FAULTY)
def test_a_bad_file_gets_the_same_text_for_training_and_for_use(suffix, tmp_path):
    path = tmp_path / f"in{suffix}"
    path.write_text(FAULTY[suffix])
    with pytest.raises(ValueError, match=r"(?s)rows cannot be used.*\n  line") as training:
        documents.read(tmp_path, name="mine", path=path, text="text", category="topic")
    with pytest.raises(ValueError, match=r"(?s)rows cannot be used.*\n  line") as use, open_rows(path) as rows:
        list(rows.blocks(["text"]))
    assert str(training.value).replace("data.source.bad_rows=skip", "--skip-bad") == str(use.value)


def test_a_value_that_is_missing_is_missing_in_every_format(tmp_path):
    (tmp_path / "in.csv").write_text("text,n\na,1\nb,\nc,\n")
    (tmp_path / "in.jsonl").write_text('{"text": "a", "n": 1}\n{"text": "b", "n": NaN}\n{"text": "c"}\n')
    pq.write_table(pa.table({"text": ["a", "b", "c"], "n": [1.0, float("nan"), None]}), tmp_path / "in.parquet")
    for suffix in (".csv", ".jsonl", ".parquet"):
        out = copy(tmp_path / f"in{suffix}", tmp_path / "out.csv.gz")
        assert gzip.decompress(out.read_bytes()) == b"text,n\na,1\nb,\nc,\n"
        table = UserTable.read(tmp_path / f"in{suffix}", ["n"])
        assert table.or_null("n").to_pylist() == ["1", None, None]


def test_packed_files_are_the_same_bytes_each_time_and_go_through_pipes(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv.gz")
    found = []
    reading_pipe = threading.Thread(target=lambda: found.append((tmp_path / "pipe.csv.gz").read_bytes()))
    reading_pipe.start()
    for name in ("one.csv.gz", "other.csv.gz", "pipe.csv.gz"):
        copy(written(tmp_path, ".csv"), tmp_path / name)
    reading_pipe.join(10)
    assert [(tmp_path / "one.csv.gz").read_bytes()] == [(tmp_path / "other.csv.gz").read_bytes()] == found
    assert gzip.decompress(found[0]) == (tmp_path / "in.csv").read_bytes()


def test_a_full_disk_is_an_error_also_of_a_packed_file(tmp_path):
    (tmp_path / "out.csv.gz").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left"):
        copy(written(tmp_path, ".csv"), tmp_path / "out.csv.gz", at_once=False)


def test_a_column_of_numbers_has_no_texts(tmp_path):
    pq.write_table(pa.table({"question1": [1, 2]}), tmp_path / "in.parquet")
    with pytest.raises(ValueError, match="expected texts in the column 'question1', got int64"):
        rows_of(tmp_path / "in.parquet")


def test_a_missing_file_is_named_and_a_folder_is_none(tmp_path):
    folder = tmp_path / "folder.csv"
    folder.mkdir()
    with pytest.raises(FileNotFoundError, match=r"there is no file .*/none.csv"):
        copy(tmp_path / "none.csv", tmp_path / "out.csv")
    for source, target in ((folder, tmp_path / "out.csv"), (written(tmp_path, ".csv"), folder)):
        with pytest.raises(ValueError, match="is a folder"):
            copy(source, target)


def test_a_file_without_rows_gives_a_file_without_rows(tmp_path):
    (tmp_path / "in.csv").write_text("id,question1\n")
    out = copy(tmp_path / "in.csv", tmp_path / "out.csv", added={"score": np.empty(0, np.float32)})
    assert out.read_text() == "id,question1,score\n"


def test_an_error_leaves_no_file_and_the_former_one_as_it_was(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("former")
    with pytest.raises(KeyboardInterrupt), write_rows(path):
        raise KeyboardInterrupt
    assert path.read_text() == "former"
    assert [p.name for p in tmp_path.iterdir()] == ["out.csv"]


def test_a_column_that_is_there_already_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="a column 'id' already"):
        copy(written(tmp_path, ".csv"), tmp_path / "out.csv", added={"id": [1, 2, 3]})


def test_a_new_key_in_later_json_lines_has_no_place_in_a_header(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "BLOCK", 10)
    (tmp_path / "in.jsonl").write_text('{"text": "a", "b": 1}\n{"text": "c"}\n{"text": "d", "e": 2}\n')
    with pytest.raises(ValueError, match="line 3: the key 'e' is not among those of the first rows"):
        copy(tmp_path / "in.jsonl", tmp_path / "out.csv")


def test_json_lines_whose_keys_differ_by_row_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "CELLS", 100)
    file = tmp_path / "in.jsonl"
    file.write_text("".join(f'{{"text": "a", "key {row}": {row}}}\n' for row in range(12)))
    with pytest.raises(ValueError, match=r"in.jsonl: line 1: expected rows that share .* 13 keys in 12 rows.*'key 11'"):
        copy(file, tmp_path / "out.jsonl")
    file.write_text("".join(f'{{"text": "a", "key": {row}}}\n' for row in range(12)))
    copy(file, tmp_path / "out.jsonl")


def test_columns_are_chosen_by_usual_names(tmp_path):
    def opened(*names):
        (tmp_path / "in.csv").write_text(",".join(names) + "\n")
        return open_rows(tmp_path / "in.csv")

    with opened("id", "sentence1", "sentence2") as rows:
        assert choose_pair(rows) == ("sentence1", "sentence2")
        assert choose_pair(rows, "id", "sentence1") == ("id", "sentence1")
        with pytest.raises(ValueError, match="name both columns"):
            choose_pair(rows, "id")
    with opened("id", "body") as rows:
        with pytest.raises(ValueError, match=r"which columns have the two texts\? .*'id', 'body'"):
            choose_pair(rows)
        with pytest.raises(ValueError, match=r"which column has the texts\? .*'id', 'body'"):
            choose_text(rows)
        assert choose_text(rows, "body") == "body"
        with pytest.raises(ValueError, match=r"no column 'bod'\. Did you mean 'body'"):
            choose_text(rows, "bod")
    with opened("title", "text") as rows:
        assert choose_text(rows) == "text"


def test_ten_bad_rows_are_listed_and_the_others_counted(tmp_path):
    (tmp_path / "in.csv").write_text("id,question1\n" + "1,\n" * 1234)
    with pytest.raises(ValueError, match=r"(?s)1,234 rows cannot.*line 11, [^\n]*\n  and 1,224 more$"):
        rows_of(tmp_path / "in.csv")


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_a_carriage_return_within_a_field_ends_no_row(suffix, tmp_path):
    values = ["a\rb", "\r", "c\r\nd", 'e\r"f"', "g\n", "h"]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": each, "n": "1"}) + "\n" for each in values))
    out = copy(tmp_path / "in.jsonl", tmp_path / f"out.{suffix}")
    with open_rows(out) as rows:
        assert [row for block in rows.blocks([]) for row in block.table["text"].to_pylist()] == values
    assert out.read_bytes().startswith(b"text,n\n" if suffix == "csv" else b"text\tn\n")
    assert out.read_bytes().endswith(b"h,1\n" if suffix == "csv" else b"h\t1\n")


@pytest.mark.parametrize(("suffix", "line"), [("csv", "a,1.50"), ("tsv", "a\t1.50"), ("jsonl", '"price": 1.50}')])
def test_a_decimal_of_parquet_is_a_number_elsewhere(suffix, line, tmp_path):
    price = pa.array(["1.50", None]).cast(pa.decimal128(7, 2))
    pq.write_table(pa.table({"text": ["a", "b"], "price": price}), tmp_path / "in.parquet")
    assert line in copy(tmp_path / "in.parquet", tmp_path / f"out.{suffix}").read_text()


@pytest.mark.parametrize(
    ("name", "content", "columns"),
    [("a.csv", "body\na;b\n", "'body'"), ("a.jsonl", "{}\n", ""), ("a.jsonl", '{"a;b": 1}\n', "'a;b'")],
)
def test_a_file_that_has_no_separators_is_refused_without_a_word_of_them(tmp_path, name, content, columns):
    (tmp_path / name).write_text(content)
    with open_rows(tmp_path / name) as rows, pytest.raises(ValueError, match=rf"Columns there are: {columns}$"):
        choose_text(rows)


class Endless(io.RawIOBase):
    """A line that goes on for ever, after a header and a row."""

    def __init__(self, start):
        self.start, self.given = start, 0

    def read1(self, size=-1):
        found = self.start or b"a" * 8192
        self.start = b""
        self.given += len(found)
        return found


@pytest.mark.parametrize(
    ("kind", "start"),
    [
        ("csv", b"text\nrow\n"),
        ("csv", b'text\nrow\n"'),
        ("tsv", b"text\nrow\n"),
        ("jsonl", b'{"text": "row"}\n{"text": "'),
    ],
)
def test_a_line_without_an_end_is_refused_before_it_is_held(kind, start, monkeypatch):
    monkeypatch.setattr(reading, "LONGEST", 1 << 20)
    stream = Endless(start)
    made = {"csv": lambda: reading.Delimited(stream, ","), "tsv": lambda: reading.Delimited(stream, "\t")}
    with pytest.raises(ValueError, match=r"line \d: expected a line of at most 1,048,576 bytes, got more: remove"):
        list(made.get(kind, lambda: reading.JsonLines(stream))().blocks(["text"]))
    assert stream.given < 2 << 20


@pytest.mark.parametrize("suffix", [".csv.gz", ".jsonl.zst", ".parquet"])
def test_a_text_that_is_too_long_is_named_with_its_place(suffix, tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "LONGEST", 10_000)
    table = pa.table({"text": ["one", "two", "x" * 20_000]})
    file = tmp_path / f"in{suffix}"
    with write_rows(file) as write:
        write(Block(table, np.arange(1, 4)))
    place = {".csv.gz": "line 4", ".jsonl.zst": "line 3", ".parquet": "row"}[suffix]
    with (
        pytest.raises(ValueError, match=rf"in{suffix}: {place}.*of at most 10,000 bytes, got more"),
        open_rows(file) as rows,
    ):
        list(rows.blocks(["text"]))


def test_many_long_texts_of_parquet_are_refused_by_the_head_of_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "LONGEST", 1000)
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", lambda *_, **__: pytest.fail("the rows were read"))
    file = tmp_path / "in.parquet"
    pq.write_table(pa.table({"text": [chr(97 + place) * 5000 for place in range(9)]}), file)
    said = "rows 1 to 9, column 'text': expected values of at most 1,000 bytes"
    with pytest.raises(ValueError, match=said), open_rows(file) as rows:
        list(rows.blocks(["text"]))


def test_a_line_of_json_with_nan_keeps_all_other_spellings(tmp_path):
    line = '{"text": "NaN \\" -Infinity", "a": 1.50, "b": 1e400, "c": [%s, "Infinity"], "d": %s}'
    (tmp_path / "in.jsonl").write_text(line % ("-Infinity", "NaN") + "\n")
    out = copy(tmp_path / "in.jsonl", tmp_path / "out.jsonl", ["text"])
    assert out.read_text() == line % ("null", "null") + "\n"


def test_a_row_with_too_many_fields_is_told_in_the_right_number(tmp_path):
    (tmp_path / "in.tsv").write_text("question1\na\tb\n")
    with pytest.raises(ValueError, match=r"expected 1 field \(question1\), got 2"):
        rows_of(tmp_path / "in.tsv")
