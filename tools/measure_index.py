"""An index that grows beside one that is built at once: do the groups agree, and what does a text cost?

    TWICETOLD_MIRROR=<folder> python tools/measure_index.py agreement [--file headlines] [--steps ten]
    TWICETOLD_MIRROR=<folder> python tools/measure_index.py cost [--sizes 10000,100000] [--model FOLDER]

Reads headlines of `uci_news` or questions of `quora` from the mirror: whole stories, or whole clusters of labelled
duplicates, drawn until there are as many texts as asked for. Without --model, letters and words (with --vectors,
WordLlama's vectors as well) are fitted to all of the texts, and the threshold is what a build guesses from them.

`agreement` compares the groups of an index of all texts with those of indexes that got them in several steps, in random
order: the adjusted Rand index of the two (ARI to the build), the precision of pairs and the ARI by the known groups,
and the largest group. `cost` adds texts to indexes of several sizes, and prints milliseconds of CPU for each.
"""

import argparse
import os
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import torch

import twicetold
from twicetold.evaluation.group_metrics import group_scores
from twicetold.index import TextIndex
from twicetold.index.groups import Merges
from twicetold.neighbours.grouping import Ints, components

FILES = {"headlines": 5_000, "questions": 20_000}
STEPS: dict[str, tuple[float, ...]] = {
    "80+20": (0.8, 0.2),
    "half+10": (0.5, *[0.05] * 10),
    "ten": (0.1,) * 10,
}
ADDED = {1: 50, 100: 1_000, 1_000: 2_000}  # texts that are added in steps of so many


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=("agreement", "cost"))
    parser.add_argument("--file", choices=tuple(FILES), default="headlines")
    parser.add_argument("--texts", type=int, help="default: 5,000 headlines, 20,000 questions")
    parser.add_argument("--sizes", default="10000,30000,100000")
    parser.add_argument("--rule", default="average")
    parser.add_argument("--threshold", type=float)
    parser.add_argument("--model")
    parser.add_argument("--vectors", action="store_true")
    parser.add_argument("--steps", default=",".join(STEPS), help="80+20: 80 %% and then 20 %%, and so on")
    parser.add_argument("--merges", default="make,propose")
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.what == "cost":
        cost(given)
    else:
        agreement(given)


def agreement(given: argparse.Namespace) -> None:
    """Compare ways of growing with one build."""
    texts, codes = read(given.file, given.texts or FILES[given.file])
    model = model_of(texts, given)
    whole = model.index(texts, threshold=given.threshold, rule=given.rule)
    threshold = given.threshold or float(whole.decision.probability([whole.decision.threshold])[0])
    if model.decisions.of().unlabelled:
        threshold = whole.decision.threshold
    print(f"{len(texts):,} {given.file}, {given.rule}, threshold {threshold:.3f}\n")
    print("| groups | ARI to the build | pair precision | ARI | largest | groups of two or more | ms CPU a text |")
    print("|---|---:|---:|---:|---:|---:|---:|", flush=True)
    built = grouped(whole, len(texts))
    print(line("one build", built, built, codes))
    order = np.random.default_rng(0).permutation(len(texts))
    for steps in given.steps.split(","):
        for merges in given.merges.split(","):
            start = time.process_time()
            index = grown(model, texts, order, STEPS[steps], threshold, given.rule, merges)
            took = (time.process_time() - start) / len(texts) * 1e3
            print(f"{line(f'{steps}, {merges}', grouped(index, len(texts)), built, codes)} {took:.1f} |", flush=True)
            if merges == "make":
                changes = index.regroup()
                print(
                    line(f"{steps}, then regroup ({changes.moved:,} moved)", grouped(index, len(texts)), built, codes),
                    flush=True,
                )


def grown(
    model: twicetold.Model,
    texts: Sequence[str],
    order: Ints,
    shares: Sequence[float],
    threshold: float,
    rule: str,
    merges: Merges,
) -> TextIndex:
    """An index of the first share of the texts, to which the others are added."""
    index = None
    for part in np.split(order, np.round(np.cumsum(shares)[:-1] * len(order)).astype(int)):
        some, ids = [texts[row] for row in part.tolist()], [str(row) for row in part.tolist()]
        if index is None:
            index = model.index(some, ids, threshold=threshold, rule=rule)
        else:
            index.add(some, ids, merges=merges)
    assert index is not None
    return index


