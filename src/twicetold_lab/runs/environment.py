"""The environment of a result, which stands in no file of the project: versions of libraries, processor, threads.

`dvc.lock` sees none of it, so each run records it (docs/explanation/decisions/0032-what-a-lock-cannot-see.md).
"""

import os
import platform
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

LIBRARIES = (
    "torch",
    "pytorch-lightning",
    "numpy",
    "scipy",
    "scikit-learn",
    "tokenizers",
    "transformers",
    "bm25s",
)
"""Libraries on which weights, scores and mined examples depend."""


def versions(names: Iterable[str] = LIBRARIES) -> dict[str, str]:
    """Return versions of Python and of libraries; `none` of one that is not installed."""
    installed = {"python": platform.python_version()}
    for name in names:
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            installed[name] = "none"
    return installed


def observed() -> dict[str, Any]:
    """Return versions, processor, the instructions that PyTorch uses on it, and its threads."""
    import torch  # takes a second, and the versions do not need it

    return {
        "versions": versions(),
        "processor": processor(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
    }


def processor() -> str:
    """Name of the processor and how many cores there are."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    named = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{named or platform.machine()} ({cores} cores)"


def tags(environment: Mapping[str, Any]) -> dict[str, str]:
    """Return an observed environment as tags of a run."""
    facts = {name: f"{environment[name]}" for name in ("processor", "cpu_capability", "threads")}
    installed = (f"{name} {number}" for name, number in environment["versions"].items() if number != "none")
    return {**facts, "libraries": ", ".join(installed)}


def in_words(environment: Mapping[str, Any]) -> str:
    """Return an observed environment in a line."""
    facts = tags(environment)
    return f"{facts['processor']}, {facts['cpu_capability']}, threads {facts['threads']}; {facts['libraries']}"
