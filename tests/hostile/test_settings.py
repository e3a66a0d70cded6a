"""Settings and data that make no sense end with a word about them, status 1, and without a model."""

import pytest

from lab import Lab

DATA = ("data=toy_questions", "profile=smoke", "tracking.enabled=false", "hydra.run.dir=runs/one")


@pytest.mark.parametrize(
    ("settings", "answer"),
    [
        (("model=dae", "optimizer.lr=1e30"), "error: training diverged: "),
        (("model=static", "optimizer.lr=1e30"), "error: training diverged: "),
        (("model=static", "objective=info_nce", "trainer.batch_size=1"), "error: trainer.batch_size=1 leaves InfoNce"),
        (("model=static", "encoder.embedding=0"), "a size in encoder.* is 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(by_hand: Lab, settings: tuple[str, ...], answer: str):
    ((code, out),) = by_hand.scripts(("train", *DATA, *settings))
    assert code == 1
    assert answer in out
    assert "Traceback" not in out
    assert not (by_hand.root / "runs/one/model").exists()
    assert not list((by_hand.root / "build").glob("checkpoints/*"))


DAE = (*DATA, "model=dae")
REFUSED = {
    ("train", *DATA, "model=daee"): "error: there is no model=daee: did you mean model=dae? There are: bge_small, ",
    ("train", *DAE, "objective=none"): "error: examples is chosen and objective=none, so nothing would be trained",
    ("train", "-m", *DAE, "objective.alpha=1,abc"): "error: objective.alpha must be a number; got 'abc'",
    ("train", "-m", *DATA, "model=dae,tfidf", "optimizer.lr=0.1,0.2"): (
        "error: tfidf is not trained here (objective=none and examples=none), so optimizer.lr=0.1 would change nothing"
    ),
    ("sweep", *DATA[:1], "model=tfidf"): "error: conf/sweep/ has no search space for model=tfidf.",
    # Hydra adds what begins with +, so that it does not refuse an unknown key
    ("train", *DATA, "+experiment=static_emma"): (
        "error: there is no experiment=static_emma: did you mean +experiment=static_ema? There are: "
    ),
    ("sweep", *DAE, "+trails=3"): "error: there is no trails: did you mean trials? There are: ",
    ("evaluate", *DAE, "+experiment=foo"): "error: there is no experiment=foo. There are: fair, ",
    ("ensemble", *DATA[:1], "members=[tfidf,dae]", "+stackin=mean"): "error: there is no stackin: did you mean",
    ("download", *DATA[:1], "+experiment=foo"): "error: there is no experiment=foo. There are: fair, ",
    ("prepare", *DATA[:1], "+data.limit=300"): "error: there is no data.limit. There are: name, label, ",
    ("mine", *DATA[:1], "+minig.seed=1"): "error: there is no minig: did you mean mining? There are: ",
    ("mine_with_model", *DATA[:1], "mining=pseudo_labels", "+techer=dae"): (
        "error: there is no techer: did you mean teacher? There are: "
    ),
}


def test_choices_that_make_no_sense_are_refused_in_a_line_by_every_script_before_anything_runs(project: Lab, tmp_path):
    lab = project.copy(tmp_path / "lab")
    makes = [lab.root / name for name in ("data", "multirun", "build", "mlruns/mlflow.db")]
    before = [path for folder in makes for path in folder.rglob("*")]  # what other tests left
    for command, (code, out) in zip(REFUSED, lab.scripts(*REFUSED), strict=True):
        assert code == 1, command
        assert out.startswith(REFUSED[command]), f"{command}: {out}"
        assert len(out.splitlines()) == 2, out  # the second one says how to see a traceback
    assert [path for folder in makes for path in folder.rglob("*")] == before
    assert not (lab.root / "mlruns/mlflow.db").exists()


def test_a_baseline_in_a_sweep_beside_a_trained_family_may_be_given_what_only_the_other_reads(by_hand: Lab):
    ((code, out),) = by_hand.scripts(("train", "-m", *DATA[:-1], "model=tfidf,dae", "trainer.epochs=1"))
    assert code == 0, out
    assert "2 finished" in out


def test_bad_rows_of_ones_own_file_are_answered_with_the_setting_for_them(project: Lab, tmp_path):
    lab = project.copy(tmp_path / "lab")
    rows = [f"text number {n},s{n // 3}" for n in range(120)]
    (lab.root / "mine.csv").write_text("\n".join(["text,event", *rows[:60], ",s20", *rows[60:]]) + "\n")
    own = ("data=documents", "data.source.path=mine.csv", "data.source.text=text", "data.source.story=event")
    refused, prepared, mined = lab.scripts(
        ("prepare", *own), ("prepare", *own, "data.source.bad_rows=skip"), ("mine", *own, "data.label=story")
    )
    assert refused[0] == 1
    assert "mine.csv: 1 row cannot be used" in refused[1]
    assert "line 62, column 'text': expected a text, not an empty one; got ''" in refused[1]
    assert "data.source.bad_rows=skip" in refused[1]
    assert prepared[0] == 0, prepared[1]
    listed = "data/processed/documents/left_out.csv"
    assert f"121 rows, left out: empty 1 (line 62), listed in {listed}" in prepared[1]
    assert (lab.root / listed).read_text().splitlines()[1].startswith("mine.csv,62,")
    assert mined[0] == 0, mined[1]


def test_texts_that_are_the_same_on_both_sides_stop_only_a_training_that_needs_triplets(by_hand: Lab):
    rows = [f"question {n} of all,question {n} of all,{n % 2}" for n in range(200)]
    (by_hand.root / "mine.csv").write_text("\n".join(["left,right,same", *rows]) + "\n")
    columns = ("data.source.left=left", "data.source.right=right", "data.source.label=same")
    own = ("data=pairs", "data.source.path=mine.csv", *columns, "tracking.enabled=false", "hydra.run.dir=runs/one")
    lexical, labelled, triplets = by_hand.scripts(
        ("train", *own, "model=tfidf"),
        ("train", *own, "model=static_mlp", "trainer.epochs=1", "hydra.run.dir=runs/three"),
        ("train", *own, "model=static", "objective=triplet", "examples=triplets", "hydra.run.dir=runs/two"),
    )
    assert lexical[0] == 0, lexical[1]
    assert "triplet" not in lexical[1]  # it reads none, so none are mined
    assert labelled[0] == 0, labelled[1]
    assert "warning: no triplet can be made from the train texts of 'pairs'" in labelled[1]
    assert "0 triplets by random" in labelled[1]
    assert triplets[0] == 1
    assert "error: this training needs triplets, and mining found none: no triplet can be made" in triplets[1]
    assert not (by_hand.root / "runs/two/model").exists()
