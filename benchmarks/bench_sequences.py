"""How much faster token sequences are made and a Siamese LSTM is trained than the obvious ways: on CPU, as ratios.

    python benchmarks/bench_sequences.py [--quick] [--threads N]

The texts are synthetic questions; their lengths follow Quora's (log-normal, 11 words on average, some of 40 and more),
their words Zipf's law.

1. Texts into numbers, the vocabulary being learnt:
   - `words`, `characters`, `subwords`: the featurisers of `twicetold`.
   - `re, one by one`: the words by a regular expression and a dictionary, text by text.
2. An epoch of the Siamese LSTM (embedding and hidden 128, mean over time, closest and mean negative, Adam), B = 256:
   - `twicetold`: `twicetold_lab.training.fit`, from the end of one epoch to the end of the next, checkpoint included;
     validation is left out. Batches hold texts of like length.
   - `plain loop`: nn.Embedding and nn.LSTM on padded batches with a mask; a Dataset of rows, shuffled, and a
     `collate_fn` that pads them; torch.optim.Adam as it comes. What a tutorial does.
   - `sentence-transformers`: its WordEmbeddings, LSTM and Pooling modules and its trainer, the same loss. Only where it
     is installed; with it come `datasets` and `accelerate`. It cuts its texts into words anew in each epoch.

Runs take turns; shown are medians of processor time, on one thread unless `--threads` says more. Before, the words of
the first two and the losses of `twicetold` and the plain loop on one batch are compared: if they differ, the run ends.
"""

import argparse
import importlib.util
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

from twicetold.encoding import EncodedBatch, Encoding
from twicetold.features.rows import CsrRows
from twicetold.features.subwords import Subwords
from twicetold.features.tokens import Characters, Words
from twicetold.models.siamese_lstm import SiameseLstm
from twicetold_lab.examples.batches import EpochBatches, ExampleIndex, lengths_of, train_loader
from twicetold_lab.objectives.closest_and_mean import ClosestAndMean
from twicetold_lab.training.fit import fit
from twicetold_lab.training.learner import Learner
from twicetold_lab.training.schedule import Runtime, Schedule

BATCH, SIZE, VOCABULARY, MARGIN, RATE = 256, 128, 30_000, 0.25, 0.001
WORD = re.compile(r"\w+|[^\w\s]")

Pairs = tuple[list[str], list[str]]
Way = Callable[[Pairs, int], list[float]]
"""From pairs of texts and a number of epochs to the seconds of each."""


def questions(count: int, seed: int) -> list[str]:
    """Texts; the commonest words are the shortest."""
    random = np.random.default_rng(seed)
    lengths = np.clip(random.lognormal(2.3, 0.45, count).astype(np.int64), 2, 60)
    chance = 1 / np.arange(1, VOCABULARY + 1)
    numbers = random.choice(VOCABULARY, lengths.sum(), p=chance / chance.sum())
    words = np.array([f"w{number}" for number in range(VOCABULARY)])[numbers]
    return [" ".join(part) + "?" for part in np.split(words, np.cumsum(lengths)[:-1])]


def with_fit(pairs: Pairs, epochs: int) -> list[float]:
    """Seconds of each epoch but the first, which Lightning begins with its own preparations."""
    rows, index = features_of(pairs)
    ends: list[float] = []
    learner = Learner(
        network(rows.width),
        ClosestAndMean(margin=MARGIN, semi_hard=False),
        make_optimizer=partial(torch.optim.Adam, lr=RATE, fused=True),
        validate=lambda _: ("none", 0.0),
        seed=0,
        schedule=Schedule(epochs + 1, BATCH),
    )
    batches = EpochBatches(index, BATCH, seed=0, lengths=lengths_of(index, rows))
    with tempfile.TemporaryDirectory() as folder:
        fit(
            learner,
            train_loader(index, rows, batches, workers=0),
            runtime=Runtime("cpu", workers=0, progress=False),
            checkpoints=Path(folder),
            on_epoch=lambda metrics, epoch: ends.append(time.process_time()),
        )
    return list(np.diff(ends))


def network(width: int) -> SiameseLstm:
    """The network that both train."""
    torch.manual_seed(0)
    settings: Any = {"pooling": "mean", "dropout": 0.0, "bidirectional": False, "frozen": False, "shortcut": False}
    return SiameseLstm(width=width, embedding=SIZE, hidden=SIZE, **settings)


def features_of(pairs: Pairs) -> tuple[CsrRows, ExampleIndex]:
    """Sequences of all texts, and the pairs by row number."""
    left, right = pairs
    rows = Words().fit([*left, *right]).transform([*left, *right])
    numbers = np.arange(len(left))
    return rows, ExampleIndex(anchor=numbers, positive=numbers + len(left), label=np.ones(len(left), np.float32))


