"""Rows as text, as the csv module writes them."""

import csv
import io


def delimited(rows, delimiter=",", end="\n"):
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator=end).writerows(rows)
    return text.getvalue()
