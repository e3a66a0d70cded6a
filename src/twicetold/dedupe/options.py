"""Options of a dedupe: `DedupeOptions` is the only list.

`Choices` repeats it as keywords of `twicetold.Model.dedupe`, `commands._dedupe_options.Asked` as a person types it, and
a test compares both and the table of the guide with the list.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict, get_args

from twicetold.errors import require_number
from twicetold.matching.senses import SENSES, Sense
from twicetold.neighbours.rules import RULES, Rule

if TYPE_CHECKING:  # with them come numpy and pyarrow, for which --help does not wait
    from collections.abc import Sequence

    from twicetold.tables.columns import Column, Size

Keep: TypeAlias = Literal["first", "longest"]
KEEP: tuple[Keep, ...] = get_args(Keep)
KeepBy: TypeAlias = Literal["newest", "oldest", "highest", "lowest"]
KEEP_BY: tuple[KeepBy, ...] = get_args(KeepBy)
EXACT_UP_TO = 50_000  # texts with dense vectors that are compared each with each: twice as many take four times as long
NEIGHBOURS = 20  # nearest of a text whose pairs are scored one by one
MOST_NEIGHBOURS = 320  # that an index holds


OF_FOLDERS = frozenset({"precision", "threshold", "sense", "rule", "keep", "same", "within", "also", "pairs"})


@dataclass(frozen=True)
class DedupeOptions:
    """Options that say what is a link and how links make groups.

    A pair of texts is a link from a threshold on: the one for `precision`, or `threshold`. With neither it is the one
    whose groups by the rule were best on all pairs of validation texts, if the model folder holds it; after a
    calibration on pairs that `label` drew from a file, the one with the highest F1 of links on these; else the one of
    `predict`. That one was chosen on labelled pairs, and links too much where duplicates are rarer. Without labels, of
    a model from `fit`, probabilities are those of the generic matcher, and the threshold is one half, or after answers
    where the expected F1 is highest.

    Args:
        precision: share of links that are right, among all pairs of a corpus like the validation texts. The model
            folder must hold thresholds for it.
        threshold: the least probability of a link.
        sense: what "the same" means where nobody has labelled texts like these: `copies` with small changes, the `same`
            thing, or the same event or `topic`, as in headlines by story. Copies are the same, and what is the same is
            of one topic. Topics are found by similarity, and answers do not move their threshold.
        rule: `components` joins what a chain of links joins; `average` and `complete` ask for the mean, or for every,
            pair of two groups to reach the threshold.
        keep: what represents a group: its `first` text, or its `longest`. Or by a column, such as
            `("newest", frame["date"])`: `newest`, `oldest`, `highest` or `lowest`.
        same: columns, each of n values, such as `[frame["language"]]`: texts are linked only if they have equal values
            in all of them, so that no group has several. A text without a value is linked with none.
        within: columns of numbers or dates, each with how far apart the values of linked texts may be, such as
            `[(frame["price"], 5), (frame["date"], "3d")]`; dates with a `timedelta` or a number of s, m, h, d or w. By
            the rule `complete` it holds of all texts of a group; else a chain of links may span more.
        also: further columns of texts, numbers or dates, such as `[frame["brand"], frame["price"]]`, which
            count as well where nobody has labelled texts like these: rows are compared by their texts and by all
            columns in one text. Rows are exact copies only if they are equal in these, too.
        pairs: what a person said: rows of texts, rows of others, and whether each pair is a duplicate. It holds in the
            groups (`twicetold.dedupe.constraints`), and pairs of duplicates are links.
        truth: a column of n values, such as `frame["story"]`: rows of one value are known to be duplicates, and rows
            without a value are not known. `DedupeSummary.agreement` compares links and groups with it; nothing is
            learnt from it.

    Raises:
        TypeError: if a number is none, such as the text "0.5".
        ValueError: if a value is out of range, both a precision and a threshold are given, or further columns and a
            sense that was learnt without any.

    Examples:
        >>> from twicetold.dedupe.options import DedupeOptions
        >>> DedupeOptions(threshold=0.5).rule  # what `model.dedupe(texts, threshold=0.5)` goes by
        'average'
    """

    precision: float | None = None
    threshold: float | None = None
    sense: Sense = "same"
    rule: Rule = "average"
    keep: "Keep | tuple[KeepBy, Column]" = "first"
    same: "Sequence[Column]" = ()
    within: "Sequence[tuple[Column, Size]]" = ()
    also: "Sequence[Column]" = ()
    pairs: "tuple[Column, Column, Column] | None" = None
    truth: "Column | None" = None

    def __post_init__(self) -> None:
        if self.precision is not None and self.threshold is not None:
            raise ValueError("give a precision or a threshold, not both")
        for name, value in (("precision", self.precision), ("threshold", self.threshold)):
            if value is not None:
                require_number(name, value)
            if value is not None and not 0 < value < 1:
                raise ValueError(f"{name} is between 0 and 1, got {value:g}")
        self._check_names()
        if len(self.also) and self.sense != "same":
            raise ValueError(f"further columns (also) count for the sense 'same' alone, got {self.sense!r}")

    def _check_names(self) -> None:
        if self.sense not in SENSES:
            raise ValueError(f"expected one of the senses {SENSES}, got {self.sense!r}")
        if self.rule not in RULES:
            raise ValueError(f"expected one of the rules {RULES}, got {self.rule!r}")
        if isinstance(self.keep, tuple):
            if len(self.keep) != 2:
                raise TypeError('keep: expected a rule and a column, such as ("newest", frame["date"])')
        elif self.keep not in KEEP:
            raise ValueError(f"expected one of {KEEP} to keep, got {self.keep!r}; newest and the like need a column")


class Choices(TypedDict, total=False):
    """The fields of `DedupeOptions` as keywords, for type checkers and editors."""

    precision: float | None
    threshold: float | None
    sense: Sense
    rule: Rule
    keep: "Keep | tuple[KeepBy, Column]"
    same: "Sequence[Column]"
    within: "Sequence[tuple[Column, Size]]"
    also: "Sequence[Column]"
    pairs: "tuple[Column, Column, Column] | None"
    truth: "Column | None"


DEFAULTS = DedupeOptions()
