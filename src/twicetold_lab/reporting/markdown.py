"""The leaderboards and the provenance of the data as Markdown, for RESULTS.md.

It is made from files that are in Git (metrics, summaries, cards); the same files give the same bytes.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from twicetold.evaluation.decision import Verdict
from twicetold_lab.reporting import (
    false_negatives,
    operating_points,
    provenance,
    reading,
    samples,
    search_vectors,
    twin_groups,
)
from twicetold_lab.reporting.choice import LEAD, Answer, Grid, answers, how_to_read
from twicetold_lab.reporting.choice import TITLE as TITLE_OF_CHOICE
from twicetold_lab.reporting.cost import TITLE as COST
from twicetold_lab.reporting.cost import Costs, costs
from twicetold_lab.reporting.dedupe import HOW_TO_READ, Deduped, DedupeTable, Shown, deduped
from twicetold_lab.reporting.elsewhere import HOW_TO_READ as HOW_TO_READ_MATRICES
from twicetold_lab.reporting.elsewhere import TITLE, Matrices, matrices
from twicetold_lab.reporting.fair import TITLE as TITLE_OF_FAIR
from twicetold_lab.reporting.fair import FairCell, fair_runs, fair_tables
from twicetold_lab.reporting.glossary import count, describe, magnitude, number, share, split_of
from twicetold_lab.reporting.leaderboard import TRAIN_AND_TEST, Estimate, Leaderboard, Row, rank, train_and_test_columns
from twicetold_lab.reporting.published import PUBLISHED
from twicetold_lab.reporting.samples import decision_in_words, sample_table
from twicetold_lab.reporting.studies import Study, read_studies
from twicetold_lab.reporting.tiers import all_tiers
from twicetold_lab.reporting.topics import HOW_TO_READ as HOW_TO_READ_TOPICS
from twicetold_lab.reporting.topics import TITLE as TITLE_OF_TOPICS
from twicetold_lab.reporting.topics import TopicSection, read_topics, topic_sections
from twicetold_lab.runs.records import Cell, Provenance, read_card, read_elsewhere, read_peers, read_runs

RESPLIT = (
    "**The split of `{data}` has changed since its rows were made** (`data.source` in `conf/data/{data}.yaml`). Its "
    "figures and counts here are of the former one, until the grid is run again.\n"
)
_LINE_ENDS = re.compile("[\x00-\x1f\x7f\x85\u2028\u2029]")  # and other characters without a shape
_BLOCK = re.compile(r"^(\s*\d*)(?=[#>=]|[+-](?:[\s-]|$)|(?<=\d)[.)](?:\s|$))")  # where a heading or a list begins
_ADDRESS = re.compile(r"(\b(?:https?|ftp|mailto|xmpp)(?=:)|\bwww(?=\.))", re.IGNORECASE)  # that GFM makes a link of
_MAIL = re.compile(r"(?<=[\w.+-])@(?=[\w-]+\.)")


def markdown(
    commands: Mapping[Cell, str],
    *,
    runs: Path,
    cards: Path,
    elsewhere: Sequence[Cell] = (),
    topics: Sequence[Cell] = (),
    fair: Sequence[FairCell] = (),
    seconds: Mapping[str, float] | None = None,
    ensembles: Collection[Cell] = (),
    resplit: Collection[str] = (),
) -> str:
    """What to take, then the leaderboard of each dataset, its counts, its leakage audit and the checksums of its files.

    Args:
        commands: the runs to report, those of `fair` among them, and the command that trains each.
        runs: the folder of run folders.
        cards: the folder of the cards of datasets.
        elsewhere: the runs that were evaluated on other data as well.
        topics: the runs on whose vectors texts were grouped by topic.
        fair: the runs of families on the same terms, which have tables of their own.
        seconds: that a cell's training took, by the cell's name.
        ensembles: the runs that join others.
        resplit: datasets that are split otherwise since their runs were made; their sections say so.

    Raises:
        FileNotFoundError: if a file is missing; says which stage writes it.
        ValueError: if models of one dataset were evaluated on different units.
    """
    parts: list[str] = []
    taken: list[str] = []
    boards: list[Leaderboard] = []
    grid, abroad = Grid(commands, ensembles), read_elsewhere(elsewhere, runs)
    peers, explained, told = read_peers(runs), False, False
    on_terms = fair_runs(fair, runs)
    own = [cell for cell in commands if cell not in {each.cell for each in fair}]
    for data, found in read_runs(own, runs).items():
        about = read_card(data, cards)
        board = rank(data, found)
        boards.append(board)
        answered = answers(board, all_tiers(board, about.kind), grid=grid, elsewhere=abroad)
        former = [RESPLIT.format(data=data)] if data in resplit else []
        taken += _choice(data, answered, former)
        section = deduped(board, about.kind, peers.get(data, []))
        parts += [f"## {escaped(data)}\n", f"{provenance.KINDS[about.kind]}\n", *former, _leaderboard(board)]
        parts += _commands(board, commands) + _train_and_test(board)
        parts += _cost(cost := costs(board, seconds or {}), in_full=not told)
        parts += _dedupe(section, in_full=not explained) + _operating_points(answered)
        for each in fair_tables(board, fair, on_terms.get(data, []), seconds or {}):
            parts += [
                f"### {TITLE_OF_FAIR}: {escaped(each.terms)}\n",
                f"{escaped(each.said)}\n",
                shown_table(each.table),
            ]
        parts += _search(board, about.kind) + (_pairwise_knn(board) if about.kind == "labelled_pairs" else [])
        parts += _samples(board) + _word_hashing(board) + _data(about)
        explained, told = explained or section is not None, told or (cost is not None and cost.is_measured)
    parts += _elsewhere(matrices(abroad, ensembles)) + _topics(topic_sections(read_topics(topics, runs)))
    parts += [part for study in read_studies(runs, {board.data for board in boards}) for part in _study(study)]
    head = [f"## {TITLE_OF_CHOICE}\n", f"{escaped(LEAD)} {escaped(how_to_read(boards))}\n", *taken] if taken else []
    return "\n".join([*head, *parts])


def _choice(data: str, answered: Sequence[Answer], above: Sequence[str]) -> list[str]:
    """The answers for each use of a dataset, below remarks."""
    parts = [f"### {escaped(data)}: {TITLE_OF_CHOICE.lower()}\n", *above] if answered else []
    for each in answered:
        lines = []
        for sentence in each.sentences:
            model = f"**{escaped(sentence.model)}**. " if sentence.model else ""
            command = f" {code(sentence.command)}" if sentence.command else ""
            lines.append(f"- {sentence.head}: {model}{escaped(sentence.said)}{command}")
        parts += [f"#### {escaped(each.use.heading)}\n", "\n".join(lines) + "\n"]
    return parts


def _operating_points(answered: Sequence[Answer]) -> list[str]:
    """Of the models that are named for decisions about pairs."""
    found = operating_points.points_table(answered[0].named if answered else ())
    if found is None:
        return []
    return [f"### {operating_points.TITLE}\n", f"{escaped(operating_points.HOW_TO_READ)}\n", shown_table(found)]


def _leaderboard(board: Leaderboard) -> str:
    shown = board.leading
    primary = escaped(describe(board.primary).label)
    heads = ["model", f"{primary}, test", "95 % interval", f"{primary}, validation"]
    heads += [f"{escaped(describe(name).label)}, {split_of(name)}" for name in shown] + [
        "parameters",
        "epochs",
        "tuned",
    ]
    notes = "".join(f"\n{escaped(note)}\n" for note in board.pretraining)
    return table(heads, (_row(row, board, shown) for row in board.rows)) + notes


def _row(row: Row, board: Leaderboard, shown: Sequence[str]) -> list[str]:
    test = row.metrics["test"]
    primary = test.get(board.primary)
    model = escaped(row.model + row.mark)
    return [
        (f"**{model}**" if row is board.best else model) + (" (baseline)" if row.first.is_baseline else ""),
        estimate(board.primary, primary, top=board.top(board.primary)),
        interval(primary),
        estimate(board.primary, row.metrics["val"].get(board.primary)),
        *(estimate(name, test.get(name), top=board.top(name)) for name in shown),
        count(row.first.parameters) if row.first.parameters else "–",
        f"{row.epochs:g}" if row.epochs else "–",
        escaped(row.first.tuned_how or "–"),
    ]


def estimate(name: str, found: Estimate | None, *, top: float | None = None) -> str:
    """A metric as a cell: mean and, with several seeds, standard deviation; bold if it is the `top`."""
    if found is None:
        return "–"
    metric = describe(name)
    text = metric.show(found.mean) + ("" if found.deviation is None else f" ± {metric.show(found.deviation)}")
    return f"**{text}**" if found.mean == top else text


def interval(found: Estimate | None) -> str:
    """The 95 % interval of a metric as a cell."""
    if found is None or not found.interval:
        return "–"
    low, high = found.interval
    return f"{number(low)} to {number(high)}"


def _commands(board: Leaderboard, commands: Mapping[Cell, str]) -> list[str]:
    lines = [f"- {escaped(row.model)}: {code(commands[row.first.cell])}" for row in board.rows]
    return ["\n".join(["<details><summary>How each is trained</summary>\n", *lines, "\n</details>\n"])]


def _train_and_test(board: Leaderboard) -> list[str]:
    columns = train_and_test_columns(board)
    if not columns:
        return []
    heads = ["model", *(f"{escaped(describe(name).label)}, {split}" for name, split in columns)]
    rows = (
        [escaped(row.model), *(estimate(name, row.metrics[split].get(name)) for name, split in columns)]
        for row in board.rows
        if "train" in row.metrics
    )
    return ["### Train and test\n", f"{TRAIN_AND_TEST}\n", table(heads, rows)]


def _cost(found: Costs | None, *, in_full: bool) -> list[str]:
    """The section on cost; only the first one with measurements is explained in full."""
    if found is None:
        return []
    above = escaped(found.explanation) if in_full or not found.is_measured else "[How to read this](#cost)."
    return [f"### {COST}\n", f"{above}\n", shown_table(found.table), *(f"{escaped(note)}\n" for note in found.notes)]


def _dedupe(found: Deduped | None, *, in_full: bool) -> list[str]:
    """The section on a dedupe; only the first one of the page is explained in full."""
    if found is None:
        return []
    above = [*map(escaped, HOW_TO_READ)] if in_full else ["[How to read this](#dedupe)."]
    above += [escaped(found.caveat)] if found.caveat else []
    below = [f"{escaped(note)}\n" for note in found.notes]
    return ["### Dedupe\n", *(f"{text}\n" for text in above), shown_table(found.table), *below]


def shown_table(found: DedupeTable) -> str:
    """A table of cells, with their notes in brackets."""
    heads = [found.of, *(", ".join(filter(None, (column.text, column.note))) for column in found.columns)]
    return table(heads, ([_shown(name), *map(_shown, cells)] for name, cells in found.rows))


def _shown(cell: Shown) -> str:
    return escaped(cell.text) + (f" ({escaped(cell.note)})" if cell.note else "")


def _elsewhere(found: Matrices | None) -> list[str]:
    if found is None:
        return []
    tables = (("Ranking", found.ranking), ("Decisions", found.decisions))
    return _tables(TITLE, HOW_TO_READ_MATRICES, tables) + [f"{escaped(note)}\n" for note in found.notes]


def _topics(sections: Sequence[TopicSection]) -> list[str]:
    if not sections:
        return []
    return _tables(TITLE_OF_TOPICS, HOW_TO_READ_TOPICS, (each for section in sections for each in section.tables))


def _study(study: Study) -> list[str]:
    return _tables(study.title, study.how_to_read, ((each.title, each.shown) for each in study.tables))


def _tables(title: str, how_to_read: Iterable[str], tables: Iterable[tuple[str, DedupeTable]]) -> list[str]:
    """A section of tables, each with a title of its own."""
    parts = [f"## {escaped(title)}\n", *(f"{escaped(text)}\n" for text in how_to_read)]
    for head, found in tables:
        parts += [f"### {escaped(head)}\n", shown_table(found)]
    return parts


def _search(board: Leaderboard, kind: str) -> list[str]:
    tops = search_vectors.searched(board)
    if not tops:
        return []
    heads = ["model", *(escaped(search_vectors.heading(name)) for name in tops)]
    rows = (
        [escaped(row.model), *(estimate(name, row.metrics["test"].get(name), top=top) for name, top in tops.items())]
        for row in board.rows
        if row.has_any(tops)
    )
    return ["### Search in the whole corpus\n", f"{search_vectors.explanation(kind, tops)}\n", table(heads, rows)]


def _pairwise_knn(board: Leaderboard) -> list[str]:
    names = search_vectors.OF_THE_RULE
    measured = [row for row in board.rows if row.has_any(names[:1])]
    if not measured:
        return []
    of_test = [(escaped(row.model), row.metrics["test"]) for row in measured]
    rows = [[model, *(estimate(name, metrics.get(name)) for name in names)] for model, metrics in of_test]
    papers = PUBLISHED.get(board.data)
    rule = papers.pairwise_knn if papers else None
    if rule is not None:
        shown = (describe(name).show(rule.metrics[name]) if name in rule.metrics else "–" for name in names)
        rows.append([escaped(rule.model), *shown])
    heads = ["model", *(f"{text}, {note}" for text, note in search_vectors.HEADS_OF_THE_RULE)]
    below = [f"{escaped(rule.remark)}\n"] if rule else []
    return ["### The pairwise k-NN rule\n", f"{search_vectors.THE_RULE}\n", table(heads, rows), *below]


def _samples(board: Leaderboard) -> list[str]:
    found = sample_table(board)
    if found is None:
        return []
    heads = ["model", *(escaped(f"{left} / {right}") for left, right in found.pairs)]
    rows = ([escaped(model), *map(_verdict, verdicts)] for model, verdicts in found.rows)
    return [f"{samples.EXPLANATION}\n", table(heads, rows)]


def _verdict(verdict: Verdict | None) -> str:
    if verdict is None:
        return "–"
    return f"{decision_in_words(verdict)}: {magnitude(verdict.score)} ({share(verdict.probability)})"


def _word_hashing(board: Leaderboard) -> list[str]:
    found = reading.hashing_rows(board)
    if not found:
        return []
    rows = ([escaped(models), *cells] for models, cells in found)
    return [f"{reading.EXPLANATION}\n", table(["model", *reading.COLUMNS], rows)]


def _data(about: Provenance) -> list[str]:
    parts = []
    counted = provenance.split_table(about.card)
    if counted is not None:
        rows = ([split, *map(escaped, cells)] for split, cells in counted.rows)
        parts.append(table(["split", *map(escaped, counted.columns)], rows))
    facts = [f"{name}: {value}" for name, value in provenance.facts(about.card)]
    facts += provenance.audit_in_words(about.audit)
    if facts:
        parts.append("\n".join(f"- {escaped(fact)}" for fact in facts) + "\n")
    if twins := about.card.get(twin_groups.KEY):
        rows = ([*map(escaped, twin_groups.cells(each))] for each in twins)
        parts += [f"{twin_groups.EXPLANATION}\n", table(twin_groups.COLUMNS, rows)]
    if about.mined:
        rows = ([escaped(mined.strategy), *false_negatives.cells(mined)] for mined in about.mined)
        parts += [f"{false_negatives.EXPLANATION}\n", table(["mined by", *false_negatives.COLUMNS], rows)]
    if about.files:
        rows = ([escaped(f.name), f"{f.size:,}", f"{f.lines:,}", code(f.sha256)] for f in about.files)
        parts.append(table(["file", "bytes", "lines", "sha256"], rows))
    return parts


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; the first column is aligned to the left, the others to the right."""
    lines = [heads, ["---", *("---:" for _ in heads[1:])], *rows]
    return "\n".join("| " + " | ".join(map(_bar, line)) + " |" for line in lines) + "\n"


def _bar(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", _LINE_ENDS.sub(" ", text))


def escaped(text: str) -> str:
    """Text with Markdown and HTML escaped, on one line.

    An underscore within a word, as in `quora_wang`, is no emphasis and stays as it is. Bare addresses are no links: GFM
    looks for those of mail once escapes are gone, so a comment stands in them.
    """
    text = _LINE_ENDS.sub(" ", text.replace("&", "&amp;").replace("<", "&lt;"))
    text = re.sub(r"[\\`*~\[\]|]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])", r"\\\g<0>", text)
    text = _MAIL.sub("@<!-- -->", _ADDRESS.sub(r"\1\\", text))
    return _BLOCK.sub(r"\1\\", text)


def code(text: str) -> str:
    """Text as code, between more backticks than it has in a row."""
    text = _LINE_ENDS.sub(" ", text)
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    blank = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{blank}{text}{blank}{fence}"
