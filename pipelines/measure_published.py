"""Measures a matcher of features of a pair on published splits of entity matching, and what each group of them adds.

    python pipelines/measure_published.py MIRROR
    python pipelines/measure_published.py MIRROR runs/mqp-minilm-0 [MODEL ...]

The score of each further model is a feature as well. Prints a table of F1 on test, each pair alone and within its
tables, and what F1 is without each group of features.
"""

import checkout  # noqa: F401 (for its effects)

import sys
from functools import partial
from pathlib import Path

import twicetold
from twicetold.printable import print
from twicetold_lab.data.sources import er_magellan, mqp
from twicetold_lab.matching.published import (
    PairClassifier,
    PublishedPairs,
    measure,
    published_pairs,
    seconds,
    without_groups,
)

SETS = {
    "abt_buy": ("Textual/Abt-Buy", ("name", "description", "price")),
    "walmart_amazon": ("Structured/Walmart-Amazon", ("title", "category", "brand", "modelno", "price")),
    "dblp_acm": ("Structured/DBLP-ACM", ("title", "authors", "venue", "year")),
}


def main() -> None:
    """Two tables."""
    mirror = Path(sys.argv[1])
    models = {Path(folder).name: twicetold.load(folder).similarity for folder in sys.argv[2:]}
    alone: dict[str, PublishedPairs] = {}
    corpora = {
        name: er_magellan.read(mirror / "er_magellan", name=name, folder=folder, columns=columns)
        for name, (folder, columns) in SETS.items()
    } | {"mqp": mqp.read(mirror / "medical_questions", name="mqp")}
    print(
        "| data | scope | F1 | 95 % | both texts in train | others | logistic | trees | accuracy | training | pairs/s |"
    )
    print("|---|---|---:|---|---:|---:|---:|---:|---:|---:|---:|")
    for name, corpus in corpora.items():
        for scope in ("pair", "table"):
            reading, pairs = seconds(partial(published_pairs, corpus, scope=scope, models=models))
            training, model = seconds(partial(PairClassifier.learnt, pairs))
            scoring, whole = seconds(partial(measure, pairs, model))
            parts = [f"{measure(pairs, part).f1:.3f}" for part in (model.logistic, model.trees)]
            low, high = whole.f1_interval
            cells = [name, scope, f"{whole.f1:.3f}", f"{low:.3f} to {high:.3f}"]
            cells += [f"{whole.f1_known:.3f}", f"{whole.f1_new:.3f}", *parts, f"{whole.accuracy:.3f}"]
            print(
                "| " + " | ".join([*cells, f"{training:.1f} s", f"{len(pairs.same) / (reading + scoring):,.0f}"]) + " |"
            )
            alone |= {name: pairs} if scope == "pair" else {}
    print()
    for name, pairs in alone.items():
        print(f"{name}: " + "; ".join(f"{group} {f1:.3f}" for group, f1 in without_groups(pairs).items()))


if __name__ == "__main__":
    main()
