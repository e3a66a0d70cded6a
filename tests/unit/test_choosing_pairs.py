"""`tools/choosing_pairs.py`: what it would run, what it leaves out, and the tables that it makes."""

import json
from pathlib import Path
from typing import ClassVar

import pytest

from twicetold.reporting.studies import write_study

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / "tools"


@pytest.fixture
def tool(script_of_tools, monkeypatch):
    """The tool, with 1,000 examples whatever is chosen."""
    monkeypatch.setattr(script_of_tools("pair_ways"), "examples_of", lambda settings: 1000)
    return script_of_tools("choosing_pairs")


@pytest.fixture
def file(tool):
    return tool.Ways.read(tool.WAYS)


@pytest.fixture
def recorded(tool, tmp_path):
    """A runner that notes the calls and writes what they would; `value` is what a training gives on validation."""

    class Recorded(tool.Runner):
        calls: ClassVar[list] = []
        fails: ClassVar[tuple] = ()

        def __call__(self, call):
            type(self).calls.append(call)
            if any(word in f"{call}" for word in self.fails):
                raise ValueError(f"{call}\nthe reason")
            metrics = {"average_precision_cluster": 0.5, "average_precision_story": 0.25, "accuracy": 0.75, "auroc": 1}
            written = {"train": {"metric": "ap", "best_value": 0.5, "best_epoch": 2}}
            written["evaluate"] = {"val": metrics, "test": metrics}
            if call.script != "download":
                call.writes.parent.mkdir(parents=True, exist_ok=True)
                call.writes.write_text(json.dumps(written.get(call.script, {})))
            self.note(call)
            return 3.0

    return Recorded(tmp_path / "done.json", tmp_path / "log")


def training(tool, file, way, *, data="quora_disjoint", encoder="static", seed=0, profile="full"):
    return tool.Training(file, file.data[data], encoder, file.ways[way], seed, profile)


def scripts(runner):
    return [call.script for call in runner.calls]


def run(tool, runner, trainings, results, *, evaluate=False, minutes=float("inf")):
    return tool.run(trainings, results, runner, evaluate=evaluate, minutes=minutes)


def test_data_come_first_then_the_training(tool, file, recorded, tmp_path):
    results = tool.Results.read(tmp_path / "results.json")
    assert not run(tool, recorded, [training(tool, file, "in_batch")], results)
    assert scripts(recorded) == ["download", "prepare", "mine", "train"]
    (row,) = json.loads((tmp_path / "results.json").read_text())
    assert row["val"] == 0.5
    assert row["epochs"] == 240  # a budget of 240,000 examples
    assert row["command"].startswith("python pipelines/train.py data=quora_disjoint ")
    assert "test" not in row


def test_a_teacher_is_trained_before_it_mines_and_mines_before_its_student_learns(tool, file, recorded, tmp_path):
    results = tool.Results.read(tmp_path / "results.json")
    student = training(tool, file, "other_model", seed=4)
    run(tool, recorded, [student], results)
    assert scripts(recorded) == ["download", "prepare", "mine", "train", "mine_with_model", "train"]
    teacher, mining, learning = recorded.calls[-3:]
    assert f"hydra.run.dir={training(tool, file, 'in_batch', seed=4).out}" in teacher.arguments
    assert f"run={training(tool, file, 'in_batch', seed=4).out}" in mining.arguments
    assert f"mined={student.mined}" in mining.arguments
    assert f"examples.mined={student.mined}" in learning.arguments


def test_a_teacher_that_is_there_is_not_trained_again(tool, file, recorded, tmp_path):
    results = tool.Results.read(tmp_path / "results.json")
    run(tool, recorded, [training(tool, file, "in_batch"), training(tool, file, "other_model")], results)
    assert scripts(recorded) == ["download", "prepare", "mine", "train", "mine_with_model", "train"]


