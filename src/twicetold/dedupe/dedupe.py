"""Groups of duplicates.

1. Texts that are equal in their normal form, white space aside, are one (`distinct`).
   Where rows have limits, such as a window of dates (`limits`), so must be their values.
2. Pairs of distinct texts are found by search vectors (`candidates`), within the limits (`blocking`): all from the
   threshold on, or where another score counts, those of the nearest texts.
3. Pairs whose similarity reaches a threshold (`thresholds`) are links, and groups follow from links by a rule of
   `twicetold.neighbours.grouping` and from must-link and cannot-link pairs (`constraints`).
4. Each group has a representative (`groups`), and a person is warned of doubtful groups (`caution`).

`twicetold.staged` does so for a folder, by this function; texts of many rows have been compared in blocks by then.

Shape letters: n texts, m distinct texts.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from twicetold.dedupe.caution import doubtful, many_grouped, warnings_of
from twicetold.dedupe.groups import representatives, values_to_keep
from twicetold.dedupe.limits import require_length
from twicetold.dedupe.options import DEFAULTS, DedupeOptions
from twicetold.dedupe.pairs import Candidates
from twicetold.dedupe.prepared import Prepared, Progress
from twicetold.dedupe.results import DedupeCounts, DedupeSummary, GroupsOfTexts, TextGroups, TextLinks
from twicetold.neighbours.grouping import Ints, Links, Vectors, describe
from twicetold.tables.columns import strings_of
from twicetold.tables.texts import texts_of
from twicetold.trained.loaded import LoadedModel

if TYPE_CHECKING:
    from twicetold.matching.comparison import Comparison


def dedupe(
    model: LoadedModel,
    texts: Sequence[str],
    options: DedupeOptions = DEFAULTS,
    *,
    encoded: Callable[[], Vectors] | None = None,
    progress: Progress | None = None,
    comparison: "Comparison | None" = None,
) -> TextGroups:
    """Group duplicates; nothing is dropped.

    Args:
        model: whose search vectors find the pairs.
        texts: n of them, none empty.
        options: what is a link, and what becomes of links.
        encoded: gives the search vectors of all texts, so that no text is encoded here.
        progress: is called with a description of each step.
        comparison: of the distinct texts by the matcher, if they have been compared.

    Raises:
        TypeError: if this family scores pairs only, or one text is given in place of several.
        ValueError: if a text is empty, no threshold is known for the precision, or a column cannot be used.
    """
    if isinstance(options.keep, tuple):
        require_length("keep", values_to_keep(*options.keep), len(texts))
    truth = None
    if options.truth is not None:
        from twicetold.dedupe.agreement import KnownGroups

        truth = KnownGroups.of(len(texts), options.truth)
    progress = progress or (lambda _: None)
    prepared = Prepared.of(model, texts, options, encoded=encoded, progress=progress, comparison=comparison)
    distinct, comparison = prepared.distinct, prepared.comparison if prepared.pairs.vectors is None else None
    links, codes, candidates = prepared.grouped(progress)
    represented, probability = representatives(prepared.pairs, codes, options, distinct=distinct)
    group, table = codes[distinct.place], _table(codes, links, distinct.place)
    columns = [texts_of(texts), *(strings_of(column) for column in options.also)]  # for a person who judges pairs
    shown = columns[0] if len(columns) == 1 else [" · ".join(filter(None, row)) for row in zip(*columns, strict=True)]
    summary = _summary(prepared, links, codes, table, candidates, shown, progress)
    if truth is not None:
        progress("comparing with known groups")
        summary = replace(summary, agreement=truth.agreement(group, links, distinct))
    return TextGroups(
        group=group,
        representative=represented[distinct.place],
        probability=probability[distinct.place],
        exact=distinct.exact,
        links=TextLinks(
            distinct.rows[links.left],
            distinct.rows[links.right],
            links.similarity,
            prepared.pairs.probability(links.similarity),
        ),
        table=table,
        summary=summary,
        texts=shown,
        why=None if comparison is None else lambda at: comparison.why(links.left[at], links.right[at], distinct.texts),
    )


def _table(codes: Ints, links: Links, place: Ints) -> GroupsOfTexts:
    """Return the groups of two or more of the n texts, by the distinct text of each."""
    described = describe(codes, links)
    size = np.bincount(codes[place])
    larger = np.flatnonzero(size > 1)
    return GroupsOfTexts(
        larger, size[larger], described.size[larger], described.density[larger], described.weakest[larger]
    )


def _summary(
    prepared: Prepared,
    links: Links,
    codes: Ints,
    table: GroupsOfTexts,
    candidates: Candidates,
    shown: Sequence[str],
    progress: Progress,
) -> DedupeSummary:
    """Return the dedupe in numbers; warnings are told as well."""
    distinct, limits = prepared.distinct, prepared.limits
    group = codes[distinct.place]
    counts = DedupeCounts(
        texts=len(group),
        distinct=len(distinct),
        links=len(links),
        groups=len(table),
        grouped=int(table.size.sum()),
        largest=int(table.size.max(initial=1)),
        unfinished=candidates.unfinished,
        approximate=candidates.approximate,
        alone=0 if limits is None else limits.alone,
        wide=0 if limits is None else limits.wide(group),
    )
    dropped, equal = (counts.texts - kept for kept in (int(codes.max()) + 1, counts.distinct))
    many = many_grouped(counts.grouped, counts.texts, dropped, equal=equal)
    rows = [shown[row] for row in distinct.rows.tolist()]
    doubts = warnings_of(distinct.texts, links, codes, prepared.pairs, least=prepared.link.score, shown=rows)
    compared, pairs, doubt = prepared.comparison, prepared.pairs, None
    unlabelled = prepared.link.chosen_for == "matcher" and not prepared.constraints
    if compared is not None and pairs.vectors is None and unlabelled:
        doubt = doubtful(pairs.probability(compared.log_odds), len(links))
    warnings = tuple(filter(None, (many, doubt, *doubts)))
    for warning in warnings:
        progress(f"warning: {warning}")
    return DedupeSummary(counts, prepared.link, (*prepared.warnings, *warnings))
