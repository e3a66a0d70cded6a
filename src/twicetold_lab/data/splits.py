"""Splitting rows into train, val and test: by row, by group, by time, balanced, by connected component.

Every function returns one *side* per row: 0, 1 or 2 for the splits of `SPLITS`, or `UNUSED`. The same seed gives
the same split on every machine.

Shape letters: R rows (documents or pairs).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from twicetold.neighbours.components import components
from twicetold_lab.data.corpus import SPLITS, UNKNOWN

TRAIN, VAL, TEST = range(len(SPLITS))
UNUSED = -1  # side of a row that belongs to no split
HANDFUL = 4  # rows taken from one group before the next group, when a corpus is cut to `limit`
GIANT = 0.5  # a component larger than this share of what val or test should get always goes to train

Side = NDArray[np.int8]


def by_rows(count: int, *, splits: Sequence[float], seed: int, strata: NDArray[np.int64] | None = None) -> Side:
    """Split rows at random, with the same shares of every stratum (class) on each side.

    Args:
        count: R.
        splits: shares of train, val and test; they sum to 1.
        seed: of the shuffle.
        strata: (R,) class of each row; one class for all when None.

    Returns:
        (R,) sides. A stratum of three rows or more has at least one row on each side.

    Raises:
        ValueError: if the splits are not three positive numbers that sum to 1.
    """
    classes = np.zeros(count, np.int64) if strata is None else strata
    shuffled = np.random.default_rng(seed).permutation(count)
    position, size = _position_within(classes, shuffled)
    _, val, test = _checked(splits)
    least = (size >= len(SPLITS)).astype(np.int64)
    in_val = np.maximum(least, np.rint(val * size).astype(np.int64))
    in_test = np.maximum(least, np.rint(test * size).astype(np.int64))
    side = np.full(count, TRAIN, np.int8)
    side[position < in_val + in_test] = TEST
    side[position < in_val] = VAL
    return side


def by_group(groups: NDArray[np.int64], *, splits: Sequence[float], seed: int) -> Side:
    """Split by whole groups (stories): no group has rows on two sides. A row of unknown group is a separate group.

    Args:
        groups: (R,) codes, `UNKNOWN` where there is none.
        splits: shares of the *groups* that go to train, val and test.
        seed: of the shuffle.

    Raises:
        ValueError: if there are fewer than three groups, or the splits are wrong.
    """
    names, codes = np.unique(_unknown_alone(groups), return_inverse=True)
    if len(names) < len(SPLITS):
        raise ValueError(
            f"a split by group needs at least {len(SPLITS)} groups, one for each of {SPLITS}; got {len(names)}"
        )
    return by_rows(len(names), splits=splits, seed=seed)[codes]


def by_order(order: NDArray[np.int64], *, train: int | float, val: float, test: int | float) -> Side:
    """Split by time: the earliest rows are train, the next ones are test.

    The published protocol has no validation set. Validation is therefore taken from the end of train: the last `val`
    of its rows, so that it lies between train and test and leaves test unchanged.

    Args:
        order: (R,) values to sort by, ascending (ties keep their row order).
        train: rows of train and val together: a number of rows (int) or a share of all rows (float).
        val: share of those `train` rows that is held out, at least one row.
        test: rows that follow: a number of rows or a share of all rows.

    Raises:
        ValueError: if there are fewer rows than asked for, or nothing is left for a split.
    """
    count = len(order)
    early, late = (n if isinstance(n, int) else round(n * count) for n in (train, test))
    held_out = max(1, round(val * early))
    if not 0 < val < 1:
        raise ValueError(f"val is a share of the train rows between 0 and 1, got {val}")
    if early < 2 or late < 1 or early + late > count:
        raise ValueError(
            f"a split by time with train={train} and test={test} needs at least {early + late} rows "
            f"(2 of train, 1 of test at the least), but there are {count}. Give smaller numbers, or shares such as "
            "train=0.5 test=0.5"
        )
    ranked = np.argsort(order, kind="stable")
    side = np.full(count, UNUSED, np.int8)
    side[ranked[:early]] = TRAIN
    side[ranked[early - held_out : early]] = VAL
    side[ranked[early : early + late]] = TEST
    return side


def balanced(label: NDArray[np.float32], *, val: int, test: int, seed: int) -> Side:
    """Draw val and test at random with as many 1s as 0s; every other row is train.

    As in Wang, Hamza and Florian 2017 (arXiv:1702.03814): 5,000 pairs of each class.

    Args:
        label: (R,) 0 or 1.
        val: rows of val, an even number.
        test: rows of test, an even number.
        seed: of the draw.

    Raises:
        ValueError: if a size is not even and positive, or one class has too few rows to leave any for train.
    """
    for name, size in {"val": val, "test": test}.items():
        if size < 2 or size % 2:
            raise ValueError(f"a balanced {name} set has an even number of pairs, at least 2; got {size}")
    strata = label.astype(np.int64)
    position, _ = _position_within(strata, np.random.default_rng(seed).permutation(len(label)))
    half = (val + test) // 2
    per_class = np.bincount(strata, minlength=2)
    if per_class.min() <= half:
        raise ValueError(
            f"balanced val ({val}) and test ({test}) sets take {half} pairs of each class and leave some for train, "
            f"but there are {per_class[1]} duplicates and {per_class[0]} non-duplicates. Give smaller sizes"
        )
    side = np.full(len(label), TRAIN, np.int8)
    side[position < half] = TEST
    side[position < val // 2] = VAL
    return side


def by_component(
    count: int, left: NDArray[np.int64], right: NDArray[np.int64], *, splits: Sequence[float], seed: int
) -> Side:
    """Split by connected components of pairs that share texts: no text is on two sides.

    Components are shuffled and assigned to val, then to test, until each has its share of the *pairs*. A component
    that is larger than half of such a share always goes to train: question pairs typically form one giant
    component. If too few pairs are left outside the giants, val and test divide these in proportion.

    Args:
        count: number of texts.
        left: (R,) texts.
        right: (R,) texts.
        splits: shares of the pairs that go to train, val and test.
        seed: of the shuffle.

    Raises:
        ValueError: if the components are so large that nothing is left for val or test.
    """
    _, val, test = _checked(splits)
    component = components(count, left, right)[left]
    weight = np.bincount(component)
    giant = weight > max(2.0, GIANT * min(val, test) * len(left))
    shuffled = np.random.default_rng(seed).permutation(len(weight))
    shuffled = shuffled[~giant[shuffled] & (weight[shuffled] > 0)]
    reach = np.cumsum(weight[shuffled])
    loose = int(reach[-1]) if len(reach) else 0
    scale = min(1.0, loose / ((val + test) * len(left)))
    until_val, until_test = val * scale * len(left), (val + test) * scale * len(left)
    side_of = np.full(len(weight), TRAIN, np.int8)
    side_of[shuffled[reach <= until_test + 0.5]] = TEST
    side_of[shuffled[reach <= until_val + 0.5]] = VAL
    side = side_of[component]
    if not all((side == s).any() for s in (TRAIN, VAL, TEST)):
        raise ValueError(
            f"the {len(left)} pairs hang together in {np.count_nonzero(weight)} components, too few or too large to "
            f"deal to {SPLITS} without sharing a text. Use more pairs, or split=pairs"
        )
    return side


def thin(
    side: Side,
    *,
    limit: int | None,
    seed: int,
    strata: NDArray[np.int64],
    groups: NDArray[np.int64] | None = None,
) -> Side:
    """Keep about `limit` rows in all, with the same share of every split and stratum, and at least one of each.

    Args:
        side: (R,) sides.
        limit: rows to keep; all when None.
        seed: of the choice.
        strata: (R,) class of each row.
        groups: (R,) codes. When given, a few rows are taken from one group after another, so that the
            kept rows still form groups.

    Returns:
        (R,) sides, `UNUSED` for what is left out.

    Raises:
        ValueError: if the limit is not positive.
    """
    if limit is None:
        return side
    if limit < 1:
        raise ValueError(f"limit is a positive number of rows, or null for all of them; got {limit}")
    shuffled = np.random.default_rng((seed, 1)).permutation(len(side))
    if groups is not None:
        _, codes = np.unique(_unknown_alone(groups), return_inverse=True)
        place, _ = _position_within(codes, shuffled)
        turn = np.empty(len(side), np.int64)
        turn[shuffled] = np.arange(len(side))
        first = np.full(codes.max(initial=0) + 1, len(side), np.int64)
        np.minimum.at(first, codes, turn)
        shuffled = np.lexsort((turn, first[codes], place // HANDFUL))
    cell = (strata - strata.min()) * (len(SPLITS) + 1) + side
    position, size = _position_within(cell, shuffled)
    quota = np.maximum(1, np.rint(limit * size / np.count_nonzero(side != UNUSED)))
    return np.where(position < quota, side, UNUSED).astype(np.int8)


def _unknown_alone(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the same groups, but each row of unknown group is a separate group."""
    return np.where(groups == UNKNOWN, groups.max(initial=0) + 1 + np.arange(len(groups)), groups)


def _position_within(keys: NDArray[np.int64], order: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each row its position among rows of the same key, in `order`, and the number of rows with that key."""
    _, codes, counts = np.unique(keys, return_inverse=True, return_counts=True)
    ranked = order[np.argsort(codes[order], kind="stable")]
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    position = np.empty(len(keys), np.int64)
    position[ranked] = np.arange(len(keys)) - starts[codes[ranked]]
    return position, counts[codes].astype(np.int64)


def _checked(splits: Sequence[float]) -> tuple[float, float, float]:
    if (
        not isinstance(splits, Sequence)
        or len(splits) != len(SPLITS)
        or min(splits) <= 0
        or abs(sum(splits) - 1) > 1e-6
    ):
        raise ValueError(f"splits are three positive shares, of {SPLITS}, that sum to 1; got {splits}")
    train, val, test = splits
    return train, val, test
