"""A dedupe of a folder in stages: as of one file, whatever its parts are and whatever ends it."""

import gzip
import json
import shutil
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.dataset import dataset
from safetensors.numpy import load_file, save_file

import twicetold
from twicetold import layout
from twicetold.dedupe.pairs import LOG_ODDS
from twicetold.evaluation.thresholds import LabelledLinks
from twicetold.files import TEMPORARY
from twicetold.matching import terms
from twicetold.matching.generic import generic_matcher
from twicetold.staged import folder_dedupe as module
from twicetold.staged.launch import here
from twicetold.staged.plan import Settings
from twicetold.trained.threshold_record import CalibrationRecord, MatchedLinks

BASIC = "bank rate cut film drug trial phone star vote game chip tax law gas ship road".split()


def as_one_file(model, texts, **options):
    found = (twicetold.load(model) if model else twicetold.fit(texts)).dedupe(texts, **options)
    return found, [found.group.tolist(), (found.representative + 1).tolist(), found.probability.tolist()]


def columns(table):
    names = ("group", "representative", "probability_to_representative")
    return [table[name].to_pylist() for name in names]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"sense": "copies"},
        {"sense": "topic"},
        {"keep": "longest", "rule": "complete"},
        {"rule": "components", "threshold": 0.9},
        {"pairs": (list(range(0, 24, 2)), list(range(1, 24, 2)), [True, False] * 6)},
    ],
)
def test_groups_are_those_of_one_file_whatever_the_parts_are(options, many, parts, deduped, small):
    alone, expected = as_one_file(None, many, **options)
    assert alone.summary.counts.groups > 10
    for count in (1, 3, 7):
        launch, tasks = stopping(-1)
        found, table = deduped(None, parts(many, count), f"out{count}", launch=launch, **options, **small)
        assert columns(table) == expected
        assert table["text"].to_pylist() == many
        assert found.summary == alone.summary
        assert sum(stage == "near" for stage, _ in tasks) > 1 or options.get("sense") == "topic"


def test_many_rows_of_few_texts_are_compared_as_those_of_a_file(many, parts, deduped, small):
    texts, (launch, tasks) = many[:100] * 3, stopping(-1)
    found, table = deduped(None, parts(texts, 2), launch=launch, **small)
    alone, expected = as_one_file(None, texts)
    assert columns(table) == expected
    assert found.summary == alone.summary
    assert ("distinct", "all") in tasks
    assert "sort" not in dict(tasks)


def test_without_vectors_blocks_are_compared_by_terms_alone(many, parts, deduped, small, monkeypatch):
    monkeypatch.setattr("twicetold.trained.fitted._installed", lambda: None)
    alone, expected = as_one_file(None, many)
    found, table = deduped(None, parts(many, 2), **small)
    assert columns(table) == expected
    assert found.summary == alone.summary


def test_equal_texts_that_a_person_keeps_apart_are_in_two_groups(many, parts, deduped, small):
    texts, pairs = [*many, many[0].upper()], ([0], [len(many)], [False])
    _, expected = as_one_file(None, texts, pairs=pairs)
    assert columns(deduped(None, parts(texts, 2), pairs=pairs, **small)[1]) == expected
    assert expected[0][0] != expected[0][-1]


def test_other_options_after_a_stop_are_those_of_what_is_written(many, parts, deduped, small):
    folder = parts(many, 2)
    launch, tasks = stopping(-1)
    deduped(None, folder, "whole", launch=launch, **small)
    with pytest.raises(Stopped):
        deduped(None, folder, launch=stopping(len(tasks) - 1)[0], **small)
    _, table = deduped(None, folder, keep="longest", **small)
    assert columns(table) == as_one_file(None, many, keep="longest")[1]


