"""Terms of each unit of sampling in a measure of test, for the comparison of two models in pairs; kept in Git.

A unit is what the measure's interval draws as a whole: pairs that share texts, a story, a cluster of duplicates. Two
models that were evaluated on the same units err on many of the same ones, so the standard error of their difference is
less than two separate intervals suggest: see `comparisons`.

- Of verdicts about pairs that share no texts one bit each is kept, whether it is right.
- Of any other measure m, what unit g adds is kept: its term of a mean, or to first order what is lost without it. By
  the jackknife (Efron 1982), var(m) = U / (U - 1) Σ added². The differences of two models' terms give the variance of
  their difference in the same way.

More than `intervals.MOST` units are pooled.

Shape letters: P pairs, G units, U units or pools.
"""

import base64
import binascii
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twicetold.evaluation.inputs import described, finite, is_number
from twicetold.evaluation.intervals import few_units, pooled
from twicetold.evaluation.ranking import Floats
from twicetold.neighbours.components import components

_KEYS = {"measure", "units", "digest"}


@dataclass(frozen=True)
class Verdicts:
    """Correctness of a model's verdict about each of P pairs."""

    right: NDArray[np.bool_]
    digest: str
    """Of the pairs' labels: only models with the same one can be compared."""

    @classmethod
    def of(cls, verdict: ArrayLike, label: ArrayLike) -> "Verdicts":
        """Build from (P,) verdicts and labels 0/1."""
        truth = np.asarray(label).astype(bool)
        return cls(np.asarray(verdict, dtype=bool) == truth, digest_of(truth))

    @property
    def terms(self) -> Floats:
        """(P,) what each pair adds to accuracy."""
        return np.asarray((self.right - self.right.mean()) / len(self.right))


@dataclass(frozen=True)
class Units:
    """Terms of G units, pooled to U, in a measure."""

    terms: Floats
    """(U,)"""
    digest: str
    """Of the units and their order."""

    @classmethod
    def of(cls, terms: Floats, *codes: NDArray[Any]) -> "Units":
        """Build from (G,) terms, which are pooled.

        Args:
            terms: what each unit adds; those that are NaN, where the measure is undefined without it, count as 0.
            codes: arrays that tell these units, in this order, from others.
        """
        return cls(pooled(terms), digest_of(*codes))

    @classmethod
    def of_rows(cls, terms: Floats, units: NDArray[np.int64] | None, *codes: NDArray[Any]) -> "Units":
        """From (P,) terms of rows, which are added by unit; all to one where units are few, so nothing is told apart.

        Args:
            terms: what each row adds.
            units: (P,) unit of each row, from 0; None: each is one of its own.
            codes: arrays that tell these rows from others.
        """
        if units is None:
            return cls.of(terms, *codes)
        drawn = np.zeros_like(units) if few_units(units) else units
        return cls.of(np.bincount(drawn, weights=terms).astype(np.float64), units, *codes)

    @classmethod
    def of_left_out(cls, left: Floats, *codes: NDArray[Any]) -> "Units":
        """Build from the (G,) values of the measure without each unit."""
        number = max(int((~np.isnan(left)).sum()), 1)
        mean = np.nanmean(left) if not np.isnan(left).all() else 0.0
        return cls.of((mean - left) * (number - 1) / number, *codes)

    @classmethod
    def of_mean(cls, values: Floats, unit: NDArray[np.int64]) -> "Units":
        """Build from values whose mean is the measure, and the code of the unit of each."""
        _, place = np.unique(unit, return_inverse=True)
        return cls.of(np.bincount(place, weights=values - values.mean()) / len(values), unit)


PairedUnits: TypeAlias = Verdicts | Units


