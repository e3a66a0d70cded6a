"""The second round: a trained model teaches, and the stages that learn from it follow without a cycle."""

import json

import pytest

QUESTIONS = "toy_questions"
LESSONS = ("dense_negatives", "pseudo_labels", "soft_labels")
CELLS = [f"{QUESTIONS}-static-{lesson}-0" for lesson in LESSONS]


@pytest.fixture(scope="module")
def lab(finished, tmp_path_factory):
    return finished.copy(tmp_path_factory.mktemp("second") / "lab")


def second_round(**changed):
    return {"data": [QUESTIONS], "teacher": "dae", "model": ["static"], "examples": list(LESSONS), **changed}


def test_a_teacher_that_is_not_in_the_grid_is_an_error_that_says_so(lab):
    lab.grid(second_round=second_round(teacher="dssm"))
    code, out = lab.attempt("dvc", "repro")
    assert code != 0
    assert "second_round.teacher=dssm must be in model of params.yaml" in out


def test_a_second_round_teaches_trains_again_and_trains_nothing_of_the_first(lab):
    lab.grid(second_round=second_round())
    again = {f"{stage}_again@{cell}" for stage in ("train", "evaluate") for cell in CELLS}
    ran = lab.ran()
    assert {"compose", *(f"teach@{QUESTIONS}-{lesson}-0" for lesson in LESSONS), *again, "report"} == set(ran)
    for lesson, cell in zip(LESSONS, CELLS, strict=True):
        folder = lab.root / "data" / "second_round" / f"{QUESTIONS}-{lesson}-0"
        assert json.loads((folder / f"{lesson}.card.json").read_text())["teacher"] == f"{QUESTIONS}-dae-0"
        assert f"static-{lesson}" in (lab.root / "reports" / "index.html").read_text()
        assert f"{QUESTIONS},static-{lesson},0,test,auroc," in (lab.root / "reports" / "leaderboard.csv").read_text()
        assert (lab.root / "runs" / cell / "metrics.json").is_file()


def test_a_second_round_that_is_there_does_nothing_twice(lab):
    assert lab.ran() == []


def test_a_wider_margin_mines_again_and_labels_nothing_again(lab):
    lab.edit("conf/lesson/dense_negatives.yaml", "margin: 0.05", "margin: 0.2")
    again = {f"{stage}_again@{CELLS[0]}" for stage in ("train", "evaluate")}
    assert {"compose", f"teach@{QUESTIONS}-dense_negatives-0", *again, "report"} == set(lab.ran())


def test_without_a_second_round_only_the_report_forgets_it(lab):
    lab.grid(second_round={"data": [], "teacher": None, "model": [], "examples": []})
    assert lab.ran() == ["compose", "report"]
    assert "pseudo_labels" not in (lab.root / "reports" / "leaderboard.csv").read_text()


def test_by_hand_a_run_teaches_and_the_same_family_learns_from_it(lab):
    run = ["python", "pipelines/train.py", f"data={QUESTIONS}", "profile=smoke", "tracking=off", "model=static"]
    teacher = f"run=runs/{QUESTIONS}-dae-0"
    lab.run("python", "pipelines/teach.py", f"data={QUESTIONS}", "lesson=dense_negatives", teacher, "seed=5")
    out = lab.run(*run, "examples=dense_negatives", "seed=5", "hydra.run.dir=runs/by-hand")
    assert "val auroc" in out
    code, out = lab.attempt(*run, "examples=dense_negatives", "seed=6", "hydra.run.dir=runs/by-hand")
    assert code != 0
    assert f"pipelines/teach.py data={QUESTIONS} lesson=dense_negatives" in out


def test_a_student_of_its_own_family_is_joined_by_its_teacher(lab):
    second = second_round(teacher="static", joined=True, overrides=["committee=2"])
    lab.grid(model=["tfidf", "dae", "static"], second_round=second)
    lab.run("dvc", "repro", f"train_again@{QUESTIONS}-static-soft_labels-0")
    first, second = (lab.root / "runs" / f"{QUESTIONS}-{name}-0" / "model" for name in ("static", "static-soft_labels"))
    judges = [json.loads((model / "recipe.json").read_text())["committee"] for model in (first, second)]
    assert judges == [1, 3]
    run = ["python", "pipelines/train.py", f"data={QUESTIONS}", "profile=smoke", "tracking=off", "model=static"]
    joined = [f"joined=runs/{QUESTIONS}-static-0", "hydra.run.dir=runs/joined"]
    code, out = lab.attempt(*run, *joined, "encoder.embedding=8")
    assert code != 0
    assert f"joined=runs/{QUESTIONS}-static-0 was trained with other encoder" in out
    code, out = lab.attempt(*run, "joined=runs/nowhere", "hydra.run.dir=runs/joined")
    assert code != 0
    assert "no trained model in runs/nowhere/model" in out
