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


def test_texts_that_are_the_same_on_both_sides_stop_only_a_training_that_needs_triplets(by_hand: Lab):
    rows = [f"question {n} of all,question {n} of all,{n % 2}" for n in range(200)]
    (by_hand.root / "mine.csv").write_text("\n".join(["left,right,same", *rows]) + "\n")
    columns = ("data.source.left=left", "data.source.right=right", "data.source.label=same")
    own = ("data=pairs", "data.source.path=mine.csv", *columns, "tracking.enabled=false", "hydra.run.dir=runs/one")
    lexical, triplets = by_hand.scripts(
        ("train", *own, "model=tfidf"),
        ("train", *own, "model=static", "objective=triplet", "examples=triplets", "hydra.run.dir=runs/two"),
    )
    assert lexical[0] == 0, lexical[1]
    assert "warning: no triplet can be made from the train texts of 'pairs'" in lexical[1]
    assert "0 triplets by random" in lexical[1]
    assert triplets[0] == 1
    assert "error: this training needs triplets, and mining found none: no triplet can be made" in triplets[1]
    assert not (by_hand.root / "runs/two/model").exists()
