"""Self-training: a trained model mines, and the stages of its students follow without a cycle."""

import json

import pytest

QUESTIONS = "toy_questions"
MINING = "pseudo_labels"
MINED, CELL = f"{QUESTIONS}-{MINING}-dae-0", f"{QUESTIONS}-static_{MINING}-0"
LEARNT = {f"{stage}@{CELL}" for stage in ("train", "evaluate", "measure")}
TRAIN = ("train", f"data={QUESTIONS}", "profile=smoke", "tracking.enabled=false", "model=static")


@pytest.fixture(scope="module")
def lab(finished, tmp_path_factory):
    return finished.copy(tmp_path_factory.mktemp("self_training") / "lab")


def test_self_training_mines_and_trains_students_and_trains_nothing_else(lab):
    lab.grid(data=[QUESTIONS], model=["tfidf", "dae"], students=[MINING])
    assert {f"mine_with_model@{MINED}", *LEARNT} == set(lab.ran())
    lab.run("python", "pipelines/report.py")
    folder = lab.root / "data" / "self_training" / MINED
    assert json.loads((folder / f"{MINING}.card.json").read_text())["teacher"] == f"{QUESTIONS}-dae-0"
    assert f"static_{MINING}" in (lab.root / "reports" / "index.html").read_text()
    assert f"{QUESTIONS},static_{MINING},0,test,auroc," in (lab.root / "reports" / "leaderboard.csv").read_text()
    assert (lab.root / "runs" / CELL / "metrics.json").is_file()


def test_fewer_neighbours_are_mined_again_and_train_no_teacher_again(lab):
    lab.edit("conf/mining/pseudo_labels.yaml", "neighbours: 5", "neighbours: 4")
    assert {f"mine_with_model@{MINED}", *LEARNT} == set(lab.ran())


def test_by_hand_a_run_mines_and_another_family_learns_from_it(lab):
    mine = ("mine_with_model", f"data={QUESTIONS}", "teacher=dae")
    learn = (*TRAIN, "teacher=dae", "name=static-self_trained", "hydra.run.dir=runs/by-hand")
    *done, (code, out) = lab.scripts(
        (*mine, "mining=pseudo_labels", f"run=runs/{QUESTIONS}-dae-0", "seed=5"),
        (*learn, "examples=pseudo_labels", "seed=5"),
        (*learn, "examples=pseudo_labels", "seed=6"),
    )
    assert not any(code for code, _ in done), done
    assert "val auroc" in done[1][1]
    assert code != 0
    assert f"pipelines/mine_with_model.py data={QUESTIONS} mining=pseudo_labels" in out


def test_a_student_is_marked_with_what_its_teacher_was_pretrained_on(lab):
    recipe = lab.root / "runs" / f"{QUESTIONS}-dae-0" / "model" / "recipe.json"
    content = json.loads(recipe.read_text())
    recipe.unlink()  # a link into DVC's cache
    recipe.write_text(json.dumps(content | {"pretrained_on": ["a billion pairs"]}))
    done = lab.scripts(
        ("mine_with_model", f"data={QUESTIONS}", "teacher=dae", "mining=pseudo_labels"),
        (*TRAIN, "teacher=dae", "examples=pseudo_labels", "hydra.run.dir=runs/student"),
    )
    assert not any(code for code, _ in done), done
    student = json.loads((lab.root / "runs" / "student" / "model" / "recipe.json").read_text())
    assert student["pretrained_on"] == ["a billion pairs"]
