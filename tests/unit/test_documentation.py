"""`tools/documentation`: where links of a page lead in the site, and what is found wrong with one that is built."""

import sys
from pathlib import Path
from subprocess import CompletedProcess

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / "tools/documentation"
MODULES = [file.stem for file in TOOLS.glob("*.py")]


@pytest.fixture(scope="module")
def tool():
    """Imports a module of the tool, which reads the library once."""
    sys.path.insert(0, str(TOOLS))
    yield __import__
    sys.path.remove(str(TOOLS))
    for name in MODULES:
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("source", "link", "there"),
    [
        ("README.md", "[a](docs/guides/dedupe.md#known-groups)", "[a](guides/dedupe.md#known-groups)"),
        ("README.md", '<img src="docs/images/report.png">', '<img src="images/report.png">'),
        ("docs/guides/dedupe.md", "[`a`](../../RESULTS.md)", "[`a`](../results.md)"),
        ("docs/guides/dedupe.md", "[a](../explanation/decisions)", "[a](../explanation/decisions/index.md)"),
        ("docs/guides/dedupe.md", "[a](#known-groups)", "[a](#known-groups)"),
        ("docs/guides/dedupe.md", "[a](https://arxiv.org)", "[a](https://arxiv.org)"),
        ("README.md", "[a](LICENSE)", "[a](https://github.com/twicetold/twicetold/blob/main/LICENSE)"),
        ("README.md", "[a](data/own)", "[a](https://github.com/twicetold/twicetold/tree/main/data/own)"),
        ("README.md", "`docs/guides/sweeps.md`", "[Sweeps](guides/sweeps.md)"),
        ("RESULTS.md", "<details><summary>", '<details markdown="1"><summary>'),
        ("README.md", "`[a](docs/nothing.md)`", "`[a](docs/nothing.md)`"),
        ("README.md", "```\n[a](docs/nothing.md)\n```", "```\n[a](docs/nothing.md)\n```"),
    ],
)
def test_a_link_leads_to_the_place_in_the_site(tool, source, link, there):
    assert tool("staging").relinked(link, source) == there


def test_a_link_that_leads_nowhere_is_an_error_that_names_page_and_link(tool):
    staging = tool("staging")
    with pytest.raises(staging.Broken, match=r"README\.md: docs/nothing\.md leads nowhere"):
        staging.relinked("[a](docs/nothing.md)", "README.md")


def test_every_page_is_staged_and_in_the_navigation(tool, tmp_path):
    tool("staging").stage(tmp_path / "site", report=None)
    ours = {page.relative_to(ROOT / "docs") for page in ROOT.glob("docs/**/*.md")} - {Path("results-preface.md")}
    staged = {page.relative_to(tmp_path / "site/pages") for page in tmp_path.glob("site/pages/**/*.md")}
    assert ours | {Path("index.md"), Path("results.md"), Path("changelog.md")} <= staged


def test_an_entry_of_the_navigation_without_a_page_is_an_error(tool, tmp_path, monkeypatch):
    staging = tool("staging")
    monkeypatch.setattr(staging, "generated", dict)
    with pytest.raises(staging.Broken, match=r"names what is not there: .*reference/scripts\.md"):
        staging.stage(tmp_path / "site", report=None)


def test_a_folder_in_the_navigation_is_its_pages_without_an_entry(tool):
    nav = [{"A": ["a/two.md", "a/"]}, {"B": ["b/"]}]
    assert list(tool("staging").expanded(nav, ["a/one.md", "c.md"])) == [{"A": ["a/two.md", "a/one.md"]}]


