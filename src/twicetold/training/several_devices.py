"""One training on several devices of this machine: distributed data parallel, with a process for each device.

Every process has all weights and encodes its share of each batch. It then gathers the embeddings and scores of all
shares and computes the objective of the whole batch, so that the negatives of an anchor are those that it has on one
device. PyTorch's DDP sets each gradient to the mean over the processes:

- A parameter of the objective has the same gradient in each of N processes, and so has their mean.
- A parameter of the encoder has in each process the gradient by way of its own rows. That gradient counts N times, so
  that the mean is the sum over all rows.

The gradient is that of one device up to rounding. It would not be if encoders drew random numbers (dropout), or
computed means over their share (batch normalisation), so both are refused.

Shape letters: N processes, B texts of a batch, b texts of a share.
"""

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from lightning_fabric.plugins.environments.lightning import LightningEnvironment, find_free_network_port
from pytorch_lightning.strategies import DDPStrategy
from torch import Tensor, distributed
from torch.nn.functional import pad
from torch.nn.modules.batchnorm import _BatchNorm

from twicetold.encoding import Encoding
from twicetold.training.gradient_caching import joined
from twicetold.training.sharing import Shareable

SAMPLE = 32
"""Examples that are computed once before the processes start."""
GRACE = 5.0
"""Seconds after a failed exchange within which the process that caused it is known to have ended."""


def all_rows(share: Tensor, *, sizes: Sequence[int], process: int) -> Tensor:
    """(B, ...) rows of a batch in order, from this process's (b, ...) share; every process calls it at the same time.

    Args:
        share: of encodings or scores. It may have one row more than b, which is left out.
        sizes: b of each process.
        process: which one this is.
    """
    own = share[: sizes[process]]  # a new tensor: its hook sees no gradient that comes by another way
    if own.requires_grad:
        own.register_hook(lambda gradient: gradient * len(sizes))  # type: ignore[no-untyped-call]
    padded = pad(own.detach(), [0, 0] * (own.dim() - 1) + [0, max(sizes) - len(own)])
    parts = [torch.empty_like(padded) for _ in sizes]
    if len(sizes) > 1:
        distributed.all_gather(parts, padded)
    parts = [part[:size] for part, size in zip(parts, sizes, strict=True)]
    return torch.cat([*parts[:process], own, *parts[process + 1 :]])


def all_encodings(share: Encoding, *, sizes: Sequence[int], process: int) -> Encoding:
    """The encoding of a whole batch, as `all_rows` of its tensors.

    Without vectors (families that read both texts at once) it stays as it is: only scores are compared.

    Raises:
        ValueError: if the embedding or a by-product is not a tensor of one row per text.
    """
    if not isinstance(share.embedding, Tensor):
        return share
    remedy = "this family cannot be trained on several devices, set runtime.devices=1"
    rows = max(sizes[process], 1)
    return joined([share], [rows], lambda own: all_rows(own[0], sizes=sizes, process=process), remedy=remedy)


def check_shareable(learner: Shareable, loader: Any, devices: int) -> bool:
    """Compute the loss of a few examples, to refuse what several devices would not learn as one does.

    That is done in a fork: where PyTorch sees a GPU, autograd starts threads for it with the first gradient that a
    process computes, and refuses to work in forks of that process.

    Args:
        learner: not trained yet.
        loader: of `examples.batches.train_loader`.
        devices: how many.

    Returns:
        Whether the loss depends on all parameters that are trained.

    Raises:
        ValueError: if the encoder draws random numbers, has batch normalisation, or has by-products that cannot be
            gathered; or if CUDA is in use already, or forks cannot compute gradients.
    """
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        raise ValueError(
            f"runtime.devices={devices}: this process has used a GPU already, to compute vectors of tokens, and cannot "
            "start others that do. The vectors are kept: run the same command again"
        )
    uses_all = _in_a_fork(lambda: _uses_all(learner, loader, devices))
    if uses_all is None:
        _uses_all(learner, loader, devices)  # for its error
        raise ValueError(
            f"runtime.devices={devices}: this process has computed gradients already, for an earlier training, and "
            "where PyTorch sees a GPU it then cannot start others that do: run each training in a process of its own"
        )
    return uses_all


def _uses_all(learner: Shareable, loader: Any, devices: int) -> bool:
    """See `check_shareable`."""
    name = type(learner.encoder).__name__
    if any(isinstance(module, _BatchNorm) for module in learner.modules()):
        raise ValueError(
            f"runtime.devices={devices}: batch normalisation of {name} would be over each device's share of a batch: "
            "set encoder.batch_norm=false, or runtime.devices=1"
        )
    batch = loader.dataset.__getitems__(np.arange(min(SAMPLE, len(loader.dataset))))
    state = torch.get_rng_state()
    encoded = learner.encoded(replace(batch, sizes=(len(batch),)))
    if not torch.equal(state, torch.get_rng_state()):
        raise ValueError(
            f"runtime.devices={devices}: {name} draws random numbers when it encodes for training (dropout or "
            "corruption), and devices that share a batch would draw others than one does: set what it draws for to 0 "
            "(encoder.dropout, encoder.input_dropout), or runtime.devices=1"
        )
    loss = learner.objective(encoded)["loss"]
    trained = [parameter for parameter in learner.parameters() if parameter.requires_grad]
    gradients = torch.autograd.grad(loss, trained, allow_unused=True)
    torch.set_rng_state(state)
    return all(gradient is not None for gradient in gradients)


