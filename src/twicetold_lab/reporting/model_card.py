"""The model card of a trained model, in Hugging Face's form: a Markdown page whose head is YAML.

It says what the files beside the model say, and what they do not say is stated as unknown: a model folder that was
copied without its run has no metrics. The keys of the head are those of Hugging Face's model cards (`model-index`
holds the results of test); its values are written as JSON, which YAML reads.
"""

import json
import math
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from twicetold import layout
from twicetold.evaluation.guarantee import GuaranteedPrecision
from twicetold.evaluation.inputs import is_number
from twicetold.evaluation.labels import Decisions, LabelDecision
from twicetold.evaluation.thresholds import GroupingThreshold, LabelledLinks, TargetLinks
from twicetold.trained.fitted import METRIC as NOT_MEASURED
from twicetold.trained.folder_files import read_recipe, require_model_files
from twicetold.trained.model_folder import recipes
from twicetold.trained.threshold_record import CalibrationRecord, ThresholdRecord, read_decisions
from twicetold_lab.evaluation.evaluators import Standard
from twicetold_lab.reporting import provenance
from twicetold_lab.reporting.dedupe import link_metric
from twicetold_lab.reporting.glossary import count, describe, number, ordered
from twicetold_lab.reporting.markdown import code, escaped, table
from twicetold_lab.reporting.reading import reading
from twicetold_lab.runs.checks import CLEAR, check, inspect
from twicetold_lab.runs.records import read_card, read_metrics, read_object, read_scores
from twicetold_lab.runs.summary import may_have_met

TAGS = ("sentence-similarity", "duplicate-detection")


@dataclass(frozen=True)
class About:
    """What is known of a trained model."""

    name: str
    run: Path | None
    """The run folder; None if there is only the model folder."""
    recipe: Mapping[str, Any]
    decisions: Decisions
    thresholds: ThresholdRecord
    """What else the folder says of them."""
    training: Mapping[str, Any]
    """Empty if unknown, as are the three below."""
    metrics: Mapping[str, Mapping[str, float]]
    """Split -> metric -> value."""
    summary: Mapping[str, Any]
    observed: Mapping[str, Any]
    pretrained_on: tuple[str, ...] | None
    """None if unknown."""
    features: tuple[Mapping[str, Any], ...] = ()
    """Settings of the featuriser, or of that of each member."""

    @property
    def data(self) -> str | None:
        """Name of the dataset that it was trained on."""
        return _text(_mapping(self.recipe.get("data")).get("name"))

    @property
    def digest(self) -> str | None:
        """Digest of the train texts."""
        return _text(_mapping(self.recipe.get("data")).get("train"))

    @property
    def primary(self) -> str | None:
        """The metric that training selected by."""
        return _text(self.training.get("metric"))

    @property
    def fitted(self) -> bool:
        """Whether it was fitted to texts without labels, and nothing was measured."""
        return self.primary == NOT_MEASURED

    @property
    def intervals(self) -> Mapping[str, Any]:
        """Test metric -> ends of its 95 % interval."""
        return _mapping(self.summary.get("intervals"))

    @property
    def flat_metrics(self) -> dict[str, float]:
        """`val/<metric>` and `test/<metric>` -> value."""
        return {f"{split}/{name}": value for split in self.metrics for name, value in self.metrics[split].items()}


def read_about(place: Path) -> About:
    """What is known of the model in a run folder or a model folder.

    Raises:
        FileNotFoundError: if there is no trained model.
        ValueError: if a file holds something else than it should.
    """
    require_model_files(place, what=f"the folder {place}")
    folder = place if (place / layout.RECIPE).is_file() else place / layout.MODEL
    if not (folder / layout.RECIPE).is_file():
        folder = place
    run = place if folder != place else None
    recipe = read_recipe(folder)
    sources = recipe.get("pretrained_on")
    return About(
        name=place.resolve().name,
        run=run,
        recipe=recipe,
        decisions=read_decisions(folder),
        thresholds=ThresholdRecord.read(folder),
        training=read_object(folder / layout.TRAINING),
        metrics=read_metrics(run) if run else {},
        summary=read_object(run / layout.SUMMARY) if run else {},
        observed=read_object(run / layout.OBSERVED) if run else {},
        pretrained_on=tuple(map(str, sources)) if isinstance(sources, list) else None,
        features=tuple(features for each in recipes(folder) if (features := _mapping(each.get("features")))),
    )


