"""Hard negatives that the model in training mines itself: texts near an anchor that are no duplicates.

Xiong et al., Approximate Nearest Neighbor Negative Contrastive Learning (ANCE), ICLR 2021 (arXiv:2007.00808): negatives
from the whole corpus, by the encoder of some steps ago. Here the search is exact, and before an epoch:

1. Encode the train texts.
2. For each anchor, list the `depth` nearest train texts after the first `skip`, without those that are duplicates.
3. For each example, draw `per_anchor` of its anchor's list.

A text says the same as an anchor if it is of the anchor's group, or equal to a text of that group or to a positive of
the anchor. Other texts may still be duplicates without being labelled so. They are among the nearest, and there are the
more of them the fewer pairs of the corpus are labelled: hence `skip`.

Lists depend on the weights with which an epoch begins, and draws on seed and epoch, so a training that resumes at an
epoch has the negatives of one that was not interrupted.

Shape letters: N texts of the corpus, M train texts, A anchors, X examples, D length of a list, H negatives of an
example, b some of the anchors or examples.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from twicetold.conventions import UNDECIDED
from twicetold.neighbours.nearest import NOBODY, Index
from twicetold_lab.data.corpus import UNKNOWN, Corpus
from twicetold_lab.examples.batches import ExampleIndex, GatheredExamples
from twicetold_lab.training.parts import VectorsOf

ROWS = 1 << 14  # anchors or examples at a time, which bounds what is held of their lists
ROUNDS = 50  # of random draws, of which hardly any needs a second
COPIES = 20  # equal texts of duplicates, for which a search leaves space
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class SelfMined:
    """Settings of the mining.

    Args:
        group: the group whose members are duplicates; None: groups are those of the examples, and no others are known.
        per_anchor: H, negatives of an example. A row whose list is shorter gets random texts of other groups as well.
        depth: D, texts that they are drawn from.
        skip: nearest texts that are left out of the list.

    Raises:
        ValueError: if a setting is out of range.
    """

    group: str | None
    per_anchor: int
    depth: int
    skip: int

    def __post_init__(self) -> None:
        for name, least in (("per_anchor", 1), ("depth", self.per_anchor), ("skip", 0)):
            if (value := getattr(self, name)) < least:
                more = " (per_anchor of them are drawn)" if name == "depth" else ""
                raise ValueError(f"negatives.{name} must be at least {least}{more}; got {value}")

    def renewing(
        self, data: GatheredExamples, corpus: Corpus, vectors: VectorsOf, *, seed: int
    ) -> Callable[[int], None]:
        """See `parts.Negatives`.

        Raises:
            ValueError: if the examples are no pairs of texts of the corpus, or `group` is another than theirs.
        """
        return Renewal(self, data, Pool.of(data.examples, corpus, group=self.group), vectors, seed)


@dataclass(frozen=True)
class Pool:
    """Train texts, and which of them are duplicates of the anchors of examples."""

    texts: Numbers
    """(M,) ascending."""
    group: Numbers
    """(N,) `UNKNOWN` where it is not known."""
    code: Numbers
    """(N,) the same, and a code of its own for each text of unknown group."""
    equal: Numbers
    """(N,) a number for each distinct text, below N."""
    same: Numbers
    """Sorted keys code · N + number of the distinct duplicates of the texts of each code."""
    anchor: Numbers
    """(X,) number of each example's anchor."""

    @classmethod
    def of(cls, examples: ExampleIndex, corpus: Corpus, *, group: str | None) -> "Pool":
        """Return the texts of known group; all of them if the groups are those of the examples.

        Raises:
            ValueError: if the examples are no pairs of texts of the corpus, or `group` is another than theirs.
        """
        if examples.positive is None:
            raise ValueError(
                "negatives=self_mined needs examples with an anchor and a positive, and these are single texts: choose "
                "examples=duplicates, or for documents examples=group_pairs; or set negatives=none"
            )
        anchor, positive = examples.anchor, examples.positive
        if max(anchor.max(initial=0), positive.max(initial=0)) >= len(corpus):
            raise ValueError(
                "negatives=self_mined finds texts of the corpus, and these examples are of parts of texts: set "
                "negatives=none, or choose other examples"
            )
        texts = corpus.members["train"]
        if group is None:
            codes = np.full(len(corpus), UNKNOWN)
            for side, known in ((anchor, examples.group), (positive, examples.positive_group)):
                codes[side] = UNKNOWN if known is None else known
        else:
            codes = corpus.group(group)
            texts = texts[codes[texts] != UNKNOWN]
            if examples.group is not None and not np.array_equal(codes[anchor], examples.group):
                raise ValueError(
                    f"negatives.group={group} is not the group of these examples: name theirs (examples.group), so "
                    "that no text that says the same is a negative"
                )
        code = np.where(codes == UNKNOWN, max(codes.max(initial=0), 0) + 1 + np.arange(len(codes)), codes)
        equal = corpus.text_codes()
        true = slice(None) if examples.label is None else examples.label > UNDECIDED
        by_pairs = code[anchor[true]] * len(corpus) + equal[positive[true]]
        same = np.unique(
            np.concatenate([code[corpus.members["train"]] * len(corpus) + equal[corpus.members["train"]], by_pairs])
        )
        return cls(texts, codes, code, equal, same, anchor)

    def says_the_same(self, anchor: Numbers, other: Numbers) -> NDArray[np.bool_]:
        """Return a mask of the duplicates of their anchors, elementwise."""
        keys = self.code[anchor] * len(self.code) + self.equal[other]
        place = np.minimum(np.searchsorted(self.same, keys), len(self.same) - 1)
        listed = self.same[place] == keys
        same: NDArray[np.bool_] = listed | (self.code[anchor] == self.code[other])
        return same

    def random(self, anchor: Numbers, rng: np.random.Generator) -> Numbers:
        """Return for each anchor a random train text of another group, every one equally likely.

        Raises:
            ValueError: if all are duplicates.
        """
        order = self.texts[np.argsort(self.code[self.texts], kind="stable")]
        sorted_codes, own = self.code[order], self.code[anchor]
        start, end = (np.searchsorted(sorted_codes, own, side=side) for side in ("left", "right"))
        drawn, left = np.empty_like(anchor), np.arange(len(anchor))
        for _ in range(ROUNDS):
            others = len(order) - (end - start)[left]
            if not len(left) or not others.all():
                break
            place = rng.integers(others)
            drawn[left] = order[np.where(place < start[left], place, place + (end - start)[left])]
            left = left[self.says_the_same(anchor[left], drawn[left])]
        if len(left):
            raise ValueError(
                f"negatives=self_mined finds no negative for {len(left)} anchors, among {len(order)} train texts of "
                f"{len(np.unique(sorted_codes))} groups: it must be of another group and of other words. Use more rows "
                "or another group, or set negatives=none"
            )
        return drawn


