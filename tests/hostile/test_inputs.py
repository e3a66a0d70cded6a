"""Damaged input files: every line is a row or is counted as malformed, and a file of one's own is refused by line."""

import csv
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from delimited_text import delimited
from twicetold.tables.delimited import records
from twicetold_lab.data.sources import documents, pairs, quora, stsb, uci_news
from twicetold_lab.data.sources.source_table import left_out, read_quoted, read_unquoted
from twicetold_lab.data.sources.user_table import UserTable

ROWS, DAMAGED = 30_000, 260
TOO_LONG = 200_000


# ---------------------------------------------------------------------------------------------------- many rows


def quoted(fields, delimiter):
    return delimited([fields], delimiter).encode()


def lines_of(text):
    return io.StringIO(text, newline="").readlines()


def plain(fields, delimiter):
    return delimiter.join(fields).encode() + b"\n"


SOURCES = {  # delimiter, how a row is written, fields of row n, place of the text that is damaged
    "uci_news": ("\t", plain, lambda n: [str(n), f'"He" said {n}', "u", 'The "P"', "b", f"s{n // 5}", "h", "1"], 1),
    "stsb": ("\t", plain, lambda n: ["g", "f", "2012", str(n), "2.5", f'a "b" {n}', f"c {n}"], 5),
    "quora": ("\t", quoted, lambda n: [str(n), str(2 * n), str(2 * n + 1), f"x {n}", TEXTS[n % 4], str(n % 2)], 3),
    "tsv": ("\t", quoted, lambda n: [str(n), f"x {n}", TEXTS[n % 4]], 1),
    "csv": (",", quoted, lambda n: [str(n), f"x {n}", TEXTS[n % 4]], 1),
}
TEXTS = ("n/a", 'say "this"', 'two\nlines, "one" record', "plain, with a comma")
HEADERS = {
    "quora": "\t".join(quora.COLUMNS),
    "tsv": "key\ttext\tmore",
    "csv": "key,text,more",
}
KINDS = "open_quote close_quote mid_quote more fewer nul not_utf8 bom empty long cr blank both".split()


def damaged(kind, row, text, delimiter):
    """The row with its text damaged; `text` occurs in it once."""
    return {
        "open_quote": row.replace(text, b'"' + text),
        "close_quote": row.replace(text, text + b'"'),
        "mid_quote": row.replace(text, b'a "b" ' + text),
        "more": row.replace(text, text + delimiter + b"more"),
        "fewer": row.replace(delimiter, b" "),
        "nul": row.replace(text, b"\0" + text),
        "not_utf8": row.replace(text, b"Z\xfcrich " + text),
        "bom": row.replace(text, b"\xef\xbb\xbf" + text),
        "empty": row.replace(text, b""),
        "long": row.replace(text, b"x" * TOO_LONG),
        "cr": row.replace(text, text + b"\rrest"),
        "blank": b"\n" + row,
        "both": row.replace(text, b"\xff" + delimiter + text),
    }[kind]


def fuzzed(source, seed=0):
    """The file's bytes, and the numbers of the rows that are sound."""
    delimiter, write, fields, place = SOURCES[source]
    rng = np.random.default_rng(seed)
    kinds = dict(zip(rng.choice(ROWS, DAMAGED, replace=False).tolist(), np.resize(KINDS, DAMAGED).tolist()))
    parts = [HEADERS[source].encode() + b"\n"] if source in HEADERS else []
    for number in range(ROWS):
        values = fields(number)
        row = write(values, delimiter)
        if number in kinds:
            row = damaged(kinds[number], row, values[place].encode(), delimiter.encode())
        parts.append(row)
    return b"".join(parts), np.setdiff1d(np.arange(ROWS), list(kinds))


def rows_of(source, path):
    if source == "uci_news":
        return read_unquoted(path, uci_news.COLUMNS)
    if source == "stsb":
        return read_unquoted(path, stsb.COLUMNS, optional=2)
    columns, delimiter = {
        "quora": (quora.COLUMNS, "\t"),
        "tsv": (("key", "text", "more"), "\t"),
        "csv": (("key", "text", "more"), ","),
    }[source]
    return read_quoted(path, columns, delimiter=delimiter)