def test_long_texts_are_shortened_by_the_words_of_all_blocks(parts, deduped, small, monkeypatch):
    monkeypatch.setattr(terms, "FEWEST", 8)
    monkeypatch.setattr(terms, "WORDS", 1)
    rng = np.random.default_rng(0)
    words = [f"{one}{other}" for one in BASIC for other in BASIC]
    texts = [" ".join(rng.choice(words, rng.integers(4, 30))) for _ in range(300)]
    texts += [f"{text} {rng.choice(words)}" for text in texts[:100]]
    alone, expected = as_one_file(None, texts)
    assert any("long texts" in warning for warning in alone.summary.warnings)
    found, table = deduped(None, parts(texts, 2), **small)
    assert columns(table) == expected
    assert found.summary == alone.summary


def test_columns_of_parts_count_as_those_of_one_file(many, parts, tmp_path):
    numbers = list(range(len(many)))
    code = [str(number % 3) for number in numbers]
    folder = parts(many, 5)
    for path in folder.iterdir():
        part = pq.read_table(path)
        pq.write_table(part.append_column("code", pa.array([code[n] for n in part["n"].to_pylist()])), path)
    asked = {"same": ["code"], "within": [("n", "300")], "keep": ("highest", "n")}
    given = {"same": [code], "within": [(numbers, "300")], "keep": ("highest", numbers)}
    alone = twicetold.fit(many).dedupe(many, **given)
    module.dedupe_folder(folder, Settings(model="", out=f"{tmp_path / 'out'}", **asked), here)
    table = pa.concat_tables(map(pq.read_table, sorted((tmp_path / "out").glob("*.parquet"))))
    assert columns(table) == [alone.group.tolist(), (alone.representative + 1).tolist(), alone.probability.tolist()]


def test_a_model_with_a_matcher_groups_a_folder_as_one_file(run, many, parts, deduped, monkeypatch):
    model, record = run(), CalibrationRecord("pairs.csv", 20, same=0.1, accuracy=0.6)
    links = LabelledLinks("in.csv", 90, 5, 400, 20, 0.0, ())
    moved = MatchedLinks(generic_matcher(vectors=False), LOG_ODDS, links)
    read = "twicetold.trained.threshold_record._read"
    of_file = {layout.MATCHER: replace(record, matched=moved)}
    monkeypatch.setattr(read, lambda _, name, *further, **also: of_file.get(name))
    alone, expected = as_one_file(model, many)
    assert alone.why is not None
    for count in (1, 5):
        found, table = deduped(model, parts(many, count), f"out{count}")
        assert columns(table) == expected
        assert found.summary == alone.summary


@pytest.mark.parametrize("family", ["static", "tfidf"])
def test_a_model_of_similarities_groups_a_folder_as_one_file(family, run, many, parts, deduped):
    model, numbers = run(family), list(range(len(many)))
    expected = as_one_file(model, many, threshold=0.9, within=[(numbers, "300")])[1]
    assert columns(deduped(model, parts(many, 2), threshold=0.9, within=[("n", "300")])[1]) == expected


def test_rows_that_are_dropped_are_written_to_a_folder_that_readers_pass_over(run, many, parts, deduped, tmp_path):
    folder, dropped = parts(many, 3), tmp_path / "out" / "_dropped"
    found, table = deduped(run(), folder, threshold=0.9, drop=True)
    alone, _ = as_one_file(run(), many, threshold=0.9)
    assert table["n"].to_pylist() == alone.kept().tolist()
    assert found.groups == len(alone.kept())
    _, whole = deduped(run(), folder, "all", threshold=0.9)
    assert not (tmp_path / "all" / "_dropped").exists()
    again = pa.concat_tables(map(pq.read_table, sorted(dropped.iterdir())))
    assert pa.concat_tables([table, again]).sort_by("n").equals(whole)
    assert found.dropped_parts == {path.name: path.stat().st_size for path in dropped.iterdir()}
    assert dataset(tmp_path / "out", exclude_invalid_files=True).count_rows() == len(table)
    lost = dropped / "part-2.parquet"
    before = lost.read_bytes()
    lost.unlink()
    deduped(run(), folder, threshold=0.9, drop=True)
    assert lost.read_bytes() == before
    (folder / "part-1.parquet").unlink()
    deduped(run(), folder, threshold=0.9, drop=True)
    assert sorted(path.name for path in dropped.iterdir()) == ["part-0.parquet", "part-2.parquet"]
    deduped(run(), folder, threshold=0.9)
    assert not dropped.exists()


