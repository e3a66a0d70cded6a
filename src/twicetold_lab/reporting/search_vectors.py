"""Metrics of the search vectors of one dataset's models: search in the whole corpus, and the pairwise k-NN rule."""

from twicetold_lab.reporting.glossary import describe
from twicetold_lab.reporting.leaderboard import Leaderboard

_SEARCH = ("retrieval_recall_at", "retrieval_mrr_at", "retrieval_ndcg_at", "index_recall_at", "index_agreement_at")
OF_THE_RULE = ("pairwise_knn_k", "pairwise_knn_accuracy", "accuracy", "pairwise_knn_log_loss", "log_loss")
"""The rule's metrics, each before that of the threshold on the score or of the probability."""
HEADS_OF_THE_RULE = (
    ("k", "validation"),
    ("Accuracy", "pairwise k-NN, test"),
    ("Accuracy", "threshold, test"),
    ("Log loss", "pairwise k-NN, test"),
    ("Log loss", "probability, test"),
)
THE_RULE = (
    "Two texts are called the same if each is among the k nearest neighbours of the other in the texts of the split "
    "(Tang and Aw 2020, arXiv:2010.05523). The rule is transductive: its decision on two texts depends on which other "
    "texts are judged at the same time, so it cannot decide a single pair. The threshold can. k is the one from 1 to "
    "55, as in the paper, with the highest accuracy on validation; where it is 55, a larger one might be better."
)


def searched(board: Leaderboard) -> dict[str, float | None]:
    """Metric of search in the whole corpus -> its highest value, by kind of metric and rank."""
    names = sorted(board.metrics, key=_rank)
    return {name: board.top(name) for stem in _SEARCH for name in names if describe(name).stem == stem}


def heading(name: str) -> str:
    """A metric of search as the head of a column."""
    return describe(name).label.removeprefix("Search ")


def explanation(kind: str, names: dict[str, float | None]) -> str:
    """What is asked in the search, of data of a kind, with these metrics."""
    indexed = any(describe(name).stem == "index_recall_at" for name in names)
    asked = (
        "Each test text that has another of its story (or each of a sample) is looked for among all texts of the "
        "corpus."
        if kind == "documents"
        else "Each text of a test duplicate (or each of a sample) is looked for among all texts of the corpus. Correct "
        "answers are the texts that are duplicates according to test; duplicates known only from train or validation "
        "are removed from the list."
    )
    index = "; the columns on the right are about an approximate index over the same dense vectors" if indexed else ""
    return f"{asked} The search is exact{index}."


def _rank(name: str) -> int:
    rank = name.rpartition("_")[2]
    return int(rank) if rank.isdigit() else 0
