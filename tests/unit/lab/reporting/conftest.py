"""Run folders as the other stages leave them, small and made up."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from twicetold import layout
from twicetold_lab import reporting
from twicetold_lab.reporting import Cell, Grid
from twicetold_lab.runs.folder import RunFolder


@dataclass(frozen=True)
class Project:
    """Folders of a finished pipeline."""

    root: Path

    @property
    def folders(self) -> dict[str, Path]:
        return {name: self.root / name for name in ("runs", "processed")}

    def markdown(self, cells: Sequence[Cell], **further: Any) -> dict[str, str]:
        """The tables of RESULTS.md under an empty name, and the page of each dataset."""
        folders = self.folders
        runs, cards = folders.pop("runs"), self.root / "cards"
        reporting.write_cards({cell.data for cell in cells}, cards=cards, **folders)
        commands = {cell: f"train {cell.name}" for cell in cells}
        return reporting.markdown(Grid(cells, commands, **further), runs=runs, cards=cards)

    def pages(self, cells: Sequence[Cell], **further: Any) -> dict[str, str]:
        """The pages of the report by name without suffix, and files beside them in `reports`."""
        reporting.build(Grid(cells, **further), **self.folders, target=self.root / "reports")
        return {file.stem: file.read_text(encoding="utf-8") for file in (self.root / "reports").glob("*.html")}

    def run(self, cell: Cell) -> Path:
        return self.root / "runs" / cell.name

    def add_data(self, name: str, kind: str, card: Mapping[str, Any]):
        about = {"name": name, "kind": kind, "group_names": {}, "card": card}
        write(self.root / "processed" / name / layout.CARD, about)

    def add_run(
        self,
        cell: Cell,
        metrics: Mapping[str, float],
        *,
        primary: str,
        val: Mapping[str, float] | None = None,
        intervals: Mapping[str, tuple[float, float]] | None = None,
        parameters: int = 0,
        epochs: int | None = None,
        pretrained_on: str | None = None,
        seen: Sequence[str] | None = None,
    ) -> Path:
        folder = self.run(cell)
        write(folder / layout.METRICS, {"test": metrics, "val": metrics if val is None else val})
        about = {"parameters": parameters, "primary": primary}
        about["epochs"] = (7 if parameters else 0) if epochs is None else epochs
        about["pretrained_on"] = [] if pretrained_on is None else [pretrained_on]
        about["seen"] = seen
        about["intervals"] = {primary: [metrics[primary] - 0.02, metrics[primary] + 0.02], **(intervals or {})}
        write(folder / layout.SUMMARY, about)
        return folder


def dedupe_metrics(quality: float, *, group: str = "story") -> dict[str, dict[str, Any]]:
    """Metrics of a dedupe as `evaluate` leaves them: no threshold reaches 0.95, nor 0.9 if `quality` is below that."""
    val = {f"average_precision_{group}": quality}
    test = {f"average_precision_{group}": quality - 0.01}
    intervals = {f"average_precision_{group}": (quality - 0.05, quality + 0.05)}
    for aim in (80, 90, 95):
        reached = aim < 95 and 100 * quality >= aim - 10
        val |= {f"link_precision_at_{aim}": aim / 100 if reached else quality - 0.1, f"link_recall_at_{aim}": 0.4}
        if reached:
            precision = f"link_precision_at_{aim}"
            test |= {precision: aim / 100 - 0.05, f"link_recall_at_{aim}": 0.35, f"link_ari_at_{aim}": 0.12}
            test |= {f"link_text_precision_at_{aim}": aim / 100 - 0.15}
            intervals[precision] = (aim / 100 - 0.1, aim / 100 + 0.02)
    for place, rule in enumerate(("components", "complete", "average")):
        intervals[f"ari_{rule}"] = (quality - 0.2 - 0.1 * place, quality + 0.05 - 0.1 * place)
        val[f"ari_{rule}"] = quality - 0.3 + 0.1 * place  # average is best on validation, components on test
        test |= {f"ari_{rule}": quality - 0.1 * place, f"b3_{rule}": quality - 0.02, f"pair_f1_{rule}": quality - 0.04}
    return {"val": val, "test": test, "intervals": intervals}


def made_run(cell: Cell, metrics: Mapping[str, Mapping[str, float]], summary: Mapping[str, Any], **known: Any):
    """A run of which this is known, without files."""
    run = RunFolder(Path("made", cell.name), cell)
    vars(run).update(metrics=metrics, summary=summary, **known)
    return run


def write(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """No data and no runs yet."""
    return Project(tmp_path)


@pytest.fixture
def finished(project: Project) -> tuple[Project, list[Cell]]:
    """Three kinds of data, trained models and baselines, two seeds of one."""
    findings = {"texts_in_train": 0.25, "frequency_auroc_min": 0.58, "closure_label_mean": None}
    audit = {"val": findings, "test": findings}
    splits = {s: {"pairs": 400, "share_of_duplicates": 0.5} for s in ("train", "val", "test")}
    card = {"rows": 1203, "malformed": {"bad_label": 3}, "splits": splits, "audit": audit, "source": {"_target_": "x"}}
    project.add_data("questions", "labelled_pairs", card)
    project.add_data("news", "documents", {"malformed": {}, "splits": {s: {"texts": 90} for s in splits}, "audit": {}})
    project.add_data("graded", "graded_pairs", {"malformed": {"test": {"bad_grade": 1}, "val": {}}})
    cells = []
    for model, seed, quality, parameters in [("dae", 0, 0.8, 1000), ("dae", 1, 0.82, 1000), ("tfidf", 0, 0.7, 0)]:
        cells.append(Cell("questions", model, seed))
        metrics = {"auroc": quality, "accuracy": quality - 0.1, "threshold": 0.5}
        val = {"auroc": quality + 0.01, "accuracy": quality, "threshold": 0.5}
        project.add_run(cells[-1], metrics, val=val, primary="auroc", parameters=parameters)
    for model, quality in [("dae", 0.75), ("tfidf", 0.52)]:
        cells.append(Cell("news", model, 0))
        metrics = {"auroc_category": quality, "auroc_story": 0.9, "precision_at_10_story": 0.6}
        found = dedupe_metrics(1.4 - quality)  # the better by category, the worse by story
        of_val, of_test = metrics | found["val"], metrics | found["test"]
        project.add_run(cells[-1], of_test, val=of_val, intervals=found["intervals"], primary="auroc_category")
        cells.append(Cell("graded", model, 0))
        project.add_run(cells[-1], {"pearson": quality, "spearman": quality - 0.01}, primary="spearman")
    return project, cells


@pytest.fixture
def make_pages(finished: tuple[Project, list[Cell]]) -> Callable[[], dict[str, str]]:
    """Build the report of the finished project and read its pages."""
    project, cells = finished
    return lambda: project.pages(cells)