def test_doubtful_groups_of_a_folder_are_warned_of_as_of_one_file(run, many, parts, deduped):
    texts = [*many[:15], *(f"{text} {n}" for n, text in enumerate(many[:15]))]
    found, _ = deduped(run(), parts(texts, 3), threshold=0.9, rule="components")
    alone, _ = as_one_file(run(), texts, threshold=0.9, rule="components")
    for what in ("rows", "chain", "differ only in digits or codes"):
        assert any(what in said for said in found.summary.warnings), what
    assert found.summary.warnings == alone.summary.warnings


class Stopped(Exception):
    pass


def stopping(after):
    """A launcher that ends after so many tasks, and the tasks that it did."""
    told = []

    def launch(folder, tasks):
        for task in here(folder, tasks):
            told.append((task.stage, task.name))
            if len(told) == after:
                raise Stopped
            yield task

    return launch, told


def test_stopped_at_any_stage_it_goes_on_and_writes_the_same(many, parts, deduped, small, tmp_path):
    folder = parts(many, 2)
    launch, tasks = stopping(-1)
    deduped(None, folder, "whole", launch=launch, **small)
    expected = {path.name: path.read_bytes() for path in (tmp_path / "whole").glob("*.parquet")}
    out = tmp_path / "out"
    stages = [stage for stage, _ in tasks]
    for after in sorted({stages.index(stage) + 1 for stage in stages}):
        launch, done = stopping(after)
        with pytest.raises(Stopped):
            deduped(None, folder, launch=launch, **small)
        assert not (out / module.SUMMARY).exists()
        launch, rest = stopping(-1)
        deduped(None, folder, launch=launch, **small)
        assert done + rest == tasks
        assert {path.name: path.read_bytes() for path in out.glob("*.parquet")} == expected
        shutil.rmtree(out)


def test_the_summary_is_written_last_and_the_same_command_again_does_nothing(run, many, parts, deduped, tmp_path):
    folder, lines = parts(many, 2), []
    first, table = deduped(run(), folder, threshold=0.9)
    written = json.loads((tmp_path / "out" / module.SUMMARY).read_text())
    assert written["summary"]["groups"] == first.summary.counts.groups
    assert len(np.unique(table["group"])) == first.groups
    assert not (tmp_path / "out" / module.STAGES).exists()
    launch, tasks = stopping(-1)
    again, _ = deduped(run(), folder, threshold=0.9, launch=launch, progress=lines.append)
    assert tasks == []
    assert again == first
    assert "nothing is to be done" in lines[0]


def test_copies_in_a_part_that_is_added_or_removed_are_counted(many, parts, deduped, small):
    folder = parts(many, 3)
    deduped(None, folder, **small)
    more = parts(many[:200], 1, "more")
    (more / "part-0.parquet").rename(folder / "part-9.parquet")
    for texts in ([*many, *many[:200]], many):
        found, table = deduped(None, folder, **small)
        alone, expected = as_one_file(None, texts)
        assert columns(table) == expected
        assert found.groups == len(alone.kept())
        for name in ("groups", "grouped", "largest"):
            assert getattr(found.summary.counts, name) == getattr(alone.summary.counts, name)
        (folder / "part-9.parquet").unlink(missing_ok=True)


