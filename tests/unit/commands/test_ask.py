"""`twicetold ask` and `dedupe --ask`: answers by lines, a file of answers, and what becomes of them."""

import csv
import shutil
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[3] / "examples/questions.csv"
ANSWERS = "questions.csv.answers.csv"
ASK = ("ask", "questions.csv", "--compare", "letters")
DEDUPE = ("dedupe", "questions.csv", "--compare", "letters", "-o", "out.csv")


@pytest.fixture(autouse=True)
def file(tmp_path):
    shutil.copy(EXAMPLE, tmp_path)
    return tmp_path / ANSWERS


def rows(path):
    with path.open(newline="") as read:
        return list(csv.DictReader(read))


def same(file):
    return [row["same"] for row in rows(file)]


def test_answers_are_kept_and_the_same_command_goes_on(twicetold, file):
    done = twicetold(*ASK, "-n", 4, input="y\n?\ns\n")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert "1 of 2 pairs answered" in done.stderr
    assert "y the same, n different, ? cannot say, u undo, s stop" in done.stderr
    begun = rows(file)
    assert same(file) == ["1", ""]
    done = twicetold(*ASK, "-n", 4, input="NO\nyes\ny\n")
    assert "3 of 4" in done.stderr
    assert "2 of 4 " not in done.stderr
    assert rows(file)[:2] == begun
    assert same(file) == ["1", "", "0", "1"]
    assert len({(row["left"], row["right"]) for row in rows(file)}) == 4
    done = twicetold(*ASK, "-n", 4, input="y\n")
    assert same(file) == ["1", "", "0", "1"]


def test_the_words_that_differ_are_marked(twicetold):
    done = twicetold(*ASK, input="")
    assert "[Is] being an architect well in [paid Brzil]" in done.stderr
    assert "BEING AN ARCHITECT WELL [PAID] IN [BRAZILY?]" in done.stderr


def test_further_columns_are_compared_and_shown(twicetold, tmp_path):
    lines = [f'{number},a tent for {number % 7} and more,"maker {number % 5}",{number % 3}' for number in range(30)]
    (tmp_path / "tents.csv").write_text("\n".join(["id,text,brand,price", *lines]))
    options = ("tents.csv", "--compare", "letters", "--on", "text,brand,price")
    done = twicetold("ask", *options, input="n\n")
    assert "brand: maker [" in done.stderr
    done = twicetold("dedupe", *options, "--ask", 3, "-o", "out.csv", input="n\nn\nn\n")
    assert "3 of 3 pairs answered" in done.stderr, done.stderr
    answers, found = rows(tmp_path / "tents.csv.answers.csv"), rows(tmp_path / "out.csv")
    group = [row["group"] for row in found]
    assert all(group[int(row["left"]) - 1] != group[int(row["right"]) - 1] for row in answers)
    twicetold("dedupe", *options[:3], "-o", "plain.csv")
    plain = rows(tmp_path / "plain.csv")
    assert len({row["group"] for row in plain}) == 7 <= len(set(group))
    to_first = [[float(row["probability_to_representative"]) for row in each] for each in (plain, found)]
    assert min(to_first[0]) == 1 > min(to_first[1])  # texts are equal, makers and prices are not
    for also, message in (("text,brands", "Did you mean 'brand'?"), ("brand,,price", "names of columns with commas")):
        assert message in twicetold("dedupe", "tents.csv", "--on", also).stderr


def test_undo_takes_back_answers_of_this_session_and_of_the_last_one(twicetold, file):
    twicetold(*ASK, input="y\nn\n")
    first = rows(file)[0]
    done = twicetold(*ASK, input="u\nu\nu\n")
    assert "this is the first pair" in done.stderr
    assert not file.exists()
    twicetold(*ASK, input="u\ny\nundo\ny\nskip\n")
    assert rows(file)[0] == first
    assert same(file) == ["1", ""]


def test_a_stale_answer_stays_in_the_file_and_another_question_takes_its_place(twicetold, file, tmp_path):
    ids = ("--id", "id")
    twicetold(*ASK, *ids, "-n", 4, input="n\nn\nn\nn\n")
    gone = rows(file)[1]
    text = (tmp_path / "questions.csv").read_text()
    (tmp_path / "questions.csv").write_text(text.replace(gone["left_text"], "corrected"))
    done = twicetold(*ASK, *ids, "-n", 4, input="y\n")
    assert "left out 1 of 4 answers about ids that are no longer in" in done.stderr
    assert rows(file)[0] == gone
    assert same(file) == ["0"] * 4 + ["1"]
    twicetold(*ASK, *ids, "-n", 5, input="u\nu\nu\nu\nu\n")
    assert rows(file) == [gone]


def test_a_line_that_is_no_answer_is_named_and_answers_before_it_are_kept(twicetold, file):
    done = twicetold(*ASK, input="y\nperhaps\n")
    assert done.returncode == 1
    assert "standard input, line 2: expected y, n, ?, u or s; got 'perhaps'" in done.stderr
    assert "1 of 1 pair answered" in done.stderr
    assert same(file) == ["1"]


