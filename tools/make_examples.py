"""Make `examples/`: generated questions, of which some are asked again with other spelling, and answers about pairs.

The answers are those to the pairs that `twicetold label examples/questions.csv --compare letters -o pairs.csv` draws.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipelines"))
import checkout  # noqa: F401 (for its effects)

import argparse
import csv
from tempfile import TemporaryDirectory

import numpy as np

from twicetold.files import write_file, write_text
from twicetold.labels.labelling import labelling
from twicetold.use.model import fit
from twicetold_lab.augmentation.alterations import Alterations
from twicetold_lab.data.sources.toy_grammar import fill, tell
from twicetold_lab.data.sources.toy_questions import INTENTS, LEXICON

SEED = 0
AGAIN = 120  # questions of the file that are asked again
SPELT = Alterations(drop=0.04, swap=0.08, typo=0.15, synonym=0.0, vectors=None, nearest=1, least_cosine=0.0)
FORMS = (str, str.lower, str.upper, lambda text: text.rstrip("?"), lambda text: f"{text.rstrip('?')} ???")


def main() -> None:
    """Make the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "examples")
    out: Path = parser.parse_args().out
    texts, origins = questions()
    write_questions(out / "questions.csv", texts)
    write_answers(out / "answers.txt", texts, origins)


def questions() -> tuple[list[str], list[int]]:
    """A question by each rule of the grammar, and other spellings of some, in any order; each with its origin."""
    rng = np.random.default_rng(SEED)
    once = asked(1, rng)
    chosen = rng.choice(len(once), AGAIN).tolist()
    texts, origins = [*once, *again([once[place] for place in chosen], rng)], [*range(len(once)), *chosen]
    order = rng.permutation(len(texts)).tolist()
    return [texts[place] for place in order], [origins[place] for place in order]


def write_questions(file: Path, texts: list[str]) -> None:
    """Write the questions with ids from 1."""
    with write_file(file) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["id", "question"])
        writer.writerows(enumerate(texts, 1))


def write_answers(file: Path, texts: list[str], origins: list[int]) -> None:
    """Write `y` for each drawn pair whose texts are spellings of one question, otherwise `n`."""
    known = dict(zip(texts, origins, strict=True))
    with TemporaryDirectory() as scratch:
        model = Path(scratch, "model")
        fit(texts, lexical=True, folder=model)
        drawn = labelling(Path(scratch, "pairs.csv"), model=model, texts=texts).pairs
    write_text(file, "".join("y\n" if known[pair.left] == known[pair.right] else "n\n" for pair in drawn))


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
