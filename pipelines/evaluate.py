"""Decide on validation, and evaluate on validation and test with what was decided; no other stage reads test.

Usage: python pipelines/evaluate.py data=<name> model=<family> hydra.run.dir=<run folder> [<key>=<value> ...]

Examples:
    python pipelines/evaluate.py data=quora model=dae hydra.run.dir=runs/quora-dae-0
    python pipelines/evaluate.py -cn ensemble data=quora members=[dae,static] hydra.run.dir=runs/quora-ensemble-0

The run folder is that of `train.py` or `ensemble.py`, which got the same settings. Of what `train.py` wrote it makes
the model that people use, with a threshold and a calibration; an ensemble has decided already.
"""

import checkout  # noqa: F401 (for its effects)

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import hydra
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hydra.core.hydra_config import HydraConfig
from hydra.utils import instantiate
from numpy.typing import NDArray
from omegaconf import DictConfig, OmegaConf

from twicetold import layout
from twicetold.errors import readable_errors
from twicetold.evaluation.inputs import DocumentVectors, ScoredPairs
from twicetold.files import write_file, write_json
from twicetold.printable import print
from twicetold.trained.folder_files import recipes
from twicetold.trained.model_folder import load_model
from twicetold.trained.threshold_record import read_thresholds
from twicetold_lab import tracking
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.evaluation.evaluators import Evaluation
from twicetold_lab.evaluation.figures import save_roc_csv, save_roc_figure
from twicetold_lab.evaluation.units import units_of
from twicetold_lab.grid.code_identity import built_by, code_now, learnt_from
from twicetold_lab.grid.observation import write_card
from twicetold_lab.grid.recipe import READ_BY, params_of, selection_of
from twicetold_lab.grid.settings import check_settings, run_script
from twicetold_lab.runs.identity import Identity
from twicetold_lab.runs.summary import summary
from twicetold_lab.scoring.cache import cached_rows
from twicetold_lab.scoring.corpus_search import Searched, search_reports, texts_to_search
from twicetold_lab.scoring.deciding import decide, read_trained
from twicetold_lab.scoring.duplicates import evaluation_inputs
from twicetold_lab.scoring.model_checks import names_of, other_parts, require_trained_on

SCORES = pa.schema({"split": pa.string(), "label": pa.float32(), "score": pa.float32(), "unit": pa.int32()})


@hydra.main(version_base="1.3", config_path="../conf", config_name="train")
def main(cfg: DictConfig) -> None:
    with readable_errors():
        check_settings(cfg, **READ_BY)
        evaluate(cfg, Path(HydraConfig.get().runtime.output_dir))


def evaluate(cfg: DictConfig, out: Path) -> None:
    processed, triplets = (Path(root, cfg.data.name) for root in (cfg.paths.processed, cfg.paths.triplets))
    corpus, config = Corpus.load(processed), OmegaConf.to_container(cfg, resolve=True)
    trained = out / (layout.MODEL if "members" in config else layout.TRAINED)
    check(trained, config, corpus)
    parts: Any = [recipes(trained), config["evaluator"]] if "members" in config else built_by(config)["evaluate"]
    code_now("evaluate", config, parts)
    if "members" in config:
        code = code_now("ensemble", config, parts[0])
        members = {name: out / layout.MODEL / layout.MEMBER_MODELS / name for name in names_of(config["members"])}
        who = Identity.of_ensemble(config, processed, members, code=code)
    else:
        code = code_now("train", config, learnt_from(config))
        who = Identity.of(config, processed, triplets, code=code)
    who = as_trained(who, out, config["origin"])
    evaluator, grade = instantiate(cfg.evaluator), corpus.card.get("positive_grade")
    rows_of = cached_rows(corpus, Path(cfg.paths.features), key=who.feature_key)
    read = load_model(trained).read_corpus(rows_of) if "members" in config else read_trained(trained, rows_of)
    read = read.keeping(texts_to_search(corpus, evaluator))  # those of every split that is measured among them
    if not (out / layout.MODEL).is_dir():  # by hand, `train.py` has decided
        decide(trained, out / layout.MODEL, read, corpus, selection_of(cfg), instantiate(cfg.matched))
    model = load_model(out / layout.MODEL)
    inputs = {split: evaluation_inputs(read, corpus, split) for split in evaluator.splits}
    units = {split: units_of(pairs.left, pairs.right) for split, pairs in corpus.pairs.items() if split in inputs}
    if evaluator.without_labels:
        report, inputs = evaluator.without_labels.report(corpus, evaluator)
    else:
        report = evaluator.report(
            corpus.kind, **inputs, decision=model.decision, positive_grade=grade, units=units.get("test")
        )
        searched = search_reports(read, corpus, evaluator, read_thresholds(out / layout.MODEL))
        report = replace(report, **with_searched(report, searched))
    write(report, inputs, units, out)
    intervals = report.intervals.get("test", {})
    about = summary(out / layout.MODEL, intervals=intervals, tuned_how=cfg.tuned_how, units=report.units)
    write_json(out / layout.SUMMARY, about)
    write_card(out, cards=Path(cfg.paths.cards))
    settings = tracking.Settings(**cfg.tracking, root=Path.cwd(), origin=cfg.origin)
    params = params_of(cfg, who)
    with tracking.reopen(settings, experiment=who.data, name=who.run_name, tags=who.tags, params=params) as run:
        if cfg.origin == "dvc" and not run.has_model:  # by hand, the training has logged it
            run.log_model(out / layout.MODEL, input_example=corpus.example())
        for split in report.metrics:
            run.log_dataset(who.data, split=split, digest=who.data_digest, source=f"{processed}", counts=corpus.card)
        run.log_metrics({f"{s}/{name}": v for s, metrics in report.metrics.items() for name, v in metrics.items()})
        for file in layout.EVALUATION:
            run.log_file(out / file, "evaluation")
    print(f"{who.data} {who.run_name}: test " + ", ".join(f"{n} {v:.4f}" for n, v in report.metrics["test"].items()))


