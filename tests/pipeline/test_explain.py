"""`explain`, as a person gives the command."""

import importlib.util
from pathlib import Path

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import assume, given
from hypothesis import strategies as st
from omegaconf import OmegaConf

SCRIPT = Path(__file__).parents[2] / "pipelines" / "explain.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("explain", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def as_text(script):
    return script.as_text


@given(st.text(st.sampled_from("ab '\"\\${},=[]()?:#"), max_size=12))
def test_any_text_reaches_the_script_as_it_was_typed(as_text, text):
    assume(text != "???")  # OmegaConf's mark of a value that is missing
    (override,) = OverridesParser.create().parse_overrides([as_text(f"left={text}")])
    assert OmegaConf.create({"left": override.value()}).left == text


def test_other_arguments_are_left_alone(as_text):
    assert as_text("run=runs/x") == "run=runs/x"


def test_the_table_is_printed_and_table_and_figure_are_written_into_the_run_folder(finished, tmp_path):
    lab = finished.copy(tmp_path / "lab")
    texts = ("left=How do I learn to swim?", "right=How can I learn swimming, isn't it?")
    ((code, out),) = lab.scripts(("explain", "run=runs/toy_questions-tfidf-0", *texts))
    assert code == 0, out
    assert "learn" in out
    assert "score" in out
    run = lab.root / "runs" / "toy_questions-tfidf-0"
    rows = (run / "explanation.csv").read_text().splitlines()
    assert rows[0] == "left,right,contribution"
    total = sum(float(row.rsplit(",", 1)[1]) for row in rows[1:])
    assert f"{total:+.4f}  score" in out
    assert (run / "explanation.svg").read_text().lstrip().startswith("<?xml")
    assert lab.ran() == []  # no stage reads what it wrote


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("stsb-dae-0", "dvc repro evaluate@stsb-dae-0 makes it"),
        ("stsb-dea-0", "no run folder .*stsb-dea-0; like it in .*: stsb-dae-0$"),
        ("other", "no run folder .*other$"),
    ],
)
def test_what_has_no_model_is_answered_with_what_trains_it_or_what_is_like_it(script, asked, answer, tmp_path):
    run = tmp_path / "stsb-dae-0"
    run.mkdir()
    (run / "metrics.json").write_text("{}")  # all that Git has of a run
    with pytest.raises(FileNotFoundError, match=answer):
        script.show(tmp_path / asked, "a", "b", top=1, out=tmp_path)


def test_a_mistake_is_answered_in_one_message(finished):
    answers = {
        ("toy_news-dae-0", "bank"): "not linear; linear families: ",
        ("toy_news-tfidf-9", "bank"): "toy_news-tfidf-0",
        ("toy_news-tfidf-0", ""): "the left text is empty",
        ("toy_news-tfidf-0", "qqqq"): "no term of the left text is known",
    }
    commands = [("explain", f"run=runs/{cell}", f"left={left}", "right=the market") for cell, left in answers]
    for (code, out), answer in zip(finished.scripts(*commands), answers.values(), strict=True):
        assert code != 0
        assert "Traceback" not in out
        assert answer in out
