import numpy as np
import pytest

from twicetold_lab.data.sources import nli

HEADER = "sent0,sent1,hard_neg\n"


def write(folder, rows, header=HEADER):
    lines = [",".join(f'"{field}"' for field in row) for row in rows]
    (folder / nli.FILE).write_text(header + "".join(f"{line}\n" for line in lines), encoding="utf-8")


def read(folder, **options):
    return nli.read(folder, name="nli", **options)


def rows_of(count, *, of=lambda n: f"person {n}"):
    return [(f"{of(n)}, in a hat, plays", f"{of(n)} plays a thing", f"{of(n)} sleeps") for n in range(count)]


def pairs_of(corpus):
    texts = corpus.texts.to_pylist()
    return {
        (texts[left], texts[right]): label
        for pairs in corpus.pairs.values()
        for left, right, label in zip(pairs.left.tolist(), pairs.right.tolist(), pairs.label.tolist())
    }


def test_each_row_gives_an_entailed_pair_and_a_contradicting_one(tmp_path):
    write(tmp_path, rows_of(30))
    found = pairs_of(read(tmp_path))
    assert len(found) == 60
    assert found["person 3, in a hat, plays", "person 3 plays a thing"] == 1
    assert found["person 3, in a hat, plays", "person 3 sleeps"] == 0


def test_premises_that_share_a_sentence_go_to_one_side(tmp_path):
    shared = [(f"premise {n}", f"follows {n // 3}", f"contradicts {n}") for n in range(90)]
    write(tmp_path, shared)
    corpus = read(tmp_path, seed=1)
    side = {text: split for split in corpus.members for text in corpus.texts_of(split)}
    assert len(side) == len(corpus)
    assert all(side[f"premise {n}"] == side[f"follows {n // 3}"] for n in range(90))
    assert np.isclose(len(corpus.pairs["train"]) / 180, 0.8, atol=0.05)


def test_rows_that_teach_nothing_are_counted_by_reason(tmp_path):
    odd = [("same", "same", "other"), ("a", "", "b"), ("person 2, in a hat, plays", "person 2 plays a thing", "new")]
    write(tmp_path, [*rows_of(30), *odd])
    card = read(tmp_path, max_bad_rows=0.1).card
    assert card["rows"] == 33
    assert card["malformed"] == {"empty_sentence": 1, "equal_sentences": 1}
    assert card["repeated_pairs"] == 1


def test_another_header_is_refused(tmp_path):
    write(tmp_path, rows_of(3), header="premise,hypothesis,label\n")
    with pytest.raises(ValueError, match=r"comma-separated header .*'hard_neg'"):
        read(tmp_path)


@pytest.mark.real
def test_of_the_real_file_nearly_all_rows_are_sound_and_clusters_stay_small(mirror):
    corpus = nli.read(mirror / "nli", name="nli")
    assert sum(corpus.card["malformed"].values()) < 0.005 * corpus.card["rows"]
    assert corpus.card["clusters"]["largest"] < 100
    shares = [pairs.label.mean() for pairs in corpus.pairs.values()]
    assert np.allclose(shares, 0.5, atol=0.02)
