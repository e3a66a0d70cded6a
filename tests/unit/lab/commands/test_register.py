"""`twicetold register`, `models` and `card`, and loading by an address, as a user runs them."""

import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

import twicetold as library
from twicetold import layout
from twicetold.evaluation.guarantee import MeasuredLinks
from twicetold.evaluation.thresholds import DedupeThresholds, GroupingThreshold, TargetLinks
from twicetold.files import write_json
from twicetold.neighbours.grouping import RULES
from twicetold_lab.export.champion import choose, register_run
from twicetold_lab.reporting.model_card import model_card
from twicetold_lab.runs.folder import RunFolder
from twicetold_lab.tracking import Settings, registry


@pytest.fixture
def project(migrated, tmp_path, environment, monkeypatch):
    """The working directory, with a store, and a cache of its own."""
    (tmp_path / "mlruns").mkdir()
    shutil.copy(migrated, tmp_path / "mlruns" / "mlflow.db")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    environment["XDG_CACHE_HOME"] = str(tmp_path / "cache")
    environment.pop("MLFLOW_TRACKING_URI", None)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def finished(run, tmp_path):
    """Makes the folder of a finished run: a model with the files of its evaluation."""

    def _finished(family="static", *, scores=None, speed=1000.0, name=None, auroc=0.9, processor="one (2 cores)"):
        folder = run(family)
        if name:
            folder = folder.rename(tmp_path / "runs" / name)
        metrics = {"auroc": auroc, "accuracy": 0.8, "threshold": 0.5}
        write_json(folder / layout.METRICS, {"val": metrics, "test": {**metrics, "auroc": auroc - 0.01}})
        write_json(folder / layout.SUMMARY, {"intervals": {"auroc": [0.8, 0.95]}})
        if speed is not None:
            seen = {"texts_per_second": speed, "train_seconds": 2.0, "environment": {"processor": processor}}
            write_json(folder / layout.OBSERVED, seen)
        if scores is not None:
            label, score = scores
            columns = {"split": ["val"] * len(label), "label": label, "score": score}
            pq.write_table(pa.table(columns), folder / layout.SCORES)
        return folder

    return _finished


def test_a_registered_run_is_loaded_by_alias_and_by_version(finished, project, twicetold):
    folder = finished()
    done = twicetold("register", folder, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["address"] == "models:/twicetold-questions/1"
    pair = ["bank rate cut"], ["bank rate film"]
    expected = library.load(folder).similarity(*pair)
    for address in ("models:/twicetold-questions@champion", "models:/twicetold-questions/1"):
        np.testing.assert_array_equal(library.load(address).similarity(*pair), expected)
    scored = twicetold("score", "models:/twicetold-questions@champion", *pair[0], *pair[1], "--json")
    assert json.loads(scored.stdout)["score"] == pytest.approx(float(expected[0]))
    listed = json.loads(twicetold("models", "--json").stdout)
    assert [each["aliases"] for each in listed] == [["champion"]]
    assert listed[0]["metrics"]["test/auroc"] == pytest.approx(0.89)
    assert listed[0]["tags"]["data_digest"] == json.loads((folder / "model/recipe.json").read_text())["data"]["train"]
    client = registry.existing(registry._settings(project))
    assert client.get_model_version("twicetold-questions", "1").description.startswith("---\nlibrary_name: twicetold")


def test_a_model_is_registered_once_and_the_alias_moves(finished, project):
    first, second = finished("static"), finished("tfidf")
    assert register_run(first, alias="champion", root=project).version == 1
    assert register_run(first, alias="other", root=project).aliases == ("champion", "other")
    assert register_run(second, alias="champion", root=project).version == 2
    assert {v.version: v.aliases for v in registry.registered(root=project)} == {1: ("other",), 2: ("champion",)}


def test_the_logged_model_of_the_run_is_taken_if_its_files_are_the_same(finished, project):
    from twicetold_lab.tracking import start

    folder = finished()
    settings = Settings(True, None, project, "run")
    tags = {"data": "questions", "model": "static", "seed": "0", "fingerprint": "f00d"}
    with start(settings, experiment="questions", name="static-0", tags=tags, params={}) as run:
        address = run.log_model(folder / layout.MODEL, input_example={"text": ["a"]})
    made = register_run(folder, alias=None, root=project)
    assert made.tags["fingerprint"] == "f00d"
    client = registry.existing(registry._settings(project))
    version = client.get_model_version(made.name, str(made.version))
    assert (version.run_id, f"models:/{made.tags['model_id']}") == (run.id, address)
    write_json(folder / layout.MODEL / layout.DECISION, {"threshold": 0.1, "slope": 1.0, "intercept": 0.0})
    again = register_run(folder, alias=None, root=project)
    assert again.version == 2
    assert client.get_model_version(again.name, "2").run_id != run.id


def test_of_what_mlflow_keeps_only_the_model_folder_is_read(finished, project, monkeypatch):
    made = register_run(finished(), alias="champion", root=project)
    for script in (project / "mlruns").rglob("served_model.py"):
        script.write_text("raise SystemExit('code of the logged model ran')")
    for archive in (project / "mlruns").rglob("twicetold.zip"):
        archive.write_bytes(b"not a zip file")
    model = library.load(made.address)
    assert model.folder.is_relative_to(project / "cache")
    assert {file.name for file in model.folder.iterdir()} == {
        layout.RECIPE,
        layout.WEIGHTS,
        layout.DECISION,
        layout.TRAINING,
        layout.FEATURISER_ARRAYS,
        layout.FEATURISER_STATE,
    }


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("models:/twicetold-questions@champion", "MLflow could not find models:/twicetold-questions@champion"),
        ("models:/twicetold-questions", "expected models:/NAME@ALIAS"),
        ("models:/../../etc/1", "expected models:/NAME@ALIAS"),
        ("models:/m-0000", "MLflow could not find models:/m-0000"),
    ],
)
def test_an_address_that_leads_nowhere_is_one_message(address, message, project):
    with pytest.raises(ValueError, match=re.escape(message)):
        library.load(address)


