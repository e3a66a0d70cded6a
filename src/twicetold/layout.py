"""Names of the files in a data folder and a run folder.

All code uses these names; `tests/contracts/test_names.py` checks that `dvc.yaml` does, too.
"""

from pathlib import Path

# data/raw/<data>/
MANIFEST = "manifest.json"  # where each raw file came from, its size and sha256

# data/processed/<data>/
TEXTS = "texts.parquet"  # id, text, one column per group ("group.<name>") and per field ("field.<name>")
MEMBERS = "members.parquet"  # split, text: which texts belong to which split
PAIRS = "pairs.parquet"  # split, left, right, label
LEFT_OUT = "left_out.csv"  # file, line, why: rows of one's own file that are left out; not of every corpus
CARD = "card.json"  # name, kind, group names, counts, audit

# data/triplets/<data>/ and data/self_training/<data>-<mining>-<teacher>-<seed>/, beside <strategy>.parquet
TRIPLETS_CARD = ".card.json"  # <strategy>.card.json: options and counts

# runs/<data>-<model>-<seed>/
TRAINED = "trained"  # folder: what a training writes, a model without decisions
MODEL = "model"  # folder: the same with what was decided on validation, all that is needed to score texts
RECIPE = "recipe.json"  # in MODEL: the featuriser and encoder it was built from
WEIGHTS = "encoder.safetensors"  # in MODEL
FEATURISER_ARRAYS = "featuriser.safetensors"  # in MODEL
FEATURISER_STATE = "featuriser.json"  # in MODEL
DECISION = "decision.json"  # in MODEL: threshold and calibration, chosen on validation; of documents for each label
CALIBRATION = "calibration.json"  # in MODEL: what `twicetold calibrate` did, and on which labels
PRECISION = "precision.json"  # in MODEL: thresholds for a dedupe, chosen on all pairs of validation; not of every model
MATCHER = "matcher.json"  # in MODEL: the matcher of pairs as validation has moved it; of some models of labelled pairs
MEMBER_MODELS = "members"  # in MODEL of an ensemble: the model folder of each member, by name
TRAINING = "training.json"  # in MODEL: epochs run, best epoch, best validation metric, parameter count
METRICS = "metrics.json"  # {"val": {metric: value}, "test": {metric: value}}; of some runs "train" as well
# test intervals, parameters, epochs: what RESULTS.md says besides (`twicetold_lab.runs.summary`)
SUMMARY = "summary.json"
ELSEWHERE = "elsewhere.json"  # {dataset: metrics, intervals on its test, and how many of its texts were known}
ROC = "roc.csv"  # label, false_positive_rate, true_positive_rate (DVC plot)
ROC_FIGURE = "roc.svg"
SCORES = "scores.parquet"  # split, label, score in the corpus's order of pairs; no rows for documents
MODEL_CARD = "README.md"  # what `twicetold card` prints; no stage depends on it
EVALUATION = (METRICS, SUMMARY, ROC, ROC_FIGURE, SCORES, MODEL_CARD)  # what `evaluate` writes
LAST_RUN = "last_run.json"  # in runs/: when the grid was last made, on what machine, seconds of each stage
OBSERVED = "observed.json"  # seconds and texts per second on this machine; no stage depends on it

# reports/
LEADERBOARD = "leaderboard.csv"  # long form: data,model,seed,split,metric,value
REPORT = "index.html"


def cell(data: str, model: str, seed: int) -> str:
    """Name of one cell of the grid: its config file, its run folder and its stage's suffix."""
    return f"{data}-{model}-{seed}"


def mined_file(folder: Path, strategy: str) -> Path:
    """Return the file of a mining stage for the triplets or pairs of one strategy."""
    return folder / f"{strategy}.parquet"