def test_another_model_in_the_same_place_is_read_by_the_same_process(run, many, parts, deduped):
    model, folder = run(), parts(many[:90], 1)
    deduped(model, folder, "one", threshold=0.9)
    weights = model / layout.MODEL / layout.WEIGHTS
    save_file({name: array**3 for name, array in load_file(weights).items()}, weights)
    _, table = deduped(model, folder, "other", threshold=0.9)
    assert columns(table) == as_one_file(model, many[:90], threshold=0.9)[1]


@pytest.mark.parametrize("moment", ["whole", "killed"])
def test_what_was_written_for_a_part_that_is_gone_is_deleted(moment, run, many, parts, deduped, tmp_path):
    folder = parts(many[:90], 3)
    launch, tasks = stopping(-1)
    deduped(run(), folder, threshold=0.9, launch=launch)
    if moment == "killed":
        shutil.rmtree(tmp_path / "out")
        with pytest.raises(Stopped):
            deduped(run(), folder, threshold=0.9, launch=stopping(len(tasks) - 1)[0])
    assert (tmp_path / "out" / "part-1.parquet").exists()
    (folder / "part-1.parquet").unlink()
    _, table = deduped(run(), folder, threshold=0.9)
    assert sorted(path.name for path in (tmp_path / "out").glob("*.parquet")) == ["part-0.parquet", "part-2.parquet"]
    assert table["text"].to_pylist() == many[:30] + many[60:90]
    (folder / "part-2.parquet").unlink()
    (folder / "part-0.parquet").rename(folder / "other.parquet")
    with pytest.raises(FileExistsError, match=r"found part-0\.parquet, part-2\.parquet"):
        deduped(run(), folder, threshold=0.9)


def test_a_damaged_part_is_named_and_what_was_done_is_kept(run, many, parts, deduped, tmp_path):
    folder = parts(many, 3)
    whole = (folder / "part-2.parquet").read_bytes()
    (folder / "part-2.parquet").write_bytes(whole[:-100])
    with pytest.raises(ValueError, match=r"part-2\.parquet: cannot be read as a Parquet file"):
        deduped(run(), folder, threshold=0.9)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [module.STAGES]
    (folder / "part-2.parquet").write_bytes(whole)
    launch, tasks = stopping(-1)
    _, table = deduped(run(), folder, threshold=0.9, launch=launch)
    assert [name for stage, name in tasks if stage == "read"] == ["part-2.parquet"]
    assert columns(table) == as_one_file(run(), many, threshold=0.9)[1]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of the writer that is given up
@pytest.mark.parametrize("rows", [slice(1, None), slice(None, None, -1)])
def test_a_part_that_changes_while_it_is_read_is_named(rows, run, many, parts, deduped, tmp_path):
    folder = parts(many, 2)

    def launch(path, tasks):
        if tasks[0].stage == "join":
            table = pq.read_table(folder / "part-1.parquet")
            pq.write_table(table.take(np.arange(len(table))[rows]), folder / "part-1.parquet")
        yield from here(path, tasks)

    with pytest.raises(ValueError, match=r"part-1\.parquet was changed while it was read"):
        deduped(run(), folder, threshold=0.9, launch=launch)


def test_bad_rows_are_named_or_left_out(run, deduped, tmp_path):
    folder, told = tmp_path / "csv", []
    folder.mkdir()
    (folder / "a.csv").write_text("text,x\nbank rate cut,1\n,2\n")
    (folder / "b.csv.gz").write_bytes(gzip.compress(b"text,x\nBank  rate cut,3\n"))
    with pytest.raises(ValueError, match=r"a\.csv: 1 row cannot be used"):
        deduped(run(), folder)
    _, table = deduped(run(), folder, skip_bad=True, progress=told.append)
    assert table["x"].to_pylist() == ["1", "3"]
    assert table["group"].to_pylist() == [0, 0]
    assert any("a.csv: bad rows left out: 1" in line for line in told)


