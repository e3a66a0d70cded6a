"""From a sweep to tuned values: which candidate wins, and the file of `conf/tuned/` that it becomes."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig, OmegaConf
from scipy.stats import ttest_rel

from twicetold.files import write_text
from twicetold.printable import print
from twicetold_lab.grid.jobs import code_of
from twicetold_lab.grid.recipe import composed
from twicetold_lab.grid.settings import CONF
from twicetold_lab.grid.study import CODE, METRIC, Sweep, overrides_of

if TYPE_CHECKING:
    import optuna

LEFT_OUT = ("data=", "model=", "seed=", "profile=", "origin=", "hydra", "tracking.", "runtime.", "paths.")
"""Beginnings of overrides that say where and how, and so are no tuned values."""
BUDGET = ("trainer.epochs", "trainer.patience")
"""Settings of the length of a training; values are compared at the same budget only."""
BEST = 3  # that are shown


@dataclass(frozen=True)
class Candidate:
    """Values that were tried.

    Args:
        overrides: of the whole sweep and of this candidate, without the seed.
        label: what differs, `alpha=100`.
        values: seed -> primary metric on validation.
        now: whether conf/ has these values already.
        code: that the trainings ran with, each once.
    """

    overrides: Sequence[str]
    label: str
    values: Mapping[str, float] = field(default_factory=dict)
    now: bool = False
    code: frozenset[str | None] = frozenset()

    @property
    def mean(self) -> float:
        """Over the seeds."""
        return sum(self.values.values()) / len(self.values)

    def line(self) -> str:
        """Return the row of the table."""
        each = " ".join(f"{value:.4f}" for value in self.values.values()) if len(self.values) > 1 else ""
        return f"  {self.mean:.4f}  {each}{'  ' if each else ''}{self.label}{' (as now)' if self.now else ''}"


def promote(sweep: Sweep, data: str, trials: Sequence["optuna.trial.FrozenTrial"], counts: str) -> None:
    """Show the best trials of a dataset, and write the best as its tuned values.

    Raises:
        ValueError: if tuned values cannot hold what the best one has, or the values are of other code than now.
    """
    metric = trials[0].user_attrs.get(METRIC, "primary metric")
    ranked = candidates(sweep, trials)
    if budget := _other_budget(ranked[0]):
        raise ValueError(
            f"the best of {sweep.folder} was trained with {budget}, so their values cannot be compared: sweep without "
            "these settings"
        )
    if stale := [each.label for each in ranked[:BEST] if each.code != {code_of(composed(list(each.overrides)))}]:
        raise ValueError(
            f"values of {sweep.folder} are of other code or library versions than now ({'; '.join(stale)}): call the "
            "sweep again"
        )
    print(f"{data}, val {metric}" + _of_seeds(ranked[0], ", mean of {} seeds") + ":")
    print("\n".join(each.line() for each in ranked[:BEST]))
    best, others = ranked[0], [each for each in ranked[1:] if each is ranked[1] or each.now]
    compared = [f"The winner and {each.label} differ by {difference(best, each)}." for each in others]
    for line in compared:
        print(line)
    if len(best.values) == 1:
        again = shlex.join(["python", "pipelines/sweep.py", *best.overrides, "seed=101,102,103"])
        print(f"a value that was chosen for being the highest is too high; to see it on other seeds: {again}")
    if best.now:
        print("what conf/ has now is the best: nothing is written")
        return
    origin = [
        f"Promoted from a sweep ({sweep.folder.name}; {counts}) over {', '.join(sweep.varies)}",
        f"on validation of {data}, {date.today()}. {metric} {best.mean:.4f}{_of_seeds(best, ', mean of {} seeds')}.",
        *compared,
    ]
    file = write_leaf(best.overrides, origin, how=f"searched, {counts}")
    print(f"wrote {file.relative_to(CONF.parent)}; review it with `git diff {file.relative_to(CONF.parent)}`")


def by_data(sweep: Sweep, trials: Sequence["optuna.trial.FrozenTrial"]) -> dict[str, list["optuna.trial.FrozenTrial"]]:
    """Return the trials of each dataset, the best first."""
    trials_by_data: dict[str, list[Any]] = {}
    for trial in trials:
        trials_by_data.setdefault(_choice([*sweep.overrides, *overrides_of(trial.params)], "data"), []).append(trial)
    return trials_by_data


def candidates(sweep: Sweep, trials: Sequence["optuna.trial.FrozenTrial"]) -> list[Candidate]:
    """Return candidates, the best first; trials that differ in the seed alone are one candidate.

    Numbers of a search are rounded to three digits, as they will be written.
    """
    by_label: dict[str, Candidate] = {}
    for trial in trials:
        params = {key: _rounded(value) for key, value in trial.params.items() if key != "seed"}
        label = sweep.name(params)
        own = [o for o in sweep.overrides if not o.startswith("seed=")]
        known = by_label.setdefault(label, Candidate([*own, *overrides_of(params)], label))
        seed = f"{trial.params.get('seed', len(known.values))}"
        values = {**known.values, seed: float(trial.value or 0.0)}
        code = known.code | {trial.user_attrs.get(CODE)}
        by_label[label] = replace(known, values=dict(sorted(values.items())), code=code)
    ranked = sorted(by_label.values(), key=lambda each: -each.mean)
    return [replace(each, now=_is_now(each)) for each in ranked[:BEST]] + ranked[BEST:]


def difference(one: Candidate, other: Candidate) -> str:
    """Return the difference of two candidates, with a paired t-test over the seeds of both."""
    gap = f"{one.mean - other.mean:+.4f}"
    both = [seed for seed in one.values if seed in other.values]
    if len(both) < 2:
        return f"{gap}, on one seed"
    p = float(ttest_rel([one.values[seed] for seed in both], [other.values[seed] for seed in both]).pvalue)
    return f"{gap}, {'which seeds could explain' if not p < 0.05 else 'more than seeds explain'} (p = {p:.2g})"


def write_leaf(overrides: Sequence[str], origin: Sequence[str], *, how: str) -> Path:
    """Write what the overrides set to the tuned values of their dataset and family, beside what is there.

    Args:
        overrides: of the winner.
        origin: the comment of the file.
        how: the winner was found, for the results.

    Raises:
        ValueError: if tuned values cannot hold it, or would not be used.
    """
    keys, cfg = _keys(overrides), composed(list(overrides))
    file = CONF / "tuned" / f"{_choice(overrides, 'data')}-{_choice(overrides, 'model')}.yaml"
    former = file.read_text(encoding="utf-8") if file.is_file() else None
    values = OmegaConf.create(former or {})
    for key in keys:
        OmegaConf.update(values, key, OmegaConf.select(cfg, key), force_add=True)
    values.tuned_how = how
    comment = "".join(f"# {line}\n" for told in origin for line in wrap(told, 118, break_on_hyphens=False))
    write_text(file, f"# @package _global_\n{comment}{OmegaConf.to_yaml(values)}")
    if not _same(_now(overrides), cfg, keys):
        file.unlink() if former is None else write_text(file, former)
        raise ValueError(
            f"conf/tuned/{file.name} would not be used: conf/data/{_choice(overrides, 'data')}.yaml takes tuned values "
            "from another file. Sweep with the dataset that this file is for"
        )
    return file


def _other_budget(best: Candidate) -> str:
    """The budget of the best where it is another one than conf/ has, `trainer.epochs=1 (conf/ has 200)`; or nothing."""
    then, now = composed(list(best.overrides)), _now(best.overrides)
    budgets = {key: (OmegaConf.select(then, key), OmegaConf.select(now, key)) for key in BUDGET}
    return " and ".join(f"{key}={own} (conf/ has {other})" for key, (own, other) in budgets.items() if own != other)


def _keys(overrides: Sequence[str]) -> list[str]:
    """Return the keys that the overrides set and that tuned values can hold.

    Raises:
        ValueError: if they choose parts or other data, which tuned values cannot.
    """
    keys = [override.partition("=")[0] for override in overrides if not override.startswith(LEFT_OUT)]
    for key in keys:
        if key.startswith(("+", "~", "data.")) or "/" in key or (CONF / key).is_dir():
            settings = ", ".join(override for override in overrides if not override.startswith(LEFT_OUT))
            raise ValueError(
                f"the sweep sets {key}, and conf/tuned/ holds values alone, no parts and no data. Make the best a "
                f"variant in params.yaml instead, with `overrides: [{settings}]`"
            )
    return list(dict.fromkeys(keys))


def _now(overrides: Sequence[str]) -> DictConfig:
    return composed([o for o in overrides if o.startswith(("data=", "model=", "profile="))])


def _is_now(candidate: Candidate) -> bool:
    try:
        keys = _keys(candidate.overrides)
    except ValueError:
        return False
    return _same(_now(candidate.overrides), composed(list(candidate.overrides)), keys)


def _same(one: DictConfig, other: DictConfig, keys: Sequence[str]) -> bool:
    return all(OmegaConf.select(one, key) == OmegaConf.select(other, key) for key in keys)


def _choice(overrides: Sequence[str], group: str) -> str:
    chosen = dict(override.partition("=")[::2] for override in overrides)
    if group not in chosen:
        raise ValueError(
            f"the sweep names no {group}=..., so there is no file of conf/tuned/ for it: call the sweep with "
            f"{group}=..., also where +experiment=... chooses it"
        )
    return chosen[group]


def _of_seeds(candidate: Candidate, words: str) -> str:
    return words.format(len(candidate.values)) if len(candidate.values) > 1 else ""


def _rounded(value: Any) -> Any:
    return float(f"{value:.3g}") if isinstance(value, float) else value