def model_card(about: About, *, cards: Path | None = None, use: str | None = None, exported: str = "") -> str:
    """The model card as Markdown.

    Args:
        about: what is known of the model.
        cards: folder of the cards of datasets; that of the model's data is used if the model comes with its metrics.
        use: what `twicetold.load` takes, for the examples; None for the model's name.
        exported: Markdown that says how the model was exported, and what that changed.
    """
    parts = [_head(about), f"# {escaped(about.name)}\n", _introduction(about)]
    parts += ["## Use\n", _use(use or about.name, answers=about.decisions.of().no_verdict is None)]
    if exported:
        parts += ["## Export\n", exported]
    if read := reading(about.features):
        parts += ["## How it reads texts\n", "\n".join(f"- {sentence}" for sentence in read) + "\n"]
    parts += ["## Data\n", *_data(about, cards)]
    parts += ["## Quality\n", *_quality(about)]
    parts += ["## Threshold and calibration\n", *_verdicts(about), *_dedupe(about)]
    parts += ["## Checks\n", _checks(about, cards)]
    parts += ["## Cost\n", _cost(about)]
    parts += ["## What it had seen\n", _seen(about)]
    return "\n".join(parts)


def _head(about: About) -> str:
    lines = ["---", "library_name: twicetold", "pipeline_tag: sentence-similarity", "tags:"]
    lines += [f"- {_quoted(tag)}" for tag in (*TAGS, *_families(about.recipe))]
    test = about.metrics.get("test", {})
    known = [name for name in ordered(set(test)) if describe(name).is_quality and not math.isnan(test[name])]
    if known and about.data:
        data = _quoted(about.data)
        lines += ["model-index:", f"- name: {_quoted(about.name)}", "  results:"]
        lines += ["  - task:", "      type: sentence-similarity", "    dataset:"]
        lines += [f"      name: {data}", f"      type: {data}", "      split: test", "    metrics:"]
        for name in known:
            lines += [f"    - type: {_quoted(name)}", f"      name: {_quoted(describe(name).label)}"]
            lines += [f"      value: {round(test[name], 4)!r}"]
    return "\n".join([*lines, "---", ""])


def _introduction(about: About) -> str:
    families = ", ".join(map(code, _families(about.recipe))) or "a family that its recipe does not name"
    kind = "An ensemble of" if "members" in about.recipe else "A model of the family"
    return (
        f"{kind} {families}, made with [twicetold](https://github.com/twicetold/twicetold). It says how alike two "
        "texts are, and whether they say the same. Its licence depends on that of the data it was trained on; none is "
        "stated here.\n"
    )


def _use(place: str, *, answers: bool) -> str:
    method = "predict_proba" if answers else "similarity"
    python = [
        "import twicetold",
        f"model = twicetold.load({json.dumps(place, ensure_ascii=False)})",
        f'model.{method}(["How do I learn Python?"], ["What is the best way to learn Python?"])',
    ]
    shell = f"twicetold score {_shell(place)} 'How do I learn Python?' 'What is the best way to learn Python?'"
    return "\n".join(["```python", *python, "```\n", "```", shell, "```\n"])


def _data(about: About, cards: Path | None) -> Iterator[str]:
    if about.data is None:
        yield "Not known.\n"
        return
    digest = f"; digest of its train texts {code(about.digest)}" if about.digest else ""
    made = "Fitted, without labels, to the texts of" if about.fitted else "Trained on the train split of"
    yield f"{made} {code(about.data)}{digest}.\n"
    if cards is None or not about.metrics or not (cards / f"{about.data}.json").is_file():
        yield "Nothing more about the data came with the model.\n"
        return
    found = read_card(about.data, cards)
    yield f"{provenance.KINDS[found.kind]}\n"
    if (counted := provenance.split_table(found.card)) is not None:
        rows = ([split, *map(escaped, cells)] for split, cells in counted.rows)
        yield table(["split", *map(escaped, counted.columns)], rows)
    if audit := provenance.audit_in_words(found.audit):
        yield "\n".join(f"- {escaped(sentence)}" for sentence in audit) + "\n"


