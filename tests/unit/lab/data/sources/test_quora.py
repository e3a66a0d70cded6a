import hashlib

import numpy as np
import pyarrow as pa
import pytest

from delimited_text import delimited
from twicetold_lab.data.sources import quora
from twicetold_lab.data.sources.quora import FingerprintedPairs, fingerprints
from twicetold_lab.data.splits import TEST, VAL

HEADER = "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n"


def write(folder, rows, extra=""):
    (folder / "quora_duplicate_questions.tsv").write_text(HEADER + delimited(rows, "\t") + extra)
    return folder


def pairs(count, *, every=3):
    """Pair n asks questions 2n and 2n + 1; every third is a duplicate."""
    return [
        [n, 2 * n, 2 * n + 1, f"question {2 * n}", f"question {2 * n + 1}", int(n % every == 0)] for n in range(count)
    ]


@pytest.fixture
def publish(monkeypatch):
    """A function that puts other pairs (label, question, question) in the place of the published partition."""

    def _publish(val, test, least=0.95):
        labels, left, right = zip(*val, *test)
        forms = (quora.normal_form(pa.array(texts)).to_pylist() for texts in (left, right))
        side = np.repeat([VAL, TEST], [len(val), len(test)]).astype(np.int8)
        published = FingerprintedPairs(fingerprints(*forms), np.array(labels, np.float32), side)
        monkeypatch.setattr(quora, "_wang_partition", lambda: published)
        monkeypatch.setattr(quora, "LEAST_MATCHED", least)

    return _publish


def spoken(corpus, split):
    return {
        (corpus.texts[int(a)].as_py(), corpus.texts[int(b)].as_py(), float(c))
        for a, b, c in zip(*(getattr(corpus.pairs[split], x) for x in ("left", "right", "label")), strict=True)
    }


def test_not_available_is_a_question_and_quoted_fields_are_read(tmp_path):
    rows = pairs(30)
    rows[0][3:5] = ["n/a", 'say "this"\nand\tthat']
    rows[1][3:5] = ["NA", "null"]
    rows[0][4] = 'say "this"\nand that'
    corpus = quora.read(write(tmp_path, rows), name="quora", val_pairs=4, test_pairs=4)
    assert {"n/a", "NA", "null", 'say "this"\nand that'} <= set(corpus.texts.to_pylist())
    assert corpus.card["malformed"] == {}
    assert sum(len(p) for p in corpus.pairs.values()) == 30


def test_malformed_rows_are_counted_by_reason_with_their_lines(tmp_path):
    bad = (
        "90\t1\t2\tonly five\tfields\n"
        "91\t1\t2\t\tempty\t1\n"
        "92\t1\t2\tx\ty\tmaybe\n"
        "93\t\t2\tx\ty\t1\n"
        '94\t1\t2\t"never closed\ty\t0\n95\t3\t4\tlost\tlost too"\ty\t0\n'
    )
    raw = write(tmp_path, pairs(30), bad)
    corpus = quora.read(raw, name="x", val_pairs=4, test_pairs=4, max_bad_rows=0.2)
    assert corpus.card["malformed"] == {
        "wrong_column_count": 2,
        "unclosed_quote": 1,
        "missing_qid": 1,
        "empty_question": 1,
        "bad_label": 1,
    }
    assert corpus.card["malformed_lines"] == {
        "wrong_column_count": [32, 37],
        "unclosed_quote": [36],
        "missing_qid": [35],
        "empty_question": [33],
        "bad_label": [34],
    }
    assert corpus.card["rows"] == 36
    assert sum(len(p) for p in corpus.pairs.values()) == 30


def test_more_malformed_rows_than_allowed_are_an_error_that_names_their_lines(tmp_path):
    write(tmp_path, pairs(30), "too\tfew\n")
    with pytest.raises(ValueError, match=r"quora_duplicate_questions.tsv: 1 of 31 rows .* at most 1.0%") as e:
        quora.read(tmp_path, name="x", val_pairs=4, test_pairs=4)
    assert "wrong_column_count 1 (line 32)" in str(e.value)
    assert "+data.source.max_bad_rows=<share>" in str(e.value)