def require_each_line(data, table, accounted):
    """Check that lines that begin no row of a file with a header go on with a quoted text."""
    lines = lines_of(data.decode("utf-8-sig", errors="surrogateescape"))
    full = {number for number, line in enumerate(lines, 1) if line.strip("\r\n")} - {1}
    ends = [pc.sum(pc.count_substring(column, end)).as_py() for column in table.columns for end in "\r\n"]
    assert accounted <= full
    assert len(full) - len(accounted) == sum(ends)


@pytest.mark.parametrize("source", SOURCES)
def test_of_many_rows_with_damage_each_line_is_read_or_counted_and_no_sound_row_is_lost(source, tmp_path):
    data, sound = fuzzed(source)
    path = tmp_path / "damaged"
    path.write_bytes(data)
    rows = rows_of(source, path)

    accounted = np.array([*rows.lines.tolist(), *(row.place for row in rows.bad)])
    assert len(np.unique(accounted)) == len(accounted), "no line is counted twice"
    if source in HEADERS:
        require_each_line(data, rows.table, set(accounted.tolist()))
    else:
        assert len(accounted) == data.count(b"\n")

    place = {"stsb": "index", "tsv": "key", "csv": "key"}.get(source, "id")
    found = set(rows.column(place).to_pylist())
    assert {str(number) for number in sound.tolist()} <= found
    assert len(rows.bad) < DAMAGED * 1.5, "damage costs its own line"


def test_the_counts_of_a_damaged_file_are_on_the_card_and_printed(tmp_path):
    data, _ = fuzzed("uci_news")
    (tmp_path / uci_news.FILE).write_bytes(data)
    card = uci_news.read(tmp_path, name="x").card
    assert card["rows"] == data.count(b"\n")
    printed = left_out(card)
    assert printed.startswith(f"{card['rows']:,} rows, left out: not_utf8 {card['malformed']['not_utf8']}")
    for reason, lines in card["malformed_lines"].items():
        assert f"{reason} {card['malformed'][reason]} (line {lines[0]}" in printed
    with pytest.raises(ValueError, match=r"newsCorpora.csv: \d+ of 30,.* rows are bad .* at most 0.1%"):
        uci_news.read(tmp_path, name="x", max_bad_rows=0.001)


# --------------------------------------------------------------------------------------------- quotes in own files


def own(path, **options):
    return documents.read(path.parent, name="mine", path=path, text="headline", category="topic", **options)


def own_pairs(path, **options):
    return pairs.read(path.parent, name="mine", path=path, left="a", right="b", label="same", **options)


def titles(count, delimiter, odd):
    lines = [f"headline{delimiter}topic", *(f"title {n}{delimiter}{'xy'[n % 2]}" for n in range(count))]
    for number, title in odd.items():
        lines[number] = f"{title}{delimiter}x"
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("delimiter", ["\t", ","])
@pytest.mark.parametrize(
    "odd",
    [
        {300: '"Gone" says the mayor', 900: '"Back" says the mayor'},  # the finding: 400 of 1,000 rows were left
        {300: '"Gone', 900: 'a screen of 5"'},  # here RFC 4180 alone sees one long record
        {300: '"Gone'},
        {1000: '"Gone'},
        {300: '"'},
    ],
)
def test_an_unquoted_title_that_begins_with_a_quote_is_an_error_that_names_its_line(tmp_path, delimiter, odd):
    path = tmp_path / ("m.tsv" if delimiter == "\t" else "m.csv")
    path.write_text(titles(1000, delimiter, odd))
    with pytest.raises(ValueError, match=rf"(?s){path.name}: .*line {min(odd) + 1}: .*quote") as caught:
        own(path)
    assert "the guide to your own data has a command" in str(caught.value)
    bad = sum(title.startswith('"') for title in odd.values())
    assert f"{bad} row{'s' * (bad > 1)} cannot be used" in str(caught.value)


def test_quotes_inside_a_text_are_literal_and_a_converted_file_is_read(tmp_path):
    text = titles(100, "\t", {3: 'a 5" screen', 4: 'the "new" one'})
    (tmp_path / "m.tsv").write_text(text)
    assert 'a 5" screen' in own(tmp_path / "m.tsv").texts.to_pylist()
    (tmp_path / "old.tsv").write_text(titles(100, "\t", {3: '"Gone" he said', 9: '"'}))
    with (tmp_path / "old.tsv").open(newline="") as old, (tmp_path / "new.tsv").open("w", newline="") as new:
        csv.writer(new, delimiter="\t").writerows(line.rstrip("\r\n").split("\t") for line in old)  # as the docs say
    assert own(tmp_path / "new.tsv").texts.to_pylist()[2] == '"Gone" he said'


