"""How many texts a second are encoded on CPU, beside model2vec and WordLlama: all on the same texts, in one run.

    python benchmarks/bench_throughput.py [--quick] [--threads N]

From strings to vectors, the cutting of texts into words, n-grams or subwords included:

- `static`, `dssm`, `siamese_lstm`: as `conf/` has them for `quora_wang`; vocabularies are learnt on further texts of
  the same kind, weights are random, as speed does not depend on their values.
- `minilm`: the pretrained transformer. Only where `transformers` is installed and its weights are in the mirror.
- `wordllama`, `potion`: the vectors of the two packages below by our own featuriser. Only where
  `pipelines/download_pretrained.py` has fetched them.
- `model2vec`: potion-base-8M (https://github.com/MinishLab/model2vec). Where it cannot be fetched, random vectors of
  its size, 256 numbers for each of 30,000 word pieces learnt on the same further texts.
- `WordLlama`: the 256 numbers for each of 32,000 subwords that come with the package
  (https://github.com/dleemiller/WordLlama).

The last two come with `pip install -e '.[bench]'`, and are left out where they are not installed.

Texts are the questions of Quora where `TWICETOLD_MIRROR` is a folder that has them, else generated ones. All ways have
the same number of threads, one by default, for tokenizers as for matrices. Each encodes some texts to warm up; then
they take turns, and medians are shown: texts for each second of processor time. The ratio is to the first way. Two ways
of the same vectors (`potion` and `model2vec`, `wordllama` and `WordLlama`) have to give the same, or the run ends.

Then one pair of texts is scored at a time, in milliseconds of processor time: by a featuriser that keeps what it made
of its vocabulary (`features.cached`), as a loaded model does, and by a new copy of it for each pair.
"""

import argparse
import copy
import logging
import os
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from bench_sequences import questions
from hydra import compose, initialize_config_dir
from hydra.utils import instantiate
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from twicetold.features.rows import Featuriser
from twicetold.models.protocol import Encoder
from twicetold.trained.reading import in_use, score_pairs
from twicetold_lab.data.sources.quora import COLUMNS, FILE
from twicetold_lab.data.sources.source_table import read_quoted

FAMILIES = ("static", "dssm", "siamese_lstm", "minilm", "wordllama", "potion")
SAME = {"potion": "model2vec", "wordllama": "WordLlama"}
POTION, WORD_PIECES, NUMBERS = "minishlab/potion-base-8M", 30_000, 256
WARM_UP = 256
PAIRWISE = ("static", "dssm", "fasttext", "tfidf", "bm25")
PAIRS = 50
"""Pairs that are scored one at a time."""
OF_QUORA = "questions of Quora"
SIZES = {"quick": (1_000, 10_000, 3), "full": (10_000, 60_000, 5)}
"""Texts to encode, further ones to learn vocabularies from, and rounds."""

Encode = Callable[[Sequence[str]], Any]
"""From texts to a matrix with a row for each."""


class Missing(Exception):
    """A way that cannot be measured here; the message says why."""


def texts_of(count: int) -> tuple[list[str], str]:
    """Texts in random order, and what they are."""
    path = Path(os.environ.get("TWICETOLD_MIRROR", ""), "quora", FILE)
    if not path.is_file():
        return questions(count, seed=0), "generated questions"
    distinct = read_quoted(path, COLUMNS).table["question1"].unique().to_pylist()
    chosen = np.random.default_rng(0).permutation(len(distinct))[:count]
    return [distinct[number] for number in chosen], OF_QUORA


def untrained(name: str, texts: Sequence[str]) -> tuple[Featuriser, Encoder]:
    """A family of `conf/model`, its vocabulary learnt on the texts.

    Raises:
        Missing: if its weights or packages are not there.
    """
    with initialize_config_dir(str(Path(__file__).parents[1] / "conf"), version_base="1.3"):
        cfg = compose("train", [f"model={name}", "data=quora_wang"])
    torch.manual_seed(0)
    try:
        featuriser = instantiate(cfg.features).fit(texts)
        return featuriser, instantiate(cfg.encoder, **featuriser.shape)
    except OSError as error:
        raise Missing(str(error)) from error


def family(name: str, texts: Sequence[str]) -> Encode:
    """From texts to vectors by an `untrained` family. Errors: `untrained`."""
    featuriser, encoder = untrained(name, texts)

    def encode(some: Sequence[str]) -> Any:
        return in_use(encoder).search_matrices(featuriser.transform(some), np.arange(len(some)))[0]

    return encode


def model2vec(texts: Sequence[str]) -> tuple[Encode, str]:
    """The model, and a note on what it is."""
    try:
        from model2vec import StaticModel
    except ImportError as error:
        raise Missing("not installed: pip install -e '.[bench]'") from error
    try:
        model, note = StaticModel.from_pretrained(POTION, force_download=False), POTION
    except Exception as error:  # whatever the hub's client raises without a network
        from tokenizers.implementations import BertWordPieceTokenizer

        tokenizer = BertWordPieceTokenizer()
        tokenizer.train_from_iterator(texts, vocab_size=WORD_PIECES, show_progress=False)
        size = tokenizer.get_vocab_size()
        vectors = np.random.default_rng(0).normal(size=(size, NUMBERS)).astype(np.float32)
        model = StaticModel(vectors, tokenizer._tokenizer, normalize=True)
        note = (
            f"{POTION} could not be fetched ({type(error).__name__}): its vectors are random, {NUMBERS} numbers for "
            f"each of {size:,} word pieces; speed does not depend on their values"
        )
    # its own threads would be as many as there are cores
    return lambda some: model.encode(some, use_multiprocessing=False), note