def test_a_question_is_known_by_its_qid(tmp_path):
    rows = [*pairs(30), [30, 0, 100, "question 0?", "question 100", 1], [31, 101, 102, "question 100", "x", 0]]
    corpus = quora.read(write(tmp_path, rows), name="x", val_pairs=4, test_pairs=4)
    assert len(set(corpus.ids.to_pylist())) == len(corpus) == 63
    assert corpus.card["texts_with_several_qids"] == 1
    assert corpus.card["further_spellings_of_a_qid"] == 1
    assert corpus.texts[corpus.ids.to_pylist().index("0")].as_py() == "question 0"


def test_the_random_split_is_balanced_and_seeded(tmp_path):
    raw = write(tmp_path, pairs(300))
    corpus = quora.read(raw, name="x", val_pairs=40, test_pairs=20, seed=5)
    assert {s: (len(p), float(p.label.sum())) for s, p in corpus.pairs.items()} == {
        "train": (240, 70.0),
        "val": (40, 20.0),
        "test": (20, 10.0),
    }
    assert spoken(corpus, "test") == spoken(quora.read(raw, name="x", val_pairs=40, test_pairs=20, seed=5), "test")
    assert spoken(corpus, "test") != spoken(quora.read(raw, name="x", val_pairs=40, test_pairs=20, seed=6), "test")


def test_the_disjoint_split_shares_no_question_even_under_two_qids(tmp_path):
    rows = pairs(200) + [
        [500 + n, 1000 + n, 2 * n, f"Question {2 * n + 1} ?", f"question {2 * n}", 0] for n in range(50)
    ]
    corpus = quora.read(write(tmp_path, rows), name="x", split="disjoint")
    forms = [
        {quora.normal_form(pa.array([t]))[0].as_py() for t in corpus.texts_of(s)} for s in ("train", "val", "test")
    ]
    assert all(forms[a].isdisjoint(forms[b]) for a, b in ((0, 1), (0, 2), (1, 2)))
    assert [len(corpus.pairs[s]) for s in ("val", "test")] == pytest.approx([25, 25], abs=2)


def test_wang_matches_pairs_on_letters_and_digits_in_either_order_and_takes_them_from_train(tmp_path, publish):
    rows = pairs(30)
    rows[0][3:5] = ["What's (really) “new”?", "Why 3,000.5 €?"]
    rows[1][3:5] = ["straße", "Second"]
    rows.append([31, 201, 202, "What's really new", "why 3000 5", 1])  # the same pair in normal form, spelt otherwise
    val = [(1, "Why 3,000.5 € ?", "What 's -LRB- really -RRB- `` new '' ?"), (0, "STRASSE ?", "second")]
    test = [(0, "question 4", "question 5"), (1, "never seen !", "question 7 .")]
    publish(val, test, least=0.75)
    corpus = quora.read(write(tmp_path, rows), name="quora_wang", split="wang")
    assert len(corpus.pairs["train"]) == 31 - 4
    assert spoken(corpus, "val") == {("Why 3,000.5 €?", "What's (really) “new”?", 1.0), ("straße", "Second", 0.0)}
    assert spoken(corpus, "test") == {("question 4", "question 5", 0.0)}
    assert not any("really" in left + right for left, right, _ in spoken(corpus, "train"))
    assert corpus.card["partition"] == {
        "pairs": 4,
        "matched": 3,
        "matched_with_another_label": 0,
        "not_in_the_file": {"val": 0, "test": 1},
        "pairs_that_left_train": 4,
        "of_these_further_copies": 1,
        "repeated_pairs": 0,
    }


