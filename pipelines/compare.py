"""Compare the published metrics of two revisions of the repository, read from Git without checking out.

Usage: python pipelines/compare.py --base <revision> [--head <revision>] [--markdown]

Examples:
    python pipelines/compare.py --base main
    python pipelines/compare.py --base main --head HEAD --markdown

It says which metrics of test left the 95 % interval of their value at the base. Runs of MLflow are compared in its
pages (make ui).

Options:
    --base REV       compare the metrics of this revision
    --head REV       with those of this one; default: HEAD
    --markdown       print Markdown, for the summary of a pull request
"""

import checkout  # noqa: F401 (for its effects)

import argparse

from twicetold.errors import readable_errors
from twicetold.printable import print
from twicetold_lab.reporting.markdown import rendered
from twicetold_lab.reporting.plain import section_text
from twicetold_lab.reporting.revisions import compare_revisions


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--base", metavar="REV", required=True)
    parser.add_argument("--head", metavar="REV", default="HEAD")
    parser.add_argument("--markdown", action="store_true")
    chosen = parser.parse_args()
    with readable_errors():
        compared = compare_revisions(chosen.base, chosen.head)
        print(rendered([compared]) if chosen.markdown else section_text(compared), end="")


if __name__ == "__main__":
    main()
