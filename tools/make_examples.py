"""Make `examples/`: generated questions, of which some are asked again with other spelling."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipelines"))
import checkout  # noqa: F401 (for its effects)

import argparse
import csv

import numpy as np

from twicetold.augmentation.alterations import Alterations
from twicetold.data.sources.toy_grammar import fill, tell
from twicetold.data.sources.toy_questions import INTENTS, LEXICON
from twicetold.files import write_file

SEED = 0
AGAIN = 120  # questions of the file that are asked again
SPELT = Alterations(drop=0.04, swap=0.08, typo=0.15, synonym=0.0, vectors=None, nearest=1, least_cosine=0.0)
FORMS = (str, str.lower, str.upper, lambda text: text.rstrip("?"), lambda text: f"{text.rstrip('?')} ???")


def main() -> None:
    """Make the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "examples")
    out: Path = parser.parse_args().out
    write_questions(out / "questions.csv")


def write_questions(file: Path) -> None:
    """Write a question by each rule of the grammar, and other spellings of some, in any order."""
    rng = np.random.default_rng(SEED)
    questions = asked(1, rng)
    texts = [*questions, *again(rng.choice(questions, AGAIN).tolist(), rng)]
    with write_file(file) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["id", "question"])
        writer.writerows(enumerate((texts[place] for place in rng.permutation(len(texts))), 1))


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
