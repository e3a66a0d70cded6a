"""Numbers and signs that features, models and losses agree on."""

UNKNOWN_TOKEN = 0  # number of every token that is not in the vocabulary
UNDECIDED = 0.5  # pairs with a label above this one are duplicates
COLUMN_SEPARATOR = "\x1f"  # between columns of a text that is kept as its characters