def test_a_dedupe_that_asks_groups_by_the_answers_as_their_file_does(twicetold, file, tmp_path):
    twicetold(*DEDUPE)
    before = (tmp_path / "out.csv").read_text()
    done = twicetold(*DEDUPE, "--ask", 5, input="y\n" * 9)
    assert done.returncode == 0, done.stderr
    assert "5 of 5 pairs answered" in done.stderr
    after = (tmp_path / "out.csv").read_text()
    assert after != before
    twicetold(*DEDUPE, "--pairs", ANSWERS)
    assert (tmp_path / "out.csv").read_text() == after
    group = [row["group"] for row in rows(tmp_path / "out.csv")]
    assert all(group[int(row["left"]) - 1] == group[int(row["right"]) - 1] for row in rows(file))


def test_other_pairs_are_known_and_not_asked_about(twicetold, file, tmp_path):
    twicetold(*ASK, input="y\n")
    file.rename(tmp_path / "known.csv")
    twicetold(*DEDUPE, "--pairs", "known.csv", "--ask", 1, input="y\n")
    (known,), (asked,) = rows(tmp_path / "known.csv"), rows(file)
    assert (known["left"], known["right"]) != (asked["left"], asked["right"])


def test_answers_are_read_by_calibrate_and_name_ids(twicetold, file):
    twicetold(*ASK, "--id", "id", input="y\n?\nn\n")
    twicetold("label", "questions.csv", "--compare", "letters", "-o", "pairs.csv", "-n", 2)
    done = twicetold("calibrate", "pairs.csv.model", ANSWERS, "-o", "model")
    assert "got 2, of which 1 are duplicates" in done.stderr


def test_texts_that_have_nothing_in_common_are_not_asked_about(twicetold, tmp_path):
    (tmp_path / "questions.csv").write_text("text\nred tent\n")
    done = twicetold(*ASK, input="y\n")
    assert done.returncode == 0, done.stderr
    assert "no other pair is similar enough to ask about" in done.stderr
    assert not (tmp_path / ANSWERS).exists()


def test_what_cannot_be_asked_is_named_and_nothing_is_written(twicetold, run, file, tmp_path):
    for arguments, code, message in (
        (("ask", "-"), 1, "standard input is for the answers"),
        ((*ASK, "-o", "questions.csv"), 2, "would replace questions.csv"),
        ((*ASK, "-o", "answers.jsonl"), 1, "expected a file of answers that ends in .csv"),
        ((*DEDUPE, "--browser"), 2, "give their number with --ask"),
        ((*DEDUPE, "--ask", 3, "--pairs", ANSWERS), 2, "from which the pairs are read"),
        (("dedupe", run(), "questions.csv", "--ask", 3, "-o", "out.csv"), 1, "leave MODEL out"),
    ):
        if ANSWERS in arguments:
            twicetold(*ASK, input="y\n")
        done = twicetold(*arguments, input="y\n")
        assert done.returncode == code, arguments
        assert message in " ".join(done.stderr.replace("│", " ").split()), arguments
        file.unlink(missing_ok=True)
        assert not list(tmp_path.glob("answers*"))
    with (tmp_path / "questions.csv").open("a") as more:
        more.write("222,one more\n")
    file.write_text("left,right,left_text,right_text,probability,same\n1,2,a,b,0.5,1\n")
    assert "Are the pairs of another file?" in twicetold(*ASK, input="y\n").stderr


@pytest.mark.parametrize("doubled", ["left_text", "right", "note"])
def test_a_column_that_is_there_twice_is_named_before_anything_is_asked(twicetold, file, doubled):
    twicetold(*ASK, "-n", 1, input="y\n")
    head, row = file.read_text().splitlines()
    file.write_text(f"{head},note,{doubled}\n{row},mine,again\n")
    before = file.read_text()
    done = twicetold(*ASK, "-n", 2, input="n\n")
    assert done.returncode == 1
    assert f"the column {doubled!r} is there 2 times" in done.stderr
    assert file.read_text() == before
    if doubled != "note":
        done = twicetold(*DEDUPE, "--pairs", file.name)
        assert f"the column {doubled!r} is there 2 times" in done.stderr


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        (("--on", "price,maker,question"), "question"),
        (("--on", "maker,price"), "maker"),
        (("--on", "maker,question", "--text", "maker"), "maker"),
    ],
)
def test_the_text_among_columns_goes_by_its_name_or_is_the_first(options, shown, twicetold, tmp_path):
    rows = {"question": ["a red tent", "a red tents"], "maker": ["Sol & Sons", "Sol and Sons"], "price": ["5", "6"]}
    lines = [",".join(rows), *(",".join(row) for row in zip(*rows.values(), strict=True))]
    (tmp_path / "in.csv").write_text("\n".join(lines))
    links = ("--compare", "letters", "--threshold", "0.01", "--links", "links.csv", "-o", "out.csv")
    done = twicetold("dedupe", "in.csv", *options, *links)
    assert done.returncode == 0, done.stderr
    ((link),) = csv.DictReader((tmp_path / "links.csv").read_text().splitlines())
    assert [link["left_text"], link["right_text"]] == rows[shown]


def test_a_column_that_is_named_twice_counts_once(twicetold, tmp_path):
    lines = [f"a tent for {number % 7} and more,maker {number % 5},{number % 3}" for number in range(30)]
    (tmp_path / "tents.csv").write_text("\n".join(["text,brand,price", *lines]))
    written = []
    for also in (["text,brand,price"], ["brand,brand,text,price"], ["brand,price", "--on", "text"]):
        twicetold("dedupe", "tents.csv", "--compare", "letters", "--on", *also, "-o", "out.csv")
        written.append((tmp_path / "out.csv").read_text())
    assert written[0] == written[1] == written[2]
