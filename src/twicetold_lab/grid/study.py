"""The folder of a sweep, `multirun/<id>/`: what varies, what came out, and both as a study of Optuna.

    sweep.json      what the command said and what varies (`Sweep`)
    <number>/       run folder of each job of a grid or trial of a search
      result.json   of a grid's job: its value on validation, or why it failed
    study.db        study of a search, a SQLite file

The id is made of the command, so that the same command finds its folder again.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

from twicetold.errors import shown
from twicetold.files import write_json

if TYPE_CHECKING:  # it takes a moment to import, and every training imports this module
    import optuna

SWEEPS = Path("multirun")
SWEEP, RESULT, STUDY = "sweep.json", "result.json", "study.db"
NOT_IN_ID = ("hydra", "tracking.", "runtime.", "trials=", "workers=", "worker=")
"""Beginnings of overrides that change how a sweep runs and not what it finds."""
SHOWN = 10  # rows of the ranking
WRITTEN_WITHIN = 300.0  # seconds that a process waits while others write to the study
SEED = "seed"
ERROR, METRIC, EPOCHS, CODE = "error", "metric", "epochs", "code"  # attributes of a trial; CODE: with versions
ATTEMPT, ATTEMPTS = "attempt", 3  # an attribute too, and how often a trial that was stopped is tried


@dataclass(frozen=True)
class Sweep:
    """Definition of a sweep.

    Args:
        folder: its folder; the name is its id.
        overrides: of the command, without those that vary.
        varies: of a grid, key -> values; of a search, key -> range in Optuna's terms.
        jobs: of a grid, the overrides of each job, by number; of a search, none.
        parents: data -> its run in MLflow, or None where nothing is tracked.
    """

    folder: Path
    overrides: Sequence[str]
    varies: Mapping[str, Any]
    jobs: Sequence[Sequence[str]] = ()
    parents: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def of_seeds(self) -> bool:
        """True if only the seed varies, so that there is no winner."""
        return set(self.varies) == {SEED}

    def save(self) -> None:
        """Write it to its folder."""
        write_json(self.folder / SWEEP, {k: v for k, v in asdict(self).items() if k != "folder"})

    @classmethod
    def read(cls, folder: Path) -> "Sweep":
        """Read it.

        Raises:
            FileNotFoundError: if there is no sweep in the folder.
        """
        if not (folder / SWEEP).is_file():
            raise FileNotFoundError(f"no sweep in {folder}: expected {folder / SWEEP}")
        return cls(folder, **json.loads((folder / SWEEP).read_text(encoding="utf-8")))

    def name(self, values: Mapping[str, Any]) -> str:
        """Values that differ, `alpha=100 lr=0.01`: the last part of each key, or all of it if two keys end alike."""
        last = Counter(key.rpartition(".")[2] for key in self.varies)
        shown = {key: end if last[end := key.rpartition(".")[2]] == 1 else key for key in values}
        return " ".join(f"{shown[key]}={_short(value)}" for key, value in values.items())

    def values(self, job: Iterable[str]) -> dict[str, Any]:
        """Return the values that differ in a grid's job, from its overrides."""
        pairs = (override.lstrip("+").partition("=") for override in job)
        return {key: value for key, _, value in pairs if key in self.varies}

    def model(self, number: int) -> Path:
        """Run folder of a job or trial."""
        return self.folder / f"{number}"


def sweep_folder(overrides: Sequence[str]) -> Path:
    """Return the folder of the sweep of a command: `multirun/<data>-<model>-<hash of the overrides>`."""
    identifying = [override for override in overrides if not override.lstrip("+~").startswith(NOT_IN_ID)]
    named = dict(override.partition("=")[::2] for override in identifying)
    words = [re.sub(r"[^\w.]+", "+", named[key]).strip("+") for key in ("data", "model") if key in named]
    digest = hashlib.sha256("\n".join(identifying).encode()).hexdigest()[:8]
    return SWEEPS / "-".join([*words, digest])


def find_sweep(which: str) -> Sweep:
    """Return a sweep by its id or folder, or the `latest` that varies more than the seed.

    Raises:
        FileNotFoundError: if there is none.
    """
    files = sorted(SWEEPS.glob(f"*/{SWEEP}"), key=lambda file: file.stat().st_mtime)
    if which == "latest":
        for file in reversed(files):
            if not (sweep := Sweep.read(file.parent)).of_seeds:
                return sweep
    for folder in (SWEEPS / which, Path(which)):
        if (folder / SWEEP).is_file():
            return Sweep.read(folder)
    names = ", ".join(file.parent.name for file in files[::-1][:SHOWN])
    raise FileNotFoundError(f"there is no sweep {which!r} in {SWEEPS}/; there are: {names or 'none'}")


def overrides_of(values: Mapping[str, Any]) -> list[str]:
    """Values as overrides of Hydra; a choice that is a text stands for what Hydra reads in it, `[300]` a list."""
    return [f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in values.items()]


