"""Gradient caching for batches larger than memory: encode in chunks, and again in the backward pass.

Gao, Zhang, Han and Callan, Scaling Deep Contrastive Learning Batch Size under Memory Limited Setup, RepL4NLP 2021
(arXiv:2101.06983). An in-batch objective needs the embeddings of the whole batch, but not all activations at once:

1. Encode chunk by chunk and keep only the embeddings.
2. Compute the objective's gradient with respect to the embeddings.
3. Encode each chunk again, with the same random state and so the same dropout, and back-propagate its rows of the
   gradient.

This is checkpointing (Chen et al. 2016) with chunks of the batch as segments: autograd does steps 2 and 3 chunk by
chunk. Gradients are those of one pass over the same chunks. Encoding takes twice the time; memory is that of one chunk
plus that of the objective.

Not supported: batch normalisation (a chunk's mean is not the batch's), and by-products without one row per text, such
as reconstructions. The memory of `score` in families with a comparing network is not reduced.
"""

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils.checkpoint import checkpoint

from twicetold.encoding import Encoding, SparseRows
from twicetold.models.protocol import Encoder


def encode_in_chunks(encoder: Encoder, features: SparseRows, rows: int) -> Encoding:
    """Encode a batch of B texts, at most `rows` at a time, for training.

    Raises:
        ValueError: if the encoder has batch normalisation, or by-products that are not tensors of one row per text.
    """
    if isinstance(encoder, nn.Module) and any(isinstance(module, _BatchNorm) for module in encoder.modules()):
        raise ValueError(
            "batch normalisation cannot be computed in chunks of the batch: "
            "set encoder.batch_norm=false, or trainer.micro_batch=null"
        )
    ends = np.concatenate([[0], np.cumsum(features.known_lengths())])
    bounds = range(0, len(features), rows)
    chunks = [_rows(features, start, min(start + rows, len(features)), ends) for start in bounds] or [features]

    of_chunk = encoder.encode

    def encode(_: Tensor, chunk: SparseRows) -> Encoding:
        return of_chunk(chunk)

    # `checkpoint` keeps the random state of the devices of those arguments that are tensors.
    encoded: list[Encoding] = [checkpoint(encode, chunk.indices, chunk, use_reentrant=False) for chunk in chunks]
    return _joined(encoded, [len(chunk) for chunk in chunks])


def _joined(parts: Sequence[Encoding], sizes: Sequence[int]) -> Encoding:
    """Join the encodings of chunks of a batch, of `sizes` texts, tensor by tensor."""

    def tensor(name: str, parts: list[object]) -> Tensor:
        tensors = [part for part in parts if isinstance(part, Tensor)]
        if [t.shape[:1] for t in tensors] != [(size,) for size in sizes]:
            raise ValueError(
                f"expected {name} of the encoding to be a tensor of one row per text, got {type(parts[0]).__name__}: "
                "this family cannot be trained in chunks, set trainer.micro_batch=null"
            )
        return torch.cat(tensors)

    embedding, extra = tensor("embedding", [part.embedding for part in parts]), parts[0].extra
    if extra is None:
        return Encoding(embedding)
    names = [field.name for field in fields(extra)]
    by_name = {name: tensor(name, [getattr(part.extra, name) for part in parts]) for name in names}
    return Encoding(embedding, replace(extra, **by_name))


def _rows(features: SparseRows, start: int, end: int, ends: NDArray[np.int64]) -> SparseRows:
    """Rows `start` to `end`; `ends` are the offsets of all rows, for Python."""
    entries = slice(int(ends[start]), int(ends[end]))
    offsets = features.offsets[start : end + 1] - entries.start
    values = None if features.values is None else features.values[entries]
    lengths = None if features.lengths is None else features.lengths[start:end]
    return SparseRows(features.indices[entries], offsets, values, features.width, lengths)
