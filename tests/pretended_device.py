"""A device that is not there, for tests of what happens on a GPU.

Its tensors keep their data on the CPU and are computed there, but they say that they are on the device `pretended`. As
on a GPU, an operation on tensors of both devices raises, the device has a random generator of its own, and data gets
from one device to the other by copies alone, which are counted. What is not like a GPU: the arithmetic is the CPU's,
and a step waits for nothing.

`torch.utils.backend_registration._setup_privateuseone_for_python_backend` gives the device its name. That holds for the
rest of the process and changes nothing for tensors of the CPU; operations reach the device only within `pretend`.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import Any

import pytest
import pytorch_lightning as pl
import torch
from pytorch_lightning.accelerators import CPUAccelerator
from pytorch_lightning.strategies import SingleDeviceStrategy
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.backend_registration import _DummyBackendModule, _setup_privateuseone_for_python_backend

from twicetold_lab.training.schedule import Runtime

NAME = "pretended"
TO_DEVICE, TO_HOST, ITEM, SHAPE = "to the device", "to the host", "item", "shape"
"""What is counted: copies of tensors to the device and back, numbers that Python asks for (`.item()`, `float`, `if`),
and operations whose result has as many rows as the data says (`nonzero`, a mask as an index). On a GPU, Python waits
for all but the first.
"""
aten = torch.ops.aten
INDEXED = {aten.index.Tensor, aten.index_put.default, aten.index_put_.default, aten._index_put_impl_.default}
TAKE_A_NUMBER = {aten.fill_.Tensor, aten.masked_fill.Tensor, aten.masked_fill_.Tensor}
ASK = {aten._local_scalar_dense.default, aten.equal.default, aten.is_nonzero.default}


class Pretended(Tensor):
    """A tensor on the device; `here` is its data."""

    here: Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, here: Tensor) -> "Pretended":
        of_strides = {"strides": here.stride(), "storage_offset": here.storage_offset()}
        return Tensor._make_wrapper_subclass(
            cls,
            here.size(),
            dtype=here.dtype,
            layout=here.layout,
            device=torch.device(NAME, 0),
            **of_strides if here.layout is torch.strided else {},
        )

    def __init__(self, here: Tensor) -> None:
        self.here = here

    def __repr__(self) -> str:
        return f"{NAME}: {self.here}"

    def __format__(self, how: str) -> str:
        return format(self.item(), how) if not self.dim() else repr(self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.cpu().__reduce_ex__(protocol)  # a checkpoint holds plain tensors

    @classmethod
    def __torch_dispatch__(cls, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise RuntimeError(f"{operation} on the {NAME} device, outside `pretend`")


class Operations(TorchDispatchMode):
    """Computes what concerns the device, with the checks of a GPU, and counts in `traffic`."""

    def __init__(self) -> None:
        super().__init__()
        self.traffic: Counter[str] = Counter()
        self.random = torch.Generator().get_state()

    device = property(lambda self: torch.device(NAME, 0))
    runtime = property(lambda self: OnPretended(NAME, workers=0, progress=False))

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        given = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        away = [tensor for tensor in given if isinstance(tensor, Pretended)]
        asked = kwargs.get("device")
        if not away and not _is_pretended(asked):
            return operation(*args, **kwargs)
        if away and len(away) < len(given):
            self._check_mixed(operation, args, [tensor for tensor in given if not isinstance(tensor, Pretended)])
        self._count(operation, args, kwargs)
        args, kwargs = tree_map(_here, args), tree_map(_here, kwargs)
        if asked is not None:
            kwargs["device"] = torch.device("cpu")
        with _disable_current_modes(), self._own_random_numbers(operation):
            result = OWN.get(operation, operation)(*args, **kwargs)
        if operation is aten.copy_.default:
            return given[0]
        known = {id(_here(tensor)): tensor for tensor in given}
        stays = bool(away) if asked is None else _is_pretended(asked)

        def back(value: Any) -> Any:
            if not isinstance(value, Tensor):
                return value
            return known.get(id(value)) if id(value) in known else Pretended(value) if stays else value

        result = tree_map(back, result)
        if any(tensor.shape != tensor.here.shape for tensor in away):
            raise NotImplementedError(f"{operation} changes a shape in place, which the {NAME} device cannot do")
        return result

    def _check_mixed(self, operation: Any, args: Any, of_cpu: list[Tensor]) -> None:
        """Raise where CUDA would: it takes numbers without dimension from the CPU, and indices."""
        if operation in (aten.copy_.default, aten._to_copy.default):
            return
        if operation in INDEXED:  # indices may be anywhere
            indices = {id(index) for index in args[1]}
            of_cpu = [tensor for tensor in of_cpu if id(tensor) not in indices]
        takes_numbers = torch.Tag.pointwise in operation.tags or operation in INDEXED | TAKE_A_NUMBER
        if any(tensor.dim() or not takes_numbers for tensor in of_cpu):
            shapes = [tuple(tensor.shape) for tensor in of_cpu]
            raise RuntimeError(
                f"{operation}: expected all tensors on {NAME}, but on the cpu are those of shape {shapes}"
            )

    def _count(self, operation: Any, args: Any, kwargs: Any) -> None:
        if operation in INDEXED:
            indices = [index for index in args[1] if index is not None]
            self.traffic[TO_DEVICE] += sum(not isinstance(index, Pretended) for index in indices)
            self.traffic[SHAPE] += any(index.dtype == torch.bool for index in indices)
        elif operation is aten._to_copy.default:
            target = kwargs.get("device", args[0].device)
            self._count_copy(isinstance(args[0], Pretended), _is_pretended(target))
        elif operation is aten.copy_.default:
            self._count_copy(isinstance(args[1], Pretended), isinstance(args[0], Pretended))
        elif operation in ASK:
            self.traffic[ITEM] += 1
        elif torch.Tag.dynamic_output_shape in operation.tags and kwargs.get("output_size") is None:
            self.traffic[SHAPE] += 1

    def _count_copy(self, source: bool, target: bool) -> None:
        if source != target:
            self.traffic[TO_DEVICE if target else TO_HOST] += 1

    @contextmanager
    def _own_random_numbers(self, operation: Any) -> Iterator[None]:
        if torch.Tag.nondeterministic_seeded not in operation.tags:
            yield
            return
        of_cpu = torch.get_rng_state()
        torch.set_rng_state(self.random)
        yield
        self.random = torch.get_rng_state()
        torch.set_rng_state(of_cpu)


class Factories(TorchFunctionMode):
    """Makes tensors of Python's numbers and lists of tensors, in which PyTorch goes past the operations above."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if function in (torch.tensor, torch.as_tensor) and _is_pretended(kwargs.get("device")):
            return function(*args, **kwargs | {"device": "cpu"}).to(kwargs["device"])
        if function is Tensor.new_tensor and isinstance(args[0], Pretended):
            return torch.tensor(*args[1:], **{"dtype": args[0].dtype} | kwargs).to(args[0].device)
        if function is Tensor.tolist and isinstance(args[0], Pretended):
            return args[0].cpu().tolist()
        return function(*args, **kwargs)


