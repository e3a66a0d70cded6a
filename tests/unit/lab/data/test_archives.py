import pytest

from twicetold_lab.data.archives import Content


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("\ufeffid\ttext\r\n" + "".join(f"{n}\tx\n" for n in range(199)) + "200\tlast", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "content",
    [
        Content(),
        Content(first_line="id\ttext$", lines=(201, 201), columns=(2, 2)),
        Content(first_line="i", lines=(0, 500), columns=(1, 3)),
        Content(columns=(1, 1), separator=";"),
    ],
)
def test_a_file_as_expected_has_no_fault(file, content):
    assert content.fault(file) is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (Content(first_line="text"), r"wrong first line: expected 'text', got 'id\ttext'"),
        (Content(size=(1, 100)), "wrong size: expected 1 to 100 bytes, got 1104"),
        (Content(lines=(202, 300)), "wrong number of lines: expected 202 to 300, got 201"),
        (Content(lines=(0, 200)), "wrong number of lines: expected 0 to 200, got 201"),
        (Content(columns=(3, 4)), "wrong number of columns: expected 3 to 4 in each line, not so in 201 of 201 lines"),
    ],
)
def test_another_file_is_described(file, content, message):
    assert content.fault(file) == message


def test_one_odd_line_in_a_hundred_is_left_to_the_reader(file):
    content = Content(columns=(2, 2))
    with file.open("a") as out:
        out.write("\nodd")
    assert content.fault(file) is None
    with file.open("a") as out:
        out.write("\nodd\nodd")
    assert "not so in 3 of 204 lines" in content.fault(file)


def test_an_empty_file_is_described(tmp_path):
    (tmp_path / "empty").touch()
    assert Content(first_line="id").fault(tmp_path / "empty") == "wrong first line: expected 'id', got ''"
    assert Content(lines=(1, 2)).fault(tmp_path / "empty") == "wrong number of lines: expected 1 to 2, got 0"


@pytest.mark.parametrize("lines", [(2, 1), (1,), (-1, 1)])
def test_a_range_that_is_none_is_refused(lines):
    with pytest.raises(ValueError, match="lines is a range of two numbers"):
        Content(lines=lines)


def test_a_pattern_that_is_none_is_refused():
    with pytest.raises(ValueError, match="no regular expression"):
        Content(first_line="(")
