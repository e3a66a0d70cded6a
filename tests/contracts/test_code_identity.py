"""Which edit of the code changes the identity of which stages, in a copy of the code and without running anything."""

import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import ClassVar

import pytest
import yaml
from omegaconf import OmegaConf

import twicetold
import twicetold.use
from twicetold_lab.grid import code_identity

ROOT = Path(__file__).parents[2]
FAMILIES = ("tfidf", "dae", "dssm")
STAGES = ("train", "evaluate", "measure")


@pytest.fixture(scope="module")
def configs(composed):
    made = {family: composed("train", "data=toy_news", f"model={family}") for family in FAMILIES}
    return {family: OmegaConf.to_container(config, resolve=True) for family, config in made.items()}


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    root = tmp_path_factory.mktemp("code")
    for folder in ("src", "pipelines"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return root


@pytest.fixture
def code(copied, monkeypatch, configs):
    """A copy of the code to edit, the current folder; `changed()` says whose identity is another than at first."""
    monkeypatch.setattr(code_identity, "HOME", copied)
    yield Code(copied, configs)
    for path in copied.rglob("*.*"):
        original = ROOT / path.relative_to(copied)
        if not original.exists():
            path.unlink()
        elif path.is_file() and path.stat().st_mtime_ns != original.stat().st_mtime_ns:
            shutil.copy2(original, path)
    fresh()


class Code:
    original: ClassVar = {}
    """Identities before any edit, which are those of each copy."""

    def __init__(self, root, configs):
        self.root, self.configs = root, configs
        self.original.update(self.original or self.identities())
        self.first = dict(self.original)

    def identities(self):
        found, code = {}, fresh()
        for family, config in self.configs.items():
            for stage, parts in code.built_by(config).items():
                found[f"{stage} {family}"] = code.code_identity(f"pipelines/{stage}.py", parts)
        return found

    def changed(self):
        now = self.identities()
        return {name for name in now if now[name] != self.first[name]}

    def append(self, file, text):
        path = self.root / file
        path.write_text(path.read_text() + text)


def fresh():
    """The module, as if it had not seen these files before; the same bytes are not parsed again."""
    for function in (code_identity.closure, code_identity.modules_of, code_identity.data_of, code_identity._parsed):
        function.cache_clear()
    return code_identity


def every(*families):
    return {f"{stage} {family}" for stage in STAGES for family in families}


STATEMENT = "\nEDITED = True\n"


@pytest.mark.parametrize(
    ("file", "changed"),
    [
        ("src/twicetold/models/dssm.py", every("dssm")),
        ("src/twicetold/models/static.py", set()),
        ("src/twicetold/layers/hashing.py", every("dssm")),
        ("src/twicetold/layers/two_tower.py", every("dae", "dssm")),
        ("src/twicetold_lab/objectives/denoising_triplet.py", {"train dae"}),
        ("src/twicetold_lab/training/learner.py", {"train dae", "train dssm"}),  # nothing of tfidf is learnt
        ("src/twicetold_lab/scoring/corpus_search.py", {f"evaluate {family}" for family in FAMILIES}),
        ("src/twicetold/encoding.py", every(*FAMILIES)),
        ("src/twicetold/features/__init__.py", every(*FAMILIES)),
        ("src/twicetold_lab/tracking/__init__.py", set()),
        ("src/twicetold/errors.py", set()),
        ("src/twicetold_lab/runs/environment.py", set()),
        ("src/twicetold_lab/evaluation/selection.py", every(*FAMILIES) - {f"measure {family}" for family in FAMILIES}),
        ("src/twicetold/evaluation/pair_metrics.py", {f"evaluate {family}" for family in FAMILIES}),
        ("src/twicetold/evaluation/group_metrics.py", {f"evaluate {family}" for family in FAMILIES}),
        *(
            (f"src/twicetold_lab/evaluation/{read_by_evaluate}.py", {f"evaluate {family}" for family in FAMILIES})
            for read_by_evaluate in ("evaluators", "comparisons", "retrieval", "figures")
        ),
        ("pipelines/train.py", {f"train {family}" for family in FAMILIES}),
        ("pipelines/evaluate.py", {f"evaluate {family}" for family in FAMILIES}),
        ("pipelines/compose.py", set()),
        ("pipelines/checkout.py", set()),
    ],
)
def test_an_edit_changes_the_stages_that_run_the_file_and_no_other(code, file, changed):
    code.append(file, STATEMENT)
    assert code.changed() == changed


REACH = {
    # fetching: what it fetches is an output that trainings depend on
    "twicetold_lab/data/transfer twicetold_lab/data/archives twicetold_lab/data/download": "none none none",
    "twicetold/trained/drift twicetold/dedupe/dedupe": "none none none",
    "twicetold_lab/reporting/html twicetold_lab/tracking/run": "none none none",
    "twicetold/features/vectors twicetold/models/dae twicetold/models/static": "some some some",
    "twicetold_lab/training/adam_by_rows twicetold_lab/training/learner": "some none none",
    "twicetold_lab/training/cell": "all none none",
    # metrics and what is chosen by them: what a model costs does not depend on them
    "twicetold/evaluation/pair_metrics twicetold/evaluation/group_metrics": "none all none",
    "twicetold/evaluation/link_metrics twicetold/evaluation/intervals": "none all none",
    "twicetold_lab/evaluation/dedupe_thresholds twicetold_lab/evaluation/dedupe_report": "none all none",
    # what the selection metric and negatives that are mined while training need
    "twicetold/evaluation/inputs twicetold/evaluation/ranking": "all all all",
    "twicetold/evaluation/all_pairs twicetold/evaluation/score_scale twicetold/evaluation/tiles": "all all none",
    "twicetold_lab/evaluation/selection": "all all none",
    "twicetold/neighbours/cells twicetold/neighbours/components twicetold/neighbours/sample": "all all all",
    "twicetold/neighbours/exact_search twicetold/neighbours/nearest twicetold/neighbours/parallel": "all all all",
    # what compares pairs: an evaluation moves the numbers of the matcher by validation where `matched` names its model
    "twicetold/matching/pair_features twicetold/matching/terms twicetold/tables/notation": "some some some",
    "twicetold/matching/records twicetold/matching/generic.json twicetold_lab/scoring/matched": "none some none",
}
REACH = {module: tuple(reach.split()) for modules, reach in REACH.items() for module in modules.split()}
"""Module -> which trainings, evaluations and measurements of params.yaml its edit makes stale.

One that reaches more than it did is an import to look at. Of the packages in `WATCHED`, each module that reaches a
training is here: a metric, a threshold or a guarantee reaches none.
"""
WATCHED = ("twicetold/evaluation/", "twicetold_lab/evaluation/", "twicetold/neighbours/", "twicetold/tables/")
WATCHED += ("twicetold/dedupe/", "twicetold/files", "twicetold_lab/reporting/", "twicetold_lab/tracking/")


def test_an_edit_reaches_these_stages_of_the_published_grid(tmp_path):
    rendered = tmp_path / "rendered"
    subprocess.run([sys.executable, str(ROOT / "pipelines/compose.py"), str(rendered)], cwd=ROOT, check=True)
    found = {file.stem: read_yaml(file) for file in (rendered / "train").glob("*.yaml")}
    configs = [config for config in found.values() if "members" not in config]
    code, reached = fresh(), {stage: Counter() for stage in STAGES}
    for config in configs:
        for stage, parts in code.built_by(config).items():
            closure = code.closure(f"pipelines/{stage}.py", frozenset(code.targets(parts)))
            reached[stage].update(file.removeprefix("src/").removesuffix(".py") for file in closure)
    named = {*REACH, *(module for module in reached["train"] if module.startswith(WATCHED) and "__" not in module)}
    words = {0: "none", len(configs): "all"}
    assert {module: tuple(words.get(reached[stage][module], "some") for stage in STAGES) for module in named} == REACH
    assert sum(reached[stage]["twicetold/matching/pair_features"] for stage in STAGES) <= 30


def read_yaml(file):
    return yaml.load(file.read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def test_comments_docstrings_and_formatting_do_not_count(code):
    path = code.root / "src/twicetold/models/dssm.py"
    text = path.read_text()
    text = (
        text.replace('"""', '"""Said otherwise. ', 1)
        .replace('    """One', '    """Another')
        .replace("\n\n\n", "\n\n\n\n\n# A note.\n")
    )
    path.write_text(text + '\n"""A last word."""\n')
    assert code.changed() == set()


def test_a_module_whose_import_was_deleted_counts_no_longer(code):
    path = code.root / "src/twicetold/models/dssm.py"
    lines = [line for line in path.read_text().splitlines() if "twicetold.layers.hashing" not in line]
    path.write_text("\n".join(lines) + "\n")
    assert code.changed() == every("dssm")
    code.first = code.identities()
    code.append("src/twicetold/layers/hashing.py", STATEMENT)
    assert code.changed() == set()


@pytest.mark.parametrize(
    "line",
    [
        "import twicetold.models.static as other",
        "from twicetold.models import static",
        "from twicetold.models.static import Static",
        "from .static import Static",
        "from ..models import static",
        "def later():\n    from twicetold.models.static import Static",
        "try:\n    import twicetold.models.static\nexcept ImportError:\n    pass",
        "if not TYPE_CHECKING:\n    import twicetold.models.static",
        "if TYPE_CHECKING:\n    pass\nelse:\n    import twicetold.models.static",
        "from .static import Static\ndef made(other: Static) -> Static:\n    return Static()",
        "from .static import Static as Static\ndef made(other: Static) -> None: ...",
        "from .static import Static\n__all__ = ['Static']\ndef made(other: Static) -> None: ...",
        "from .static import Static\nclass Made:\n    other: Static",
    ],
)
def test_every_way_to_import_counts(code, line):
    code.append("src/twicetold/models/dae.py", f"\n{line}\n")
    code.first = code.identities()
    code.append("src/twicetold/models/static.py", STATEMENT)
    assert code.changed() == every("dae")


@pytest.mark.parametrize(
    "lines",
    [
        "if TYPE_CHECKING:\n    from twicetold.models.static import Static",
        "if typing.TYPE_CHECKING:\n    import twicetold.models.static",
        "from .static import Static\ndef made(*others: Static, by: list[Static]) -> Static: ...",
        "import twicetold.models.static as static\nclass Made:\n    def of(self, other: static.Static) -> None: ...",
    ],
)
def test_an_import_that_only_type_checkers_need_does_not_count(code, lines):
    code.append("src/twicetold/models/dae.py", f"\n{lines}\n")
    assert code.changed() == (every("dae") if "def " in lines else set())
    code.first = code.identities()
    code.append("src/twicetold/models/static.py", STATEMENT)
    assert code.changed() == set()


def test_an_annotation_of_a_function_that_is_named_otherwise_does_not_count(code):
    path = code.root / "src/twicetold/models/dssm.py"
    text = path.read_text()
    path.write_text(text.replace("features: SparseRows", "features: Rows").replace("Roles, SparseRows", "Roles, Rows"))
    assert path.read_text() != text
    assert code.changed() == set()


def test_a_module_beside_the_script_counts(code):
    (code.root / "pipelines/neighbour.py").write_text("A = 1\n")
    code.append("pipelines/train.py", "\nimport neighbour\n")
    code.first = code.identities()
    code.append("pipelines/neighbour.py", STATEMENT)
    assert code.changed() == {f"train {family}" for family in FAMILIES}


SOURCES = {
    name: {"_target_": f"twicetold_lab.data.sources.{name}.read"} for name in ("toy_news", "toy_articles", "quora")
}


@pytest.mark.parametrize(
    ("file", "changed"),
    [
        ("data/sources/toy_news.toml", {"toy_news", "toy_articles"}),  # articles are told by the rules of the news
        ("data/sources/toy_articles.toml", {"toy_articles"}),
        ("data/sources/toy_questions.toml", set()),
        ("data/sources/quora_wang.npz", {"quora"}),
        ("data/sources/toy_news.py", {"toy_news", "toy_articles"}),
    ],
)
def test_an_edit_of_words_and_rules_makes_the_corpora_that_are_made_of_them_stale(code, file, changed):
    def prepared():
        identity = fresh().code_identity
        return {name: identity("pipelines/prepare.py", source) for name, source in SOURCES.items()}

    first = prepared()
    path = code.root / "src/twicetold_lab" / file
    path.write_bytes(path.read_bytes() + b"\nedited = 1\n")
    assert {name for name, found in prepared().items() if found != first[name]} == changed
    assert code.changed() == set()


@pytest.mark.parametrize(
    ("learnt_by", "files"),
    [
        (True, "matching/pair_features matching/terms matching/candidates matching/comparison"),
        (True, "matching/regression tables/notation features/folded normal_form trained/fitted"),
        (False, "matching/matcher matching/generic matching/records"),
        (False, "neighbours/grouping dedupe/options dedupe/groups trained/scoring"),
        (False, "evaluation/pair_metrics evaluation/ranking models/dssm index/text_index"),
    ],
)
def test_an_edit_of_what_the_matcher_is_learnt_by_makes_its_numbers_stale_and_no_other_edit(code, learnt_by, files):
    for file in files.split():
        first = fresh().matcher_identity()
        code.append(f"src/twicetold/{file}.py", STATEMENT)
        assert (fresh().matcher_identity() != first) == learnt_by, file


@pytest.mark.parametrize(
    ("file", "stale"),
    [
        ("twicetold_lab/matching/sources.py", True),
        ("twicetold_lab/matching/made.toml", True),
        ("twicetold_lab/matching/learning.py", True),
        ("twicetold_lab/matching/measures.py", False),
        ("twicetold/matching/generic.json", False),  # or the stage would be stale after each run
        ("twicetold_lab/scoring/held_out.json", False),
    ],
)
def test_numbers_of_the_matcher_are_stale_by_the_files_that_it_learns_from_and_not_by_themselves(code, file, stale):
    first = fresh().matcher_identity()
    code.append(f"src/{file}", "\nedited = 1\n")
    assert (fresh().matcher_identity() != first) == stale


def test_every_data_file_of_the_package_belongs_to_a_module():
    """Or nothing would be stale after it changed; `py.typed` is for type checkers."""
    found = (fresh()._parsed(str(path))[1] for path in (ROOT / "src").rglob("*.py"))
    belonging = {ROOT / file for files in found for file in files}
    packages = (ROOT / "src" / package for package in ("twicetold", "twicetold_lab"))
    data = {path for each in packages for path in each.rglob("*.*") if path.suffix not in (".py", ".pyc")}
    assert {path.name for path in data - belonging if path.is_file()} == {"py.typed"}


def test_a_config_that_was_rendered_for_other_code_is_refused(code):
    config = code.configs["dae"]
    parts = fresh().learnt_from(config)
    now = fresh().code_now("train", config, parts)
    assert fresh().code_now("train", {**config, "code": {"train": now}}, parts) == now
    code.append("src/twicetold/models/dae.py", STATEMENT)
    with pytest.raises(ValueError, match=rf"code.train {now}, now \w{{16}}.*call `dvc repro` again"):
        fresh().code_now("train", {**config, "code": {"train": now}}, parts)


def test_a_target_that_is_not_there_is_an_error_that_names_it(code):
    with pytest.raises(ValueError, match=r"twicetold\.models\.nobody\.Nobody names no module"):
        fresh().code_identity("pipelines/train.py", {"encoder": {"_target_": "twicetold.models.nobody.Nobody"}})


def test_nothing_is_imported_by_a_name_that_no_syntax_tree_shows():
    """Imports by string escape the closure: each is known, and what it loads is a `_target_` of the cell.

    But for the package itself, which loads `twicetold.use`, and `recipe`, which loads what `learnt_from` adds to a cell
    that learns.
    """
    known = {f"src/{file}.py" for file in ("twicetold/__init__", "twicetold/trained/building")}
    known.add("src/twicetold_lab/grid/recipe.py")
    observers = [f"src/{observer.replace('.', '/')}" for observer in fresh().OBSERVERS]
    files = [path for folder in ("src", "pipelines") for path in (ROOT / folder).rglob("*.py")]
    ways = ("import_module", "get_object")
    found = {str(path.relative_to(ROOT)) for path in files if any(way in path.read_text() for way in ways)}
    assert {file for file in found if not file.startswith(tuple(observers))} <= known
    assert set(twicetold.__all__) <= set(twicetold.use.__all__)


def test_another_string_that_is_a_value_does_count(code):
    code.append("src/twicetold/models/dssm.py", '\nNAME = "other"\n')
    assert code.changed() == every("dssm")


def test_a_new_family_changes_nothing(code):
    shutil.copy(code.root / "src/twicetold/models/dae.py", code.root / "src/twicetold/models/newest.py")
    assert code.changed() == set()


def test_targets_are_found_at_every_depth_and_foreign_ones_add_nothing(code):
    identity = fresh()
    nested = {"parts": [{"a": {"_target_": "twicetold.models.static.Static"}}], "b": {"_target_": "torch.optim.Adam"}}
    plain = identity.closure("pipelines/train.py", frozenset())
    found = identity.closure("pipelines/train.py", frozenset(identity.targets(nested)))
    assert "src/twicetold/models/static.py" in set(found) - set(plain)
    assert not any("torch" in file for file in found)
