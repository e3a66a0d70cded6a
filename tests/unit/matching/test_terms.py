"""Terms of texts: folding, codes that other signs break up, and what is not compared."""

import csv
import re
from itertools import accumulate
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from twicetold.features import letter_tfidf
from twicetold.matching import terms as module
from twicetold.matching.terms import CODE_LENGTHS, Terms, compared_in_words, incidence, squeeze

TEXTS = ["Sony TX-SR706 receiver, 16GB", "sony txsr706", "Straße 5.50 %", "STRASSE 5.5", "", "a tx sr 706 receiver"]


def test_incidence_has_one_where_a_text_has_a_term_in_alphabetical_order() -> None:
    rows, names = incidence([["b", "a", "b"], [], ["c"]])
    assert names == ["a", "b", "c"]
    np.testing.assert_array_equal(rows.toarray(), [[1, 1, 0], [0, 0, 0], [0, 0, 1]])


def test_texts_are_read_in_their_normal_form() -> None:
    terms = Terms.of(["STRASSE", "straße", "co\N{SOFT HYPHEN}op", "coop"])
    assert (terms.words @ terms.words.T).toarray()[0, 1] == pytest.approx(1)
    assert (terms.words @ terms.words.T).toarray()[2, 3] == pytest.approx(1)


def test_a_sign_of_a_script_without_blanks_is_a_word_and_no_part_of_a_code() -> None:
    terms = Terms.of(["华为ovr-5154平板 16GB", "ノートpc", "tablet ovr5154"])
    assert [terms.vocabulary[word] for word in terms.present[[0]].indices] == sorted(
        ["华", "为", "ovr", "5154", "平", "板", "16gb"]
    )
    assert {"ノ", "ー", "ト", "pc"} <= set(terms.vocabulary)
    assert (terms.codes @ terms.codes.T).toarray()[0, 2] == 1


def test_a_code_is_contained_whatever_stands_between_its_letters() -> None:
    terms = Terms.of(TEXTS)
    assert terms.codes.shape[1] == 2  # txsr706, 16gb
    column = terms.codes.toarray()[1].argmax()
    assert terms.contained.toarray()[:, column].tolist() == [1, 1, 0, 0, 0, 1]


def test_codes_are_found_as_by_a_search_of_strings() -> None:
    draw = np.random.default_rng(0)
    texts = ["".join(draw.choice(list("ab12 -é"), 30)) for _ in range(60)]
    terms = Terms.of(texts)
    squeezed = [squeeze(text) for text in texts]
    codes = sorted({code for text in squeezed for code in [text[:5]]} | set())
    assert codes
    assert terms.codes.shape[1]
    names = _names(texts)
    expected = [[float(_holds(text, name)) for name in names] for text in texts]
    np.testing.assert_array_equal(terms.contained.toarray(), expected)


def _holds(text: str, code: str) -> bool:
    """Whether a code is in the letters and digits of a text, and cuts no number."""
    pieces = [piece for piece in re.split(r"[\W_]+", text) if piece]
    letters, edges = "".join(pieces), set(accumulate(map(len, pieces), initial=0))

    def cuts(at: int) -> bool:
        return at not in edges and letters[at - 1].isdigit() and letters[at].isdigit()

    places = [at for at in range(len(letters)) if letters.startswith(code, at)]
    return any(not cuts(at) and not cuts(at + len(code)) for at in places)


def _names(texts: list[str]) -> list[str]:
    found = {squeeze(part) for text in texts for part in text.split(" ")}
    pieces = {piece for text in texts for piece in text.split(" ")}
    names = {squeeze(piece.strip("-")) for piece in pieces} & found
    return sorted(name for name in names if len(name) in CODE_LENGTHS and any(map(str.isdecimal, name)))


@pytest.mark.parametrize("texts", [["", ""], ["!", "?"], ["a"]])
def test_texts_without_words_have_empty_rows(texts: list[str]) -> None:
    terms = Terms.of(texts)
    assert terms.letters.shape[0] == terms.words.shape[0] == len(texts)
    assert np.isfinite(terms.words.data).all()