SOUND = {
    "index.html": '<a href="a/">A</a> <a href="#top" id="top">top</a> <a href="https://elsewhere.org">elsewhere</a>',
    "a/index.html": '<h1 id="here">A</h1> <img src="../a.png"> <a href="..">home</a>',
    "a.png": "",
    "404.html": '<a href="/base/a/">A</a>',
}


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({}, None),
        ({"index.html": '<a href="b/">B</a> <a href="a/">A</a>'}, "index.html: b/ leads nowhere"),
        ({"index.html": '<a href="a/#there">A</a>'}, "index.html: a/#there has no such anchor"),
        ({"index.html": ""}, "a/index.html: no page leads here"),
        ({"index.html": '<a href="/base/a/">A</a>'}, None),
        ({"a/index.html": '<img src="../b.png">'}, "a/index.html: ../b.png leads nowhere"),
        ({"a/index.html": "Steps: <p>\n - one</p>"}, "a/index.html: ' - ' is left of Markdown"),
        ({"a/index.html": "<code>\n - one</code>"}, None),
        ({"404.html": '<a href="/base/b/">B</a>'}, "404.html: /base/b/ leads nowhere"),
        (
            {"404.html": '<script src="https://elsewhere.org/a.js"></script>'},
            "404.html: https://elsewhere.org/a.js is fetched from elsewhere",
        ),
    ],
)
def test_a_fault_of_a_built_site_is_found(tool, tmp_path, change, fault):
    for path, text in (SOUND | change).items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    found = tool("built_site").faults(tmp_path, base="/base/")
    assert fault in found if fault else not found


def test_a_docstring_that_does_not_fit_is_an_error_of_the_build(tool, monkeypatch, capsys):
    build = tool("build")
    said = "griffe: a.py:1: Parameter 'b' does not appear in the function signature\n"
    monkeypatch.setattr(build.staging, "stage", lambda *_, **__: None)
    monkeypatch.setattr(build, "REPORT", ROOT / "nothing.html")
    monkeypatch.setattr(build.subprocess, "run", lambda *_, **__: CompletedProcess((), 0, stderr=said))
    monkeypatch.setattr(sys, "argv", ["build.py"])
    with pytest.raises(SystemExit, match="found the faults above"):
        build.main()
    assert capsys.readouterr().err == said


def test_a_name_without_a_place_in_the_built_site_is_a_fault(tool, tmp_path):
    (tmp_path / "index.html").write_text('<h2 id="a.B">B</h2>')
    named = [("index.html", "a.B"), ("index.html", "a.C"), ("d/index.html", "d")]
    faults = tool("built_site").faults(tmp_path, named=named)
    assert faults == ["index.html: a.C is not there", "d/index.html: d is not there"]


def test_an_option_has_its_help_values_and_default_on_the_page_of_its_command(tool):
    page = tool("command_pages").pages()["reference/commands/twicetold-dedupe.md"]
    (rule,) = [line for line in page.splitlines() if line.startswith("| `--rule` |")]
    assert rule.endswith(" One of `components`, `average`, `complete`. Default: `average`. |")
    assert "`[MODEL] FILE`" in page
    assert "Default: by its name." in page


def test_every_option_is_on_the_page_of_its_command(tool):
    pages, commands = tool("command_pages"), tool("names").commands()
    texts = pages.pages()
    for words, command in commands.items():
        page = texts[pages.page_of(words)] if " " in words else texts[f"{pages.FOLDER}/index.md"]
        names = [name for each in command.params for name in each.opts if name.startswith("-")]
        assert [name for name in names if f"`{name}`" not in page] == []


def test_the_examples_of_a_command_are_code_a_line_each_on_its_page(tool):
    page = tool("command_pages").pages()["reference/commands/twicetold-label.md"]
    first = "twicetold label questions.csv -o pairs.csv"
    assert f"\n\nExamples:\n\n```\n{first}\n{first} --report\n```\n\nShows one pair at a time: " in page


def test_a_file_of_settings_is_shown_as_it_is_and_leads_to_what_it_builds(tool):
    page = tool("setting_pages").pages()["reference/settings/objective.md"]
    assert (ROOT / "conf/objective/info_nce.yaml").read_text() in page
    assert "../library/objectives.md#twicetold_lab.objectives.info_nce.InfoNce" in page


def test_no_public_name_lacks_a_docstring_an_example_or_a_reference_page(tool):
    assert list(tool("public_names").lacking()) == []


def test_what_a_public_name_lacks_is_told(tool, monkeypatch):
    public_names, names = tool("public_names"), tool("names")
    monkeypatch.setattr(names, "GIVEN_BACK", (*names.GIVEN_BACK, "twicetold.dedupe.questions.Question"))
    monkeypatch.setattr(names, "examples", lambda: "")
    found = set(public_names.lacking())
    assert ("library", "twicetold.dedupe.questions.Question", "example") in found
    assert ("command", "twicetold score", "example") in found
    assert ("group", "model", "example") in found
