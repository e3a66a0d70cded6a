"""Made-up rows in the formats of files that cannot be had everywhere, read with the settings of conf/data.

Formats: of Amazon-Google and of tweets, files in public repositories; of PAWS-QQP, the script that writes it; of HLGD,
the card and the loading script of the datasets library.
"""

import json
import zipfile
from pathlib import Path

import pytest
from hydra.utils import get_object
from omegaconf import OmegaConf

CONF = Path(__file__).parents[5] / "conf" / "data"
AMAZON_GOOGLE = "COL title VAL {} COL manufacturer VAL {} COL price VAL {} "


def read(data, raw, **options):
    source = OmegaConf.to_container(OmegaConf.load(CONF / f"{data}.yaml").source)
    return get_object(source.pop("_target_"))(raw, name=data, **{**source, **options})


def pairs_of(corpus, split):
    texts, pairs = corpus.texts.to_pylist(), corpus.pairs[split]
    return [(texts[a], texts[b], int(y)) for a, b, y in zip(pairs.left, pairs.right, pairs.label, strict=True)]


def write_amazon_google(raw):
    folder = raw / "Structured" / "Amazon-Google"
    folder.mkdir(parents=True)
    for file in ("train.txt", "valid.txt", "test.txt"):
        rows = [
            (AMAZON_GOOGLE.format(f"paint 7 {file}", "acme software", "39.99"), AMAZON_GOOGLE.format(*other), label)
            for other, label in ((("acme paint 7", "", "35.5"), 1), (("acme draw 2", "", ""), 0))
        ]
        (folder / file).write_text("".join(f"{left}\t{right}\t{label}\n" for left, right, label in rows))


def write_quora_paws(raw):
    for file, count in (("train.tsv", 30), ("dev_and_test.tsv", 2)):
        pair = "Is `` {0} '' older than it ?\tIs it older than `` {0} '' ?"
        rows = [f"{n}\t{pair.format(f'{file} {n}')}\t{n % 2}" for n in range(count)]
        (raw / file).write_bytes("\r\n".join(["id\tsentence1\tsentence2\tlabel", *rows, ""]).encode())


def write_twitter_url(raw):
    for part, count in (("train", 30), ("test", 2)):
        rows = []
        for n in range(count):
            rows.append(f"{part} number {n} \tit's \" number {n} of {part} \t(5,6)\thttps://t.co/a")
            rows.append(f"{part} number {n} \tperhaps {n} {part} \t(3,6)\thttps://t.co/a")
            rows.append(f"{part} number {n} \tsomething else {n} {part}\t(1,6)\t\thttps://t.co/a")
        (raw / f"Twitter_URL_Corpus_{part}.txt").write_text("\n".join([*rows, ""]))


def write_hlgd(raw, **changed):
    with zipfile.ZipFile(raw / "hlgd_classification_0.1.zip", "w") as packed:
        for part in ("train", "dev", "test"):
            rows = [{"headline_a": f"{part}: a", "headline_b": f"{part}: {label}", "label": label} for label in (1, 0)]
            packed.writestr(f"{part}.json", json.dumps(changed.get(part, rows)))


WRITERS = {
    "amazon_google": write_amazon_google,
    "quora_paws": write_quora_paws,
    "twitter_url": write_twitter_url,
    "hlgd": write_hlgd,
}


@pytest.mark.parametrize("data", WRITERS)
def test_the_settings_read_a_miniature_and_keep_the_published_test(tmp_path, data):
    WRITERS[data](tmp_path)
    corpus = read(data, tmp_path)
    assert corpus.pairs["test"].label.mean() == 0.5
    assert all(len(corpus.pairs[split]) for split in ("train", "val"))
    assert corpus.card["split"] == "official"
    assert not corpus.card["malformed"]


def test_a_record_of_amazon_or_google_is_its_columns_in_a_line(tmp_path):
    write_amazon_google(tmp_path)
    corpus = read("amazon_google", tmp_path)
    assert pairs_of(corpus, "val")[0] == ("paint 7 valid.txt acme software 39.99", "acme paint 7 35.5", 1)
    assert set(corpus.fields) == {"title", "manufacturer", "price"}


def test_validation_is_drawn_from_train_and_shares_no_text_with_it(tmp_path):
    write_quora_paws(tmp_path)
    one, other = (read("quora_paws", tmp_path, seed=seed) for seed in (0, 1))
    assert {split: len(pairs) for split, pairs in one.pairs.items()} == {"train": 27, "val": 3, "test": 2}
    assert one.card["audit"]["val"]["equal_texts_in_train"] == 0
    assert pairs_of(one, "val") != pairs_of(other, "val")
    assert pairs_of(one, "test")[0][0] == "Is `` dev_and_test.tsv 0 '' older than it ?"


def test_pairs_of_three_votes_are_left_out_and_counted_and_a_second_tab_is_no_fault(tmp_path):
    write_twitter_url(tmp_path)
    corpus = read("twitter_url", tmp_path)
    assert corpus.card["undecided"] == 32
    assert pairs_of(corpus, "test")[:2] == [
        ("test number 0", "it's \" number 0 of test", 1),
        ("test number 0", "something else 0 test", 0),
    ]


def test_bad_entries_of_an_archive_are_counted_with_their_places(tmp_path):
    rows = [{"headline_a": f"a {n}", "headline_b": "b", "label": n % 2} for n in range(9)]
    write_hlgd(tmp_path, train=[*rows, {"headline_a": "a", "label": 1}, {**rows[0], "label": "same"}])
    corpus = read("hlgd", tmp_path, max_bad_rows=0.5)
    assert corpus.card["malformed_lines"] == {"train.json": {"empty_text": [10], "bad_label": [11]}}
    with pytest.raises(ValueError, match="2 of 11 rows are bad"):
        read("hlgd", tmp_path)


@pytest.mark.parametrize("broken", [{"train": {"a": 1}}, {"train": [1]}, {"train": []}])
def test_an_archive_with_something_else_is_named(tmp_path, broken):
    write_hlgd(tmp_path, **broken)
    with pytest.raises(ValueError, match=r"train.json"):
        read("hlgd", tmp_path)
    (tmp_path / "hlgd_classification_0.1.zip").write_text("no archive")
    with pytest.raises(ValueError, match="expected a zip archive"):
        read("hlgd", tmp_path)