class PaddedLstm(nn.Module):
    """The same network on padded sequences."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(width, SIZE)
        self.read = nn.LSTM(SIZE, SIZE, batch_first=True)

    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """(B, H) from (B, T) numbers."""
        states, _ = self.read(self.embed(tokens))
        mask = torch.arange(tokens.shape[1]) < lengths[:, None]
        mean: Tensor = (states * mask[..., None]).sum(1) / lengths[:, None]
        return mean


class RowByRow(Dataset[tuple[Tensor, Tensor]]):
    """The obvious Dataset: one pair at a time."""

    def __init__(self, rows: CsrRows, index: ExampleIndex) -> None:
        self.rows, self.index = rows, index

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, pair: int) -> tuple[Tensor, Tensor]:
        assert self.index.positive is not None
        return self._text(self.index.anchor[pair]), self._text(self.index.positive[pair])

    def _text(self, row: int) -> Tensor:
        return torch.from_numpy(self.rows.indices[self.rows.indptr[row] : self.rows.indptr[row + 1]].astype(np.int64))


def collate(pairs: list[tuple[Tensor, Tensor]]) -> list[tuple[Tensor, Tensor]]:
    """Both sides of a batch, padded, with their lengths."""
    sides = zip(*pairs, strict=True)
    return [(pad_sequence(list(side), batch_first=True), torch.tensor([len(text) for text in side])) for side in sides]


def in_plain_loop(pairs: Pairs, epochs: int) -> list[float]:
    """Seconds of each epoch but the first."""
    rows, index = features_of(pairs)
    torch.manual_seed(0)
    model, loss = PaddedLstm(rows.width), ClosestAndMean(margin=MARGIN, semi_hard=False)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    loader: Any = DataLoader(RowByRow(rows, index), BATCH, shuffle=True, collate_fn=collate)

    def epoch() -> None:
        for left, right in loader:
            optimizer.zero_grad()
            loss(EncodedBatch(Encoding(model(*left)), Encoding(model(*right))))["loss"].backward()
            optimizer.step()

    return [seconds(epoch) for _ in range(epochs + 1)][1:]


def check_equal_work(pairs: Pairs) -> None:
    """Check that the same words are read, and that both networks with the same weights have the same loss.

    Raises:
        AssertionError: if not.
    """
    rows, index = features_of(pairs)
    texts = [*pairs[0], *pairs[1]]
    np.testing.assert_array_equal(np.diff(rows.indptr), [len(words) for words in one_by_one(texts)])
    ours, plain = network(rows.width), PaddedLstm(rows.width)
    plain.load_state_dict(dict(zip(plain.state_dict(), ours.state_dict().values(), strict=True)))
    data = RowByRow(rows, index)
    sides = collate([data[number] for number in range(min(BATCH, len(data)))])
    chosen = np.arange(len(sides[0][0]))
    loss = ClosestAndMean(margin=MARGIN, semi_hard=False)
    one = EncodedBatch(*(ours.encode(rows.gather(chosen + start)) for start in (0, len(pairs[0]))))
    other = EncodedBatch(*(Encoding(plain(*side)) for side in sides))
    torch.testing.assert_close(loss(other)["loss"], loss(one)["loss"])


def with_sentence_transformers(pairs: Pairs, epochs: int) -> list[float]:
    """Seconds of each epoch but the first."""
    import datasets
    import sentence_transformers as st
    from sentence_transformers import models
    from sentence_transformers.models.tokenizer import WhitespaceTokenizer
    from transformers import TrainerCallback

    left, right = ([" ".join(WORD.findall(text)) for text in side] for side in pairs)
    vocabulary = sorted({word for text in [*left, *right] for word in text.split()})
    tokenizer = WhitespaceTokenizer(["<unk>", *vocabulary], stop_words=(), do_lower_case=False)
    weights = np.random.default_rng(0).normal(size=(len(vocabulary) + 1, SIZE)).astype(np.float32)
    embed = models.WordEmbeddings(tokenizer, weights, update_embeddings=True, max_seq_length=256)
    read = models.LSTM(SIZE, SIZE, bidirectional=False)
    model = st.SentenceTransformer(modules=[embed, read, models.Pooling(SIZE)], device="cpu")

    class Loss(nn.Module):
        """The same loss, on the embeddings of both columns."""

        def __init__(self) -> None:
            super().__init__()
            self.model, self.hinges = model, ClosestAndMean(margin=MARGIN, semi_hard=False)

        def forward(self, sides: Sequence[dict[str, Tensor]], labels: Tensor | None = None) -> Tensor:
            """The loss of one batch."""
            one, other = (Encoding(self.model(side)["sentence_embedding"]) for side in sides)
            loss: Tensor = self.hinges(EncodedBatch(one, other))["loss"]
            return loss

    ends: list[float] = []

    class Watch(TrainerCallback):  # type: ignore[misc]
        """Notes when epochs end."""

        def on_epoch_end(self, *_: Any, **__: Any) -> None:
            """Of each epoch."""
            ends.append(time.process_time())

    with tempfile.TemporaryDirectory() as folder:
        st.SentenceTransformerTrainer(
            model=model,
            args=st.SentenceTransformerTrainingArguments(
                output_dir=folder,
                num_train_epochs=epochs + 1,
                per_device_train_batch_size=BATCH,
                learning_rate=RATE,
                max_grad_norm=0.0,
                use_cpu=True,
                report_to="none",
                save_strategy="no",
                logging_strategy="no",
                disable_tqdm=True,
            ),
            train_dataset=datasets.Dataset.from_dict({"left": left, "right": right}),
            loss=Loss(),
            callbacks=[Watch()],
        ).train()
    return list(np.diff(ends))


def one_by_one(texts: Sequence[str]) -> list[list[int]]:
    """Words by a regular expression, numbered by a dictionary."""
    numbers: dict[str, int] = {}
    for text in texts:
        for word in WORD.findall(text):
            numbers.setdefault(word, len(numbers))
    return [[numbers[word] for word in WORD.findall(text)] for text in texts]


def seconds(run: Callable[[], object]) -> float:
    """What it takes."""
    start = time.process_time()
    run()
    return time.process_time() - start


def show(title: str, unit: str, count: int, taken: Mapping[str, Sequence[float]]) -> None:
    """One table; ratios are to the first way."""
    medians = {name: statistics.median(times) for name, times in taken.items()}
    first = next(iter(medians.values()))
    print(f"\n{title}\n  {'way':<22}{'seconds':>9}{unit + '/s':>14}{'ratio':>9}")
    for name, median in medians.items():
        print(f"  {name:<22}{median:>9.3f}{count / median:>14,.0f}{median / first:>8.2f}x", flush=True)


def bench_featurisers(count: int, rounds: int) -> None:
    """The first table."""
    texts = questions(count, seed=0)
    ways: dict[str, Callable[[], object]] = {
        "words": lambda: Words().fit(texts).transform(texts),
        "characters": lambda: Characters().fit(texts).transform(texts),
        "subwords": lambda: Subwords().fit(texts).transform(texts),
        "re, one by one": lambda: one_by_one(texts),
    }
    taken = {name: [seconds(way) for _ in range(rounds)] for name, way in ways.items()}
    show(f"{count:,} texts into numbers, vocabulary included", "texts", count, taken)
    fitted = {"words": Words().fit(texts), "characters": Characters().fit(texts), "subwords": Subwords().fit(texts)}
    again = {name: [seconds(partial(f.transform, texts)) for _ in range(rounds)] for name, f in fitted.items()}
    show(f"{count:,} texts into numbers, vocabulary known", "texts", count, again)


def bench_training(count: int, rounds: int) -> None:
    """The second table."""
    pairs = questions(count, seed=1), questions(count, seed=2)
    check_equal_work(pairs)
    ways: dict[str, Way] = {"twicetold": with_fit, "plain loop": in_plain_loop}
    missing = [
        name for name in ("sentence_transformers", "datasets", "accelerate") if not importlib.util.find_spec(name)
    ]
    if not missing:
        ways["sentence-transformers"] = with_sentence_transformers
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            taken[name] += way(pairs, 1)
    show(f"an epoch of the Siamese LSTM, {count:,} pairs", "pairs", count, taken)
    if missing:
        print(f"  without sentence-transformers: not installed are {', '.join(missing)}")


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer texts, pairs and rounds")
    parser.add_argument("--texts", type=int, help="of the first table")
    parser.add_argument("--pairs", type=int, help="of the second table")
    parser.add_argument("--threads", type=int, default=1, help="of torch")
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    texts, pairs, rounds = (50_000, 5_000, 1) if options.quick else (1_000_000, 20_000, 3)
    texts, pairs = options.texts or texts, options.pairs or pairs
    print(f"{VOCABULARY:,} words, B = {BATCH}, {torch.get_num_threads()} threads", flush=True)
    bench_featurisers(texts, rounds)
    bench_training(pairs, rounds)


if __name__ == "__main__":
    main()
