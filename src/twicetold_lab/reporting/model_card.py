"""The model card of a trained model, in Hugging Face's form: a Markdown page whose head is YAML.

It says what the files beside the model say, and what they do not say is stated as unknown: a model folder that was
copied without its run has no metrics. The keys of the head are those of Hugging Face's model cards (`model-index`
holds the results of test); its values are written as JSON, which YAML reads.
"""

import json
import math
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from twicetold.evaluation.inputs import is_number
from twicetold.evaluation.labels import LabelDecision
from twicetold.evaluation.thresholds import LabelledLinks
from twicetold.trained.fitted import METRIC as NOT_MEASURED
from twicetold.trained.folder_files import require_model_files
from twicetold.trained.threshold_record import CalibrationRecord
from twicetold_lab.reporting import provenance
from twicetold_lab.reporting.glossary import count, describe, magnitude, number, ordered
from twicetold_lab.reporting.markdown import code, escaped, table, within
from twicetold_lab.runs.checks import CLEAR, check, inspect
from twicetold_lab.runs.folder import RunFolder
from twicetold_lab.runs.records import has_card, read_card

TAGS = ("sentence-similarity", "duplicate-detection")


def model_card(folder: Path, *, cards: Path | None = None, use: str | None = None) -> str:
    """Return the model card as Markdown.

    Args:
        folder: of the run, or of the model without its run.
        cards: folder of the cards of datasets; that of the model's data is used if the model comes with its metrics.
        use: what `twicetold.load` takes, for the examples; None for the model's name.

    Raises:
        FileNotFoundError: if there is no trained model.
        ValueError: if something in the folder leads out of it, or its recipe or thresholds hold something else.
    """
    require_model_files(folder, what=f"the folder {folder}")
    run = RunFolder.at(folder)
    parts = [_head(run), f"# {escaped(run.name)}\n", _introduction(run)]
    parts += ["## Use\n", _use(use or run.name, answers=run.decisions.of().no_verdict is None)]
    parts += ["## Data\n", *_data(run, cards)]
    parts += ["## Quality\n", *_quality(run)]
    parts += ["## Threshold and calibration\n", *_verdicts(run), *_dedupe(run)]
    parts += ["## Checks\n", _checks(run, cards)]
    parts += ["## Cost\n", _cost(run)]
    parts += ["## What it had seen\n", _seen(run)]
    return "\n".join(parts)


def _head(run: RunFolder) -> str:
    head: dict[str, Any] = {"library_name": "twicetold", "pipeline_tag": "sentence-similarity"}
    head["tags"] = [*TAGS, *_families(run.recipe)]
    test = run.metrics.get("test", {})
    known = [name for name in ordered(set(test)) if describe(name).is_quality and not math.isnan(test[name])]
    if known and run.data:
        measured = [{"type": n, "name": describe(n).label, "value": round(test[n], 4)} for n in known]
        result = {"task": {"type": "sentence-similarity"}, "metrics": measured}
        result["dataset"] = {"name": run.data, "type": run.data, "split": "test"}
        head["model-index"] = [{"name": run.name, "results": [result]}]
    return "\n".join(["---", *(f"{key}: {_quoted(value)}" for key, value in head.items()), "---", ""])


