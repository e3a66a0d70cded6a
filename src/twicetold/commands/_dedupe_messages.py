"""Messages of `twicetold dedupe` about a file or a folder, in sentences and as JSON."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from twicetold.commands._console import flush_right
from twicetold.printable import counted, differing

if TYPE_CHECKING:
    from twicetold.dedupe.agreement import GroupAgreement
    from twicetold.dedupe.dry_run import DryRun
    from twicetold.dedupe.results import DedupeSummary, TextGroups
    from twicetold.staged.dedupe import FolderGroups

NO_PROMISE = (
    "probabilities are those of other files (in kinds of files that were new to the matcher, 0.9 has meant 0.40 to "
    "1.00), and no share of right links is promised, as no sample of the pairs is labelled: twicetold "
    "label FILE -o pairs.csv, then twicetold calibrate pairs.csv.model pairs.csv -o MODEL, is the way to a promise"
)
MEASURES = {
    "average_precision": "average precision over all pairs of these rows",
    "link_precision": "precision of links",
    "text_precision": "precision of links by text",
    "link_recall": "recall of links",
    "ari": "ARI of groups",
    "pair_f1": "pairwise F1 of groups",
    "b3": "B³ of groups",
}
LOOSEST = 5  # groups that the summary shows
LOOSEST_BY = "size, share of pairs that are links, weakest link that holds it together, by which they are sorted"
Names = Sequence[Any]
"""By row: its number from 1, or its id."""


def as_json(groups: "TextGroups", texts: Sequence[str], names: Names) -> dict[str, Any]:
    """All numbers, and each group with its weakest link."""
    from dataclasses import asdict

    table = groups.table
    several = [_group(groups, texts, names, position) for position in range(len(table))]
    agreement = None if groups.summary.agreement is None else asdict(groups.summary.agreement)
    return {**groups.summary.to_json(), "agreement": agreement, "each_group": several}


def dropped_as_json(dropped: int, rows: int, place: str | None) -> dict[str, Any]:
    """Number of dropped rows, their share of all, and their place.

    Args:
        dropped: number of them.
        rows: of all.
        place: file or folder with the dropped rows; None: they are in none.
    """
    return {"dropped": dropped, "dropped_share": dropped / rows, "dropped_file": place}


def dropped_in_words(dropped: int, rows: int, place: str | None) -> str:
    """Number, share and place of dropped rows, as a line."""
    where = f"they are in {place}" if place else "they are in no file, as there is none beside the output (-o FILE)"
    return f"dropped {dropped:,} of {counted(rows, 'row')} ({dropped / rows:.1%}); {where}"


def in_sentences(groups: "TextGroups", texts: Sequence[str], names: Names) -> str:
    """The summary, with the loosest groups."""
    lines = of_summary(groups.summary, dropped=groups.summary.counts.texts - len(groups.kept()))
    if groups.summary.agreement is not None:
        lines += _agreement(groups.summary.agreement)
    return "\n".join([*lines, *_loosest(groups, texts, names)])


def of_summary(summary: "DedupeSummary", *, dropped: int) -> list[str]:
    """Sentences about links and groups as a whole.

    Args:
        summary: of a dedupe.
        dropped: texts that have another one as representative.
    """
    counts, threshold = summary.counts, summary.threshold
    since = f"probability {threshold.probability:.3f} on (score {threshold.score:.4f})"
    lines = [
        f"{counted(counts.texts, 'text')}, {counts.distinct:,} of them distinct; "
        f"{counted(counts.links, 'link')} from {since}",
        f"{counted(counts.groups, 'group')} of {counted(counts.grouped, 'text')}, the largest of "
        f"{counts.largest:,}; {counted(dropped, 'text has', 'texts have')} another one as representative"
        if counts.groups
        else "no group of two or more texts",
        *threshold.sentences(),
    ]
    if counts.covered is not None:
        lines.append(
            f"{counts.covered:.1%} of the links are among the nearest of a text, as the labelled pairs were; the "
            "labels say nothing about the others"
        )
    if not threshold.calibrated:
        lines.append(NO_PROMISE)
    if threshold.labelled_pairs:
        lines.append(
            "warning: calibration and default threshold come from labelled pairs, among which duplicates are frequent; "
            "among all pairs of a file they are rare, so fewer of the links are right than the probabilities say"
        )
    if counts.unfinished:
        lines.append(
            f"warning: {counted(counts.unfinished, 'text')} may have more links than were looked for, as too many are "
            "alike, as lines of one template are: numbers of links and shares of pairs are too low; raise the threshold"
        )
    if counts.wide:
        lines.append(
            f"{counted(counts.wide, 'group spans', 'groups span')} more than --within allows for a pair: texts are "
            "linked in a chain; with --rule complete, there is no such group"
        )
    return lines


def by_threshold(dry_run: "DryRun") -> str:
    """A table with a row a threshold."""
    from twicetold.dedupe.dry_run import DIGITS

    heads = ("", "probability", "links", "groups", "texts in groups", "largest", "dropped by --drop")
    rows: list[tuple[str, ...]] = [(*heads, *(("ARI", "pairwise F1", "B³") if dry_run.at[0].agreement else ()))]
    for row in dry_run.at:
        digits = max(3, DIGITS - _exponent(min(row.threshold, 1 - row.threshold)))
        counts = (row.links, row.groups, row.grouped, row.largest, row.dropped)
        agreed = () if row.agreement is None else (row.agreement.ari, row.agreement.f1, row.agreement.b3)
        cells = (
            f"{row.threshold:.{digits}f}",
            *(f"{count:,}" for count in counts),
            *(f"{each:.3f}" for each in agreed),
        )
        rows.append(("*" if row.chosen else "", *cells))
    lines = flush_right(rows, gap="  ")
    lines.append(f"* the threshold of a dedupe with these options; nothing was written. Rule: {dry_run.rule}")
    if dry_run.unfinished:
        lines.append(f"warning: {counted(dry_run.unfinished, 'text')} may have more links at the lowest threshold")
    return "\n".join(lines)


def _agreement(agreement: "GroupAgreement") -> list[str]:
    """Agreement of links and groups with known ones."""
    lines = [
        f"beside the known groups of {counted(agreement.rows, 'row')}, {counted(agreement.groups, 'group')} of two or "
        f"more with {counted(agreement.pairs, 'pair')} (95 % intervals; the unit is the group):"
    ]
    for name, measured in agreement.measures.items():
        interval = "" if measured.low is None else f" ({measured.low:.3f} to {measured.high:.3f})"
        name_of_measure = MEASURES[name]
        if name == "average_precision" and agreement.ranked < agreement.rows:
            name_of_measure += f", of a sample of {agreement.ranked:,}"
        lines.append(f"  {measured.value:.3f}{interval}  {name_of_measure}")
    return lines


def _exponent(value: float) -> int:
    import math

    return math.floor(math.log10(value)) + 1 if value > 0 else 0


def _loosest(groups: "TextGroups", texts: Sequence[str], names: Names) -> list[str]:
    """Lines about the groups that the weakest links hold together, with the place where two texts differ."""
    lines, order = [], groups.doubtful_first()
    loose = order[groups.table.distinct[order] > 1]
    if len(loose):
        lines.append(f"loosest groups ({LOOSEST_BY}):")
    for position in loose[:LOOSEST]:
        about = _group(groups, texts, names, int(position))
        weakest = about["weakest"]
        one, other = differing(weakest["left_text"], weakest["right_text"])
        lines.append(
            f"  {about['group']}: {about['size']} texts, {about['density']:.2f}, {weakest['probability']:.3f} "
            f"{one!r} - {other!r}"
        )
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
    """The summary of a folder, with the loosest groups."""
    summary = result.summary
    lines = [f"warning: {each}" for each in summary.warnings]
    lines += of_summary(summary, dropped=summary.counts.texts - result.groups)
    if not result.cells:
        lines.append("no link was missed: all pairs of texts that could be links were compared")
    if result.loosest:
        lines.append(f"loosest groups ({LOOSEST_BY}):")
    lines += [f"  {counted(each['size'], 'text')}, {each['density']:.2f}, {_weakest(each)}" for each in result.loosest]
    cpu = sum(stage["cpu"] for stage in result.used.values())
    peak = max((stage["peak"] for stage in result.used.values()), default=0)
    return [*lines, f"{cpu:,.1f} s of processor time; a task held {peak / 10**6:,.0f} MB at most"]


def _weakest(group: Mapping[str, Any]) -> str:
    one, other = differing(group["left_text"], group["right_text"])
    return f"{group['score']:.3f} {one!r} - {other!r}"