def test_bad_rows_are_in_no_part_and_in_a_folder_of_their_own(run, deduped, tmp_path):
    folder, bad = tmp_path / "csv", tmp_path / "out" / "_bad"
    folder.mkdir()
    (folder / "a.csv").write_text("text,x\nbank rate cut,1\n,2\nbank rate  cut,4\n")
    (folder / "b.csv").write_text("text,x\nfilm star vote,3\n")
    _, table = deduped(run(), folder, skip_bad=True, drop=True)
    assert table["x"].to_pylist() == ["1", "3"]
    assert [path.name for path in bad.iterdir()] == ["a.parquet"]
    (row,) = pq.read_table(bad / "a.parquet").to_pylist()
    assert row["line"] == 3
    assert "text" in row["why"]
    assert row["content"] == ",2"
    before = (bad / "a.parquet").read_bytes()
    (bad / "a.parquet").unlink()
    deduped(run(), folder, skip_bad=True, drop=True)
    assert (bad / "a.parquet").read_bytes() == before
    (bad / f"{TEMPORARY}b.parquet").touch()  # as a kill leaves it
    (folder / "a.csv").write_text("text,x\nbank rate cut,1\nbank rate  cut,4\n")
    deduped(run(), folder, skip_bad=True, drop=True)
    assert not any(bad.iterdir())
    deduped(run(), folder, skip_bad=True)
    assert not bad.exists()


def test_texts_in_different_columns_are_told(run, tmp_path):
    folder = tmp_path / "csv"
    folder.mkdir()
    for name, head in (("a", "text,title"), ("b", "title,text"), ("c", "title,n")):
        (folder / f"{name}.csv").write_text(f"{head}\nbank rate cut,drug trial\n")
    told = []
    settings = [Settings(model=f"{run() / layout.MODEL}", out=f"{tmp_path / name}") for name in ("one", "other")]
    module.dedupe_folder(folder, settings[0], here, progress=told.append)
    assert "warning: the texts of parts are in different columns, 'title' (c.csv), 'text' (a.csv)" in "\n".join(told)
    (folder / "c.csv").unlink()
    module.dedupe_folder(folder, settings[1], here, progress=told.append)
    assert sum("different columns" in line for line in told) == 1