def test_the_same_call_goes_on_and_does_nothing_twice(tool, file, recorded, tmp_path):
    trainings = [training(tool, file, way) for way in ("random", "in_batch", "word_vectors")]
    run(tool, recorded, trainings[:1], tool.Results.read(tmp_path / "results.json"))
    before = len(recorded.calls)
    run(tool, recorded, trainings, tool.Results.read(tmp_path / "results.json"))
    assert scripts(recorded)[before:] == ["train", "train", "mine_with_model", "train"]
    before = len(recorded.calls)
    run(tool, recorded, trainings, tool.Results.read(tmp_path / "results.json"))
    assert len(recorded.calls) == before


def test_another_command_is_run_in_the_place_of_the_former(tool, file, recorded, tmp_path, monkeypatch):
    import pair_ways

    results = tool.Results.read(tmp_path / "results.json")
    run(tool, recorded, [training(tool, file, "random")], results)
    monkeypatch.setattr(pair_ways, "examples_of", lambda settings: 60_000)
    run(tool, recorded, [training(tool, file, "random")], results)
    assert scripts(recorded) == ["download", "prepare", "mine", "train", "train"]
    (row,) = json.loads((tmp_path / "results.json").read_text())
    assert row["epochs"] == 4


def test_what_follows_from_a_stage_that_ran_again_runs_again(tool, file, recorded, tmp_path):
    results = tool.Results.read(tmp_path / "results.json")
    student = training(tool, file, "other_model")
    run(tool, recorded, [student], results)
    training(tool, file, "in_batch").train.writes.unlink()
    before = len(recorded.calls)
    run(tool, recorded, [student], results)
    assert scripts(recorded)[before:] == ["train", "mine_with_model", "train"]


def test_test_is_read_where_it_is_asked_for_and_once(tool, file, recorded, tmp_path):
    results = tool.Results.read(tmp_path / "results.json")
    trainings = [training(tool, file, "random")]
    run(tool, recorded, trainings, results)
    assert "evaluate" not in scripts(recorded)
    for _ in range(2):
        run(tool, recorded, trainings, results, evaluate=True)
    assert scripts(recorded)[4:] == ["evaluate"]
    (row,) = json.loads((tmp_path / "results.json").read_text())
    assert row["test"] == row["measured"] == {"average_precision_cluster": 0.5, "accuracy": 0.75}


def test_a_failure_is_named_and_the_others_go_on(tool, file, recorded, tmp_path, capsys):
    type(recorded).fails = ("drawn=true",)
    results = tool.Results.read(tmp_path / "results.json")
    failed = run(tool, recorded, [training(tool, file, way) for way in ("random", "in_batch")], results)
    assert failed == ["quora_disjoint-static-random-0"]
    assert "the reason" in capsys.readouterr().err
    assert [row["way"] for row in json.loads((tmp_path / "results.json").read_text())] == ["in_batch"]


def test_nothing_is_begun_that_would_end_after_the_minutes(tool, file, recorded, tmp_path, monkeypatch, capsys):
    clock = iter(range(0, 10_000, 50))
    monkeypatch.setattr(tool.time, "monotonic", lambda: next(clock))
    trainings = [training(tool, file, way) for way in ("random", "random_4", "bm25", "in_batch")]
    results = tool.Results.read(tmp_path / "results.json")
    run(tool, recorded, trainings, results, minutes=4)  # 240 s; each takes 50 s by this clock, and looking costs 50 s
    assert 0 < len(results.rows) < len(trainings)
    assert "not begun" in capsys.readouterr().out


def test_each_way_is_for_datasets_that_have_what_it_needs(tool, file):
    asked = tool.options(file).parse_args(["--data", "uci_news", "toy_articles", "toy_questions", "--seeds", "0"])
    ways = {}
    for one in tool.chosen(file, asked):
        ways.setdefault(one.data.name, set()).add(one.way.name)
    assert {"cloze", "cloze_always"} == ways["toy_articles"] - ways["uci_news"]  # articles have several sentences
    assert {"labelled", "implied", "self_training"} == ways["toy_questions"] - ways["uci_news"]  # pairs with labels


