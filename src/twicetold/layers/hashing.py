"""Layers on sparse rows for the DSSM family, and the rows of a view or of a word.

Shape letters: B rows of a batch, W words of all its rows, K stored entries, V columns, H hidden units.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, TypedDict, Unpack

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn

from twicetold.encoding import SparseRows
from twicetold.layers.corruption import drop_entries
from twicetold.layers.first_layer import product, xavier

Activation = Literal["tanh", "relu"]
ACTIVATIONS: dict[Activation, type[nn.Module]] = {"tanh": nn.Tanh, "relu": nn.ReLU}


class HashingLayer(nn.Module):
    """x W of sparse rows x.

    Args:
        width: V.
        hidden: H.
    """

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width, hidden))
        xavier(self.weight)

    def forward(self, rows: SparseRows) -> Float[Tensor, "B H"]:
        """Return 0 for an empty row."""
        return product(rows, self.weight)


class TowerSettings(TypedDict):
    """Settings of a `HashingTower` that all families with such a tower have."""

    activation: Activation
    """After each layer, the last one included."""
    batch_norm: bool
    """Normalise over the batch before each activation."""
    dropout: float
    """Share of hidden units that are dropped in training."""
    input_dropout: float
    """Share of stored entries that are dropped in training."""


class HashingTower(nn.Module):
    """Word hashing and fully connected layers: the network of DSSM (Huang et al., CIKM 2013, figure 1).

    Args:
        width: V.
        sizes: units of each layer, the embedding last.
        settings: see `TowerSettings`.
    """

    def __init__(self, width: int, *, sizes: Sequence[int], **settings: Unpack[TowerSettings]) -> None:
        super().__init__()
        activation, batch_norm = settings["activation"], settings["batch_norm"]
        self.hashing = HashingLayer(width, sizes[0])
        self.bias = None if batch_norm else nn.Parameter(torch.zeros(sizes[0]))
        self.input_dropout = settings["input_dropout"]
        layers: list[nn.Module] = []
        for number, size in enumerate(sizes):
            if number:
                layers += [nn.Dropout(settings["dropout"]), linear(sizes[number - 1], size, bias=not batch_norm)]
            layers += [nn.BatchNorm1d(size)] * batch_norm + [ACTIVATIONS[activation]()]
        self.layers = nn.Sequential(*layers)

    def forward(self, rows: SparseRows) -> Float[Tensor, "B E"]:
        """Return embeddings; 0 for an empty row."""
        hidden = self.hashing(drop_entries(rows, self.input_dropout, self.training))
        if self.training and self.input_dropout:
            hidden = hidden / (1 - self.input_dropout)
        embedding: Tensor = self.layers(hidden if self.bias is None else hidden + self.bias)
        return embedding * filled(rows)[:, None]


def comparing_network(inputs: int, hidden: Sequence[int], *, activation: Activation, dropout: float) -> nn.Sequential:
    """Return dense layers with one output: the head of the families that compare two embeddings by a network.

    Args:
        inputs: number of inputs.
        hidden: units of the hidden layers.
        activation: after each of them.
        dropout: share of the inputs of each of them that are dropped in training.
    """
    layers: list[nn.Module] = []
    for before, after in pairwise([inputs, *hidden]):
        layers += [nn.Dropout(dropout), linear(before, after), ACTIVATIONS[activation]()]
    return nn.Sequential(*layers, linear([inputs, *hidden][-1], 1))


def linear(inputs: int, outputs: int, *, bias: bool = True) -> nn.Linear:
    """Return a dense layer with the initialisation of DSSM (Huang et al. 2013, section 3.4): `xavier`, biases zero."""
    layer = nn.Linear(inputs, outputs, bias=bias)
    xavier(layer.weight)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer


def filled(rows: SparseRows) -> Bool[Tensor, " B"]:
    """Return (B,) which rows have an entry."""
    return rows.offsets.diff() > 0


def columns(rows: SparseRows, start: int, end: int) -> SparseRows:
    """Return columns `start` to `end` of the rows, counted from 0."""
    inside = (rows.indices >= start) & (rows.indices < end)
    values = None if rows.values is None else rows.values[inside]
    return SparseRows(rows.indices[inside] - start, _before(inside)[rows.offsets], values, end - start)


def view_bounds(bounds: Sequence[int], width: int) -> tuple[tuple[int, int], ...]:
    """Start and end of the columns of each view.

    Args:
        bounds: view m has the columns from `bounds[m]` to `bounds[m + 1]`.
        width: number of columns.

    Raises:
        ValueError: if the bounds do not cover the columns.
    """
    if len(bounds) < 2 or bounds[0] != 0 or bounds[-1] != width:
        raise ValueError(f"expected bounds of views from 0 to {width}, the number of columns, got {list(bounds)}")
    return tuple(pairwise(bounds))


def word_bags(rows: SparseRows) -> tuple[SparseRows, Int64[Tensor, " _"]]:
    """Return rows of words instead of rows of texts, the inverse of `features.word_trigrams`.

    Returns:
        (W, V − 1) the letter trigrams of each word, and (B + 1,) offsets: the words of text b are those from
        `offsets[b]` to `offsets[b + 1]`.
    """
    words, offsets = word_rows(rows, 1)
    unmarked = rows.indices[rows.indices != 0] - 1
    ends = words.offsets - torch.arange(len(words) + 1, device=offsets.device)  # without the mark of each word
    return SparseRows(unmarked, ends, None, rows.width - 1), offsets


def word_rows(rows: SparseRows, words: int) -> tuple[SparseRows, Int64[Tensor, " _"]]:
    """Return rows of words instead of rows of texts.

    Args:
        rows: B texts; columns below `words` are words, the others parts of the word that they follow.
        words: C.

    Returns:
        (W, V) each word with its parts, and (B + 1,) offsets: the words of text b are those from `offsets[b]` to
        `offsets[b + 1]`.
    """
    begins = rows.indices < words
    starts = torch.cat([begins.nonzero().squeeze(1), rows.offsets[-1:]])
    return SparseRows(rows.indices, starts, rows.values, rows.width), _before(begins)[rows.offsets]


def _before(chosen: Bool[Tensor, " K"]) -> Int64[Tensor, " _"]:
    """Return (K + 1,) number of chosen entries before each entry, and of all."""
    return torch.cat([torch.zeros(1, dtype=torch.int64, device=chosen.device), chosen.cumsum(0)])
