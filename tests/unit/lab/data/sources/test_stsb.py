import pytest

from twicetold_lab.data.sources import stsb


def line(grade, left, right, *more):
    return "\t".join(["main-news", "headlines", "2013", "0001", grade, left, right, *more])


@pytest.fixture
def raw(tmp_path):
    train = [line("5.000", f"train {n}", f"train {n + 1}") for n in range(4)]
    train += [
        line("1.0", "train 0", "train 2"),
        line("3.9", "far", "away"),
        line("4.0", "near", "by", "licence", "url"),
    ]
    files = {"train": train, "dev": [line("2.5", "train 0", "new")], "test": [line("0", '"quoted', "other")]}
    for name, lines in files.items():
        (tmp_path / f"sts-{name}.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def add(raw, name, *lines):
    with (raw / f"sts-{name}.csv").open("a") as out:
        out.writelines(f"{x}\n" for x in lines)
    return raw


def as_copy(raw, folder):
    """The same pairs in the layout of sentence-transformers."""
    lines = ["split\tgenre\tdataset\tyear\tsid\tscore\tsentence1\tsentence2"]
    for split in ("train", "dev", "test"):
        rows = (raw / f"sts-{split}.csv").read_text(encoding="utf-8").splitlines()
        lines += ["\t".join([split, *row.split("\t")[:7]]) for row in rows]
    folder.mkdir()
    (folder / "stsbenchmark.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def saved(corpus, folder):
    corpus.save(folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_copy_of_sentence_transformers_gives_the_same_corpus(raw, tmp_path):
    copy = stsb.read(as_copy(raw, tmp_path / "copy"), name="stsb")
    assert saved(copy, tmp_path / "one") == saved(stsb.read(raw, name="stsb"), tmp_path / "two")


def test_the_official_files_are_read_where_both_are_there(raw, tmp_path):
    (raw / "stsbenchmark.tsv").write_text("not read\n")
    assert sum(len(pairs) for pairs in stsb.read(raw, name="stsb").pairs.values()) == 9


def test_malformed_rows_of_the_copy_are_counted(raw, tmp_path):
    copy = as_copy(raw, tmp_path / "copy")
    with (copy / "stsbenchmark.tsv").open("a") as out:
        out.write("too\tfew\n" + "".join(f"{s}\t{line(g, 'a', 'b')}\n" for s, g in (("dev", "x"), ("other", "1.0"))))
    corpus = stsb.read(copy, name="stsb", max_bad_rows=0.5)
    expected = {"wrong_column_count": 1, "unknown_split": 1, "bad_grade": 1}
    assert corpus.card["malformed"] == {"stsbenchmark.tsv": expected}
    assert corpus.card["rows"] == 12


def test_a_copy_with_another_header_is_refused(tmp_path):
    (tmp_path / "stsbenchmark.tsv").write_text("\t".join("abcdefgh") + "\n")
    with pytest.raises(ValueError, match="expected the tab-separated header"):
        stsb.read(tmp_path, name="x")


def test_the_official_splits_are_kept_with_their_grades(raw):
    corpus = stsb.read(raw, name="stsb")
    assert corpus.kind == "graded_pairs"
    assert {s: p.label.tolist() for s, p in corpus.pairs.items()} == {
        "train": [5, 5, 5, 5, 1, pytest.approx(3.9), 4],
        "val": [2.5],
        "test": [0],
    }
    assert '"quoted' in corpus.texts.to_pylist()


def test_clusters_close_over_the_train_pairs_of_a_high_grade(raw):
    corpus = stsb.read(raw, name="stsb")
    cluster = dict(zip(corpus.texts.to_pylist(), corpus.groups["cluster"], strict=True))
    assert len({cluster[f"train {n}"] for n in range(5)}) == 1
    assert cluster["near"] == cluster["by"]
    assert cluster["far"] != cluster["away"]
    assert cluster["new"] == -1
    assert corpus.card["positive_grade"] == 4.0
    assert corpus.card["clusters"]["contradictions"] == 1


def test_malformed_rows_are_counted_per_file(raw):
    add(
        raw,
        "train",
        "too\tfew",
        line("5.1", "a", "b"),
        line("x", "a", "b"),
        line("3", "", "b"),
        line("3", "a", "b", "1"),
    )
    corpus = stsb.read(raw, name="stsb", max_bad_rows=0.5)
    expected = {"wrong_column_count": 2, "bad_grade": 2, "empty_sentence": 1}
    assert corpus.card["malformed"] == {"sts-train.csv": expected}
    assert corpus.card["rows"] == 14


def test_a_grade_off_the_scale_is_named(raw):
    with pytest.raises(ValueError, match=r"at most 5.0, got 6"):
        stsb.read(raw, name="x", positive_grade=6)
