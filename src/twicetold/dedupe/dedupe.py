"""Groups of texts that say the same.

1. Texts that are equal in their normal form but for white space are one (`distinct`).
   Where rows have limits, such as a window of dates (`limits`), so must be their values.
2. Pairs of distinct texts are found by search vectors (`candidates`), within the limits (`blocking`): all from the
   threshold on, or where another score counts, those of the nearest texts.
3. Pairs whose similarity reaches a threshold (`thresholds`) are links, and groups follow from links by a rule of
   `twicetold.neighbours.grouping`.

Shape letters: n texts, m distinct texts.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from twicetold.dedupe.candidates import Candidates
from twicetold.dedupe.caution import many_grouped, warnings_of
from twicetold.dedupe.grouped import GroupedTexts
from twicetold.dedupe.options import DEFAULTS, DedupeOptions
from twicetold.dedupe.prepared import Prepared, Tell
from twicetold.dedupe.representatives import most_worth, representatives, worth_of
from twicetold.dedupe.results import DedupeSummary, TextGroups, TextLinks, summary_of_links
from twicetold.dedupe.review import borderline
from twicetold.neighbours.grouping import Links, Vectors
from twicetold.trained.loaded import LoadedModel


def dedupe(
    model: LoadedModel,
    texts: Sequence[str],
    options: DedupeOptions = DEFAULTS,
    *,
    encoded: Callable[[], Vectors] | None = None,
    progress: Tell | None = None,
) -> TextGroups:
    """Group texts that say the same; nothing is dropped.

    Args:
        model: whose search vectors find the pairs.
        texts: n of them, none empty.
        options: what is a link, and what becomes of links.
        encoded: gives the search vectors of all texts, so that no text is encoded here.
        progress: is called with a description of each step.

    Raises:
        TypeError: if this family scores pairs only, or one text is given in place of several.
        ValueError: if a text is empty, no threshold is known for the precision, or a column cannot be used.
    """
    _require_worth(options, len(texts))
    tell = progress or (lambda _: None)
    prepared = Prepared.of(model, texts, options, encoded=encoded, tell=tell)
    distinct, pairs, least = prepared.distinct, prepared.pairs, prepared.link.score
    found, near = prepared.search(prepared.below(least) if options.review else least, tell)
    tell("grouping")
    links, codes = prepared.grouping(found, near, least)(least)
    if isinstance(options.keep, tuple):
        rows = most_worth(codes[distinct.place], worth_of(*options.keep))
    else:
        lengths = [len(text) for text in distinct.texts]
        rows = distinct.rows[representatives(codes, links, options.keep, lengths, pairs.vectors)]
    grouped = GroupedTexts(distinct, pairs, links, codes, rows[codes])
    warnings = _warnings(grouped, least)
    for warning in warnings:
        tell(f"warning: {warning}")
    agreement = None
    if prepared.truth is not None:
        tell("comparing with known groups")
        agreement = prepared.truth.agreement(grouped.group, links, distinct, pairs.vectors)
    return TextGroups(
        group=grouped.group,
        representative=grouped.rows_of_representatives(),
        probability=grouped.probability(),
        exact=distinct.exact,
        links=grouped.in_rows(links),
        table=grouped.table,
        summary=_summary(prepared, grouped, near, warnings),
        review=_review(grouped, found, prepared) if options.review else None,
        agreement=agreement,
    )


def _require_worth(options: DedupeOptions, count: int) -> None:
    """Check the column that says which row is kept, if there is one, before anything is done."""
    if isinstance(options.keep, tuple) and len(worth := worth_of(*options.keep)) != count:
        raise ValueError(f"keep: expected a value for each of {count:,} texts, got {len(worth):,}")


def _review(grouped: GroupedTexts, found: Links, prepared: Prepared) -> TextLinks:
    """The pairs nearest to the threshold."""
    near = borderline(found, prepared.link.score, grouped.codes, prepared.said, count=prepared.options.review)
    return grouped.in_rows(near)


def _warnings(grouped: GroupedTexts, least: float) -> tuple[str, ...]:
    """What a person should know before rows are dropped."""
    distinct, rows, table = grouped.distinct, len(grouped.distinct.exact), grouped.table
    many = many_grouped(int(table.size.sum()), rows, rows - int(grouped.codes.max()) - 1)
    found = warnings_of(distinct.texts, grouped.links, grouped.codes, grouped.pairs, least=least)
    return found if many is None else (many, *found)


def _summary(prepared: Prepared, grouped: GroupedTexts, near: Candidates, warnings: tuple[str, ...]) -> DedupeSummary:
    distinct, sizes, thresholds, link = grouped.distinct, grouped.table.size, prepared.thresholds, prepared.link
    probability = float(grouped.pairs.probability(np.array([link.score]))[0])
    found = summary_of_links(
        len(distinct.exact), len(distinct), prepared.options.rule, thresholds, link, probability=probability
    )
    return replace(
        found,
        links=len(grouped.links),
        groups=len(sizes),
        grouped=int(sizes.sum()),
        largest=int(sizes.max(initial=1)),
        unfinished=near.unfinished,
        approximate=near.approximate,
        warnings=(*prepared.warnings, *warnings),
        covered=thresholds.covered(grouped.links),
        alone=0 if prepared.limits is None else prepared.limits.alone,
        wide=0 if prepared.limits is None else prepared.limits.wide(grouped.group),
    )
