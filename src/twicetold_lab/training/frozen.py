"""Token vectors of a corpus from a frozen network, cached on disk.

One memory-mapped float16 file, named by a hash of the network and of the token sequences.

Shape letters: K tokens of the corpus, H dimensions of a vector.
"""

import hashlib
import inspect
import logging
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import nn

from twicetold.features.matrix_file import write_matrix
from twicetold.features.rows import CsrRows
from twicetold.files import make_once, write_file
from twicetold.models.protocol import OnFrozen

BATCH = 4096  # texts at once

log = logging.getLogger(__name__)


def with_token_vectors(encoder: OnFrozen, rows: CsrRows, folder: Path, *, device: torch.device) -> CsrRows:
    """The same sequences with a memory-mapped vector for each token as `values`; computed on first use.

    Args:
        encoder: provides `token_vectors`; it is moved to the CPU afterwards.
        rows: the corpus's sequences.
        folder: of the cache.
        device: where to compute them.
    """
    file = folder / f"vectors-{_key(encoder.frozen, rows)}.npy"

    def make() -> None:
        log.info("computing token vectors of %s texts, once, in %s", f"{len(rows):,}", file)
        encoder.frozen.to(device)
        with write_file(file) as temporary, torch.inference_mode():
            size = encoder.token_vectors(rows.gather(np.arange(1)).to(device)).shape[1]
            shape = (len(rows.indices), size)
            with write_matrix(temporary, dtype=np.float16, shape=shape) as write:
                for start in range(0, len(rows), BATCH):
                    texts = np.arange(start, min(start + BATCH, len(rows)))
                    write(encoder.token_vectors(rows.gather(texts).to(device)).cpu().numpy())
        encoder.frozen.cpu()

    make_once(file, make)
    return replace(rows, values=np.load(file, mmap_mode="r", allow_pickle=False))


def _key(frozen: nn.Module, rows: CsrRows) -> str:
    total = hashlib.sha256(Path(inspect.getfile(type(frozen))).read_bytes())
    for name, tensor in sorted(frozen.state_dict().items()):
        total.update(name.encode() + np.ascontiguousarray(tensor.cpu().numpy()).data)
    for array in (rows.indptr, rows.indices):
        total.update(np.ascontiguousarray(array).data)
    return total.hexdigest()[:16]
