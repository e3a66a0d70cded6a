"""Compare runs of one dataset: what differs between them, and whether their results do on the same test pairs.

Run folders:        compare.py runs/quora_wang-dae-0 runs/quora_wang-static-0
Runs in MLflow:     compare.py --data quora_wang --where "tags.model = 'dae'"     (a run folder may be named as well)
"""

import checkout  # noqa: F401 (for its effects)

import argparse
import tempfile
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from twicetold.errors import readable_errors
from twicetold.files import write_text
from twicetold.printable import print
from twicetold.reporting.model_card import read_about
from twicetold.reporting.side_by_side import Entry, as_page, as_text, side_by_side
from twicetold.runs.identity import learning_of
from twicetold.runs.records import read_scores
from twicetold.tracking.parameters import telling
from twicetold.tracking.reading import CONFIG, fetch_runs
from twicetold.tracking.store import Settings

PAGE = Path("build/comparison.html")
RENDERED = Path("build/conf/train")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", type=Path, help="run folders")
    parser.add_argument("--data", help="the dataset, that is the experiment, of runs in MLflow")
    parser.add_argument("--where", default="", help="MLflow's query; default: all its runs with a model")
    parser.add_argument("--limit", type=int, default=20, help="runs from MLflow at most, the newest; default: 20")
    parser.add_argument("--against", help="name of the run to compare with; default: the best on validation")
    parser.add_argument("--page", type=Path, default=PAGE, help=f"where the page goes; default: {PAGE}")
    chosen = parser.parse_args()
    if not chosen.runs and chosen.data is None:
        parser.error("name run folders, or --data for runs in MLflow")
    if chosen.where and chosen.data is None:
        parser.error("--where needs --data, the experiment that it is about")
    with readable_errors(), tempfile.TemporaryDirectory() as scratch:
        folders = [(folder, folder.name) for folder in chosen.runs]
        if chosen.data is not None:
            settings = Settings(enabled=True, uri=None, root=Path.cwd(), origin="run")
            found = fetch_runs(settings, chosen.data, chosen.where, limit=chosen.limit, target=Path(scratch))
            folders += [(folder, folder.name) for folder in found]
        compared = side_by_side([entry(folder, name) for folder, name in folders], against=chosen.against)
        print(as_text(compared))
        write_text(chosen.page, as_page(compared))
        print(f"as a page: {chosen.page}")


def entry(folder: Path, name: str) -> Entry:
    """A run folder as the comparison needs it."""
    about = read_about(folder)
    name = name.removeprefix(f"{about.data}-")
    return Entry(name, about, settings_of(folder), read_scores(folder, "test"))


def settings_of(folder: Path) -> dict[str, Any]:
    """What a run learnt from, flattened: of a run by hand, one of the grid, or one from MLflow; empty if unknown."""
    for file in (folder / CONFIG, folder / ".hydra" / "config.yaml", RENDERED / f"{folder.name}.yaml"):
        if file.is_file():
            config = OmegaConf.to_container(OmegaConf.load(file), resolve=True)
            assert isinstance(config, dict)
            if "members" in config:
                return {"members": str(config["members"]), "seed": config["seed"]}
            return telling(learning_of(config), {}) | {"model": config["name"]}
    return {}


if __name__ == "__main__":
    main()