def test_without_a_store_none_is_made(tmp_path, twicetold, environment):
    environment.pop("MLFLOW_TRACKING_URI", None)
    done = twicetold("models")
    assert done.returncode == 1
    assert "no MLflow store at" in done.stderr
    assert not (tmp_path / "mlruns").exists()


def test_a_model_folder_without_metrics_is_not_registered(run, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"has no metrics\.json: expected the folder of a finished run"):
        register_run(run(), alias=None, root=tmp_path)


def test_register_wants_a_run_or_a_dataset(twicetold):
    assert twicetold("register").returncode == 2
    assert twicetold("register", "runs/x", "--data", "x").returncode == 2


def scores_of(quality, *, seed=0, pairs=2000):
    random = np.random.default_rng(seed)
    label = np.arange(pairs) % 2
    return label.astype(np.float32), (label * quality + random.normal(size=pairs)).astype(np.float32)


def test_of_runs_that_a_paired_test_cannot_tell_apart_the_fastest_is_chosen(finished, tmp_path, twicetold):
    (tmp_path / "runs").mkdir()
    label, score = scores_of(2.0)
    nearly = score + np.random.default_rng(1).normal(size=len(score)).astype(np.float32) * 0.01
    finished(scores=(label, score), speed=10.0, name="questions-slow-0", auroc=0.921)
    finished(scores=(label, nearly), speed=100.0, name="questions-quick-0", auroc=0.920)
    finished(scores=scores_of(0.5), speed=1000.0, name="questions-worse-0", auroc=0.63)
    finished(scores=(label, nearly), speed=None, name="questions-ensemble-0", auroc=0.9205)
    finished(scores=(1 - label, nearly), speed=1e6, name="questions-other_pairs-0", auroc=0.7)
    choice = choose("questions", tmp_path / "runs")
    assert choice.chosen.folder.name == "questions-quick-0"
    assert [c.folder.name for c in choice.candidates if c.as_good] == [
        "questions-slow-0",
        "questions-ensemble-0",
        "questions-quick-0",
    ]
    done = twicetold("register", "--data", "questions", "--dry-run")
    assert done.stdout == "runs/questions-quick-0\n"
    assert "chosen" in done.stderr
    with pytest.raises(FileNotFoundError, match="no finished run of nothing in"):
        choose("nothing", tmp_path / "runs")