def _introduction(run: RunFolder) -> str:
    families = ", ".join(map(code, _families(run.recipe))) or "a family that its recipe does not name"
    kind = "An ensemble of" if "members" in run.recipe else "A model of the family"
    return (
        f"{kind} {families}, made with [twicetold](https://github.com/twicetold/twicetold). It says how alike two "
        "texts are, and if they are duplicates. Its licence depends on that of the data it was trained on; none is "
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


def _data(run: RunFolder, cards: Path | None) -> Iterator[str]:
    if run.data is None:
        yield "Not known.\n"
        return
    made = "Fitted, without labels, to the texts of" if _is_fitted(run) else "Trained on the train split of"
    yield f"{made} {code(run.data)}.\n"
    if cards is None or not run.metrics or not has_card(run.data, cards):
        yield "Nothing more about the data came with the model.\n"
        return
    found = read_card(run.data, cards)
    yield f"{provenance.KINDS[found.kind]}\n"
    yield from within(provenance.data_section(found), 2)


def _quality(run: RunFolder) -> Iterator[str]:
    names = ordered({name for metrics in run.metrics.values() for name in metrics})
    if not names:
        value = run.training.get("best_value")
        if _is_fitted(run):
            yield "Nothing was measured: it was fitted to texts alone.\n"
            return
        if run.primary and isinstance(value, float):
            yield f"On validation, {escaped(describe(run.primary).label)} was {number(value)} at the end of training."
        yield "Nothing is known of its quality on test: the model folder came without the metrics of its run.\n"
        return
    test, val = run.metrics.get("test", {}), run.metrics.get("val", {})
    intervals = _mapping(run.summary.get("intervals"))
    rows = ([escaped(describe(n).label), _show(n, test), _interval(n, intervals), _show(n, val)] for n in names)
    yield table(["metric", "test", "95 % interval", "validation"], rows)
    first = f"Training selected by {escaped(describe(run.primary).label)} on validation. " if run.primary else ""
    yield (
        f"{first}Nothing was chosen on test. The values of validation flatter, because epoch, threshold and "
        "calibration were chosen on them. All are about texts like those of the data.\n"
    )


def _verdicts(run: RunFolder) -> Iterator[str]:
    """Yield the label of verdicts, and each decision as far as it is known."""
    decisions, finest = run.decisions, run.decisions.of()
    others = [each for name, each in decisions.labels.items() if name != finest.label]
    yield f"Verdicts are about {code(finest.label)}: it is what two texts that are called the same share.\n"
    yield _decision(finest, run)
    for each in others:
        yield f"About {code(each.label)}, for those who ask for it:\n"
        yield _decision(each, run)


def _decision(verdicts: LabelDecision, run: RunFolder) -> str:
    if verdicts.no_verdict:
        return f"It gives no verdict: {escaped(verdicts.no_verdict)}.\n"
    at = verdicts.usable
    chosen = "validation"
    calibration = run.thresholds.calibration
    if calibration is not None and verdicts.same is None:  # a decision that was fitted again has no shares
        chosen = f"{count(calibration.labelled)} labelled pairs of {code(calibration.file)}{_day(calibration)}"
        if not calibration.is_about(verdicts.label):
            chosen = "validation, or on labelled pairs of an earlier calibration"
    threshold, slope, intercept = map(_rounded, (at.threshold, at.slope, at.intercept))
    text = (
        f"Two texts are called the same from a score of {threshold} on; the threshold was chosen on {chosen}. The "
        f"probability is 1 / (1 + exp(−({slope} · score + ({intercept})))), Platt's calibration, fitted "
        "on the same pairs. Both hold for pairs like those: where duplicates are rarer, probabilities are too high, "
        "and fewer of the pairs above the threshold are duplicates. Numbers are rounded; decision.json has all digits."
    )
    if verdicts.same is not None and verdicts.called is not None and verdicts.right is not None:
        text += (
            f" These were all pairs of its texts, of which {verdicts.same:.2%} are the same; {verdicts.called:.2%} "
            f"were called so, and {verdicts.right:.0%} of these are."
        )
    return text + "\n"


def _day(calibration: CalibrationRecord) -> str:
    return "" if calibration.day is None else f" (labels of {calibration.day})"


def _dedupe(run: RunFolder) -> Iterator[str]:
    """Yield thresholds over all pairs of validation texts, or of those that labels were drawn from."""
    calibration = run.thresholds.calibration
    if calibration is not None and (links := calibration.links) is not None:
        yield from _links_of_labels(links, calibration)
        return
    if (at := run.thresholds.dedupe) is None:
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
    rows = []
    for each in at.links:
        least = at.guarantee.reaching(each.aimed, at.texts)
        numbers = (number(each.precision), number(each.recall), _rounded(least.threshold if least else None))
        rows.append([f"{each.aimed:g}", _rounded(each.threshold), *numbers])
    heads = ["threshold", "precision, validation", "recall, validation", "kept by nine of ten files from"]
    yield table(["aimed precision", *heads], rows)
    cuts = ([cut.rule, _rounded(cut.threshold), number(cut.ari)] for cut in at.grouping)
    yield table(["rule of grouping", "threshold", "ARI, validation"], cuts)
    yield (
        "Where no threshold reached the aim, the precision is the highest that one did. The last column has the lowest "
        "threshold, if there is one, by which nine of ten files keep the precision. Precisions hold for as many texts "
        "as validation has: with more texts, each has more false links."
        + ("" if at.complete else " They are lower bounds, because not every duplicate is labelled.")
        + "\n"
    )


def _links_of_labels(links: LabelledLinks, calibration: CalibrationRecord) -> Iterator[str]:
    yield (
        f"A dedupe links from a score of {_rounded(links.f1_threshold)} on, where F1 was highest on "
        f"{count(links.labelled)} labelled pairs, drawn from the {count(links.pairs)} pairs of nearest texts "
        f"of {code(links.file)}{_day(calibration)}.\n"
    )
    rows = [["highest F1", _rounded(links.f1_threshold), "–", *_expected(None, links), "–"]]
    for each in links.links:
        expected = _expected(each.aimed, links)
        on_labels = (number(each.precision), *expected, number(each.recall))
        rows.append([f"{each.aimed:g}", _rounded(each.threshold), *on_labels])
    heads = ["threshold", "precision, labels", "precision, expected", "95 % interval", "recall, labels"]
    yield table(["aimed precision", *heads], rows)
    if any(link.threshold is None for link in links.links):
        yield "Where no threshold reached the aim, the precision on the labels is the highest that one did.\n"
    yield (
        "On the labels that a threshold was chosen on it has its precision by choice; what is expected is "
        f"corrected for that, and holds among pairs of nearest texts, in a file of {count(links.texts)} texts. "
        "With more texts, each has more false links. Thresholds were chosen for links, each by itself: how right "
        "groups are, by any rule, was not measured.\n"
    )


def _expected(target: float | None, links: LabelledLinks) -> tuple[str, str]:
    """Return the precision that is to be expected from a threshold on, and its interval."""
    if (expected := links.expected(target)) is None:
        return "–", "–"
    return number(expected.value), f"{number(expected.low)} to {number(expected.high)}"


def _checks(run: RunFolder, cards: Path | None) -> str:
    """Return the findings of the numbered checks of its run, and the checks that could not be made."""
    if not (run.metrics or run.summary):
        return "Not checked: the model folder came without the files of its run.\n"
    outcomes = check(inspect(run.path, cards=cards))
    lines = [f"- {escaped(each.line)}" for each in outcomes if each.state != CLEAR]
    return "\n".join(lines or ["None of the numbered checks of a run found anything."]) + "\n"


def _cost(run: RunFolder) -> str:
    training, observed = run.training, run.observed
    amounts = {
        "parameters": training.get("parameters"),
        "epochs": training.get("epochs") or None,
        "seconds of training": observed.get("train_seconds"),
        "texts a second encoded, on the machine of the training": observed.get("texts_per_second"),
    }
    facts = [f"- {magnitude(value)} {name}" for name, value in amounts.items() if is_number(value)]
    return "\n".join(facts or ["- Not known."]) + "\n"


def _seen(run: RunFolder) -> str:
    if run.pretrained_on is None:
        return "Its recipe does not say whether it was pretrained.\n"
    if not run.pretrained_on:
        return "The train texts above, and no other data: nothing of it was pretrained.\n"
    sources = " and ".join(map(escaped, run.pretrained_on))
    clean = run.data is not None and run.is_clean_of(run.data)
    among = f"Texts of {code(run.data or '')} are not known to be" if clean else "Texts of test may be"
    return f"Besides the train texts, parts of it had been pretrained on {sources}. {among} among these.\n"


def _families(recipe: Mapping[str, Any]) -> list[str]:
    if isinstance(members := recipe.get("members"), list):
        return [str(name) for name in members]
    target = _mapping(recipe.get("encoder")).get("_target_")
    return [target.split(".")[-2]] if isinstance(target, str) and target.count(".") > 1 else []


def _rounded(value: float | None) -> str:
    """A threshold or a coefficient with four digits, and so many more that one just below 1 does not become 1."""
    if value is None:
        return "–"
    return next(text for digits in (4, 6, 17) if (text := f"{value:.{digits}g}") != "1" or value == 1)


def _show(name: str, values: Mapping[str, float]) -> str:
    return describe(name).show(values[name]) if name in values else "–"


def _interval(name: str, intervals: Mapping[str, Any]) -> str:
    ends = intervals.get(name)
    known = isinstance(ends, (list, tuple)) and len(ends) == 2 and all(map(is_number, ends))
    return f"{number(ends[0])} to {number(ends[1])}" if ends and known else "–"


def _is_fitted(run: RunFolder) -> bool:
    """Return true if it was fitted to texts without labels, and nothing was measured."""
    return run.primary == NOT_MEASURED


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _quoted(value: Any) -> str:
    """Return a value of YAML in JSON's form, without control characters."""
    shown = json.dumps(value, ensure_ascii=False)
    return "".join(c if c.isprintable() else " " for c in shown)


def _shell(text: str) -> str:
    return shlex.quote("".join(c if c.isprintable() else " " for c in text))