@pytest.mark.parametrize("quote", ["", '"'])
def test_a_field_of_3_megabytes_costs_its_row_or_is_an_error(tmp_path, quote):
    field = quote + "x" * 3_000_000 + quote
    good = "".join(f"{n}\t{2 * n}\t{2 * n + 1}\tone {n}\tother {n}\t{n % 2}\n" for n in range(300))
    (tmp_path / quora.FILE).write_text("\t".join(quora.COLUMNS) + f"\n9\t8\t7\t{field}\tx\t1\n" + good)
    assert quora.read(tmp_path, name="x", val_pairs=10, test_pairs=10).card["malformed"] == {"field_too_long": 1}
    (tmp_path / "m.csv").write_text(f"headline,topic\na,x\n{field},x\nb,x\nc,x\nd,x\ne,x\n")
    with pytest.raises(ValueError, match=r"(?s)m.csv: .*line 3: a field has more than 131,072 characters.*jsonl"):
        own(tmp_path / "m.csv")
    (tmp_path / "m.jsonl").write_text(
        "".join(json.dumps({"headline": t, "topic": "x"}) + "\n" for t in [field, *"abcdef"])
    )
    assert field in own(tmp_path / "m.jsonl").texts.to_pylist()


VALUES = st.text(st.characters(codec="utf-8"), max_size=12)
NOISY = st.text(st.sampled_from('ab",\n\r\t é'), max_size=12)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(VALUES | NOISY, min_size=3, max_size=3), min_size=1, max_size=20), st.sampled_from(",;"))
def test_what_a_csv_writer_wrote_is_read_back(rows, delimiter):
    text = delimited(rows, delimiter, end="\r\n")  # quotes both characters
    found = records(lines_of(text), delimiter=delimiter, width=3)
    assert found.malformed == []
    assert found.values == [value for row in rows for value in row]


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from('a",\n\r\t\0é\ud800'), max_size=80), st.sampled_from(",\t"))
def test_of_any_characters_each_line_is_in_one_record_or_malformed(text, delimiter):
    lines = lines_of(text)
    found = records(lines, delimiter=delimiter, width=2)
    begins = sorted([*found.lines, *(line for line, _ in found.malformed)])
    assert len(set(begins)) == len(begins)
    assert len(found.values) == 2 * len(found.lines)
    full = {number for number, line in enumerate(lines, 1) if line.strip("\r\n")}
    assert set(begins) <= full
    assert not full or begins


# ------------------------------------------------------------------------------------------- bad rows that are left out


@pytest.mark.parametrize("source", ["tsv", "csv"])
def test_with_bad_rows_left_out_each_line_of_many_is_read_or_listed_once(source, tmp_path):
    data, sound = fuzzed(source)
    (tmp_path / f"m.{source}").write_bytes(data)
    read = UserTable.read(tmp_path / f"m.{source}", ["key", "text", "more"])
    table = read.with_filled("text").with_unique("key")
    card = table.account(bad_rows="skip")

    listed = [line for _, line, _ in table.left_out]
    assert listed == sorted(set(listed)), "in the order of the file, no line twice"
    accounted = {*table.lines.tolist(), *listed}
    assert len(accounted) == len(table) + len(listed) == card["rows"]
    assert sum(card["malformed"].values()) == len(listed)
    require_each_line(data, read.table, accounted)
    assert {str(number) for number in sound.tolist()} <= set(table.column("key").to_pylist())
    assert card["malformed"]["empty"] > 0
    assert card["malformed"]["not_utf8"] > 0
    assert len(listed) < DAMAGED * 1.5, "damage costs its own line"


# ------------------------------------------------------------------------------------------- other faults of own files