def _quality(about: About) -> Iterator[str]:
    names = ordered({name for metrics in about.metrics.values() for name in metrics})
    if not names:
        value = about.training.get("best_value")
        if about.fitted:
            yield "Nothing was measured: it was fitted to texts alone.\n"
            return
        if about.primary and isinstance(value, float):
            yield f"On validation, {escaped(describe(about.primary).label)} was {number(value)} at the end of training."
        yield "Nothing is known of its quality on test: the model folder came without the metrics of its run.\n"
        return
    test, val = about.metrics.get("test", {}), about.metrics.get("val", {})
    of_test, of_val = about.intervals, _validation_intervals(about)
    cells = ((_show(n, test), _interval(n, of_test), _show(n, val), _interval(n, of_val)) for n in names)
    rows = ([escaped(describe(name).label), *row] for name, row in zip(names, cells, strict=True))
    yield table(["metric", "test", "95 % interval", "validation", "95 % interval"], rows)
    first = f"Training selected by {escaped(describe(about.primary).label)} on validation. " if about.primary else ""
    yield (
        f"{first}Nothing was chosen on test. The values of validation flatter, because epoch, threshold and "
        "calibration were chosen on them. All are about texts like those of the data.\n"
    )


def _validation_intervals(about: About) -> Mapping[str, Any]:
    """Intervals of labelled pairs, from their stored scores; of other data there are none."""
    scores = None if about.run is None else read_scores(about.run, "val")
    if scores is None or not np.isin(scores.label, (0, 1)).all():
        return {}
    return Standard().labelled_pairs(scores, scores, decision=about.decisions.selected).intervals["test"]


def _verdicts(about: About) -> Iterator[str]:
    """What verdicts are about, and what is known of each decision."""
    decisions, finest = about.decisions, about.decisions.of()
    others = [each for name, each in decisions.labels.items() if name != finest.label]
    yield f"Verdicts are about {code(finest.label)}: it is what two texts that are called the same share.\n"
    yield _decision(finest, about)
    for each in others:
        yield f"About {code(each.label)}, for those who ask for it:\n"
        yield _decision(each, about)


def _decision(verdicts: LabelDecision, about: About) -> str:
    if verdicts.no_verdict:
        return f"It gives no verdict: {escaped(verdicts.no_verdict)}.\n"
    at = verdicts.usable
    chosen = "validation"
    calibration = about.thresholds.calibration
    if calibration is not None and verdicts.same is None:  # a decision that was fitted again has no shares
        chosen = f"{count(calibration.labelled)} labelled pairs of {code(calibration.file)}{_day(calibration)}"
        if not calibration.is_about(verdicts.label):
            chosen = "validation, or on labelled pairs of an earlier calibration"
    threshold, slope, intercept = map(_rounded, (at.threshold, at.slope, at.intercept))
    said = (
        f"Two texts are called the same from a score of {threshold} on; the threshold was chosen on {chosen}. The "
        f"probability is 1 / (1 + exp(−({slope} · score + ({intercept})))), Platt's calibration, fitted "
        "on the same pairs. Both hold for pairs like those: where duplicates are rarer, probabilities are too high, "
        "and fewer of the pairs above the threshold say the same. Numbers are rounded; decision.json has all digits."
    )
    if verdicts.same is not None and verdicts.called is not None and verdicts.right is not None:
        said += (
            f" These were all pairs of its texts, of which {verdicts.same:.2%} are the same; {verdicts.called:.2%} "
            f"were called so, and {verdicts.right:.0%} of these are."
        )
    return said + "\n"


def _day(calibration: CalibrationRecord) -> str:
    return "" if calibration.day is None else f" (labels of {calibration.day})"