def read_study(sweep: Sweep) -> "optuna.Study":
    """Return the study of a search, or one made of the results of a grid."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    if not sweep.jobs:
        return optuna.load_study(study_name=sweep.folder.name, storage=storage(sweep.folder))
    study = optuna.create_study(direction="maximize")
    ranges = {k: optuna.distributions.CategoricalDistribution(list(v)) for k, v in sweep.varies.items()}
    for number, job in enumerate(sweep.jobs):
        result = read_result(sweep.model(number))
        value = result.pop("value", None)
        state = optuna.trial.TrialState.COMPLETE if value is not None else optuna.trial.TrialState.FAIL
        params = sweep.values(job)
        trial = optuna.create_trial(
            state=state, value=value, params=params, distributions={k: ranges[k] for k in params}, user_attrs=result
        )
        study.add_trial(trial)
    return study


def storage(folder: Path) -> "optuna.storages.RDBStorage":
    """Return the storage of a search, which several processes may use at the same time.

    Raises:
        ValueError: if its file is damaged.
    """
    from optuna.storages import RDBStorage

    file = (folder / STUDY).resolve()
    try:
        return RDBStorage(f"sqlite:///{file}", engine_kwargs={"connect_args": {"timeout": WRITTEN_WITHIN}})
    except Exception as error:  # of its database, of every kind
        why = shown(error).partition("\n")[0]
        raise ValueError(
            f"cannot read the study of the search, {folder / STUDY} ({why}). To search anew, remove the folder: rm -r "
            f"{folder}"
        ) from error


def read_result(folder: Path) -> dict[str, Any]:
    """Return the result of a grid's job; empty if it has none."""
    with suppress(FileNotFoundError):
        return dict(json.loads((folder / RESULT).read_text(encoding="utf-8")))
    return {}


def finished(study: "optuna.Study") -> list["optuna.trial.FrozenTrial"]:
    """Return trials with a value, the best first; if the dataset varies, dataset by dataset."""
    done = [trial for trial in study.trials if trial.state.name == "COMPLETE"]
    return sorted(done, key=lambda trial: (trial.params.get("data", ""), -(trial.value or 0.0), trial.number))


def counts(study: "optuna.Study") -> str:
    """Return counts of trials by outcome: `9 finished, 26 pruned, 1 failed`."""
    names = {"COMPLETE": "finished", "PRUNED": "pruned", "RUNNING": "running"}
    numbers = Counter(names.get(t.state.name, "failed" if ERROR in t.user_attrs else "stopped") for t in study.trials)
    numbers.pop("stopped", None)  # they are tried again
    return ", ".join(f"{numbers[name]} {name}" for name in (*names.values(), "failed") if numbers[name]) or "none"


def counted(trial: "optuna.trial.FrozenTrial") -> bool:
    """Return true for a trial that counts towards `trials`: a stopped one is tried again."""
    stopped = trial.state.name == "FAIL" and ERROR not in trial.user_attrs
    return trial.state.name != "WAITING" and not (stopped and trial.user_attrs.get(ATTEMPT, 1) < ATTEMPTS)


def ended(study: "optuna.Study") -> list["optuna.trial.FrozenTrial"]:
    """The trials that count and have ended; one that runs when all workers have ended was lost with its worker."""
    return [trial for trial in study.trials if counted(trial) and trial.state.name != "RUNNING"]


def ranking(sweep: Sweep, study: "optuna.Study") -> str:
    """The trials in the order of their values, means over seeds, the best, how to promote it, and which failed."""
    done = finished(study)
    lines = [f"sweep {sweep.folder.name}: {counts(study)}"]
    if done:
        metric = done[0].user_attrs.get(METRIC, "validation")
        rows = [["", f"val {metric}", "epochs", *sweep.varies]]
        for trial in done[:SHOWN]:
            values = [_short(trial.params.get(key, "")) for key in sweep.varies]
            rows.append([f"{trial.number}", f"{trial.value:.4f}", f"{trial.user_attrs.get(EPOCHS, '')}", *values])
        lines += _table(rows)
        if len(done) > SHOWN:
            lines.append(f"  and {len(done) - SHOWN} more")
        lines += means_over_seeds(sweep, done)
    failed = [trial for trial in study.trials if ERROR in trial.user_attrs]
    lines += [
        f"failed: {trial.number} ({sweep.name(trial.params)}): {trial.user_attrs[ERROR]}" for trial in failed[:SHOWN]
    ]
    if done:
        lines.append(f"best: {sweep.name(done[0].params)}, in {sweep.model(done[0].number)}")
        if not sweep.of_seeds:
            lines.append(f"promote it: python pipelines/promote.py sweep={sweep.folder.name}")
    return "\n".join(lines)


def means_over_seeds(sweep: Sweep, done: Sequence["optuna.trial.FrozenTrial"]) -> list[str]:
    """Return a table of what several seeds came to, the highest mean first; if the dataset varies, dataset by dataset.

    Args:
        sweep: that has ended.
        done: its trials with a value.

    Returns:
        Its lines; none if the seed does not vary.
    """
    if SEED not in sweep.varies:
        return []
    others = [key for key in sweep.varies if key != SEED]
    values: dict[tuple[str, ...], list[float]] = {}
    for trial in done:
        values.setdefault(tuple(_short(trial.params.get(key, "")) for key in others), []).append(trial.value or 0.0)
    data = [others.index("data")] if "data" in others else []
    ranked = sorted(values.items(), key=lambda entry: ([entry[0][at] for at in data], -mean(entry[1])))
    rows = [["mean", "sd", "seeds", *others]]
    for words, each in ranked[:SHOWN]:
        spread = f"{stdev(each):.4f}" if len(each) > 1 else ""
        rows.append([f"{mean(each):.4f}", spread, f"{len(each)}", *words])
    more = [f"  and {len(ranked) - SHOWN} more"] if len(ranked) > SHOWN else []
    return ["means over seeds:", *_table(rows), *more]


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  " + "  ".join(map(str.rjust, row, widths)) for row in rows]


def _short(value: Any) -> str:
    if not isinstance(value, float):
        return f"{value}"
    return f"{value:.4g}" if not 1000 <= abs(value) < 1e9 else f"{value:.0f}"