def as_trained(who: Identity, out: Path, origin: str) -> Identity:
    """With the fingerprint that the training had, to find its run: by hand, the code may have changed since.

    In the pipeline it has not, or DVC would train first; what was observed there may be of another training, as DVC
    does not restore it with the model.
    """
    file = out / layout.OBSERVED
    noted = json.loads(file.read_text(encoding="utf-8")) if origin != "dvc" and file.is_file() else {}
    return replace(who, fingerprint=noted.get("fingerprint", who.fingerprint))


def check(model: Path, config: Any, corpus: Corpus) -> None:
    """Check that the model was trained with the settings of this command and on the train split that is there now."""
    if not model.is_dir():
        raise FileNotFoundError(
            f"no trained model in {model.parent}: name the folder that the training printed at its end, with "
            "hydra.run.dir=<folder>"
        )
    if other := other_parts(model, config):
        raise ValueError(
            f"{model} was trained with other {' and '.join(other)} than this command has: repeat all settings of the "
            "training's command, or train again"
        )
    require_trained_on(model, corpus)


def with_searched(report: Evaluation, searched: Searched | None) -> dict[str, Any]:
    """Metrics, intervals and units of the report and of the search vectors; of what both have, those of the report."""
    further = (searched.search, searched.deduped) if searched else ()
    parts: list[Any] = [report, *(part for part in further if part), report]  # first by its order, last by its values
    kept = [each.units for each in (searched.search, searched.deduped) if each] if searched else []
    units = {name: one for units in (*kept, report.units) for name, one in units.items()}
    return {"units": units} | {
        name: {split: {k: v for part in parts for k, v in getattr(part, name).get(split, {}).items()} for split in each}
        for name, each in (("metrics", report.metrics), ("intervals", report.intervals))
    }


def write(
    report: Evaluation, inputs: dict[str, ScoredPairs | DocumentVectors], units: dict[str, NDArray[np.int64]], out: Path
) -> None:
    write_json(out / layout.METRICS, report.metrics)
    save_roc_csv(out / layout.ROC, report.curves)
    title = "ROC on test and train" if "train" in inputs else "ROC on test"
    save_roc_figure(out / layout.ROC_FIGURE, report.curves, title=title)
    scored = {split: pairs for split, pairs in inputs.items() if isinstance(pairs, ScoredPairs)}
    columns = {
        "split": np.repeat(list(scored), [len(pairs) for pairs in scored.values()]).astype(str),  # documents: no rows
        "label": np.concatenate([np.empty(0, np.float32), *(pairs.label for pairs in scored.values())]),
        "score": np.concatenate([np.empty(0, np.float32), *(pairs.score for pairs in scored.values())]),
        "unit": np.concatenate([np.empty(0, np.int32), *(units[split] for split in scored)]).astype(np.int32),
    }
    with write_file(out / layout.SCORES) as path:
        pq.write_table(pa.table(columns, schema=SCORES), path)


if __name__ == "__main__":
    run_script(main)