def test_speeds_of_several_processors_choose_nothing(finished, tmp_path):
    (tmp_path / "runs").mkdir()
    finished(scores=scores_of(2.0), speed=10.0, name="questions-best-0", auroc=0.92)
    finished(scores=scores_of(2.0), speed=99.0, name="questions-quick-0", auroc=0.91, processor="another (8 cores)")
    assert choose("questions", tmp_path / "runs").chosen.folder.name == "questions-best-0"


def test_test_never_chooses(finished, tmp_path):
    (tmp_path / "runs").mkdir()
    for name, auroc in (("questions-a-0", 0.9), ("questions-b-0", 0.8)):
        folder = finished(name=name, auroc=auroc)
        metrics = json.loads((folder / layout.METRICS).read_text())
        metrics["test"]["auroc"] = 1 - auroc
        write_json(folder / layout.METRICS, metrics)
    assert choose("questions", tmp_path / "runs").chosen.folder.name == "questions-a-0"


def test_runs_of_other_train_texts_are_not_compared(finished, tmp_path):
    (tmp_path / "runs").mkdir()
    finished(name="questions-a-0")
    other = finished(name="questions-b-0")
    recipe = json.loads((other / layout.MODEL / layout.RECIPE).read_text())
    recipe["data"]["train"] = "0" * 64
    write_json(other / layout.MODEL / layout.RECIPE, recipe)
    with pytest.raises(ValueError, match="were trained on different train splits"):
        choose("questions", tmp_path / "runs")


def head_of(page):
    _, head, rest = page.split("---\n", 2)
    return yaml.safe_load(head), rest


def test_a_card_has_the_head_of_hugging_face_and_the_numbers_of_the_run(finished, twicetold, tmp_path):
    folder = finished(scores=scores_of(2.0))
    done = twicetold("card", folder, "-o", "README.md")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    head, text = head_of((tmp_path / "README.md").read_text())
    assert head["library_name"] == "twicetold"
    assert head["tags"] == ["sentence-similarity", "duplicate-detection", "static"]
    result = head["model-index"][0]["results"][0]
    assert result["dataset"] == {"name": "questions", "type": "questions", "split": "test"}
    values = {metric["type"]: metric["value"] for metric in result["metrics"]}
    assert values == {"auroc": 0.89, "accuracy": 0.8}
    auroc = next(line for line in text.splitlines() if line.startswith("| AUROC"))
    cells = [cell.strip() for cell in auroc.strip("|").split("|")]
    assert cells[:4] == ["AUROC", "0.890", "0.800 to 0.950", "0.900"]
    assert cells[4].startswith("0.9")
    assert "1,000 texts a second" in text


CHOSEN = DedupeThresholds(
    "<story>",
    100,
    300,
    False,
    auroc=0.9,
    average_precision=0.7,
    slope=9.0,
    intercept=-6.0,
    f1_threshold=0.5,
    links=(TargetLinks(0.8, 0.625, 0.81, 0.4), TargetLinks(0.9, None, 0.85, 0.1)),
    grouping=tuple(GroupingThreshold(rule, 0.375, 0.6) for rule in RULES),
)


def test_a_card_says_what_a_dedupe_was_promised_and_what_it_kept(finished):
    folder = finished()
    write_json(folder / layout.MODEL / layout.PRECISION, CHOSEN.to_json())
    kept = {"link_precision_at_80": 0.77, "link_recall_at_80": 0.35, "ari_average": 0.58, "b3_average": 0.66}
    metrics = json.loads((folder / layout.METRICS).read_text())
    write_json(folder / layout.METRICS, metrics | {"test": metrics["test"] | kept})
    intervals = {"link_precision_at_80": [0.7, 0.83], "ari_average": [0.5, 0.65]}
    write_json(folder / layout.SUMMARY, {"intervals": intervals})
    text = model_card(RunFolder.with_model(folder)).split("### Dedupe")[1].split("## Cost")[0]
    assert "| 0.8 | 0.625 | 0.810 | 0.400 | 0.770 | 0.700 to 0.830 | 0.350 |" in text
    assert "| 0.9 | – | 0.850 | 0.100 | – | – | – |" in text
    assert "| average | 0.375 | 0.600 | 0.580 | 0.500 to 0.650 | 0.660 | – |" in text
    assert "lower bounds" in text
    assert "Of these pairs 300 share a &lt;story>" in text
    alone = model_card(RunFolder.with_model(folder / layout.MODEL))
    assert "| 0.8 | 0.625 | 0.810 | 0.400 | – | – | – |" in alone