def cost(given: argparse.Namespace) -> None:
    """Add texts to indexes of several sizes."""
    sizes = [int(size) for size in given.sizes.split(",")]
    needed = max(sizes) + sum(ADDED.values())
    texts, _ = read(given.file, needed)
    if len(texts) < needed:
        raise SystemExit(f"--sizes {given.sizes} need {needed:,} texts, and there are {len(texts):,} {given.file}")
    order = np.random.default_rng(0).permutation(len(texts)).tolist()
    texts = [texts[row] for row in order]
    model = model_of(texts, given)
    print(f"| texts in the index | {' | '.join(f'ms a text, {step:,} at once' for step in ADDED)} | s build |")
    print(f"|---:|{'---:|' * (len(ADDED) + 1)}", flush=True)
    for size in sizes:
        start = time.process_time()
        index = model.index(texts[:size], threshold=given.threshold, rule=given.rule)
        built = time.process_time() - start
        index.search(texts[:1], 1)
        took, done = [], size
        for step, count in ADDED.items():
            index.add(texts[done : done + 1])  # what is made once for an index that was opened
            start = time.process_time()
            for at in range(done + 1, done + count, step):
                index.add(texts[at : min(at + step, done + count)])
            took.append((time.process_time() - start) / (count - 1) * 1e3)
            done += count
        print(f"| {size:,} | {' | '.join(f'{each:.1f}' for each in took)} | {built:.1f} |", flush=True)


def line(name: str, groups: Ints, built: Ints, codes: Ints) -> str:
    """A row of the table."""
    known, sizes = group_scores(groups, codes), np.bincount(np.unique(groups, return_inverse=True)[1])
    to_build = group_scores(groups, built).ari
    return (
        f"| {name} | {to_build:.3f} | {known.precision:.3f} | {known.ari:.3f} | {sizes.max()} | {(sizes > 1).sum():,} |"
    )


def grouped(index: TextIndex, count: int) -> Ints:
    """Groups in the order of the file: ids are row numbers."""
    groups = np.empty(count, np.int64)
    groups[np.array(index.ids, np.int64)] = index.groups
    return groups


def model_of(texts: Sequence[str], given: argparse.Namespace) -> twicetold.Model:
    """The model that was asked for."""
    return twicetold.load(given.model) if given.model else twicetold.fit(texts, lexical=not given.vectors)


def read(file: str, count: int) -> tuple[list[str], Ints]:
    """Texts of whole groups, and their groups."""
    texts, codes = headlines() if file == "headlines" else questions()
    place = np.random.default_rng(0).permutation(codes.max() + 1)[codes]
    chosen = np.sort(np.argsort(place, kind="stable")[:count])
    return texts.take(pa.array(chosen)).to_pylist(), codes[chosen]


def headlines() -> tuple[pa.Array, Ints]:
    """The headlines of the mirror, with their stories."""
    columns = ["id", "title", "url", "publisher", "category", "story", "hostname", "timestamp"]
    options = csv.ReadOptions(column_names=columns)
    plain = csv.ParseOptions(delimiter="\t", quote_char=False)
    some = csv.ConvertOptions(include_columns=["title", "story"])
    table = csv.read_csv(mirror() / "uci_news" / "newsCorpora.csv", options, plain, some).combine_chunks()
    story = table["story"].combine_chunks().dictionary_encode().indices.to_numpy().astype(np.int64)
    return table["title"].combine_chunks(), story


def questions() -> tuple[pa.Array, Ints]:
    """The distinct questions of the mirror, with the clusters of labelled duplicates."""
    quoted = csv.ParseOptions(delimiter="\t", newlines_in_values=True)
    names = ["question1", "question2"]
    kinds = csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False)
    table = csv.read_csv(
        mirror() / "quora" / "quora_duplicate_questions.tsv", parse_options=quoted, convert_options=kinds
    )
    both = (
        pa.chunked_array([*table["question1"].chunks, *table["question2"].chunks]).combine_chunks().dictionary_encode()
    )
    left, right = np.split(both.indices.to_numpy().astype(np.int64), 2)
    same = table["is_duplicate"].to_numpy() == 1
    codes = components(len(both.dictionary), left[same], right[same])
    blank = np.array([not text.strip() for text in both.dictionary.to_pylist()])
    kept = np.flatnonzero(~blank)
    return both.dictionary.take(pa.array(kept)), np.unique(codes[kept], return_inverse=True)[1]


def mirror() -> Path:
    """The folder with copies of public data."""
    if "TWICETOLD_MIRROR" not in os.environ:
        raise SystemExit("set TWICETOLD_MIRROR to a folder with copies of the public data")
    return Path(os.environ["TWICETOLD_MIRROR"])


if __name__ == "__main__":
    main()
