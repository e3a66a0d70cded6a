"""Measures a matcher of features of a pair on published splits of entity matching, and what each group of them adds.

Usage: python pipelines/measure_published.py MIRROR [MODEL ...]

Examples:
    python pipelines/measure_published.py /data/mirror
    python pipelines/measure_published.py /data/mirror outputs/minilm/model

The score of each further model, a folder, is a feature as well. Prints a table of F1 on test, each pair alone and
within its tables, and what F1 is without each group of features.
"""

import checkout  # noqa: F401 (for its effects)

import sys
from functools import partial
from pathlib import Path

from hydra.utils import instantiate
from omegaconf import OmegaConf

import twicetold
from twicetold.printable import print
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.matching.published import (
    PairClassifier,
    PublishedPairs,
    codes_rule,
    measure,
    published_pairs,
    seconds,
    without_groups,
)

CONF = Path(__file__).parents[1] / "conf/data"
SETS = ("abt_buy", "walmart_amazon", "dblp_acm", "mqp")
CODES = {"abt_buy": ("name",), "walmart_amazon": ("title", "modelno")}  # fields that have them
COLUMNS = (
    *("data", "scope", "F1", "95 %", "both texts in train", "others", "logistic", "trees", "accuracy"),
    *("training, s", "pairs/s"),
)


def main() -> None:
    """A table, and a line for each set."""
    models = {Path(folder).name: twicetold.load(folder).similarity for folder in sys.argv[2:]}
    corpora = {name: corpus_of(name, Path(sys.argv[1])) for name in SETS}
    print(f"| {' | '.join(COLUMNS)} |\n|---|---|{'---:|' * (len(COLUMNS) - 2)}")
    alone = {}
    for name, corpus in corpora.items():
        for scope in ("table", "pair"):
            reading, pairs = seconds(partial(published_pairs, corpus, scope=scope, models=models))
            print(f"| {name} | {scope} | {' | '.join(cells(pairs, reading))} |")
        alone[name] = pairs
    print()
    for name, pairs in alone.items():
        rule = {"codes by a rule": codes_rule(corpora[name], CODES[name])} if name in CODES else {}
        print(f"{name}: " + "; ".join(f"{group} {f1:.3f}" for group, f1 in (rule | without_groups(pairs)).items()))


def corpus_of(name: str, mirror: Path) -> Corpus:
    """A dataset as its leaf says, read from the mirror."""
    leaf = OmegaConf.load(CONF / f"{name}.yaml")
    corpus: Corpus = instantiate(leaf.source, mirror / leaf.download[0].source, name=name)
    return corpus


def cells(pairs: PublishedPairs, reading: float) -> list[str]:
    """The figures of a row; `reading` is the CPU time of the features."""
    training, model = seconds(partial(PairClassifier.learnt, pairs))
    scoring, whole = seconds(partial(measure, pairs, model))
    logistic, trees = (measure(pairs, part).f1 for part in (model.logistic, model.trees))
    shares = [whole.f1_known, whole.f1_new, logistic, trees, whole.accuracy]
    low, high = whole.f1_interval
    per_second = len(pairs.same) / (reading + scoring)
    return [
        f"{whole.f1:.3f}",
        f"{low:.3f} to {high:.3f}",
        *("–" if one is None else f"{one:.3f}" for one in shares),
        f"{training:.1f}",
        f"{per_second:,.0f}",
    ]


if __name__ == "__main__":
    main()
