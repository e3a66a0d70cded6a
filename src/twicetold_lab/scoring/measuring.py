"""Measures what a trained model costs in use, in a few seconds: see `cost`.

One thread encodes and scores validation texts, from strings. Each rate is the number of texts over the time that all
calls took: as many as fit in the given seconds, after a first one that is not counted. The time is that of the
processor. On a quiet machine the clock says the same; beside other stages of a grid it says how busy the machine is.

Shape letters: n texts.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from safetensors import safe_open
from threadpoolctl import threadpool_limits

from twicetold.trained.memory import forget_peak, peak_resident, resident
from twicetold.trained.model_folder import load_model
from twicetold.trained.reading import sampled
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.scoring.cost import MANY, Cost

TEXTS = 4 * MANY
SECONDS = 1.0  # of each measurement; one call may take longer
LEAST = 8  # calls with one text or one pair
SCALE = 4  # bytes of the scale of a row
WIDTHS = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2}  # bytes of a number in safetensors files
PARALLEL_TOKENIZERS = "TOKENIZERS_PARALLELISM"  # which the tokenizers library reads in each call


def measure_cost(folder: Path, texts: Sequence[str], *, processor: str, seconds: float = SECONDS) -> Cost:
    """Load a trained model and use it for some seconds.

    Args:
        folder: its model folder.
        texts: (n,) at least one, such as `texts_to_measure`; fewer than `MANY` are repeated.
        processor: name of this one.
        seconds: of each measurement.

    Raises:
        FileNotFoundError: if there is no trained model.
        ValueError: if the folder is damaged, or there is no text.
    """
    if not texts:
        raise ValueError("expected at least one text to measure with, got none")
    texts = list(islice(cycle(texts), max(MANY, len(texts) // MANY * MANY)))
    size, size_8_bits = model_bytes(folder)
    with one_thread():
        known = forget_peak()
        before = resident() if known else None
        model = load_model(folder)

        def score(place: int) -> None:
            model.score([texts[place]], [texts[(place + 1) % len(texts)]])

        many = one = None
        score(0)
        if model.read(texts[:1]).searchable:
            batches = [texts[start : start + MANY] for start in range(0, len(texts), MANY)]
            model.embed(texts[:1])
            many = MANY / timed(lambda i: model.embed(batches[i % len(batches)]), seconds, least=1).mean()
            one = 1 / timed(lambda i: model.embed([texts[i % len(texts)]]), seconds, least=LEAST).mean()
        pairs = 1000 * timed(lambda i: score(i % len(texts)), seconds, least=LEAST)
        peak = peak_resident() if known else None
    p50, p95 = np.percentile(pairs, [50, 95])
    return Cost(
        processor=processor,
        model_bytes=size,
        model_bytes_8_bits=size_8_bits,
        peak_memory_bytes=peak,
        memory_before_bytes=before,
        texts_per_second_1=one if one is None else float(one),
        texts_per_second_256=many if many is None else float(many),
        pair_milliseconds_p50=float(p50),
        pair_milliseconds_p95=float(p95),
    )


def texts_to_measure(corpus: Corpus) -> list[str]:
    """Return at most `TEXTS` texts of validation, always the same."""
    texts: list[str] = corpus.texts.take(pa.array(sampled(corpus.members["val"], TEXTS))).to_pylist()
    return texts


def model_bytes(folder: Path) -> tuple[int, int]:
    """Return bytes of a model folder, as it is and with 8 bits for each number of a matrix.

    With 8 bits each row of a matrix of floating-point numbers has a scale in 32 bits; everything else stays as it is.
    Only the heads of the files of tensors are read.
    """
    size = size_8_bits = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    for file in folder.rglob("*.safetensors"):
        with safe_open(file, framework="np") as tensors:
            for name in tensors.keys():  # noqa: SIM118
                tensor = tensors.get_slice(name)
                shape, kind = tensor.get_shape(), tensor.get_dtype()
                if len(shape) > 1 and kind in WIDTHS:
                    numbers = int(np.prod(shape))
                    size_8_bits += min(0, numbers + SCALE * shape[0] - WIDTHS[kind] * numbers)
    return size, size_8_bits


def timed(call: Callable[[int], object], seconds: float, *, least: int) -> NDArray[np.float64]:
    """Seconds of processor time of each call, as many as fit in some seconds, at least so many; calls are numbered."""
    found: list[float] = []
    began = time.process_time()
    while len(found) < least or time.process_time() - began < seconds:
        start = time.process_time()
        call(len(found))
        found.append(time.process_time() - start)
    return np.array(found)


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute on one thread: PyTorch, the libraries of NumPy and SciPy, and tokenizers."""
    threads, before = torch.get_num_threads(), os.environ.get(PARALLEL_TOKENIZERS)
    os.environ[PARALLEL_TOKENIZERS] = "false"
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(threads)
        os.environ.pop(PARALLEL_TOKENIZERS)
        if before is not None:
            os.environ[PARALLEL_TOKENIZERS] = before
