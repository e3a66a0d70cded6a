"""Compare runs of one dataset: what differs between them, and whether their results do on the same test pairs.

Usage: python pipelines/compare.py [<run folder> ...] [--data <name>] [--base <revision>] [<option> ...]

Examples:
    python pipelines/compare.py build/demo/runs/toy_news-dae-0 build/demo/runs/toy_news-dssm-0
    python pipelines/compare.py multirun/toy_news-dae-ba1d0b3c
    python pipelines/compare.py --data toy_news
    python pipelines/compare.py --base main --head HEAD --markdown

The folder of a sweep stands for those of its jobs that have a model. --data takes runs from MLflow, but those of
sweeps, or what --where says; folders may be added. --base compares two revisions of the repository: which published
metrics moved, read from Git without checking out.

Options:
    --data NAME      the dataset, that is the experiment, of runs in MLflow
    --where QUERY    MLflow's query; default: tags.origin != 'sweep'
    --limit N        runs from MLflow at most, the newest; default: 20
    --against NAME   the run to compare with; default: the best on validation
    --page FILE      where the page goes; default: build/comparison.html
    --base REV       compare the metrics of this revision
    --head REV       with those of this one; default: HEAD
    --markdown       the comparison of revisions as Markdown
"""

import checkout  # noqa: F401 (for its effects)

import argparse
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from twicetold import layout
from twicetold.errors import readable_errors
from twicetold.files import write_text
from twicetold.printable import print
from twicetold.reporting.model_card import read_about
from twicetold.reporting.revisions import compare_revisions, revisions_as_markdown, revisions_as_text
from twicetold.reporting.side_by_side import Entry, as_page, as_text, side_by_side
from twicetold.runs.identity import learning_of
from twicetold.runs.records import read_scores
from twicetold.tracking.parameters import telling
from twicetold.tracking.reading import CONFIG, fetch_runs
from twicetold.tracking.store import Settings

PAGE = Path("build/comparison.html")
RENDERED = Path("build/conf/train")
NO_SWEEPS = "tags.origin != 'sweep'"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", nargs="*", type=Path)
    parser.add_argument("--data")
    parser.add_argument("--where")
    parser.add_argument("--limit", type=int, default=20)
    parser.add_argument("--against")
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--base", metavar="REV")
    parser.add_argument("--head", metavar="REV")
    parser.add_argument("--markdown", action="store_true")
    chosen = parser.parse_args()
    if chosen.base is None and (chosen.head is not None or chosen.markdown):
        parser.error("--head and --markdown need --base, the revision to compare with")
    if chosen.base is not None and (chosen.runs or chosen.data or chosen.where or chosen.against):
        parser.error("--base compares revisions, so it takes no runs")
    if chosen.base is None and not chosen.runs and chosen.data is None:
        parser.error("name run folders, --data for runs in MLflow, or --base and --head for revisions")
    if chosen.where and chosen.data is None:
        parser.error("--where needs --data, the experiment that it is about")
    with readable_errors():
        if chosen.base is not None:
            found = compare_revisions(chosen.base, chosen.head or "HEAD")
            print((revisions_as_markdown if chosen.markdown else revisions_as_text)(found), end="")
        else:
            compare_runs(chosen)


def compare_runs(chosen: argparse.Namespace) -> None:
    """Compare run folders and runs in MLflow."""
    with tempfile.TemporaryDirectory() as scratch:
        folders = [folder for place in chosen.runs for folder in folders_of(place)]
        if chosen.data is not None:
            settings, where = Settings(enabled=True, uri=None, root=Path.cwd(), origin="run"), chosen.where
            query = NO_SWEEPS if where is None else where
            folders += fetch_runs(settings, chosen.data, query, limit=chosen.limit, target=Path(scratch))
        compared = side_by_side(entries(folders), against=chosen.against)
        print(as_text(compared))
        write_text(chosen.page, as_page(compared))
        print(f"as a page: {chosen.page}")


def folders_of(place: Path) -> list[Path]:
    """The folder of a run, or those of the jobs of a sweep that have a model, in their order.

    Raises:
        FileNotFoundError: if the run has metrics alone, as those in Git have.
    """
    if (place / layout.MODEL).exists() or (place / layout.RECIPE).exists():
        return [place]
    if (place / layout.METRICS).is_file():
        raise FileNotFoundError(
            f"{place} has metrics, and no model and scores to compare: `dvc repro evaluate@{place.name}` makes them "
            "for a cell of the grid; metrics of two revisions are compared by --base"
        )
    jobs = [job.parent for job in place.glob(f"*/{layout.MODEL}") if job.parent.name.isdecimal()]
    return sorted(jobs, key=lambda job: int(job.name)) or [place]


def entries(folders: Sequence[Path]) -> list[Entry]:
    """Run folders as the comparison needs them."""
    found = [(folder, read_about(folder)) for folder in folders]
    names = told_apart([(folder, folder.name.removeprefix(f"{about.data}-")) for folder, about in found])
    return [
        Entry(name, about, settings_of(folder), read_scores(folder, "test"))
        for (folder, about), name in zip(found, names, strict=True)
    ]


def told_apart(named: Sequence[tuple[Path, str]]) -> list[str]:
    """Names of folders; those that several have, with as many of their parent folders as tell them apart."""
    often = Counter(name for _, name in named)
    parents = [folder.resolve().parent.parts[1:] if often[name] > 1 else () for folder, name in named]
    found = [name for _, name in named]
    for depth in range(1, max(map(len, parents), default=0) + 1):
        found = ["/".join([*above[-depth:], name]) for above, (_, name) in zip(parents, named, strict=True)]
        if len(set(found)) == len(found):
            break
    return found


def settings_of(folder: Path) -> dict[str, Any]:
    """What a run learnt from, flattened: of a run by hand, one of a grid, or one from MLflow; empty if unknown."""
    project = folder.resolve().parent.parent  # of a grid: the demo's is in build/demo/
    rendered = [root / RENDERED / f"{folder.resolve().name}.yaml" for root in (project, Path.cwd())]
    for file in (folder / CONFIG, folder / ".hydra" / "config.yaml", *rendered):
        if file.is_file():
            config = OmegaConf.to_container(OmegaConf.load(file), resolve=True)
            assert isinstance(config, dict)
            if "members" in config:
                return {"members": str(config["members"]), "seed": config["seed"]}
            return telling(learning_of(config), {}) | {"model": config["name"]}
    return {}


if __name__ == "__main__":
    main()