def test_words_that_a_deletion_makes_equal_to_too_many_are_counted_and_not_compared() -> None:
    crowd = [f"custom{chr(0xAC00 + number)}er" for number in range(module.CROWD + 1)]
    terms = Terms.of([*crowd, "receiver", "receivr"])
    assert terms.crowded == len(crowd)
    assert terms.spelt.nnz == 2
    assert Terms.of(crowd[1:]).crowded == 0
    assert Terms.of(crowd[1:]).spelt.nnz == module.CROWD * (module.CROWD - 1)


def test_terms_are_the_same_however_many_texts_are_read_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["Sony TX-SR706, 16 GB", "", "sony txsr706 + €5", "a red shoe", "red shoe, a", "the end"]
    whole = vars(Terms.of(texts))
    monkeypatch.setattr(module, "READ", 2)
    monkeypatch.setattr(letter_tfidf, "COUNTED", 2)
    for name, value in vars(Terms.of(texts)).items():
        plain = [each.toarray() if hasattr(each, "toarray") else each for each in (value, whole[name])]
        np.testing.assert_array_equal(*plain, err_msg=name)


def test_codes_are_the_same_however_many_letters_are_searched_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(0)
    texts = ["", *("".join(draw.choice(list("ab12 -"), 30)) for _ in range(60)), ""]
    at_once = Terms.of(texts).contained.toarray()
    monkeypatch.setattr(module, "SEARCHED", 50)
    assert at_once.any()
    np.testing.assert_array_equal(Terms.of(texts).contained.toarray(), at_once)


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ("eos70", True),
        ("eos-70 12 mp", True),
        ("eos 70", True),
        ("eos700", False),
        ("eos7 0", True),
        ("1 eos70d", True),
    ],
)
def test_a_code_is_not_found_in_a_longer_number(text: str, there: bool) -> None:
    terms = Terms.of(["the eos70", text])
    contained = terms.contained.toarray()[:, terms.codes.toarray()[0] > 0]
    assert contained.tolist() == [[1.0], [float(there)]]


def test_of_long_texts_the_words_that_most_of_them_have_are_left_out_and_the_texts_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = ["a red shoe + a blue hat", "a red shoe, a green coat", "a red tent"]
    assert Terms.of(texts).shortened == 0
    monkeypatch.setattr(module, "FEWEST", 3)
    monkeypatch.setattr(module, "WORDS", 0)
    terms, whole = Terms.of(texts), Terms.of_folded(texts, whole=True)
    kept = [{terms.vocabulary[word] for word in terms.present[[row]].indices} for row in range(3)]
    assert kept == [{"blue", "hat", "a"}, {"coat", "green", "a"}, {"a", "red", "tent"}]
    assert (terms.shortened, terms.symbols.nnz + terms.signs.nnz) == (2, 1)
    assert (whole.shortened, whole.present.nnz) == (0, 13)


@pytest.mark.parametrize("read", [1, 5, 64])
def test_terms_do_not_depend_on_how_many_texts_are_read_at_a_time(read, monkeypatch):
    with Path("examples/questions.csv").open() as file:
        texts = [row["question"] for row in csv.DictReader(file)][:90]
    texts += ["", "Sony TX-SR706 16gb", "sony txsr706, $5", "play station 4", "playstation 4", "C++ §3", "東京1丁目"]
    whole = Terms.of(texts)
    monkeypatch.setattr(module, "READ", read)
    parts = Terms.of(texts)
    for name, column in vars(whole).items():
        other = getattr(parts, name)
        if name == "order":  # which pair of words a column is says nothing
            column, other = (rows @ rows.T for rows in (column, other))
        if sparse.issparse(column):
            assert column.shape == other.shape
            assert abs(column - other).nnz == 0, name
        else:
            np.testing.assert_array_equal(column, other)


def test_links_count_only_where_a_text_says_nothing_else() -> None:
    said = [f"rain in oslo so the race moves {link}" for link in ("https://t.co/x7q2", "http://t.co/9f-33", "")]
    terms = Terms.of([*said, "https://t.co/x7q2", "read https://t.co/9f-33"])
    assert terms.length[:3].tolist() == [terms.length[2]] * 3
    assert terms.codes[:3].nnz == 0 < terms.codes[3].nnz
    assert (terms.words[[3]] @ terms.words[[0]].T).nnz == 0
    assert compared_in_words(said[0], said[1]) == ["7 of 7 words in both"]
