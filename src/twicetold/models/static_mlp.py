"""Static embeddings, compared by a small network instead of the cosine alone: `modules.comparing_table`."""

from twicetold.layers.comparing_table import ComparingTable


class StaticMlp(ComparingTable):
    """Sums of n-gram vectors as in `static`, and a network that compares."""
