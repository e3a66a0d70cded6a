"""Positive pairs from groups of documents, or without labels.

Each is an `Examples` leaf of `conf/examples/`, for objectives that find their negatives in the batch.

| leaf | a pair is | labels |
|---|---|---|
| `group_pairs` | a text and a random other one of its group, category or story | that group |
| `neighbours` | a text and the other text that a lexical score ranks first | none |
| `dropout_twins` | a text and itself: the encoder's dropout makes two embeddings of it | none |
| `inverse_cloze` | a sentence and the rest of its text | none |

Positives without labels also restrict the negatives: examples that share texts are of one group, and no text of the
anchor's group is its negative.

Shape letters: X examples, T distinct texts.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from twicetold.neighbours.components import components
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.examples.batches import ExampleIndex
from twicetold_lab.examples.labelled import mined
from twicetold_lab.mining.groups import train_groups

SENTENCE_END = re.compile(r"(?:(?<=[.!?…])|(?<=[.!?…][\"'”’)\]]))\s+(?![a-z])|\n")
MOST = 0.5  # share of the train texts that must have several sentences


@dataclass(frozen=True)
class GroupPairs:
    """Each train text of a group of two or more, with random others of it.

    Args:
        group: `story`, `category` or `cluster`.
        per_text: how many others; fewer where the group has fewer.
        seed: of the draws.
    """

    group: str
    per_text: int
    seed: int

    def index(self, corpus: Corpus, triplets: Path) -> ExampleIndex:
        """Return one example per text and other.

        Raises:
            ValueError: if the corpus has no such group, or no group has two texts.
        """
        groups = train_groups(corpus, label=self.group, per_anchor=self.per_text)
        anchors = groups.with_positive()
        drawn = groups.draw_positives(anchors, per_anchor=self.per_text, rng=np.random.default_rng(self.seed))
        pairs = np.unique(np.stack([np.repeat(anchors, self.per_text), drawn.ravel()]), axis=1)
        code = groups.code[pairs[0]]
        return ExampleIndex(
            anchor=groups.texts[pairs[0]], positive=groups.texts[pairs[1]], group=code, positive_group=code
        )


@dataclass(frozen=True)
class Neighbours:
    """Each train text, with the one that the mining stage found most like it in its words.

    Labels are not used for the negatives either: texts that are neighbours of neighbours are of one group.

    Args:
        strategy: `bm25_neighbour` or `tfidf_neighbour`.
    """

    strategy: str

    def index(self, corpus: Corpus, triplets: Path) -> ExampleIndex:
        """Return one example per text that shares a word with another.

        Raises:
            FileNotFoundError: if that strategy was not mined for this corpus.
        """
        found = mined(corpus, triplets, self.strategy)
        return neighbour_pairs(corpus, found.anchor, found.positive)


@dataclass(frozen=True)
class DropoutTwins:
    """Each train text with itself: Gao, Yao and Chen, SimCSE, EMNLP 2021, section 3.

    The two embeddings differ by what dropout leaves out, so the encoder needs some.
    """

    def index(self, corpus: Corpus, triplets: Path) -> ExampleIndex:
        """Return one example per train text."""
        texts = corpus.members["train"]
        code = corpus.text_codes()[texts]
        return ExampleIndex(anchor=texts, positive=texts, group=code, positive_group=code)


@dataclass(frozen=True)
class InverseCloze:
    """A sentence as a query, and the sentences around it as its evidence.

    Lee, Chang and Toutanova, Latent Retrieval for Weakly Supervised Open Domain Question Answering, ACL 2019, section
    4. Each sentence of a block is a query in turn, where the paper draws one at each step. In some examples
    the query stays in its evidence, so that the model learns to use shared words.

    Args:
        masking_rate: the chance that the query is removed from its evidence.
        block: sentences of a text that make up one block at most. What is left of the text makes up the next.
        seed: of what is removed.

    Raises:
        ValueError: if the rate is no share, or a block has less than two sentences.
    """

    masking_rate: float
    block: int
    seed: int

    def __post_init__(self) -> None:
        if not 0 <= self.masking_rate <= 1:
            raise ValueError(f"masking_rate is a chance from 0 to 1; got {self.masking_rate}")
        if self.block < 2:
            raise ValueError(f"a block has a query and something else, so 2 sentences at least; got {self.block}")

    def index(self, corpus: Corpus, triplets: Path) -> ExampleIndex:
        """Return one example per sentence of the train texts; blocks of one sentence are dropped, as in the paper.

        Raises:
            ValueError: if most train texts are single sentences.
        """
        rng = np.random.default_rng(self.seed)
        texts, codes = corpus.texts_of("train"), corpus.text_codes()[corpus.members["train"]]
        queries: list[str] = []
        evidence: list[str] = []
        group: list[int] = []
        several = 0
        for number, text in enumerate(texts):
            sentences = sentences_of(text)
            several += len(sentences) > 1
            for start in range(0, len(sentences), self.block):
                block = sentences[start : start + self.block]
                if len(block) < 2:
                    continue
                removed = rng.random(len(block)) < self.masking_rate
                queries += block
                evidence += [
                    " ".join(block[:place] + block[place + removes :]) for place, removes in enumerate(removed.tolist())
                ]
                group += [number] * len(block)
        if several < MOST * len(texts):
            raise ValueError(
                f"inverse_cloze takes texts apart into sentences, but only {several:,} of the {len(texts):,} train "
                f"texts of {corpus.name} have more than one: choose a corpus of longer texts (data=toy_articles, or "
                "your own by data=documents), or other examples (dropout_twins, neighbours)"
            )
        numbers = len(corpus) + np.arange(len(queries))
        code = codes[np.array(group, np.int64)]
        return ExampleIndex(
            anchor=numbers,
            positive=numbers + len(queries),
            group=code,
            positive_group=code,
            extra_texts=[*queries, *evidence],
        )


def neighbour_pairs(corpus: Corpus, anchor: NDArray[np.int64], positive: NDArray[np.int64]) -> ExampleIndex:
    """Return texts and their neighbours as examples; texts that are neighbours of neighbours are of one group."""
    code = corpus.text_codes()
    group = components(len(corpus), code[anchor], code[positive])[code]
    return ExampleIndex(anchor=anchor, positive=positive, group=group[anchor], positive_group=group[positive])


def sentences_of(text: str) -> list[str]:
    """Return a text's sentences: each ends with its line, or at a stop, question or exclamation mark before a space.

    A small letter after the space goes on with the sentence (E. coli); other abbreviations are not known.
    """
    return [sentence for part in SENTENCE_END.split(text) if (sentence := part.strip())]
