"""Training the members of a committee: one after another, or side by side, a process each.

A step of a small network is a row of small matrix products, which two threads compute hardly faster than one; two
members on two cores take half the time.
"""

import ctypes
import json
import multiprocessing
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

import torch

from twicetold.files import write_text
from twicetold.training.schedule import STOPPED, Fitted, OnEpoch, Runtime

FITTED = "fitted.json"
PR_SET_PDEATHSIG = 1  # linux/prctl.h

Train = Callable[[Path, OnEpoch], Fitted]
"""From the folder of its checkpoints, and what is to be called after each epoch, to how training went."""


def train_each(members: Sequence[Train], *, checkpoints: Path, runtime: Runtime, on_epoch: OnEpoch) -> list[Fitted]:
    """Train all members. A second call after a stop goes on where the first was, with the same `checkpoints`.

    Each leaves its weights in its folder, `checkpoints/<its number>`. Side by side, it has one thread.

    Args:
        members: what trains each.
        checkpoints: folder of this training.
        runtime: where. A line for each epoch is the progress that is shown: bars would mix.
        on_epoch: called with the metrics of each member's epoch, named `<number>/<metric>`, and the epoch's number.

    Raises:
        KeyboardInterrupt: if the user stopped it.
        ValueError: what a member raised.
    """
    found: dict[int, Fitted] = {}
    waiting = []
    for number in range(len(members)):
        file = checkpoints / str(number) / FITTED
        if file.exists():
            found[number] = Fitted(**json.loads(file.read_text(encoding="utf-8")))
        else:
            waiting.append(number)

    def train(number: int, tell: OnEpoch) -> Fitted:
        fitted = members[number](checkpoints / str(number), tell)
        write_text(checkpoints / str(number) / FITTED, json.dumps(asdict(fitted)))
        return fitted

    def told(number: int) -> OnEpoch:
        def tell(metrics: dict[str, float], epoch: int) -> None:
            if runtime.progress:
                said = ", ".join(f"{name} {value:.4f}" for name, value in metrics.items())
                print(f"member {number} of {len(members)}, epoch {epoch}: {said}", file=sys.stderr)
            on_epoch({f"{number}/{name}": value for name, value in metrics.items()}, epoch)

        return tell

    processes = torch.get_num_threads()
    if len(waiting) > 1 < processes and runtime.device.type == "cpu" and sys.platform == "linux":
        found |= _side_by_side(train, waiting, processes=processes, told=told)
    else:
        found |= {number: train(number, told(number)) for number in waiting}
    return [found[number] for number in range(len(members))]


def _side_by_side(
    train: Callable[[int, OnEpoch], Fitted], numbers: Sequence[int], *, processes: int, told: Callable[[int], OnEpoch]
) -> dict[int, Fitted]:
    """So many at a time. Forked, since what they train on is there already; the parent alone tells of their epochs."""
    fork = multiprocessing.get_context("fork")
    left, found = list(numbers), {}
    working: dict[Connection, tuple[int, BaseProcess]] = {}
    try:
        while left or working:
            while left and len(working) < processes:
                ours, theirs = fork.Pipe()
                process: BaseProcess = fork.Process(target=_work, args=(train, left[0], theirs), daemon=True)
                process.start()
                theirs.close()
                working[ours] = left.pop(0), process
            for pipe in wait(list(working)):
                assert isinstance(pipe, Connection)
                number, process = working[pipe]
                try:
                    message = pipe.recv()
                except EOFError:
                    process.join()
                    raise ValueError(
                        f"member {number} of the committee ended with status {process.exitcode} and without a word; "
                        "status -9 is what the system gives a process when memory is short: fewer members "
                        "(committee=1) or OMP_NUM_THREADS=1, which trains one at a time, take less"
                    ) from None
                if isinstance(message, BaseException):
                    raise message
                if isinstance(message, Fitted):
                    found[number] = message
                    process.join()
                    del working[pipe]
                else:
                    told(number)(*message)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(STOPPED) from None
    finally:
        for _, process in working.values():
            process.terminate()
        for _, process in working.values():
            process.join()
    return found


def _work(train: Callable[[int, OnEpoch], Fitted], number: int, pipe: Connection) -> None:
    """In the process of one member."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)  # no member outlives the training
    torch.set_num_threads(1)
    try:
        result: Fitted | BaseException = train(number, lambda metrics, epoch: pipe.send((metrics, epoch)))
    except BaseException as error:  # whatever it was, the parent is the one to raise it
        result = error
    with suppress(BrokenPipeError):
        pipe.send(result)
