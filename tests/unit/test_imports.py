"""What each part imports: libraries that cost seconds are imported only by what needs them."""

import subprocess
import sys
from pathlib import Path

import pytest

PIPELINES = Path(__file__).parents[2] / "pipelines"
FRAMEWORKS = {"hydra", "dvc", "mlflow", "pytorch_lightning"}


def imported_by(program):
    """Top-level packages that are there after a program in a process of its own."""
    report = "\nimport sys\nprint(*sorted({name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run(
        [sys.executable, "-c", program + report], capture_output=True, text=True, check=False, cwd=PIPELINES
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    ("program", "unwanted"),
    [
        (
            "import twicetold.trained.scoring, twicetold_lab.scoring.corpus_search",
            FRAMEWORKS | {"matplotlib", "transformers", "rich"},
        ),
        (
            "import checkout\n"
            "from hydra import compose, initialize_config_dir as conf\n"
            "from twicetold_lab.grid.recipe import parts_of\n"
            "with conf(f'{checkout.HOME}/conf', version_base='1.3'):\n"
            "    parts_of(compose('train', ['data=toy_news', 'model=static']))",
            FRAMEWORKS - {"hydra"} | {"matplotlib", "transformers", "rich"},
        ),
        ("import train", FRAMEWORKS - {"hydra"} | {"matplotlib", "transformers", "rich"}),
        ("import evaluate", FRAMEWORKS - {"hydra"} | {"matplotlib", "transformers", "rich"}),
        ("import twicetold; dir(twicetold); twicetold.__version__", FRAMEWORKS | {"torch", "numpy", "sklearn"}),
        ("import twicetold.commands.dedupe, twicetold.commands.index", FRAMEWORKS | {"torch", "numpy", "scipy"}),
        ("import twicetold.use.pairs", FRAMEWORKS | {"transformers", "rich", "matplotlib"}),
        ("import twicetold; twicetold.load", FRAMEWORKS | {"transformers", "rich", "matplotlib"}),
        (
            "import twicetold; twicetold.load('../tests/models/letters').dedupe(['a text', 'A text'])",
            FRAMEWORKS | {"transformers", "matplotlib"},
        ),
        (
            "import twicetold; twicetold.fit(['a text', 'A text']).dedupe(['a text', 'A text'])",
            FRAMEWORKS | {"torch", "sklearn", "rich", "transformers", "matplotlib"},
        ),
        ("import twicetold_lab.tracking", FRAMEWORKS | {"torch", "pandas"}),
    ],
)
def test_a_part_imports_no_library_that_it_does_not_need(program, unwanted):
    assert not imported_by(program) & unwanted


def test_a_baseline_is_trained_and_evaluated_without_lightning_and_without_mlflow(tmp_path):
    roots = ("raw", "processed", "triplets", "features", "checkpoints")
    folders = [f"paths.{name}={tmp_path / name}" for name in roots]
    arguments = [
        "data=toy_news",
        "model=tfidf",
        "profile=smoke",
        "tracking.enabled=false",
        f"hydra.run.dir={tmp_path}",
        *folders,
    ]
    for stage in ("train", "evaluate"):
        script = str(PIPELINES / f"{stage}.py")
        program = (
            f"import runpy, sys\nsys.argv = {[script, *arguments]!r}\nrunpy.run_path({script!r}, run_name='__main__')"
        )
        assert not imported_by(program) & {"pytorch_lightning", "mlflow", "transformers"}, stage