def _in_a_fork(question: Callable[[], bool]) -> bool | None:
    """The answer to a question, found in a fork of this process; None if it ended without one."""
    child = _fork()
    if not child:
        code = 2
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            torch.set_num_threads(1)
            code = int(question())
        finally:
            os._exit(code)
    try:
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    except KeyboardInterrupt:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    return bool(code) if code in (False, True) else None


def _fork() -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which forks do not have
        return os.fork()


@contextmanager
def processes(loader: Any, count: int, *, uses_all: bool) -> Iterator[DDPStrategy]:
    """Run the block in `count` processes, this one and forks of it, which end with the block.

    Forks have what this process has loaded without a copy. They write nothing, and leave Ctrl-C to this process. When
    one of them ends before its time, the next exchange fails in all others.

    Each process computes in one thread: OpenMP's threads are not in a fork, which waits for them forever.

    Args:
        loader: of `examples.batches.train_loader`; it is set to give each process its share.
        count: of processes.
        uses_all: whether the loss depends on all parameters that are trained.

    Yields:
        Lightning's strategy.

    Raises:
        ChildProcessError: if another process ended before its time.
    """
    port, threads = find_free_network_port(), torch.get_num_threads()
    torch.set_num_threads(1)

    def strategy(process: int) -> DDPStrategy:
        loader.dataset.share = process, count
        return DDPStrategy(cluster_environment=_Environment(process, port), find_unused_parameters=not uses_all)

    reading, writing = os.pipe()
    children: list[int] = []
    try:
        for process in range(1, count):
            child = _fork()
            if not child:
                with _ending(writing):
                    yield strategy(process)
            children.append(child)
        try:
            yield strategy(0)
        except RuntimeError as error:
            os.set_blocking(reading, False)
            if how := _first_ended(children, reading):
                raise ChildProcessError(
                    f"the process of a device ended before its time ({how}), so the training on {count} devices was "
                    "stopped. Run the same command again to go on from the last epoch"
                ) from error
            raise
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        os.close(reading)
        os.close(writing)
        loader.dataset.share = (0, 1)
        torch.set_num_threads(threads)
        if distributed.is_initialized():
            distributed.destroy_process_group()
        for name in ("MASTER_ADDR", "MASTER_PORT"):  # which Lightning has set
            os.environ.pop(name, None)


def own_sigterm(*, first: bool) -> None:
    """Let SIGTERM end this process while it trains together with others.

    Lightning's handler exchanges a tensor at whatever moment the signal comes, and all processes may then wait forever.

    Args:
        first: whether this is the process that the others are forks of; it stops the training as Ctrl-C does.
    """
    if threading.current_thread() is threading.main_thread():  # no other may set handlers
        signal.signal(signal.SIGTERM, _stop if first else signal.SIG_DFL)


def _stop(number: int, frame: object) -> None:
    raise SystemExit(128 + number)


class _Environment(LightningEnvironment):
    """Processes that have been started already."""

    creates_processes_externally = True
    main_address = "127.0.0.1"

    def __init__(self, process: int, port: int) -> None:
        super().__init__()
        self._process, self._main_port = process, port

    def local_rank(self) -> int:
        return self._process


@contextmanager
def _ending(writing: int) -> Iterator[None]:
    """End this process with the block, without a word but the reason of an error in a pipe."""
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        yield
        code = 0
    except BaseException as error:
        reason = str(error).strip().partition("\n")[0]
        os.write(writing, f"{type(error).__name__}: {reason}\n".encode())
    finally:
        os._exit(code)


def _first_ended(children: list[int], reading: int) -> str | None:
    """How one of them failed, by a signal if any did; None if none has within `GRACE` seconds.

    Those that have ended are removed from `children`.
    """
    end = time.monotonic() + GRACE
    while True:
        ended = {child: status for child, status in (os.waitpid(child, os.WNOHANG) for child in children) if child}
        codes = [os.waitstatus_to_exitcode(status) for status in ended.values()]
        if codes or time.monotonic() > end:
            break
        time.sleep(0.05)
    children[:] = [child for child in children if child not in ended]
    if not any(codes):
        return None
    if min(codes) < 0:
        return f"by {signal.Signals(-min(codes)).name}"
    with suppress(BlockingIOError):
        return os.read(reading, 1000).decode(errors="replace").partition("\n")[0]
    return f"with exit code {max(codes)}"
