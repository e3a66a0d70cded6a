"""Print how many trainings and evaluations an edit of each source file would run anew.

    dvc repro compose && python tools/edit_reach.py

A row is a file: trainings, evaluations, lines, path.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipelines"))
import checkout  # noqa: F401 (for its effects)

import argparse
from collections import Counter

import yaml

from twicetold_lab.grid.code_identity import SCORING, closure, learnt_from, targets

STAGES = ("train", "evaluate")


def closures(rendered: Path) -> dict[str, list[tuple[str, ...]]]:
    """Stage -> the files that it runs in each cell."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    configs = [yaml.load(file.read_text(encoding="utf-8"), loader) for file in sorted(rendered.glob("*.yaml"))]
    configs = [config for config in configs if "train" in config["code"]]
    parts = {
        "train": [learnt_from(config) for config in configs],
        "evaluate": [{key: config[key] for key in (*SCORING, "evaluator")} for config in configs],
    }
    return {
        stage: [closure(f"pipelines/{stage}.py", frozenset(targets(part))) for part in of_cells]
        for stage, of_cells in parts.items()
    }


def main() -> None:
    """Print a row for each file, and what an edit reaches on average."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    found = closures(Path("build/conf/train"))
    if not (cells := len(found["train"])):
        sys.exit("there are no cells in build/conf/train: run dvc repro compose first")
    reach = {stage: Counter(file for files in found[stage] for file in files) for stage in STAGES}
    lines = {
        str(file): len(file.read_text(encoding="utf-8").splitlines()) for file in sorted(Path("src").rglob("*.py"))
    }
    for file in sorted(lines, key=lambda file: (-reach["train"][file], -reach["evaluate"][file], file)):
        print(f"{reach['train'][file]:5} {reach['evaluate'][file]:5} {lines[file]:5} {file}")
    for stage in STAGES:
        mean = sum(reach[stage][file] for file in lines) / len(lines)
        weighted = sum(reach[stage][file] * number for file, number in lines.items()) / sum(lines.values())
        common = set.intersection(*map(set, found[stage]))
        size = sum(lines.get(file, 0) for file in common)
        print(
            f"{stage}: an edit reaches {weighted:.1f} of {cells} cells on average over lines, {mean:.1f} over files; "
            f"{size} lines of {len(common & lines.keys())} files reach all"
        )


if __name__ == "__main__":
    main()
