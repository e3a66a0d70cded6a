"""Sparse rows as dense ones, and what operations of PyTorch make, to bound the memory and the number of them."""

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode


def dense(rows):
    """(B, D) of sparse rows; entries of a column that is there twice are added."""
    out = torch.zeros(len(rows), rows.width, device=rows.indices.device)
    return out.index_put((rows.rows(), rows.indices), rows.values_or_ones(), accumulate=True)


class Operations(TorchDispatchMode):
    """Notes how many operations there are, and the bytes and the numbers of the largest tensor that one makes."""

    count = bytes = numbers = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        self.count += 1
        for tensor in out if isinstance(out, tuple | list) else (out,):
            if isinstance(tensor, Tensor):
                self.bytes = max(self.bytes, tensor.untyped_storage().nbytes())
                self.numbers = max(self.numbers, tensor.numel())
        return out