def test_keys_that_json_lines_have_in_later_rows_alone_are_columns(run, deduped, tmp_path, monkeypatch):
    monkeypatch.setattr("twicetold.tables.reading.BLOCK", 40)
    folder = tmp_path / "lines"
    folder.mkdir()
    rows = [{"text": "bank rate cut"}, {"text": "drug trial", "b": "1"}, {"text": "vote game", "a": "x"}]
    (folder / "a.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    _, table = deduped(run(), folder, "kept", threshold=0.9, drop=True)
    assert table.column_names[:2] == ["text", "b"]
    assert table.select(["text", "b", "a"]).to_pylist() == [{"b": None, "a": None} | row for row in rows]
    (folder / "a.jsonl").write_text((folder / "a.jsonl").read_text() + '{"text": "film", "group": 1}\n')
    told = []
    with pytest.raises(ValueError, match=r"a\.jsonl: there is a column 'group' already"):
        deduped(run(), folder, threshold=0.9, progress=told.append)
    assert not any(line.startswith("compare") for line in told)


def test_what_labels_say_against_a_model_is_a_warning_as_for_one_file(run, many, parts, deduped, monkeypatch):
    def calibrated_by(record):
        read = "twicetold.trained.threshold_record._read"
        monkeypatch.setattr(read, lambda _, name, *further, **also: record if name == layout.CALIBRATION else None)

    record = CalibrationRecord("pairs.csv", 20, same=0.1, accuracy=0.6)
    calibrated_by(record)
    found, _ = deduped(run(), parts(many[:90], 1), threshold=0.9)
    alone, _ = as_one_file(run(), many[:90], threshold=0.9)
    assert any("always answering no is right for 90.0%" in warning for warning in alone.summary.warnings)
    assert found.summary.warnings == alone.summary.warnings
    calibrated_by(replace(record, about="another label"))
    found, _ = deduped(run(), parts(many[:90], 1, "in2"), "out2", threshold=0.9)
    assert found.summary.warnings == as_one_file(run(), many[:90], threshold=0.9)[0].summary.warnings
    assert not any("always answering" in warning for warning in found.summary.warnings)


def test_texts_without_a_link_are_groups_of_their_own(run, parts, deduped):
    found, table = deduped(run(), parts(["bank rate", "drug trial", "vote game"], 2), threshold=0.999999)
    assert table["group"].to_pylist() == [0, 1, 2]
    assert found.summary.counts.largest == 1


def test_folders_that_cannot_be_used_are_named(run, many, parts, deduped, tmp_path):
    folder = parts(many, 2)
    with pytest.raises(ValueError, match="expected parts that end in"):
        deduped(run(), run())
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("x")
    with pytest.raises(FileExistsError, match=r"found mine\.txt"):
        deduped(run(), folder)
    with pytest.raises(ValueError, match="expected a new folder apart from"):
        deduped(run(), folder, "in2/out")
    (folder / "part-0.csv.gz").write_bytes(b"")
    with pytest.raises(ValueError, match=r"would both be part-0\.parquet"):
        deduped(run(), folder)


def test_parts_have_the_names_of_those_that_are_read_up_to_the_format(run, deduped, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    names = ("part.0.csv", "part.1.csv", "2024.12.tsv", "v1.2.jsonl.gz", "PART.CSV")
    for name in names:
        lines = b'{"text": "bank rate"}\n' if ".jsonl" in name else b"text\nbank rate\n"
        (folder / name).write_bytes(gzip.compress(lines) if name.endswith("gz") else lines)
    found, _ = deduped(run(), folder)
    assert set(found.parts) == {f"{name}.parquet" for name in ("part.0", "part.1", "2024.12", "v1.2", "PART")}


def test_parts_may_be_links_to_files_of_other_names(run, many, parts, deduped, tmp_path):
    folder = parts(many[:90], 2)
    (folder / "part-1.parquet").rename(tmp_path / "0123abcd")
    (folder / "part-1.parquet").symlink_to(tmp_path / "0123abcd")
    _, table = deduped(run(), folder, threshold=0.9)
    assert columns(table) == as_one_file(run(), many[:90], threshold=0.9)[1]


def test_a_model_without_vectors_is_refused_before_anything_is_read(run, many, parts, deduped, monkeypatch):
    folder = parts(many, 1)
    (folder / "part-0.parquet").write_bytes(b"damaged")
    with pytest.raises(ValueError, match="no thresholds for a target precision"):
        deduped(run(), folder, precision=0.9)


def test_a_model_of_pairs_alone_is_refused_before_anything_is_read(run, many, parts, deduped, monkeypatch):
    folder = parts(many, 1)
    (folder / "part-0.parquet").write_bytes(b"damaged")
    monkeypatch.setattr(type(twicetold.load(run()).trained.read(["a"])), "searchable", property(lambda _: False))
    with pytest.raises(TypeError, match="scores pairs only"):
        deduped(run(), folder)


def test_a_second_process_is_refused(run, many, parts, deduped, tmp_path):
    folder = parts(many, 1)

    def launch(path, tasks):
        if tasks[0].stage == "read":
            with pytest.raises(BlockingIOError, match="does this already"):
                deduped(run(), folder)
        yield from here(path, tasks)

    deduped(run(), folder, launch=launch)


def test_a_full_disk_is_named_and_what_was_done_is_kept(many, parts, deduped, small, monkeypatch):
    folder = parts(many, 2)

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("twicetold.staged.near_stages.write_arrays", full)
        with pytest.raises(OSError, match="No space left"):
            deduped(None, folder, **small)
    launch, tasks = stopping(-1)
    deduped(None, folder, launch=launch, **small)
    assert tasks[0][0] == "centres"