def wordllama() -> tuple[Encode, str]:
    """The model, and a note on what it is."""
    try:
        import wordllama as package
    except ImportError as error:
        raise Missing("not installed: pip install -e '.[bench]'") from error
    # Its own search for the tokenizer misses the one in the package, which lies there as in a cache.
    folder = Path(package.__file__).parent
    model = package.WordLlama.load(dim=NUMBERS, cache_dir=folder, disable_download=True)
    return lambda some: model.embed(list(some), norm=True), "l2_supercat, 256 numbers, as in the package"


def ways_of(texts: Sequence[str]) -> tuple[dict[str, Encode], list[str]]:
    """All ways that can be had, and notes on them."""
    ways: dict[str, Encode] = {}
    notes = []
    for name in FAMILIES:
        try:
            ways[name] = family(name, texts)
        except Missing as error:
            notes.append(f"without {name}: {error}")
    peers: dict[str, Callable[[], tuple[Encode, str]]] = {"model2vec": lambda: model2vec(texts), "WordLlama": wordllama}
    for name, peer in peers.items():
        try:
            way, note = peer()
            ways[f"{name}, random" if "random" in note else name] = way
            notes.append(f"{name}: {note}")
        except Missing as error:
            notes.append(f"without {name}: {error}")
    return ways, notes


def rates_of(ways: dict[str, Encode], texts: Sequence[str], rounds: int) -> dict[str, float]:
    """Median texts a second of processor time of each way; they take turns.

    Raises:
        AssertionError: if two ways of the same vectors differ.
    """
    first = {name: np.asarray(encode(texts[:WARM_UP])) for name, encode in ways.items()}
    for ours, theirs in SAME.items():
        if {ours, theirs} <= first.keys():
            np.testing.assert_allclose(*(normalize(first[name]) for name in (ours, theirs)), atol=1e-3)
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, encode in ways.items():
            begun = time.process_time()
            encode(texts)
            taken[name].append(time.process_time() - begun)
    return {name: len(texts) / statistics.median(times) for name, times in taken.items()}


def pair_milliseconds(name: str, known: Sequence[str], texts: Sequence[str]) -> tuple[float, float]:
    """Median processor time of scoring one pair by an `untrained` family: what is kept is there, and it is not."""
    featuriser, encoder = untrained(name, known)
    taken: dict[bool, list[float]] = {True: [], False: []}
    for pair in zip(texts[: 2 * PAIRS : 2], texts[1 : 2 * PAIRS : 2], strict=False):
        for keeps, times in taken.items():
            reader = featuriser if keeps else copy.copy(featuriser)
            begun = time.process_time()
            score_pairs(encoder, reader.transform(list(pair)), np.array([0]), np.array([1]))
            times.append(1000 * (time.process_time() - begun))
    return statistics.median(taken[True]), statistics.median(taken[False])


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer texts and rounds")
    parser.add_argument("--texts", type=int, help="to encode, and half as many to learn vocabularies from")
    parser.add_argument("--threads", type=int, default=1, help="of every way; 1 by default")
    options = parser.parse_args(arguments)
    # read by the tokenizers' Rust code when it first starts threads
    os.environ |= {"RAYON_NUM_THREADS": str(options.threads), "TOKENIZERS_PARALLELISM": "true"}
    torch.set_num_threads(options.threads)
    logging.getLogger("httpx").setLevel(logging.ERROR)
    count, further, rounds = SIZES["quick" if options.quick else "full"]
    if options.texts:
        count, further = options.texts, options.texts // 2
    known, what = texts_of(count + further)
    texts, known = known[:count], known[count:]
    words = statistics.mean(len(text.split()) for text in texts)
    with threadpool_limits(options.threads):
        ways, notes = ways_of(known)
        width = {name: encode(texts[:2]).shape[1] for name, encode in ways.items()}
        rates = rates_of(ways, texts, rounds)
        pairs = {name: pair_milliseconds(name, known, texts) for name in PAIRWISE}
    print(f"{len(texts):,} {what}, {words:.1f} words each, {options.threads} thread(s), {rounds} rounds")
    print(f"  {'way':<18}{'numbers':>9}{'texts/CPU s':>14}{'ratio':>10}")
    first = next(iter(rates.values()))
    for name, rate in rates.items():
        print(f"  {name:<18}{width[name]:>9}{rate:>14,.0f}{rate / first:>9.3f}x", flush=True)
    print(f"  {'one pair':<18}{'ms':>9}{'nothing kept':>14}{'ratio':>10}")
    for name, (kept, anew) in pairs.items():
        print(f"  {name:<18}{kept:>9.2f}{anew:>14.2f}{kept / anew:>9.3f}x")
    for note in notes:
        print(f"  {note}")


if __name__ == "__main__":
    main()