class Renewal:
    """New negatives for each epoch.

    Args:
        settings: of the mining.
        data: whose negatives are set.
        pool: what they are chosen from.
        vectors: search vectors by the model in training.
        seed: of the draws.
    """

    def __init__(
        self,
        settings: SelfMined,
        data: GatheredExamples,
        pool: Pool,
        vectors: VectorsOf,
        seed: int,
    ) -> None:
        self.settings, self.data, self.pool, self.vectors = settings, data, pool, vectors
        self.seed = seed
        self.anchors, self.row = np.unique(pool.anchor, return_inverse=True)

    def __call__(self, epoch: int) -> None:
        """Set the negatives of an epoch."""
        negative = self.drawn(self.mined(), np.random.default_rng([self.seed, epoch, 1]))  # 1: not the order's stream
        known = self.data.examples.group is not None
        group = self.pool.group[negative] if known else None
        self.data.examples = replace(self.data.examples, negative=negative, negative_group=group)

    def mined(self) -> NDArray[np.int32]:
        """Return (A, D) lists of the nearest texts by the model as it is, `NOBODY` where there are fewer."""
        pool, settings = self.pool, self.settings
        read = np.union1d(self.anchors, pool.texts)
        queries, documents = self.vectors(read)
        index = Index(documents[np.searchsorted(read, pool.texts)])
        reach = settings.skip + settings.depth
        copies = min(int(np.bincount(pool.equal[pool.texts]).max()) - 1, COPIES)
        lists = np.full((len(self.anchors), settings.depth), NOBODY, dtype=np.int32)
        for start in range(0, len(lists), ROWS):
            anchors = self.anchors[start : start + ROWS]
            apart = (pool.code[anchors], pool.code[pool.texts])
            nearby = index.search(queries[np.searchsorted(read, anchors)], k=reach + copies, apart=apart)
            texts = pool.texts[nearby.index]
            each = np.broadcast_to(anchors[:, None], texts.shape)
            different = (nearby.index != NOBODY) & ~pool.says_the_same(each, texts)
            nearest = nearby.keeping(different, k=reach).index[:, settings.skip :]
            lists[start : start + ROWS] = np.where(nearest == NOBODY, NOBODY, pool.texts[nearest])
        return lists

    def drawn(self, lists: NDArray[np.int32], rng: np.random.Generator) -> Numbers:
        """Return (X, H) negatives of the examples, each text of a list at most once."""
        negatives = np.empty((len(self.row), self.settings.per_anchor), dtype=np.int64)
        for start in range(0, len(negatives), ROWS):
            listed = lists[self.row[start : start + ROWS]]  # (b, D)
            order = np.where(listed == NOBODY, np.inf, rng.random(listed.shape))
            chosen = np.argpartition(order, negatives.shape[1] - 1, axis=1)[:, : negatives.shape[1]]
            negatives[start : start + ROWS] = np.take_along_axis(listed, chosen, axis=1)
        missing, _ = np.nonzero(negatives == NOBODY)
        negatives[negatives == NOBODY] = self.pool.random(self.pool.anchor[missing], rng)
        return negatives
