"""The documentation keeps its form, and what it points to exists."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
DECISIONS = sorted(ROOT.glob("docs/explanation/decisions/*.md"))
WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/ci.yaml").read_text())
HEADINGS = ["Context", "Decision", "Consequences"]


def name(page):
    return str(page.relative_to(ROOT))


def fenced(text):
    """The blocks between ``` lines, with the language that the first of them names."""
    return re.findall(r"^```(\w*)[^\n]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def anchors(text):
    """The addresses that GitHub gives to headings."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    heads = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_docs_have_no_more_words_than_contributing_allows():
    said = re.search(r"All of `docs/` has at most ([\d,]+) words", (ROOT / "CONTRIBUTING.md").read_text())
    words = sum(len(page.read_text().split()) for page in ROOT.glob("docs/**/*.md"))
    assert words <= int(said[1].replace(",", ""))


@pytest.mark.parametrize("page", DECISIONS, ids=name)
def test_a_decision_has_context_decision_and_consequences(page):
    assert re.findall(r"^\*\*(Context|Decision|Consequences)\.\*\*", page.read_text(), re.MULTILINE) == HEADINGS


def test_decisions_have_numbers_of_their_own_which_their_titles_repeat():
    numbers = [page.name[:4] for page in DECISIONS]
    assert len(set(numbers)) == len(numbers)
    for page, number in zip(DECISIONS, numbers, strict=True):
        assert page.read_text().startswith(f"# {number}: ")


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_relative_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target.read_text()), link


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_commands_name_scripts_and_targets_of_make_that_exist(page):
    targets = re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE)
    blocks = "\n".join(block for _, block in fenced(page.read_text()))
    scripts = re.findall(r"^(?:\w+=\S+ )*python (\w+/\w+\.py)", blocks, re.MULTILINE)
    assert [script for script in scripts if not (ROOT / script).is_file()] == []
    assert {*re.findall(r"^make ([a-z-]+)", blocks, re.MULTILINE)} <= {*targets}


def test_the_tree_names_every_package():
    packages = {page.parent.name for page in ROOT.glob("src/*/*/__init__.py")}
    tree = next(block for _, block in fenced((ROOT / "CONTRIBUTING.md").read_text()) if "src/twicetold/" in block)
    assert packages <= set(re.findall(r"(\w+)/", tree))


def test_the_citation_is_of_this_version():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert cited["version"] == project["version"]
    assert cited["authors"] == project["authors"]


def test_the_workflow_runs_every_python_that_the_package_names():
    named = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    versions = [entry.rpartition(" ")[2] for entry in named if re.search(r":: 3\.\d+$", entry)]
    assert WORKFLOW["jobs"]["checks-and-tests"]["strategy"]["matrix"]["python"] == versions


def test_the_site_is_built_by_ci_and_published_from_main():
    assert "make docs\n" in (ROOT / ".ci/run").read_text()
    job = WORKFLOW["jobs"]["site"]
    assert job["if"] == "github.event_name == 'push'"
    assert {"run": "python tools/documentation/build.py"} in job["steps"]
    (upload,) = [step for step in job["steps"] if "upload-pages-artifact" in step.get("uses", "")]
    assert upload["with"] == {"path": "build/site/html"}


def test_the_workflow_posts_how_metrics_changed_with_both_revisions_at_hand():
    job = WORKFLOW["jobs"]["metrics"]
    assert job["if"] == "github.event_name == 'pull_request'"
    assert job["steps"][0]["with"]["fetch-depth"] == 0
    last = job["steps"][-1]["run"]
    assert re.search(r"dvc metrics diff --md .* \"\$HEAD\" >> \"\$GITHUB_STEP_SUMMARY\"$", last)


MODEL_USED = re.compile(r"(?:^twicetold (?!check )[a-z ]*|load\(\"|\brun=)((?:build/demo/)?runs/[\w-]+)", re.MULTILINE)
GUIDES = [page for page in PAGES if not {"decisions", "experiments"} & set(page.parts) and page.name != "CHANGELOG.md"]


@pytest.mark.parametrize("page", GUIDES, ids=name)
def test_a_page_says_what_makes_the_model_that_its_commands_use(page):
    """The run folders of a fresh clone have no models."""
    text = page.read_text()
    for _, block in fenced(text):
        for used in MODEL_USED.finditer(block):
            folder, cell = used[1], used[1].rpartition("/")[2]
            makers = ["make demo"] if folder.startswith("build/") else [f"@{cell}", f"hydra.run.dir={folder}"]
            before = text[: text.index(block) + block.index("\n", used.start())]
            assert any(maker in before for maker in makers), f"nothing before `{used[0]}` makes {folder}"