def test_a_card_says_from_which_threshold_a_precision_is_kept(finished):
    folder = finished()
    before = model_card(RunFolder.with_model(folder))
    promised = (
        MeasuredLinks(0.75, 400, 150, 0.92, 0.2, 0.9, 0.2, 0.3),
        MeasuredLinks(0.5, 900, 200, 0.7, 9, 0.6, 9, 1),
    )
    known = replace(CHOSEN, promised=promised)
    write_json(folder / layout.MODEL / layout.PRECISION, known.to_json())
    least = known.guarantee.reaching(0.8, 100)
    text = model_card(RunFolder.with_model(folder / layout.MODEL))
    assert f"| 0.8 | 0.75 | 0.920 | 0.900 | {least.text_least:.3f} |" in text
    assert known.guarantee.reaching(0.9, 100) is None
    assert "nine of ten files" not in before
    write_json(folder / layout.MODEL / layout.PRECISION, replace(known, promised=promised[1:]).to_json())
    text = model_card(RunFolder.with_model(folder / layout.MODEL))
    assert "From no known threshold on would nine of ten files" in text


def test_a_card_doubts_test_texts_only_where_pretraining_may_be_contaminated_them(finished):
    run = RunFolder.with_model(finished())
    recipe = run.recipe
    for seen, data, expected in (
        (["quora"], "uci_news", "Texts of `uci_news` are not known to be among these."),
        (["quora"], "quora_disjoint", "Texts of test may be among these."),
        (None, "uci_news", "Texts of test may be among these."),
    ):
        further = {"seen": seen, "data": {"name": data}, "pretrained_on": ["a web of texts"]}
        vars(run).update(summary={}, recipe={**recipe, **further})
        assert f"had been pretrained on a web of texts. {expected}" in model_card(run)


def test_a_card_counts_parameters_and_does_not_call_those_that_came_pretrained_trained(finished):
    run = RunFolder.with_model(finished())
    vars(run)["training"] = {"parameters": 1234, "epochs": 0}
    assert "- 1,234 parameters\n" in model_card(run)


def test_a_card_without_thresholds_says_that_no_precision_is_known(finished):
    text = model_card(RunFolder.with_model(finished()))
    assert "### Dedupe" not in text
    assert "No precision of a dedupe is known" in text


def test_damaged_thresholds_are_one_message(finished):
    folder = finished()
    (folder / layout.MODEL / layout.PRECISION).write_text('{"texts": 1}', encoding="utf-8")
    with pytest.raises(ValueError, match=layout.PRECISION):
        RunFolder.with_model(folder)


def test_a_copied_model_folder_says_that_its_quality_is_unknown(run):
    folder = run("tfidf")
    for place in (folder, folder / layout.MODEL):
        head, text = head_of(model_card(RunFolder.with_model(place)))
        assert "model-index" not in head
        assert "Nothing is known of its quality on test" in text


def test_names_from_elsewhere_do_not_break_the_page(run, tmp_path):
    recipe_file = run() / layout.MODEL / layout.RECIPE
    recipe = json.loads(recipe_file.read_text())
    recipe["data"] = {"name": "a\n---\n# <script>|`x`", "train": "`\n## b"}
    recipe["pretrained_on"] = ["<b>bold</b>\n# heading"]
    recipe["encoder"]["_target_"] = 'x.a"\nlicense: mit\n#.B'
    write_json(recipe_file, recipe)
    page = model_card(RunFolder.with_model(recipe_file.parent))
    head, text = head_of(page)
    assert set(head) == {"library_name", "pipeline_tag", "tags"}
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert len(headings) == 9
    assert "<b>" not in text
