"""Ways to corrupt the sparse input of a denoising autoencoder (Vincent et al. 2008).

As coded in louislung/DAE_RNN_News_Recommendation, `autoencoder/utils.py`: masking, decay. Masking is also dropout of a
text's words or n-grams, which other families have.
"""

from typing import Literal

import torch

from twicetold.encoding import SparseRows

Corruption = Literal["masking", "decay", "none"]


def corrupt(rows: SparseRows, kind: str, level: float) -> SparseRows:
    """Return a corrupted copy of binary or weighted rows.

    Args:
        rows: the clean input.
        kind: `masking` drops each stored entry with probability `level`; `decay` multiplies by `1 − level`, which is
            the expected value of masked input; `none` is the input itself.
        level: between 0 and 1.

    Raises:
        ValueError: if `kind` is not one of these.
    """
    match kind:
        case "none":
            return rows
        case "decay":
            return SparseRows(rows.indices, rows.offsets, rows.values_or_ones() * (1 - level), rows.width)
        case "masking":
            return _keep(rows, torch.rand(len(rows.indices), device=rows.indices.device) >= level)
    raise ValueError(f"corruption must be masking, decay or none, got {kind!r}")


def drop_entries(rows: SparseRows, share: float, training: bool) -> SparseRows:
    """Return rows without a random share of their stored entries in training; else the rows themselves."""
    return corrupt(rows, "masking", share) if training and share else rows


def _keep(rows: SparseRows, chosen: torch.Tensor) -> SparseRows:
    counts = torch.zeros(len(rows), dtype=torch.int64, device=chosen.device).index_add_(0, rows.rows(), chosen.long())
    offsets = torch.cat([rows.offsets[:1], counts.cumsum(0)])
    values = None if rows.values is None else rows.values[chosen]
    return SparseRows(rows.indices[chosen], offsets, values, rows.width)