class Module(_DummyBackendModule):
    """What PyTorch looks for as `torch.cuda` of this device."""

    _initialized = True
    operations: Operations | None = None

    def device(self, number: Any) -> Any:
        return nullcontext()

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.bfloat16, torch.float16]

    def _is_in_bad_fork(self) -> bool:
        return self.operations is None  # then `torch.manual_seed` leaves the device alone

    def manual_seed_all(self, seed: int) -> None:
        self.operations.random = torch.Generator().manual_seed(seed).get_state()

    def get_rng_state(self, device: Any = 0) -> Tensor:
        return self.operations.random

    def set_rng_state(self, state: Tensor, device: Any = 0) -> None:
        self.operations.random = state


class PretendedAccelerator(CPUAccelerator):
    """The device for Lightning."""

    def setup_device(self, device: torch.device) -> None:
        """Accept it."""

    @staticmethod
    def get_parallel_devices(devices: Any) -> list[torch.device]:
        return [torch.device(NAME, 0)]


class OnPretended(Runtime):
    """A runtime on the device."""

    @property
    def device(self) -> torch.device:
        return torch.device(NAME, 0)


on_both_devices = pytest.mark.parametrize("device", ["cpu", NAME], indirect=True)


@contextmanager
def pretend() -> Iterator[Operations]:
    """Within this context the device is there; trainings of an `OnPretended` run on it."""
    module, trainer = _registered(), pl.Trainer

    def trainer_there(*, accelerator: str, **settings: Any) -> pl.Trainer:
        if accelerator != NAME:
            return trainer(accelerator=accelerator, **settings)
        settings["strategy"] = SingleDeviceStrategy(torch.device(NAME, 0))
        return trainer(accelerator=PretendedAccelerator(), **settings)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "operations", Operations())
        patch.setattr(pl, "Trainer", trainer_there)
        # In inference mode operations would come here before PyTorch has split them into those that a device has.
        patch.setattr(torch, "inference_mode", lambda mode=True: torch.no_grad() if mode else nullcontext())
        # In one thread: autograd has none for the device.
        with torch.autograd.set_multithreading_enabled(False), module.operations, Factories():
            yield module.operations


@cache
def _registered() -> Module:
    module = Module()
    # With its first gradient, autograd starts threads for devices that are there, and no fork of the process computes
    # gradients any more. There is no device yet.
    torch.zeros((), requires_grad=True).backward()
    _setup_privateuseone_for_python_backend(NAME, backend_module=module)
    return module


def _is_pretended(device: Any) -> bool:
    return device is not None and torch.device(device).type == NAME


def _here(value: Any) -> Any:
    return value.here if isinstance(value, Pretended) else value


def _lstm_cell(
    of_input: Tensor, of_state: Tensor, cell: Tensor, bias: Tensor | None = None, other_bias: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """PyTorch has this kernel for GPUs alone: state, cell, and the gates for the backward pass."""
    gates = of_input + of_state
    if bias is not None and other_bias is not None:
        gates = gates + bias + other_bias
    i, f, g, o = gates.chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    after = f * cell + i * g
    return o * after.tanh(), after, torch.cat([i, f, g, o], 1)


def _lstm_cell_backward(
    of_state: Tensor | None, of_after: Tensor | None, cell: Tensor, after: Tensor, gates: Tensor, has_bias: bool
) -> tuple[Tensor, Tensor, Tensor | None]:
    i, f, g, o = gates.chunk(4, 1)
    squashed = after.tanh()
    of_state = torch.zeros_like(after) if of_state is None else of_state
    of_after = torch.zeros_like(after) if of_after is None else of_after
    slope = of_after + of_state * o * (1 - squashed**2)
    parts = (
        slope * g * i * (1 - i),
        slope * cell * f * (1 - f),
        slope * i * (1 - g**2),
        of_state * squashed * o * (1 - o),
    )
    of_gates = torch.cat(parts, 1)
    return of_gates, slope * f, of_gates.sum(0) if has_bias else None


OWN: dict[Any, Callable[..., Any]] = {
    aten._thnn_fused_lstm_cell.default: _lstm_cell,
    aten._thnn_fused_lstm_cell_backward_impl.default: _lstm_cell_backward,
}
