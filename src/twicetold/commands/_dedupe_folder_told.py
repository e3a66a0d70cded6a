"""What `twicetold dedupe` says of a folder, in sentences: what was found, and what it would cost."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from twicetold.printable import counted, differing

if TYPE_CHECKING:
    from twicetold.staged.dedupe import Found
    from twicetold.staged.estimate import Estimate


def in_sentences(found: "Found") -> list[str]:
    """The summary, with the largest component and the loosest groups."""
    from twicetold.commands._dedupe_told import LOOSEST_BY, of_summary
    from twicetold.staged.threshold import summary_of

    summary = summary_of(found.summary)
    lines = [f"warning: {each}" for each in summary.warnings]
    lines += of_summary(summary, dropped=summary.texts - found.groups)
    lines.append(_recall(found))
    if (whole := found.component) is not None and whole["groups"] > 1:
        lines.append(
            f"the largest component of links has {whole['size']:,} distinct texts, {whole['density']:.2g} of whose "
            f"pairs are links, in {counted(whole['groups'], 'group')}; its weakest bridge: {_weakest(whole)}"
        )
    if found.loosest:
        lines.append(f"loosest groups ({LOOSEST_BY}):")
    lines += [f"  {counted(each['size'], 'text')}, {each['density']:.2f}, {_weakest(each)}" for each in found.loosest]
    cpu = sum(stage["cpu"] for stage in found.used.values())
    peak = max((stage["peak"] for stage in found.used.values()), default=0)
    return [*lines, f"{cpu:,.1f} s of processor time; a task held {peak / 10**6:,.0f} MB at most"]


def _recall(found: "Found") -> str:
    """Which share of links was found."""
    if not found.cells:
        return "no link was missed: all pairs of texts that could be links were compared"
    if not found.recall:
        return "which share of the links was found is not known, as no --sample was compared with all texts"
    sampled = found.recall
    about = (
        f"{counted(sampled['asked'], 'text was', 'texts were')} compared with all others, and "
        f"{counted(sampled['linked'], 'of them has', 'of them have')} links"
    )
    if "recall" not in sampled:
        return f"which share of the links was found is not known: {about}; give a larger --sample"
    return (
        f"recall of a text's links: {sampled['recall']:.4f} (95 % interval {sampled['low']:.4f} to "
        f"{sampled['high']:.4f}): {about}, {sampled['links']:,}, of which {sampled['found']:,} were found"
    )


def _weakest(group: Mapping[str, Any]) -> str:
    one, other = differing(group["left_text"], group["right_text"])
    return f"{group['score']:.3f} {one!r} - {other!r}"


def planned(found: "Estimate", workers: int) -> list[str]:
    """What a dedupe would take."""
    rows = [("", "tasks", "MB a task", "GB on disk", "CPU hours")]
    for stage in found.stages:
        numbers = (stage.memory / 10**6, stage.disk / 10**9, stage.cpu / 3600)
        memory, disk, hours = (f"{number:,.{digits}f}" for number, digits in zip(numbers, (0, 2, 3), strict=True))
        rows.append((stage.name, f"{stage.tasks:,}", memory, disk, hours))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    cells = f"{counted(found.cells, 'cell')}" if found.cells else "without cells"
    total = found.cpu / 3600
    lines.append(
        f"{counted(found.parts, 'part')}, {counted(found.rows, 'row')}, {cells}: {total:,.2f} CPU hours, "
        f"with --workers {workers} about "
        f"{total / workers:,.2f} hours; {found.disk / 10**9:,.1f} GB on disk at most"
    )
    if found.disk > found.free:
        lines.append(f"warning: only {found.free / 10**9:,.1f} GB are free there")
    return [*lines, "an estimate by some texts and a product that were timed here; nothing was written"]