def _dedupe(about: About) -> Iterator[str]:
    """Thresholds over all pairs of validation texts, and what was kept of them on test where that is known."""
    calibration = about.thresholds.calibration
    if calibration is not None and (links := calibration.links) is not None:
        yield (
            f"A dedupe links from a score of {_rounded(links.f1_threshold)} on, where F1 was highest on "
            f"{count(links.labelled)} labelled pairs, drawn from the {count(links.pairs)} pairs of nearest texts "
            f"of {code(links.file)}{_day(calibration)}.\n"
        )
        heads = ["threshold", "precision, labels", "precision, expected", "95 % interval", "recall, labels"]
        rows = (_of_labels(link, calibration) for link in links.links)
        yield table(["aimed precision", *heads], [_default_of_labels(links, calibration), *rows])
        if any(link.threshold is None for link in links.links):
            yield "Where no threshold reached the aim, the precision on the labels is the highest that one did.\n"
        yield (
            "On the labels that a threshold was chosen on it has its precision by choice; what is expected is "
            f"corrected for that, and holds among pairs of nearest texts, in a file of {count(links.texts)} texts. "
            "With more texts, each has more false links. Thresholds were chosen for links, each by itself: how right "
            "groups are, by any rule, was not measured.\n"
        )
        return
    if (at := about.thresholds.dedupe) is None:
        yield "No precision of a dedupe is known: nothing was measured over all pairs of texts.\n"
        return
    yield "### Dedupe\n"
    yield (
        f"Measured over all {count(at.texts * (at.texts - 1) / 2)} pairs of {count(at.texts)} validation texts. Of "
        f"these pairs {count(at.duplicates)} share a {escaped(at.group)}, and average precision is "
        f"{number(at.average_precision)}. Pairs that reach a threshold are links; it is the lowest one that had the "
        "aimed precision. On these pairs the probability is "
        f"1 / (1 + exp(−({_rounded(at.slope)} · similarity + ({_rounded(at.intercept)})))).\n"
    )
    test, intervals = about.metrics.get("test", {}), about.intervals
    heads = ["precision, validation", "recall, validation", "precision, test", "95 % interval", "recall, test"]
    yield table(["aimed precision", "threshold", *heads], (_aimed(link, test, intervals) for link in at.links))
    if kept := [
        _kept_from(link.aimed, least) for link in at.links if (least := at.guarantee.reaching(link.aimed, at.texts))
    ]:
        yield "From these thresholds on, nine of ten files of as many texts as validation has keep the precision:\n"
        yield table(["aimed precision", "threshold", "expected", "by text, expected", "by text, at least"], kept)
    elif at.promised:
        yield "From no known threshold on would nine of ten files of so many texts keep one of these precisions.\n"
    heads = ["ARI, validation", "ARI, test", "95 % interval", "B-cubed, test", "pairwise F1, test"]
    yield table(["rule of grouping", "threshold", *heads], (_grouping(cut, test, intervals) for cut in at.grouping))
    yield (
        "Where no threshold reached the aim, the precision is the highest that one did. Precisions hold for as many "
        "texts as validation has: with more texts, each has more false links."
        + ("" if at.complete else " They are lower bounds, because not every duplicate is labelled.")
        + "\n"
    )


def _default_of_labels(links: LabelledLinks, calibration: CalibrationRecord) -> list[str]:
    return ["highest F1", _rounded(links.f1_threshold), "–", *_expected(None, calibration), "–"]


def _of_labels(link: TargetLinks, calibration: CalibrationRecord) -> list[str]:
    threshold = "–" if link.threshold is None else _rounded(link.threshold)
    seen = (number(link.precision), number(link.recall))
    return [f"{link.aimed:g}", threshold, seen[0], *_expected(link.aimed, calibration), seen[1]]


def _expected(target: float | None, calibration: CalibrationRecord) -> tuple[str, str]:
    """The precision that is to be expected from a threshold on, and its interval."""
    if (expected := calibration.expected.get(target)) is None:
        return "–", "–"
    return number(expected.value), f"{number(expected.low)} to {number(expected.high)}"