def test_ways_are_tried_with_one_seed_before_the_next(tool, file):
    seeds = [one.seed for one in tool.chosen(file, tool.options(file).parse_args(["--data", "uci_news"]))]
    assert seeds == sorted(seeds)
    assert set(seeds) == {0, 1, 2}


def test_a_check_leaves_the_models_and_results_of_the_table_alone(tool, file):
    check, full = (training(tool, file, "random", profile=profile) for profile in ("smoke", "full"))
    assert check.out != full.out
    assert check.epochs == 1
    assert "profile=smoke" in check.settings
    assert any(override.startswith("paths.processed=") for override in check.settings)


@pytest.mark.parametrize(("key", "value"), [("of", "magic"), ("data", ["nowhere"]), ("teacher", "nobody")])
def test_a_way_that_names_what_is_not_there_is_refused(tool, tmp_path, key, value):
    text = (TOOLS / "choosing_pairs.toml").read_text()
    ways = tmp_path / "ways.toml"
    before = {"of": 'of = "helps"', "data": 'data = ["toy_articles"]', "teacher": 'teacher = "in_batch"'}[key]
    ways.write_text(text.replace(before, f"{key} = {json.dumps(value)}", 1))
    with pytest.raises(ValueError, match=rf"{key} of ways\.\w+ must name what the file has"):
        tool.Ways.read(ways)


def row(way, seed, val, **further):
    about = {"examples": 1000, "epochs": 4, "val": val, "command": f"train {way}"}
    return {"data": "uci_news", "encoder": "static", "way": way, "seed": seed, **about, **further}


def cells_of(text, head):
    (line,) = (line for line in text.splitlines() if line.startswith(f"| {head} ("))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_a_row_has_mean_and_spread_over_seeds_and_its_difference_from_in_batch_seed_by_seed(tool, file, tmp_path):
    rows = [row("in_batch", 0, 0.5), row("in_batch", 1, 0.7), row("itself", 0, 0.6), row("itself", 1, 0.82)]
    rows += [row("itself", 2, 0.9, test={"average_precision_story": 0.4}, measured={})]
    (tmp_path / "results.json").write_text(json.dumps(rows))
    text = tool.tables(file, tool.Results.read(tmp_path / "results.json"))
    base, better = (cells_of(text, file.ways[way].says) for way in ("in_batch", "itself"))
    assert base[1:] == ["2", "1,000", "4", "0.600 (± 0.141)", "–", "–"]  # no measure of labelled pairs: no column
    assert better[1:] == ["3", "1,000", "4", "0.773 (± 0.155)", "+0.110 (± 0.014)", "0.400"]
    assert "- itself: `train itself`" in text
    assert "quora_disjoint" not in text


def test_tables_go_between_the_marks_of_the_page_and_nothing_else_changes(tool, file, tmp_path):
    from pair_tables import BEGIN, END, write_page

    results = tool.Results(tmp_path / "results.json", {("uci_news", "static", "random", 0): row("random", 0, 0.5)})
    page = tmp_path / "page.md"
    page.write_text(f"# Before\n\n{BEGIN}\nold\n{END}\nafter\n")
    write_page(page, file, results)
    once = page.read_text()
    assert once.startswith(f"# Before\n\n{BEGIN}\n")
    assert once.endswith(f"{END}\nafter\n")
    assert "old" not in once
    write_page(page, file, results)
    assert page.read_text() == once
    page.write_text("# No marks\n")
    with pytest.raises(ValueError, match="must have the lines"):
        write_page(page, file, results)


def test_the_page_and_the_report_have_the_tables_of_the_results(tool, file, tmp_path):
    from pair_tables import study, write_page

    copy = tmp_path / "page.md"
    copy.write_text(tool.PAGE.read_text())
    results = tool.Results.read(tool.RESULTS)
    write_page(copy, file, results)
    assert copy.read_text() == tool.PAGE.read_text(), "python tools/choosing_pairs.py --render writes it anew"
    write_study(study(file, results), tool.RESULTS.stem, tmp_path)
    name = f"study-{tool.RESULTS.stem}.json"
    assert (tmp_path / name).read_text() == (ROOT / "runs" / name).read_text()
