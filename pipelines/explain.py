"""Explain the score of two texts by their terms.

Usage: python pipelines/explain.py run=<run folder> left=<text> right=<text> [<key>=<value> ...]

Examples:
    python pipelines/explain.py run=build/demo/runs/toy_questions-tfidf-0 left="learn to swim" right="swim well"
    python pipelines/explain.py run=build/demo/runs/toy_news-tfidf-0 left="bank rate" right="bank" top=5 out=build

Not a stage of the pipeline: no stage reads its output.
"""

import checkout  # noqa: F401 (for its effects)

import difflib
import re
import sys
from pathlib import Path

import hydra
from omegaconf import DictConfig

from twicetold import layout
from twicetold.errors import readable_errors
from twicetold.interpretation.contributions import (
    explain,
    explanation_text,
    largest_terms,
    save_explanation_csv,
    save_terms_csv,
)
from twicetold.printable import print
from twicetold.trained.locate import model_folder, require_model
from twicetold.trained.model_folder import load_model
from twicetold_lab.grid.settings import check_settings, check_whole, run_script
from twicetold_lab.interpretation.figures import save_explanation_figure

TEXTS = ("left=", "right=")


@hydra.main(version_base="1.3", config_path="../conf", config_name="explain")
def main(cfg: DictConfig) -> None:
    with readable_errors():
        check_settings(cfg)
        check_whole(cfg, "top")
        run = Path(cfg.run)
        show(run, cfg.left, cfg.right, top=cfg.top, out=run if cfg.out is None else Path(cfg.out))


def show(run: Path, left: str, right: str, *, top: int, out: Path) -> None:
    if not run.is_dir():
        names = difflib.get_close_matches(run.name, [path.name for path in run.parent.glob("*/")])
        like = f"; like it in {run.parent}: {', '.join(names)}" if names else ""
        raise FileNotFoundError(f"no run folder {run}{like}")
    require_model(run)
    model = load_model(model_folder(run))
    explanation = explain(model, left, right)
    save_explanation_csv(out / layout.EXPLANATION, explanation)
    save_explanation_figure(out / layout.EXPLANATION_FIGURE, explanation)
    files = [layout.EXPLANATION, layout.EXPLANATION_FIGURE]
    if dimensions := largest_terms(model, top):
        save_terms_csv(out / layout.TERMS, dimensions)
        files.append(layout.TERMS)
    print(explanation_text(explanation, most=top))
    verdicts = model.decisions.of()
    if verdicts.no_verdict:
        print(f"no verdict about {verdicts.label}: {verdicts.no_verdict}")
    else:
        verdict = "the same" if verdicts.usable.duplicate(explanation.score) else "not the same"
        print(f"{verdict}: the threshold about {verdicts.label} is {verdicts.usable.threshold:.4f}")
    print(f"in {out}: {', '.join(files)}")


def as_text(argument: str) -> str:
    """An override with a text, quoted for Hydra, because the text may have commas, quotes and brackets."""
    key = next((key for key in TEXTS if argument.startswith(key)), None)
    if key is None:
        return argument
    text = re.sub(r"(\\*)(\$\{)", r"\1\1\\\2", argument.removeprefix(key))  # for OmegaConf, whose interpolation it is
    text = re.sub(r"(\\+)$", r"\1\1", re.sub(r"(\\*)(')", r"\1\1\\\2", text))
    return f"{key}'{text}'"


if __name__ == "__main__":
    sys.argv[1:] = map(as_text, sys.argv[1:])
    run_script(main)