def _aimed(link: TargetLinks, test: Mapping[str, float], intervals: Mapping[str, Any]) -> list[str]:
    precision, recall = (link_metric(measure, link.aimed) for measure in ("precision", "recall"))
    return [
        f"{link.aimed:g}",
        "–" if link.threshold is None else _rounded(link.threshold),
        number(link.precision),
        number(link.recall),
        _show(precision, test),
        _interval(precision, intervals),
        _show(recall, test),
    ]


def _kept_from(aimed: float, least: GuaranteedPrecision) -> list[str]:
    expected = (least.expected, least.text_expected, least.text_least)
    return [f"{aimed:g}", _rounded(least.threshold), *map(number, expected)]


def _grouping(cut: GroupingThreshold, test: Mapping[str, float], intervals: Mapping[str, Any]) -> list[str]:
    ari, b3, f1 = (f"{stem}_{cut.rule}" for stem in ("ari", "b3", "pair_f1"))
    kept = [_show(ari, test), _interval(ari, intervals), _show(b3, test), _show(f1, test)]
    return [cut.rule, _rounded(cut.threshold), number(cut.ari), *kept]


def _checks(about: About, cards: Path | None) -> str:
    """What the numbered checks of its run found, and what could not be checked."""
    if about.run is None or not (about.metrics or about.summary):
        return "Not checked: the model folder came without the files of its run.\n"
    outcomes = check(inspect(about.run, cards=cards))
    lines = [f"- {escaped(each.line)}" for each in outcomes if each.state != CLEAR]
    return "\n".join(lines or ["None of the numbered checks of a run found anything."]) + "\n"


def _cost(about: About) -> str:
    facts = []
    if is_number(parameters := about.training.get("parameters")):
        facts.append(f"{count(parameters)} parameters")
    if is_number(epochs := about.training.get("epochs")) and epochs:
        facts.append(f"{count(epochs)} epochs")
    if is_number(seconds := about.observed.get("train_seconds")):
        facts.append(f"{number(float(seconds), 1)} seconds of training")
    if is_number(speed := about.observed.get("texts_per_second")):
        facts.append(f"{count(float(speed))} texts a second encoded, on the machine of the training")
    return "\n".join(f"- {fact}" for fact in facts or ["Not known."]) + "\n"


def _seen(about: About) -> str:
    if about.pretrained_on is None:
        return "Its recipe does not say whether it was pretrained.\n"
    if not about.pretrained_on:
        return "The train texts above, and no other data: nothing of it was pretrained.\n"
    sources = " and ".join(map(escaped, about.pretrained_on))
    known = about.recipe.get("seen")
    clean = isinstance(known, list) and about.data is not None and not may_have_met(list(map(str, known)), about.data)
    among = f"Texts of {code(about.data or '')} are not known to be" if clean else "Texts of test may be"
    return f"Besides the train texts, parts of it had been pretrained on {sources}. {among} among these.\n"


def _families(recipe: Mapping[str, Any]) -> list[str]:
    if isinstance(members := recipe.get("members"), list):
        return [str(name) for name in members]
    if isinstance(family := _mapping(recipe.get("table")).get("family"), str):  # exported
        return [family]
    target = _mapping(recipe.get("encoder")).get("_target_")
    return [target.split(".")[-2]] if isinstance(target, str) and target.count(".") > 1 else []


def _rounded(value: float) -> str:
    """A threshold or a coefficient with four digits, and so many more that one just below 1 does not become 1."""
    return next(text for digits in (4, 6, 17) if (text := f"{value:.{digits}g}") != "1" or value == 1)


def _show(name: str, values: Mapping[str, float]) -> str:
    return describe(name).show(values[name]) if name in values else "–"


def _interval(name: str, intervals: Mapping[str, Any]) -> str:
    ends = intervals.get(name)
    known = isinstance(ends, (list, tuple)) and len(ends) == 2 and all(map(is_number, ends))
    return f"{number(ends[0])} to {number(ends[1])}" if ends and known else "–"


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _quoted(text: str) -> str:
    """A YAML scalar in double quotes; JSON's escapes are among YAML's."""
    shown = "".join(c if c.isprintable() else " " for c in text)
    return json.dumps(shown, ensure_ascii=False)


def _shell(text: str) -> str:
    return shlex.quote("".join(c if c.isprintable() else " " for c in text))
