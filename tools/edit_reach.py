"""Print how many cells an edit of each source file would retrain; run `dvc repro compose` first."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipelines"))
import checkout  # noqa: F401 (for its effects)

from collections import Counter

import yaml

from twicetold_grid.code_identity import closure, learnt_from, targets


def reach(rendered: Path) -> tuple[dict[str, int], int]:
    """Number of trainings that run each file of `src/`, and number of all trainings."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    configs = [yaml.load(file.read_text(encoding="utf-8"), loader) for file in sorted(rendered.glob("*.yaml"))]
    configs = [config for config in configs if "train" in config["code"]]
    count: Counter[str] = Counter()
    for config in configs:
        count.update(closure("pipelines/train.py", frozenset(targets(learnt_from(config)))))
    return {str(file): count[str(file)] for file in sorted(Path("src").rglob("*.py"))}, len(configs)


if __name__ == "__main__":
    found, cells = reach(Path("build/conf/train"))
    for file, trained in sorted(found.items(), key=lambda item: -item[1]):
        print(f"{trained:5} {file}")
    mean = sum(found.values()) / len(found)
    print(f"{mean:5.1f} of {cells} trainings on average over {len(found)} files ({mean / cells:.0%})")
