"""What separates the fields of a file, by its first lines."""

import pytest

from delimited_text import delimited
from twicetold.tables.files import choose_text, open_rows, write_rows
from twicetold.tables.separators import SEPARATORS, recognised, separator_of

ROWS = [["id", "title", "price"], ["1", 'a, "b"; c', "3,50"], ["2", "d|e\tf", "1.234,00"], ["3", "two\nlines", ""]]


def read(path, *, skip_bad=False, **options):
    with open_rows(path, **options) as rows:
        blocks = rows.blocks([], skip_bad=skip_bad)
        return [list(row.values()) for block in blocks for row in block.table.to_pylist()]


@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
@pytest.mark.parametrize("name", SEPARATORS)
def test_a_file_is_read_whatever_separates_its_fields(tmp_path, name, suffix, asked):
    """A decimal with a comma stays the text that it is."""
    path = tmp_path / f"rows{suffix}"
    path.write_text(delimited(ROWS, SEPARATORS[name]))
    assert read(path, delimiter=name if asked else None) == ROWS[1:]


@pytest.mark.parametrize(
    ("header", "rows", "separator"),
    [
        ("id;title, long", ["1;a", "2;b"], ";"),
        ("id,title; long", ["1,a", "2,b"], ","),
        ("id;title, long", ["1;3,5", "2;b", "3;c"], ";"),
        ('"id";"title, long"', ['"1";"a, b"', '"2";"c, d"'], ";"),
        ("text", ["a;b", "c;d"], ","),
        ("a;b", ["one text", "another"], ","),
        ("a;b", [], ";"),
        ("a,b", ["1;2", "3;4"], ","),
        ("Größe;Straße", ["1;ä"], ";"),
        ("text;label", ["a;1", "b", "c;0", "d;1"], ";"),
        ("id\ttitle, long", ["1\ta, b"], "\t"),  # of a .tsv
    ],
)
def test_the_separator_is_the_one_that_splits_header_and_rows_alike(header, rows, separator):
    usual = "\t" if separator == "\t" else ","
    assert recognised([f"{line}\n" for line in [header, *rows]], usual) == separator


@pytest.mark.parametrize("rows", [["1;3,5", "2;4,5"], ["1", "2"]])
def test_what_may_be_two_separators_is_an_error_that_names_the_option(tmp_path, rows):
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["id;price, net", *rows]))
    message = r"rows\.csv: line 1: fields may be separated by a comma or a semicolon: say which, as"
    with pytest.raises(ValueError, match=message):
        read(path)
    if len(rows[0]) > 1:
        assert read(path, delimiter="semicolon") == [["1", "3,5"], ["2", "4,5"]]
        assert read(path, delimiter=",") == [["1;3", "5"], ["2;4", "5"]]


def test_the_first_line_may_name_the_separator_as_excel_reads_it(tmp_path):
    """Lines are counted as they stand in the file."""
    path = tmp_path / "rows.csv"
    path.write_text("\ufeffsep=|\nid|title\n1|a;b\n2\n")
    with pytest.raises(ValueError, match="line 4: expected 2 fields"):
        read(path)
    assert read(path, skip_bad=True) == [["1", "a;b"]]
    path.write_text("sep=;\n")
    with pytest.raises(ValueError, match="line 2: expected a header"):
        read(path)


def test_a_csv_is_written_with_the_separator_of_the_one_that_was_read(tmp_path):
    (tmp_path / "in.csv").write_text(delimited(ROWS, ";"))
    for target, separator, more in (("out.csv", ";", None), ("out.tsv", "\t", None), ("asked.csv", "|", "pipe")):
        with (
            open_rows(tmp_path / "in.csv") as rows,
            write_rows(tmp_path / target, delimiter=more or rows.delimiter) as write,
        ):
            for block in rows.blocks([]):
                write(block)
        assert (tmp_path / target).read_text() == delimited(ROWS, separator)
    (tmp_path / "in.tsv").write_text(delimited(ROWS, "\t"))
    with open_rows(tmp_path / "in.tsv") as rows:
        assert rows.delimiter is None  # tabs are of .tsv: a .csv has commas
    with open_rows(tmp_path / "in.tsv", delimiter="tab") as rows:
        assert rows.delimiter == "\t"


@pytest.mark.parametrize("asked", [";", "semicolon", "SEMICOLON"])
def test_a_separator_is_named_or_given(asked):
    assert separator_of(asked) == ";"
    assert separator_of("\\t") == separator_of("\t") == separator_of("tab") == "\t"
    assert separator_of(None) is None


@pytest.mark.parametrize("asked", ["", ":", ";;", '"', "space"])
def test_another_separator_is_refused_with_those_there_are(asked):
    with pytest.raises(ValueError, match="expected one of comma, semicolon, tab, pipe, or the character, as delimiter"):
        separator_of(asked)


def test_one_column_whose_name_has_a_separator_leads_to_the_option(tmp_path):
    (tmp_path / "rows.csv").write_text("title;text\nno field here\nnor here\n")
    with (
        open_rows(tmp_path / "rows.csv") as rows,
        pytest.raises(ValueError, match=r"semicolon: --format csv:semi"),
    ):
        choose_text(rows)