def test_wang_keeps_the_published_order_and_the_pairs_that_were_published_twice(tmp_path, publish):
    publish([(0, f"question {2 * n}", f"question {2 * n + 1}") for n in (9, 4, 7)], [(0, "question 9", "question 8")])
    corpus = quora.read(write(tmp_path, pairs(30)), name="x", split="wang")
    val = corpus.pairs["val"]
    assert [corpus.texts[int(a)].as_py() for a in val.left] == ["question 18", "question 8", "question 14"]
    assert spoken(corpus, "test") == {("question 9", "question 8", 0.0)}
    assert corpus.card["partition"]["repeated_pairs"] == 1


def test_wang_takes_the_label_of_the_partition_and_counts_where_it_differs(tmp_path, publish):
    publish([(0, "question 0", "question 1")], [(0, "question 2", "question 3")])
    corpus = quora.read(write(tmp_path, pairs(30)), name="x", split="wang")
    assert corpus.card["partition"]["matched_with_another_label"] == 1
    assert corpus.pairs["val"].label.tolist() == [0.0]


def test_wang_needs_a_file_that_has_nearly_all_published_pairs(tmp_path):
    with pytest.raises(ValueError, match=r"0 of the 20,000 dev and test pairs.*95%.*404,290 pairs.*data=quora"):
        quora.read(write(tmp_path, pairs(30)), name="x", split="wang")


def test_the_published_partition_comes_with_the_package():
    published = quora._wang_partition()
    assert np.bincount(published.side).tolist() == [0, 10_000, 10_000]
    assert [published.label[published.side == side].sum() for side in (VAL, TEST)] == [5_000, 5_000]
    assert len(np.unique(published.fingerprint)) == 20_000 - 2  # two pairs were published twice in the same order
    assert quora.PARTITION.stat().st_size < 170_000


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I 'm -LSB- 23 -RSB-", "I'm [23]"),
        ("Größe ?", "GRÖSSE?"),
        ("a\nb", "a b"),
        ("शब्द ?", "शब्द?"),
    ],
)
def test_tokenisation_does_not_change_the_normal_form(one, other):
    forms = quora.normal_form(pa.array([one, other]))
    assert forms[0] == forms[1]


def test_texts_without_letters_have_themselves_as_normal_form():
    assert quora.normal_form(pa.array(["?", "???", "A?"])).to_pylist() == ["?", "???", "a"]


def test_an_unknown_split_is_refused(tmp_path):
    with pytest.raises(ValueError, match="'pairs', 'wang' or 'disjoint', got 'other'"):
        quora.read(tmp_path, name="x", split="other")


def some() -> FingerprintedPairs:
    side = np.array([VAL, VAL, TEST], np.int8)
    return FingerprintedPairs(fingerprints("abc", "xyz"), np.array([1, 0, 1], np.float32), side)


def test_a_fingerprint_is_a_hash_that_no_process_and_no_platform_changes():
    digest = hashlib.blake2b("größe\nb".encode(), digest_size=8).digest()
    assert fingerprints(["größe"], ["b"]).tolist() == [int.from_bytes(digest, "little")]
    assert fingerprints(["a"], ["b"]).tolist() == [0x5F9761D5F2E96DA7]
    assert len(np.unique(fingerprints(["a", "b", "ab", ""], ["b", "a", "", "ab"]))) == 4


def test_saved_pairs_are_loaded_again_and_saved_to_the_same_bytes(tmp_path):
    some().save(tmp_path / "one.npz")
    some().save(tmp_path / "two.npz")
    data = (tmp_path / "one.npz").read_bytes()
    assert data == (tmp_path / "two.npz").read_bytes()
    loaded = FingerprintedPairs.load(tmp_path / "one.npz", sha256=hashlib.sha256(data).hexdigest())
    for name, values in vars(some()).items():
        np.testing.assert_array_equal(getattr(loaded, name), values)
        assert getattr(loaded, name).dtype == values.dtype
    with pytest.raises(ValueError, match="was changed: expected sha256 00"):
        FingerprintedPairs.load(tmp_path / "one.npz", sha256="0" * 64)
