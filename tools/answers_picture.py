"""Draw the figure of README.md, docs/images/answers.svg: F1 of groups against the number of answers, on three files.

    python tools/answers_picture.py ../data

The mirror is a folder of the public data; it takes two minutes and the extra `bench`. The matcher is one of other
kinds of files, answers are the truth, and figures are means of ten seeds.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipelines"))
import checkout  # noqa: F401 (for its effects)

import argparse
import os
from collections.abc import Mapping, Sequence

import measure_any_file
import numpy as np

from twicetold.evaluation.group_metrics import group_scores
from twicetold.files import write_text
from twicetold_lab.matching.learning import held_out, labelled
from twicetold_lab.matching.measures import answered, best_threshold, blended, by_matcher
from twicetold_lab.matching.sources import same_files

PICTURE = Path("docs/images/answers.svg")
FILES = {"abt_buy name": "product titles", "child_sites site": "names of day nurseries", "mqp question": "questions"}
ANSWERS = (5, 10, 20, 30, 50, 75, 100)
SEEDS = range(10)
SIDE, LEFT, TOP, GAP = 200, 46, 34, 40  # of a panel, in SVG units
STYLE = (
    "text{font:12px sans-serif;fill:#222}path{fill:none;stroke-width:2}.g{stroke:#ccc;stroke-width:1}"
    ".m{stroke:#0a66c2;stroke-width:2.5}.b{stroke:#777;stroke-dasharray:6 4}.s{stroke:#c2510a;stroke-dasharray:2 3}"
    "rect{fill:#fff}@media(prefers-color-scheme:dark){text{fill:#ddd}rect{fill:#16181c}.g{stroke:#444}}"
)
LEGEND = {"m": "twicetold, kind of file held out", "b": "best threshold, chosen on the truth", "s": "semhash, default"}


def main() -> None:
    """Measure, draw and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mirror", type=Path)
    mirror = parser.parse_args().mirror
    os.environ.setdefault("TWICETOLD_MIRROR", str(mirror))  # has semhash's encoder
    semhash = measure_any_file.semhash()["semhash"]
    files = [labelled(file, vectors=True) for file in same_files(mirror)]
    matchers = held_out(files)
    panels = {}
    for one in files:
        if one.file.name in FILES:
            matcher = matchers[one.file.kind]
            runs = [answered(one, matcher, ANSWERS, seed=seed) for seed in SEEDS]
            curve = [by_matcher(one, matcher).f1, *(np.mean([run[count].f1 for run in runs]) for count in ANSWERS)]
            groups = semhash(one.file)
            lines = {"b": best_threshold(one, blended(one)).f1, "s": group_scores(groups, one.file.truth).f1}
            panels[FILES[one.file.name]] = {"m": curve, **{name: [value] * len(curve) for name, value in lines.items()}}
            print(one.file.name, *(f"{value:.3f}" for value in curve), *(f"{key} {v:.3f}" for key, v in lines.items()))
    write_text(PICTURE, drawing(panels))
    print(f"picture: {PICTURE}")


def drawing(panels: Mapping[str, Mapping[str, Sequence[float]]]) -> str:
    """The figure as a document that needs nothing else.

    Args:
        panels: name of a file -> class of a line -> its values at 0 answers and at each number of `ANSWERS`.
    """
    width, height = LEFT + len(panels) * (SIDE + GAP), TOP + SIDE + 66
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
        "<title>F1 of pairs of rows in one group, against the number of answered questions</title>",
        f'<style>{STYLE}</style><rect width="100%" height="100%"/>',
    ]
    for place, (name, lines) in enumerate(panels.items()):
        left = LEFT + place * (SIDE + GAP)
        parts.append(f'<text x="{left}" y="{TOP - 14}" font-weight="bold">{name}</text>')
        for tick in (0, 0.25, 0.5, 0.75, 1):
            y = TOP + SIDE * (1 - tick)
            parts.append(f'<path class="g" d="M{left} {y:g}h{SIDE}"/>')
            parts.append("" if place else f'<text x="{left - 6}" y="{y + 4:g}" text-anchor="end">{tick:g}</text>')
        for tick in (0, 20, 50, 100):
            x = left + SIDE * tick / 100
            parts.append(f'<text x="{x:g}" y="{TOP + SIDE + 16}" text-anchor="middle">{tick}</text>')
        for kind, values in lines.items():
            points = zip((0, *ANSWERS), values, strict=True)
            path = "L".join(f"{left + SIDE * x / 100:.1f} {TOP + SIDE * (1 - y):.1f}" for x, y in points)
            parts.append(f'<path class="{kind}" d="M{path}"/>')
    parts.append(f'<text x="{LEFT}" y="{TOP + SIDE + 34}">answered questions</text>')
    for place, (kind, text) in enumerate(LEGEND.items()):
        x, y = LEFT + place * (SIDE + GAP), TOP + SIDE + 54
        parts.append(f'<path class="{kind}" d="M{x} {y - 4}h24"/><text x="{x + 30}" y="{y}">{text}</text>')
    return "\n".join([*filter(None, parts), "</svg>\n"])


if __name__ == "__main__":
    main()
