"""`twicetold check`: what the figures of runs do not say by themselves."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from twicetold.commands._options import Json
from twicetold.commands._progress import progress
from twicetold.printable import json_text, print

if TYPE_CHECKING:
    from twicetold_lab.runs.checks import Outcome

ERRORS_FOUND = 3
"""Exit code where a check of severity error found something; warnings and notes leave it 0."""


def check(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders.", show_default=False)],
    select: Annotated[
        list[str] | None,
        typer.Option(
            "--select", metavar="NUMBER", help="Make this check, such as TW004; again for more.", show_default="all"
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check runs for leakage, missed precision targets and unfair comparisons.

    Examples:
        twicetold check runs/stsb-dae-0
        twicetold check runs/stsb-dssm-0 runs/stsb-tfidf_letters-0 --select TW004

    Each check has a number (docs/guides/checks.md shows them). A check that lacks its file says so. The exit code is 3
    if one of severity error found something, else 0.
    """
    with progress("checking"):
        from twicetold_lab.runs.checks import ERROR, FOUND, inspect
        from twicetold_lab.runs.checks import check as outcomes
        from twicetold_lab.runs.records import CARDS

        checked = {f"{place}": outcomes(inspect(place, cards=CARDS), select or ()) for place in runs}
    if as_json:
        print(json_text({place: [outcome.as_json for outcome in each] for place, each in checked.items()}))
    else:
        for place, each in checked.items():
            print("\n".join([place, *_lines(each)]))
    if any(each.state == FOUND and each.check.severity == ERROR for of_run in checked.values() for each in of_run):
        raise typer.Exit(ERRORS_FOUND)


def _lines(outcomes: "list[Outcome]") -> list[str]:
    """Return findings first, then what was not checked, then the numbers of what is clear."""
    from twicetold_lab.runs.checks import CLEAR, FOUND, NOT_CHECKED

    lines = [f"  {each.line}" for state in (FOUND, NOT_CHECKED) for each in outcomes if each.state == state]
    clear = [each.check.number for each in outcomes if each.state == CLEAR]
    return [*lines, f"  clear: {', '.join(clear)}"] if clear else lines
