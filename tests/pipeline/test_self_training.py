"""Self-training: a trained model mines, and the stages of its students follow without a cycle."""

import json

import pytest

QUESTIONS = "toy_questions"
MINING = ("hard_negatives", "pseudo_labels")
CELLS = [f"{QUESTIONS}-static_{mining}-0" for mining in MINING]
TRAIN = ("train", f"data={QUESTIONS}", "profile=smoke", "tracking.enabled=false", "model=static")


@pytest.fixture(scope="module")
def lab(finished, tmp_path_factory):
    return finished.copy(tmp_path_factory.mktemp("self_training") / "lab")


def test_self_training_mines_and_trains_students_and_trains_nothing_else(lab):
    lab.grid(data=[QUESTIONS], model=["tfidf", "dae"], students=MINING)
    learnt = {f"{stage}@{cell}" for stage in ("train", "evaluate", "measure") for cell in CELLS}
    ran = lab.ran()
    assert {*(f"mine_with_model@{QUESTIONS}-{mining}-dae-0" for mining in MINING), *learnt} == set(ran)
    lab.run("python", "pipelines/report.py")
    for mining, cell in zip(MINING, CELLS, strict=True):
        folder = lab.root / "data" / "self_training" / f"{QUESTIONS}-{mining}-dae-0"
        assert json.loads((folder / f"{mining}.card.json").read_text())["teacher"] == f"{QUESTIONS}-dae-0"
        assert f"static_{mining}" in (lab.root / "reports" / "index.html").read_text()
        assert f"{QUESTIONS},static_{mining},0,test,auroc," in (lab.root / "reports" / "leaderboard.csv").read_text()
        assert (lab.root / "runs" / cell / "metrics.json").is_file()


def test_a_wider_margin_mines_again_and_labels_nothing_again(lab):
    lab.edit("conf/mining/hard_negatives.yaml", "margin: 0.05", "margin: 0.2")
    again = {f"{stage}@{CELLS[0]}" for stage in ("train", "evaluate", "measure")}
    assert {f"mine_with_model@{QUESTIONS}-hard_negatives-dae-0", *again} == set(lab.ran())


def test_by_hand_a_run_mines_and_another_family_learns_from_it(lab):
    mine = ("mine_with_model", f"data={QUESTIONS}", "teacher=dae")
    learn = (*TRAIN, "teacher=dae", "name=static-self_trained", "hydra.run.dir=runs/by-hand")
    *done, (code, out) = lab.scripts(
        (*mine, "mining=pseudo_labels", "mining.strategy.labels=hard"),
        (*learn, "examples=pseudo_labels"),
        (*mine, "mining=hard_negatives", f"run=runs/{QUESTIONS}-dae-0", "seed=5"),
        (*learn, "examples=hard_negatives", "seed=5"),
        (*learn, "examples=hard_negatives", "seed=6"),
    )
    assert not any(code for code, _ in done), done
    assert all("val auroc" in done[n][1] for n in (1, 3))
    assert code != 0
    assert f"pipelines/mine_with_model.py data={QUESTIONS} mining=hard_negatives" in out


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
