"""Count the stages whose code each of some typical edits changes, in a copy of the checkout; nothing runs.

    python tools/staleness.py

Only hashes of code are compared: what reads a file of a stale stage runs again if that file comes out different.
"""

import argparse
import json
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
COPIED = ("src", "pipelines", "conf")
EDITED = "EDITED = True"


@dataclass(frozen=True)
class Edit:
    """Lines that are appended to a file of the checkout, or that make a new one."""

    name: str
    file: str
    lines: str = EDITED
    new: bool = False


EDITS = (
    Edit("an option", "src/twicetold/commands/_dedupe_options.py"),
    Edit("a metric of pairs", "src/twicetold/evaluation/pair_metrics.py"),
    Edit("a metric of groups", "src/twicetold/evaluation/group_metrics.py"),
    Edit("a feature of a pair", "src/twicetold/matching/pair_features.py"),
    Edit("a family", "src/twicetold/models/newest.py", new=True),
    Edit("a type alias", "src/twicetold/matching/pair_features.py", "Alias = list[int]"),
)


def main() -> None:
    """Print a table."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    print("| edit | stages | of which |")
    print("| --- | --: | --- |")
    with TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in COPIED:
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "params.yaml", copy)
        before = codes(copy)
        for edit in EDITS:
            changed = stale(copy, edit, before)
            kinds = ", ".join(f"{kind} {count}" for kind, count in changed.most_common())
            print(f"| {edit.name} | {changed.total()} | {kinds} |", flush=True)


def codes(copy: Path) -> dict[str, str]:
    """Return the hash of the code of each stage, by `stage@row`, as a checkout renders it."""
    rendered = copy / "build/conf"
    shutil.rmtree(rendered, ignore_errors=True)
    subprocess.run([sys.executable, "pipelines/compose.py", rendered], cwd=copy, check=True, stdout=subprocess.DEVNULL)
    files = {file: json.loads(file.read_text(encoding="utf-8")) for file in sorted(rendered.rglob("*.json"))}
    return {f"{stage}@{file.stem}": code for file, about in files.items() for stage, code in about["code"].items()}


def stale(copy: Path, edit: Edit, before: dict[str, str]) -> Counter[str]:
    """Return the number of stages of each kind whose code an edit of a copy changes; the edit is taken back."""
    file = copy / edit.file
    text = "" if edit.new else file.read_text(encoding="utf-8")
    file.write_text(f"{text}\n{edit.lines}\n", encoding="utf-8")
    after = codes(copy)
    if edit.new:
        file.unlink()
    else:
        file.write_text(text, encoding="utf-8")
    return Counter(stage.partition("@")[0] for stage in before if after.get(stage) != before[stage])


if __name__ == "__main__":
    main()
