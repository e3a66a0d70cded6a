"""Messages of `twicetold dedupe` about a file or a folder, in sentences and as JSON."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from twicetold.commands._console import tell
from twicetold.printable import counted, differing, json_text, print

if TYPE_CHECKING:
    from twicetold.dedupe.agreement import GroupAgreement
    from twicetold.dedupe.results import DedupeSummary, TextGroups
    from twicetold.staged.folder_dedupe import FolderGroups

NO_PROMISE = (
    "Precision unknown: no pair of this file is labelled. To measure it: twicetold label FILE -o pairs.csv, then "
    "twicetold calibrate pairs.csv.model pairs.csv -o MODEL"
)
MEASURES = {
    "link_precision": "precision of links",
    "text_precision": "precision of links by text",
    "link_recall": "recall of links",
    "ari": "ARI of groups",
    "pair_f1": "pairwise F1 of groups",
    "b3": "B³ of groups",
}
LOOSEST = 5  # groups that the summary shows
LOOSEST_GROUPS = "loosest groups (size, share of pairs that are links, probability of the weakest link):"
Names = Sequence[Any]
"""By row: its number from 1, or its id."""


def as_json(groups: "TextGroups", texts: Sequence[str], names: Names) -> dict[str, Any]:
    """Return all numbers, and each group with its weakest link."""
    from dataclasses import asdict

    table = groups.table
    several = [_group(groups, texts, names, position) for position in range(len(table))]
    agreement = None if groups.summary.agreement is None else asdict(groups.summary.agreement)
    return {**groups.summary.to_json(), "agreement": agreement, "each_group": several}


def tell_result(
    about: dict[str, Any] | list[str],
    *,
    rows: int,
    dropped: int | None,
    aside: str | None,
    bad: int,
    bad_aside: str | None,
    place: str | None,
) -> None:
    """Print a result, and where the rows are.

    Args:
        about: for JSON, or sentences.
        rows: of all.
        dropped: number of dropped rows; None: they are not dropped.
        aside: file or folder with the dropped rows; None: they are in none.
        bad: number of bad rows.
        bad_aside: file or folder with the bad rows; None: they are in none.
        place: line about the file or the folder of the others; None: they are on standard output.
    """
    if isinstance(about, dict):
        share = (dropped or 0) / rows
        of_dropped = {"dropped": dropped or 0, "dropped_share": share, "dropped_file": aside}
        print(json_text({**about, **of_dropped, "bad": bad, "bad_file": bad_aside}))
    else:
        tell(*about)
    if place is not None:
        tell(place)
    if dropped is not None:
        where = f"they are in {aside}" if aside else "they are in no file: give -o FILE to keep them beside it"
        tell(f"dropped {dropped:,} of {counted(rows, 'row')} ({dropped / rows:.1%}); {where}")
    if bad_aside is not None:
        tell(f"{counted(bad, 'bad row')} in {bad_aside}")


def in_sentences(groups: "TextGroups", texts: Sequence[str], names: Names) -> list[str]:
    """Return the summary, with the loosest groups."""
    lines = of_summary(groups.summary, dropped=groups.summary.counts.texts - len(groups.kept()))
    if groups.summary.agreement is not None:
        lines += _agreement(groups.summary.agreement)
    return [*lines, *_loosest(groups, texts, names)]


def of_summary(summary: "DedupeSummary", *, dropped: int) -> list[str]:
    """Return sentences about links and groups as a whole.

    Args:
        summary: of a dedupe.
        dropped: rows that are not the representative of their group.
    """
    counts, threshold = summary.counts, summary.threshold
    lines = [
        f"{counted(counts.texts, 'text')}, {counts.distinct:,} of them distinct; "
        f"{counted(counts.links, 'link')} (probability ≥ {threshold.probability:.3g})",
        f"{counted(counts.groups, 'group')} of {counted(counts.grouped, 'text')}, the largest of "
        f"{counts.largest:,}; {counted(dropped, 'row')} would be dropped"
        if counts.groups
        else "no group of two or more texts",
        *threshold.sentences(),
    ]
    if not threshold.calibrated:
        lines.append(NO_PROMISE)
    if threshold.labelled_pairs:
        lines.append(
            "warning: threshold and probabilities come from labelled pairs, where duplicates are frequent. Among all "
            "pairs of a file they are rare, so fewer links are right than the probabilities say"
        )
    if counts.unfinished:
        lines.append(
            f"warning: {counted(counts.unfinished, 'text was', 'texts were')} not compared with all others, because "
            "too many texts are alike (lines of one template?): the number of links is too low. Compare rows with an "
            "equal value in a column (--same), or raise --threshold"
        )
    if counts.wide:
        lines.append(
            f"{counted(counts.wide, 'group spans', 'groups span')} more than --within allows for a pair, because "
            "texts are linked in a chain. --rule complete makes no chains"
        )
    return lines


def _agreement(agreement: "GroupAgreement") -> list[str]:
    """Return agreement of links and groups with known ones."""
    lines = [
        f"beside the known groups of {counted(agreement.rows, 'row')}, {counted(agreement.groups, 'group')} of two or "
        f"more with {counted(agreement.pairs, 'pair')} (95 % intervals; the unit is the group):"
    ]
    for name, measured in agreement.measures.items():
        interval = "" if measured.low is None else f" ({measured.low:.3f} to {measured.high:.3f})"
        lines.append(f"  {measured.value:.3f}{interval}  {MEASURES[name]}")
    return lines


def _loosest(groups: "TextGroups", texts: Sequence[str], names: Names) -> list[str]:
    """Return lines about the groups that the weakest links hold together."""
    order = groups.doubtful_first()
    loose = order[groups.table.distinct[order] > 1][:LOOSEST]
    lines = [LOOSEST_GROUPS] if len(loose) else []
    for position in loose.tolist():
        about = _group(groups, texts, names, position)
        weakest = about["weakest"]
        one, other = differing(weakest["left_text"], weakest["right_text"])
        measures = f"{counted(about['size'], 'text')}, {about['density']:.2f}, {weakest['probability']:.3f}"
        lines.append(f"  {about['group']}: {measures} {one!r} - {other!r}")
    return lines


def _group(groups: "TextGroups", texts: Sequence[str], names: Names, position: int) -> dict[str, Any]:
    table, links = groups.table, groups.links
    about: dict[str, Any] = {
        "group": int(table.group[position]),
        "size": int(table.size[position]),
        "distinct": int(table.distinct[position]),
        "density": float(table.density[position]),
        "weakest": None,
    }
    if table.distinct[position] > 1:
        link = int(table.weakest[position])
        left, right = int(links.left[link]), int(links.right[link])
        about["weakest"] = {
            "left": names[left],
            "right": names[right],
            "left_text": texts[left],
            "right_text": texts[right],
            "probability": float(links.probability[link]),
        }
    return about


def of_folder(result: "FolderGroups") -> list[str]:
    """Return the summary of a folder."""
    summary = result.summary
    lines = [f"warning: {each}" for each in summary.warnings]
    return [*lines, *of_summary(summary, dropped=summary.counts.texts - result.groups)]
