"""What runs after which change: every row is one edit of a finished pipeline and the stages that answer it.

The rows share one lab and follow each other; each starts from the finished pipeline that the row before it left.
"""

import http.server
import shutil
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NEWS, QUESTIONS = "toy_news", "toy_questions"
DATA = (NEWS, QUESTIONS)


@pytest.fixture(scope="module")
def lab(finished, tmp_path_factory):
    return finished.copy(tmp_path_factory.mktemp("dag") / "lab")


def weights(lab):
    return lab.bytes_of(f"runs/{NEWS}-dae-0/model")


def test_when_nothing_changed_nothing_runs(lab):
    assert lab.ran() == []


def test_a_clone_and_a_commit_that_changes_no_stage_leave_dvc_lock_as_it_is(lab, tmp_path):
    lab.append("src/twicetold/models/dae.py", "\n# A note.\n")
    lab.append("src/twicetold_lab/reporting/figures.py", "\nEDITED = True\n")  # code of no stage
    lab.commit()
    lab.run("git", "clone", "--quiet", f"{lab.root}", f"{tmp_path / 'clone'}")
    clone = replace(lab, root=tmp_path / "clone")
    clone.run("dvc", "cache", "dir", "--local", f"{lab.root / '.dvc' / 'cache'}")
    assert clone.ran() == []
    assert clone.run("git", "status", "--porcelain") == ""


def test_what_no_stage_reads_runs_nothing(lab):
    lab.edit("conf/model/dae.yaml", "# @package _global_\n", "# @package _global_\n# A note.\n")
    lab.edit("conf/evaluation.yaml", "uri: null", "uri: http://127.0.0.1:5000")  # where runs are tracked
    lab.edit("conf/train.yaml", "progress: auto", "progress: false")  # how they are computed
    lab.edit("conf/objective/denoising_triplet.yaml", "alpha: ", "alpha: 7 # ")  # conf/tuned has another
    for folder, kind in (("src/twicetold/models", "py"), ("conf/model", "yaml")):  # a family that is not in the grid
        shutil.copy(lab.root / folder / f"tfidf.{kind}", lab.root / folder / f"second.{kind}")
    lab.edit("conf/model/second.yaml", "name: tfidf", "name: second")
    lab.edit("conf/model/second.yaml", "twicetold.models.tfidf.", "twicetold.models.second.")
    smaller = "# @package _global_\ndata: {source: {limit: 300}}\ntrainer: {epochs: 2}\n"
    (lab.root / "conf/profile/smaller.yaml").write_text(smaller)
    assert lab.ran() == []


def test_the_evaluator_reruns_every_evaluation_and_no_training(lab, cells):
    lab.edit("conf/evaluation.yaml", "resamples: 1000", "resamples: 200")
    evaluated = cells("evaluate", data=DATA, model=["tfidf", "dae"])
    assert evaluated == set(lab.ran())


def test_what_was_deleted_comes_from_the_cache_but_for_costs_which_are_observed_anew(lab, cells):
    outputs = ("build/conf", "data/processed", "data/raw", "data/triplets", "runs")
    unmade = ("observed.json", "README.md")  # which no stage depends on

    def made():
        return {path: content for path, content in lab.bytes_of(*outputs).items() if not path.endswith(unmade)}

    before = made()
    for folder in outputs:
        shutil.rmtree(lab.root / folder)
    assert cells("measure", data=DATA, model=["tfidf", "dae"]) == set(lab.ran())
    after = made()
    costs = {path for path in before if path.endswith("cost.json")}
    assert {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)} <= costs
    assert len(costs) == len(DATA) * 2


def test_a_feature_makes_the_numbers_of_the_matcher_stale_which_no_cell_waits_for(lab):
    stage, file = "pipelines/matcher/dvc.yaml", "src/twicetold/matching/pair_features.py"
    assert "up to date" in lab.run("dvc", "status", stage)
    text = (lab.root / file).read_text()
    lab.append(file, "\nEDITED = True\n")
    assert all(ran.startswith("evaluate@") for ran in lab.ran())  # which moves the matcher by validation
    assert "code.learn_matcher" in lab.run("dvc", "status", stage)
    out = lab.run("python", f"{ROOT / 'tools' / 'run_grid.py'}", "--jobs", "1")
    assert "0 stages ran" in out
    (lab.root / file).write_text(text)
    assert lab.ran() == []


def test_a_smaller_grid_runs_nothing_and_its_report_has_no_other_cells(lab):
    lab.grid(data=[NEWS])
    assert lab.ran() == []
    lab.run("python", "pipelines/report.py")
    assert QUESTIONS not in (lab.root / "reports" / "leaderboard.csv").read_text()


def test_an_objective_and_an_encoder_retrain_their_family_and_no_data_stage(lab, cells):
    before = weights(lab)
    lab.edit("conf/objective/denoising_triplet.yaml", "reconstruction: cross_entropy", "reconstruction: mean_squared")
    lab.edit("conf/model/dae.yaml", "hidden: 50", "hidden: 40")
    assert cells("train evaluate measure", data=[NEWS], model=["dae"]) == set(lab.ran())
    assert before != weights(lab)


