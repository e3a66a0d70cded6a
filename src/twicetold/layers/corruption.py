"""Ways to corrupt the sparse input of a denoising autoencoder (Vincent et al. 2008).

As coded in louislung/DAE_RNN_News_Recommendation, `autoencoder/utils.py`: masking, salt and pepper, decay.

Shape letters: B rows of a batch, K stored entries of a batch, V columns.
"""

from typing import Literal

import torch

from twicetold.encoding import SparseRows

Corruption = Literal["masking", "salt_and_pepper", "decay", "none"]


def corrupt(rows: SparseRows, kind: str, level: float) -> SparseRows:
    """Corrupted copy of binary or weighted rows.

    Args:
        rows: the clean input.
        kind: `masking` drops each stored entry with probability `level`; `salt_and_pepper` draws
            `round(level · V)` columns per row with replacement and sets each to 0 or 1 by a fair coin;
            `decay` multiplies by `1 − level`, which is the expected value of masked input.
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
        case "salt_and_pepper":
            return _salt_and_pepper(rows, round(level * rows.width))
    raise ValueError(f"corruption must be masking, salt_and_pepper, decay or none, got {kind!r}")


def _keep(rows: SparseRows, kept: torch.Tensor) -> SparseRows:
    counts = torch.zeros(len(rows), dtype=torch.int64, device=kept.device).index_add_(0, rows.rows(), kept.long())
    offsets = torch.cat([rows.offsets[:1], counts.cumsum(0)])
    values = None if rows.values is None else rows.values[kept]
    return SparseRows(rows.indices[kept], offsets, values, rows.width)


def _salt_and_pepper(rows: SparseRows, draws: int) -> SparseRows:
    device = rows.indices.device
    # A column drawn twice keeps its last draw, and any draw wins over the stored entry. Packing
    # (row, column, order) into one key and sorting brings the winner to the end of each (row, column) run.
    columns = torch.randint(rows.width, (len(rows) * draws,), device=device)
    drawn_rows = torch.arange(len(rows), device=device).repeat_interleave(draws)
    salt = torch.randint(2, columns.shape, device=device).float()
    cells = torch.cat([rows.rows() * rows.width + rows.indices, drawn_rows * rows.width + columns])
    values = torch.cat([rows.values_or_ones(), salt])
    cells, order = torch.sort(cells, stable=True)
    last = torch.ones(len(cells), dtype=torch.bool, device=device)
    last[:-1] = cells[1:] != cells[:-1]
    kept = last & (values[order] != 0)
    cells, values = cells[kept], values[order][kept]
    counts = torch.bincount(cells // rows.width, minlength=len(rows))
    offsets = torch.cat([rows.offsets[:1], counts.cumsum(0)])
    return SparseRows(cells % rows.width, offsets, values, rows.width)
