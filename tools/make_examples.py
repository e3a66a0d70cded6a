"""Make `examples/`: generated questions, some of them in two spellings, answers about them, and products.

The answers are those to the pairs that `twicetold label examples/questions.csv --compare letters -o pairs.csv` draws.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipelines"))
import checkout  # noqa: F401 (for its effects)

import argparse
import csv
import re
from string import ascii_lowercase
from tempfile import TemporaryDirectory

import numpy as np

from twicetold.files import write_file, write_text
from twicetold.labels.labelling import labelling
from twicetold.use.model import fit
from twicetold_lab.data.sources.toy_grammar import fill, tell
from twicetold_lab.data.sources.toy_questions import INTENTS, LEXICON

SEED = 0
AGAIN = 120  # questions of the file that are asked again
TYPO, SWAP, DROP = 0.15, 0.08, 0.04  # chance of a word to be misspelt, to change places with its neighbour, to be lost
MISSPELT = re.compile(r"\D{4,}$")  # what may have a typo
BRANDS = {"Canvo": "PowerPix SX", "Nikura": "Colix S", "Sonara": "Vistashot DSC-W", "Panasol": "Lumira DMC-FZ"}
CAMERAS = ("digital camera", "compact camera", "camera kit", "camcorder")
COLOURS = ("black", "silver", "red", "blue")
MODELS, LISTED = 9, 0.75  # cameras of a brand; chance that a shop has one of some colour
FORMS = (str, str.lower, str.upper, lambda text: text.rstrip("?"), lambda text: f"{text.rstrip('?')} ???")


def main() -> None:
    """Make the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "examples")
    out: Path = parser.parse_args().out
    texts, origins = questions()
    write_questions(out / "questions.csv", texts)
    write_answers(out / "answers.txt", texts, origins)
    write_products(out / "products.csv")


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


def write_products(file: Path) -> None:
    """Write cameras of some colours as three shops name them, with ids from 1 and the model that each one is."""
    rng = np.random.default_rng(SEED)
    rows = []
    for brand, names in BRANDS.items():
        series, code = names.split()
        for number in rng.choice(np.arange(10, 99), MODELS, replace=False).tolist():
            model, kind = f"{code}{number}0", CAMERAS[rng.integers(len(CAMERAS))]
            size, zoom = rng.integers(4, 9) * 2, rng.integers(3, 20)
            for colour in rng.choice(COLOURS, rng.integers(1, 3), replace=False).tolist():
                shops = (
                    f"{brand} {series} {model} {size} MP {kind} ({colour})",
                    f"{brand} {model} {colour.title()} {kind.title()} with {zoom}x zoom, {size} megapixels",
                    f"{model}{colour[0].upper()} {brand.upper()} {series} {size}MP",
                )
                rows += [(text, model) for text, has in zip(shops, rng.random(3) < LISTED, strict=True) if has]
    lines = (f'{number},"{text}",{model}\n' for number, (text, model) in enumerate(rng.permutation(rows).tolist(), 1))
    write_text(file, "".join(["id,title,model\n", *lines]))


def asked(times: int, rng: np.random.Generator) -> list[str]:
    """Distinct questions: so many by each rule of the grammar, about anything."""
    rules = [(scheme, rule) for scheme in INTENTS for rule in scheme.rules for _ in range(times)]
    return list(dict.fromkeys(tell(rule, fill(scheme, LEXICON, rng), rng) for scheme, rule in rules))


def again(texts: list[str], rng: np.random.Generator) -> list[str]:
    """The same questions as somebody else types them: misspelt, in another order, in other case."""
    spelt = altered(texts, np.random.default_rng([int(rng.integers(2**32)), 0]))
    return [
        FORMS[form](text) for form, text in zip(rng.integers(len(FORMS), size=len(spelt)).tolist(), spelt, strict=True)
    ]


def altered(texts: list[str], rng: np.random.Generator) -> list[str]:
    """The texts with some words misspelt, exchanged with a neighbour or left out; at least one word of each stays."""
    words = [text.split() for text in texts]
    ends = np.cumsum([0, *map(len, words)])
    _, typo, swap, drop = rng.random((4, ends[-1]))  # the first row is unused: examples/ is made with these draws
    flat = [word for text in words for word in text]
    wrong = [place for place in np.flatnonzero(typo < TYPO).tolist() if MISSPELT.match(flat[place])]
    for place, word in zip(wrong, misspelt([flat[place] for place in wrong], rng), strict=True):
        flat[place] = word
    odd, one = rng.integers(2, size=len(texts)).tolist(), rng.random(len(texts))
    made = []
    for number, (begin, end) in enumerate(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)):
        for first in range(begin + odd[number], end - 1, 2):
            if swap[first] < SWAP:
                flat[first], flat[first + 1] = flat[first + 1], flat[first]
        kept = [flat[place] for place in range(begin, end) if drop[place] >= DROP]
        made.append(" ".join(kept or [flat[begin + int(one[number] * (end - begin))]]))
    return made


def misspelt(words: list[str], rng: np.random.Generator) -> list[str]:
    """Words of four letters or more with two inner letters exchanged, one left out, or one put in."""
    kind = rng.integers(3, size=len(words))
    shift = rng.random(len(words)) * ([len(word) for word in words] + kind - 3)
    new = iter(rng.choice(list(ascii_lowercase), int((kind == 2).sum())).tolist())
    made = []
    for word, how, place in zip(words, kind.tolist(), (1 + shift.astype(int)).tolist(), strict=True):
        before, letter, after = word[:place], word[place], word[place + 1 :]
        if how == 0:
            made.append(before + after[0] + letter + after[1:])
        else:
            made.append(before + after if how == 1 else before + next(new) + letter + after)
    return made


if __name__ == "__main__":
    main()