def units_of(left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
    """(P,) connected component of each pair, where texts are nodes and pairs are edges; numbered by its first pair.

    It is the unit of sampling: pairs that share texts, directly or by way of others, are not independent.

    Args:
        left: (P,) text of each pair.
        right: (P,) the other one.
    """
    texts, place = np.unique(np.concatenate([left, right]), return_inverse=True)
    one, other = place.reshape(2, -1)
    component = components(len(texts), one, other)[one]
    _, first, unit = np.unique(component, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[unit], np.int64)


def verdict_units(verdict: NDArray[np.bool_], label: NDArray[Any], units: NDArray[np.int64] | None) -> PairedUnits:
    """Return units of verdicts for a comparison in pairs: each verdict or, if pairs share texts, the terms of units."""
    if units is None or len(np.unique(units)) == len(units):
        return Verdicts.of(verdict, label)
    right = (verdict == label.astype(bool)).astype(np.float64)
    return Units.of_rows((right - right.mean()) / len(right), units, label)


def f1_terms(verdict: NDArray[np.bool_], label: NDArray[Any]) -> Floats:
    """Return (P,) what each verdict adds to F1, to first order; 0 where no pair is flagged and none says the same."""
    true = label.astype(bool)
    right, size = 2.0 * (verdict & true), verdict.astype(np.float64) + true
    total = float(size.sum())
    return np.asarray((right - right.sum() / total * size) / total) if total else right


def pearson_terms(scores: ArrayLike, grades: ArrayLike) -> Floats:
    """Return (P,) what each pair adds to Pearson's correlation, to first order; 0 where either side is constant.

    Raises:
        ValueError: if a number is not finite.
    """
    x, y = finite(scores, "scores"), finite(grades, "grades")
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return np.zeros(len(x))
    x, y = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    return np.asarray((x * y - float(np.mean(x * y)) * (x * x + y * y) / 2) / len(x))


def to_json(kept: Mapping[str, PairedUnits]) -> list[dict[str, Any]]:
    """Return JSON of each measure, for `from_json`; terms as 16-bit numbers, relative to the largest."""
    return [{"measure": name, **_packed(kept[name])} for name in sorted(kept)]


def from_json(content: Any) -> dict[str, PairedUnits]:
    """Measure -> what was kept.

    Raises:
        ValueError: if it is something else than `to_json` made.
    """
    if not isinstance(content, list):
        raise ValueError(f"expected a list of measures with their units, got {described(content)}")
    return dict(_unpacked(each) for each in content)


def digest_of(*codes: NDArray[Any]) -> str:
    """Return 16 hexadecimal digits for whole numbers or truth values in their order."""
    total = hashlib.sha256()
    for each in codes:
        total.update(f"{len(each)} ".encode())
        total.update(np.ascontiguousarray(each, "<i8").tobytes())
    return total.hexdigest()[:16]


def _packed(kept: PairedUnits) -> dict[str, Any]:
    about = {"units": len(kept.terms), "digest": kept.digest}
    if isinstance(kept, Verdicts):
        return {**about, "right": base64.b64encode(np.packbits(kept.right).tobytes()).decode()}
    largest = float(np.abs(kept.terms).max()) or 1.0
    return {
        **about,
        "largest": largest,
        "terms": base64.b64encode((kept.terms / largest).astype("<f2").tobytes()).decode(),
    }


def _unpacked(about: Any) -> tuple[str, PairedUnits]:
    keys = set(about) if isinstance(about, dict) else set()
    if keys not in (_KEYS | {"right"}, _KEYS | {"terms", "largest"}):
        raise ValueError(
            f"expected {sorted(_KEYS)} with 'right', or with 'terms' and 'largest', of each measure, got "
            f"{sorted(keys) if keys else described(about)}"
        )
    name, digest, units = str(about["measure"]), str(about["digest"]), about["units"]
    try:
        content = base64.b64decode(about["right"] if "right" in keys else about["terms"], validate=True)
    except (binascii.Error, TypeError, ValueError) as error:
        raise ValueError(f"the units of {name!r:.80} are no base64: {error}") from error
    if type(units) is not int or len(content) != (-(-units // 8) if "right" in keys else 2 * units) or units < 1:
        raise ValueError(f"expected {described(units)} units of {name!r:.80}, got {len(content)} bytes of them")
    if "right" in keys:
        return name, Verdicts(np.unpackbits(np.frombuffer(content, np.uint8), count=units).astype(bool), digest)
    terms = np.frombuffer(content, "<f2").astype(np.float64)
    if not is_number(about["largest"]) or not np.isfinite(terms).all():
        raise ValueError(f"expected finite terms of {name!r:.80}")
    return name, Units(terms * about["largest"], digest)