def test_a_module_retrains_its_family_and_the_same_weights_end_it_there(lab, cells):
    before = weights(lab)
    lab.append("src/twicetold/models/dae.py", "\nEDITED = True\n")
    # evaluation and measurement run this code as well
    assert cells("train evaluate measure", data=[NEWS], model=["dae"]) == set(lab.ran())
    assert before == weights(lab)


def test_other_triplets_run_those_who_learn_from_them(lab, cells):
    lab.edit("conf/mining/default.yaml", "seed: 0", "seed: 1")  # neither family here learns from triplets
    trained = cells("train", data=[NEWS], model=["tfidf", "dae"])
    assert {f"mine@{NEWS}", *trained} == set(lab.ran())


def test_a_word_in_params_yaml_runs_the_cells_of_that_family(lab, cells):
    lab.grid(model=["tfidf", "dae", "second"])
    assert cells("train evaluate measure", data=[NEWS], model=["second"]) == set(lab.ran())


def test_another_profile_runs_what_it_changes(lab):
    lab.grid(model=["tfidf"])
    assert lab.ran() == []
    lab.grid(profile="smaller")
    expected = [f"prepare@{NEWS}", f"mine@{NEWS}", f"train@{NEWS}-tfidf-0"]
    ran = lab.ran()
    assert expected == [stage for stage in ran if not stage.startswith(("evaluate", "measure"))]
    assert {*expected, f"evaluate@{NEWS}-tfidf-0", f"measure@{NEWS}-tfidf-0"} == set(ran)


def test_back_at_the_former_profile_costs_alone_are_observed_anew(lab):
    lab.grid(profile="smoke")
    assert lab.ran() == [f"measure@{NEWS}-tfidf-0"]


@pytest.fixture
def graded_pairs(tmp_path):
    """The STS benchmark in small, at two addresses of this machine."""
    words = "bank film drug phone court storm match plane vote song".split()
    for place in ("here", "there"):
        (tmp_path / place).mkdir()
        for split, rows in (("train", 40), ("dev", 20), ("test", 20)):
            lines = [
                f"main-news\tMSRpar\t2012test\t{row:04}\t{row % 6}.000\tthe {words[row % 10]} number {row} is new"
                f"\tthe {words[(row + (row % 6 < 4)) % 10]} number {row} was seen"
                for row in range(rows)
            ]
            (tmp_path / place / f"sts-{split}.csv").write_text("\n".join(lines) + "\n")
    handler = partial(Quiet, directory=f"{tmp_path}")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def leaf(address):
    files = "".join(
        f"  - name: sts-{split}.csv\n    source: small\n    urls: [{address}/sts-{split}.csv]\n"
        for split in ("train", "dev", "test")
    )
    source = "  _target_: twicetold_lab.data.sources.stsb.read\n  positive_grade: 4.0\n  seed: 0\n  limit: null\n"
    return f"name: small\nlabel: cluster\ndownload:\n{files}source:\n{source}"


def test_another_address_for_the_same_bytes_mines_and_trains_nothing(lab, graded_pairs):
    recipe: Path = lab.root / "conf" / "data" / "small.yaml"
    recipe.write_text(leaf(f"{graded_pairs}/here"))
    lab.grid(data=["small"])
    cell = "small-tfidf-0"
    data = ["download@small", "prepare@small", "mine@small"]
    assert {*data, f"train@{cell}", f"evaluate@{cell}", f"measure@{cell}"} == set(lab.ran())
    recipe.write_text(leaf(f"{graded_pairs}/there"))
    shutil.rmtree(lab.root / "data" / "downloads")
    assert {"download@small"} <= set(ran := lab.ran()) <= {*data[:2]}, ran


OWN = """
defaults: [pairs, _self_]
name: mine
source: {path: data/own/pairs.csv, left: a, right: b, label: same}
"""


def own_pairs(count):
    words = "bank film drug phone court storm match plane vote song".split()
    rows = [f"the {words[n % 10]} of day {n},a {words[(n + n % 2) % 10]} on day {n},{1 - n % 2}" for n in range(count)]
    return "\n".join(["a,b,same", *rows]) + "\n"


def test_an_edit_of_ones_own_file_prepares_it_again_and_no_other_data(lab, tmp_path):
    cell, data = "mine-tfidf-0", ["prepare@mine", "mine@mine"]
    (lab.root / "conf/data/mine.yaml").write_text(OWN)
    kept = tmp_path / "pairs.csv"
    kept.write_text(own_pairs(200))
    (lab.root / "data/own/pairs.csv").symlink_to(kept)
    lab.grid(data=[NEWS, "mine"], model=["tfidf"])
    ran = lab.ran()
    assert {f"train@{cell}", f"evaluate@{cell}", *data} <= set(ran)
    assert lab.ran() == []
    kept.write_text(own_pairs(100))
    assert {*data, f"train@{cell}", f"evaluate@{cell}", f"measure@{cell}"} == set(lab.ran())
    (lab.root / "data/own/other.csv").write_text("of no dataset")
    assert lab.ran() == []
    assert lab.run("git", "status", "--porcelain", "data/own") == ""
