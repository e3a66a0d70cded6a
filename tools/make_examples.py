"""Make `examples/`: generated questions, of which some are asked again with other spelling, and a model for such pairs.

The model compares letter trigrams, so it needs no training: trigrams and their weights come from other generated
questions, and threshold and calibration from pairs of further ones.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipelines"))
import checkout  # noqa: F401 (for its effects)

import argparse
import csv
import hashlib
from dataclasses import replace

import numpy as np

from twicetold.augmentation.alterations import Alterations
from twicetold.data.sources.toy_grammar import fill, tell
from twicetold.data.sources.toy_questions import INTENTS, LEXICON
from twicetold.evaluation.decision import Decision, decide
from twicetold.evaluation.inputs import ScoredPairs
from twicetold.evaluation.selection import PRIMARY, Selection
from twicetold.features.letter_tfidf import LetterTfIdf
from twicetold.files import write_file
from twicetold.neighbours.nearest import Index
from twicetold.trained.model_folder import construct
from twicetold.trained.scoring import Scorer
from twicetold.training.cell import Trained
from twicetold.training.schedule import Fitted

SEED = 0
AGAIN = 120  # questions of the file that are asked again
FITTED_ON = 8  # questions by each rule of the grammar, for the model
FEATURES = {"_target_": "twicetold.features.letter_tfidf.LetterTfIdf"}
ENCODER = {"_target_": "twicetold.models.tfidf.TfIdfCosine"}
SPELT = Alterations(drop=0.04, swap=0.08, typo=0.15, synonym=0.0, vectors=None, nearest=1, least_cosine=0.0)
FORMS = (str, str.lower, str.upper, lambda text: text.rstrip("?"), lambda text: f"{text.rstrip('?')} ???")


def main() -> None:
    """Make both."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "examples")
    out: Path = parser.parse_args().out
    write_questions(out / "questions.csv")
    save_model(out / "model")


def write_questions(file: Path) -> None:
    """Write a question by each rule of the grammar, and other spellings of some, in any order."""
    rng = np.random.default_rng(SEED)
    questions = asked(1, rng)
    texts = [*questions, *again(rng.choice(questions, AGAIN).tolist(), rng)]
    with write_file(file) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["id", "question"])
        writer.writerows(enumerate((texts[place] for place in rng.permutation(len(texts))), 1))


def save_model(folder: Path) -> None:
    """Fit the featuriser, choose the decision on pairs of other questions and write the model folder."""
    rng = np.random.default_rng(SEED + 1)
    train, val = asked(FITTED_ON, rng), asked(FITTED_ON, rng)
    featuriser = LetterTfIdf().fit(train)
    scorer = Scorer(featuriser, construct(ENCODER, "models", **featuriser.shape).eval(), Decision(0.0, 1.0, 0.0))
    # The hardest pairs that do not say the same: each question and the one most alike.
    vectors = scorer.embed(val)
    near = Index(vectors).search(vectors, k=2).index
    other = np.where(near[:, 0] == np.arange(len(val)), near[:, 1], near[:, 0])
    right = [*again(val, rng), *(val[place] for place in other.tolist())]
    pairs = ScoredPairs(scorer.score(val + val, right), np.repeat([1.0, 0.0], len(val)).astype(np.float32))
    metric, value = Selection(PRIMARY).primary_value("labelled_pairs", pairs)
    scorer = replace(scorer, decision=decide(pairs.score, pairs.label))
    trained = Trained(scorer, metric, Fitted(0, 0, round(value, 4)), parameters=0, seconds=0.0, texts_per_second=0.0)
    digest = hashlib.sha256("\n".join(train).encode()).hexdigest()
    trained.save(folder, features=FEATURES, encoder=ENCODER, data={"name": "examples", "train": digest})


def asked(times: int, rng: np.random.Generator) -> list[str]:
    """Distinct questions: so many by each rule of the grammar, about anything."""
    rules = [(scheme, rule) for scheme in INTENTS for rule in scheme.rules for _ in range(times)]
    return list(dict.fromkeys(tell(rule, fill(scheme, LEXICON, rng), rng) for scheme, rule in rules))


def again(texts: list[str], rng: np.random.Generator) -> list[str]:
    """The same questions as somebody else types them: misspelt, in another order, in other case."""
    spelt = SPELT.copies(texts, 1, seed=int(rng.integers(2**32)))
    return [
        FORMS[form](text) for form, text in zip(rng.integers(len(FORMS), size=len(spelt)).tolist(), spelt, strict=True)
    ]


if __name__ == "__main__":
    main()