def deep(levels):
    return '{"headline": ' + "[" * levels + "]" * levels + ', "topic": "x"}'


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (deep(100_000), "nested too deeply"),
        ('{"headline": "\\ud800", "topic": "x"}', "half of a surrogate pair"),
        ('{"headline": "a", "topic": "\\udfff"}', "half of a surrogate pair"),
        ('{"headline": %s, "topic": "x"}' % ("9" * 5000), "integer"),
        ('{"headline": "a"', "one JSON object"),
        ("null", "JSON object"),
        ("3", "JSON object"),
        ('"text"', "JSON object"),
        ("[" * 100_000, "nested too deeply"),
        ('{"topic": "x"}', "column 'headline': expected a text"),
        ('{"headline": "a\tb", "topic": "x"}', "one JSON object"),
    ],
)
def test_a_faulty_json_line_is_named_with_file_and_line(tmp_path, line, message):
    good = '{"headline": "a", "topic": "x"}\n'
    (tmp_path / "m.jsonl").write_text(good * 4 + line + "\n" + good)
    with pytest.raises(ValueError, match=rf"(?s)m.jsonl: .*line 5[:,] .*{message}") as caught:
        own(tmp_path / "m.jsonl")
    assert len(str(caught.value)) < 600


def test_damaged_parquet_files_are_refused_by_name(tmp_path):
    table = pa.table({"headline": [f"title {n}" for n in range(500)], "topic": ["x", "y"] * 250})
    pq.write_table(table, tmp_path / "good.parquet", compression="gzip")
    data = (tmp_path / "good.parquet").read_bytes()
    rng = np.random.default_rng(0)
    path, messages = tmp_path / "m.parquet", []
    for attempt in range(200):
        broken = bytearray(data)
        if attempt % 4 == 0:
            broken = broken[: rng.integers(len(broken))]
        else:
            for place in rng.integers(len(broken), size=rng.integers(1, 20)):
                broken[place] = rng.integers(256)
        path.write_bytes(bytes(broken))
        try:
            UserTable.read(path, ["headline", "topic"])
        except ValueError as error:
            messages.append(str(error))
    assert len(messages) > 100
    assert all("m.parquet" in message for message in messages)


@pytest.mark.parametrize("value", [b"\xff\xfe", b"\xed\xa0\x80"])
def test_bytes_in_parquet_that_are_no_text_are_named_by_row(tmp_path, value):
    raw = pa.array([b"a", b"b", value, b"c"], pa.binary())
    pq.write_table(pa.table({"headline": raw.view(pa.string()), "topic": list("xyxy")}), tmp_path / "m.parquet")
    with pytest.raises(ValueError, match=r"(?s)m.parquet: .*row 3, column 'headline': expected UTF-8"):
        own(tmp_path / "m.parquet")


BAD_GRADES = ["1e99", "nan", "-inf", "1e7", "9" * 400, "0x10", "1_000", "1,5", "٣", "--1"]


@pytest.mark.parametrize("suffix", [".tsv", ".jsonl"])
@pytest.mark.parametrize("grade", BAD_GRADES)
def test_a_grade_that_is_no_number_of_a_scale_is_named_by_its_line(tmp_path, grade, suffix):
    rows = [(f"a{n}", f"b{n}", str(n % 6)) for n in range(20)]
    rows[7] = ("a7", "b7", grade)
    path = tmp_path / f"p{suffix}"
    if suffix == ".tsv":
        path.write_text("a\tb\tsame\n" + "".join("\t".join(row) + "\n" for row in rows))
    else:
        path.write_text("".join(json.dumps(dict(zip(("a", "b", "same"), row))) + "\n" for row in rows))
    line = 9 if suffix == ".tsv" else 8
    with pytest.raises(
        ValueError, match=rf"(?s)p{suffix}: .*line {line}, column 'same': expected a number from -1,000,000 to"
    ):
        own_pairs(path, graded=True, positive_grade=3)


@pytest.mark.parametrize("positive", [0, 6, -1, 1e99, float("nan"), float("inf"), "4"])
def test_a_positive_grade_that_does_not_divide_the_grades_is_refused(tmp_path, positive):
    rows = [(f"a{n}", f"b{n}", str(n % 6)) for n in range(20)]
    (tmp_path / "p.tsv").write_text("a\tb\tsame\n" + "".join("\t".join(row) + "\n" for row in rows))
    with pytest.raises(ValueError, match="positive_grade"):
        own_pairs(tmp_path / "p.tsv", graded=True, positive_grade=positive)
