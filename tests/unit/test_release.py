"""What makes a release: the same bytes for the same commit, notes of a version, requirements, workflows."""

import io
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_string
from pathlib import Path

import pytest
import yaml

from scripts import script

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted(ROOT.glob(".github/workflows/*.yaml"))
PINNED = re.compile(r"^\s*(?:- )?uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")


def tool(name):
    return script(f"tools/{name}.py")


def packed(file, members, time):
    with tarfile.open(file, "w:gz") as archive:
        for name, mode in members:
            about = tarfile.TarInfo(name)
            about.mode, about.size, about.mtime, about.uid, about.uname = mode, len(name), time, time, f"user{time}"
            archive.addfile(about, io.BytesIO(name.encode()))
    return file


def test_an_archive_packed_anew_depends_on_names_and_bytes_alone(tmp_path):
    members = [("a/b.py", 0o644), ("a/run", 0o755), ("a/z.txt", 0o600)]
    one = packed(tmp_path / "one.tar.gz", members, 1)
    other = packed(tmp_path / "other.tar.gz", [("a/z.txt", 0o664), *members[1::-1]], 2)
    assert one.read_bytes() != other.read_bytes()
    build = tool("build_package")
    assert build.packed_anew(one, 1_000) == build.packed_anew(other, 1_000)
    with tarfile.open(fileobj=io.BytesIO(build.packed_anew(one, 1_000))) as made:
        found = [(each.name, each.mode, each.mtime, each.uid, each.uname) for each in made]
    assert found == [("a/b.py", 0o644, 1_000, 0, ""), ("a/run", 0o755, 1_000, 0, ""), ("a/z.txt", 0o644, 1_000, 0, "")]


@pytest.mark.slow
def test_a_commit_is_built_to_the_same_bytes_and_has_licence_and_data(tmp_path):
    """About 5 s."""
    if not (ROOT / ".git").exists():
        pytest.skip("no Git repository")
    command = [sys.executable, ROOT / "tools/build_package.py", "--twice", "--out", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "built twice: the same bytes" in done.stderr
    (sdist,), (wheel,) = tmp_path.glob("*.tar.gz"), tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (archive.read(name).decode() for name in names if name.endswith(".dist-info/METADATA"))
    about = message_from_string(metadata)
    assert about["Version"] == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert about["License-Expression"] == "Apache-2.0"
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    assert {link.partition(":")[0] for link in re.findall(r"\]\((\S+?)\)", metadata)} == {"https"}
    tracked = subprocess.run(["git", "ls-files", "src"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    data = {name.removeprefix("src/") for name in tracked.split() if not name.endswith(".py")}
    assert data <= set(names)
    with tarfile.open(sdist) as archive:
        assert {name.removeprefix("src/") for name in tracked.split()} <= {
            member.name.partition("/src/")[2] for member in archive
        }


def test_links_of_a_page_lead_to_the_repository_where_no_other_file_is():
    text = "[a](docs/a.md#b), ![c](docs/c.svg), [`d`](d.md), [e](https://elsewhere.org), [f](#f), [rows[0]] (g)"
    assert tool("build_package").with_addresses(text, "https://github.com/o/r", "v1.0.0") == (
        "[a](https://github.com/o/r/blob/v1.0.0/docs/a.md#b), "
        "![c](https://raw.githubusercontent.com/o/r/v1.0.0/docs/c.svg), "
        "[`d`](https://github.com/o/r/blob/v1.0.0/d.md), [e](https://elsewhere.org), [f](#f), [rows[0]] (g)"
    )


@pytest.fixture
def root(tmp_path):
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "0.2.0"\n')
    (tmp_path / "CITATION.cff").write_text("cff-version: 1.2.0\nversion: 0.2.0\n")
    (tmp_path / "CHANGELOG.md").write_text(
        "## [Unreleased]\n\n## [0.2.0] - 2020-01-02\n\n- New.\n\n## [0.1.0]\n\n- Old.\n"
    )
    return tmp_path


def test_the_notes_of_a_release_are_its_section_of_the_changelog(root):
    assert tool("release_notes").notes("v0.2.0", root) == "- New."


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("0.2.0", r"expected a tag such as v0\.1\.0, got 0\.2\.0"),
        ("v0.3.0", r"expected version 0\.3\.0 in pyproject\.toml, as the tag says; got 0\.2\.0"),
    ],
)
def test_a_tag_that_does_not_fit_is_refused(root, tag, expected):
    with pytest.raises(ValueError, match=expected):
        tool("release_notes").notes(tag, root)


def test_a_citation_of_another_version_or_a_missing_section_is_refused(root):
    (root / "CHANGELOG.md").write_text("## [Unreleased]\n\n- New.\n")
    with pytest.raises(ValueError, match=r"expected a section `## \[0\.2\.0\] - YEAR-MONTH-DAY` in CHANGELOG\.md"):
        tool("release_notes").notes("v0.2.0", root)
    (root / "CITATION.cff").write_text("version: 0.1.0\n")
    with pytest.raises(ValueError, match=r"expected version 0\.2\.0 in CITATION\.cff"):
        tool("release_notes").notes("v0.2.0", root)


def test_the_version_is_written_in_pyproject_and_the_citation_alone():
    from importlib.metadata import version

    import twicetold

    assert twicetold.__version__ == version("twicetold")
    written = re.compile(r"""(__version__|version)\s*=\s*["']\d+\.\d+""")
    assert not [file for file in ROOT.glob("src/**/*.py") if written.search(file.read_text())]


def test_newest_requirements_have_no_upper_bound():
    project = {
        "name": "twicetold",
        "dependencies": ["torch>=2.6,<2.14", "lightning>=2.6,!=2.6.2,<3"],
        "optional-dependencies": {"static": ["wordllama~=0.3"], "dev": ["twicetold[static]", "psycopg[binary]==3.2"]},
    }
    expected = ["lightning!=2.6.2,>=2.6", "psycopg[binary]", "torch>=2.6", "wordllama"]
    assert tool("newest_requirements").newest(project) == expected


def test_the_recipe_for_conda_has_the_requirements_of_pip(tmp_path):
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    sdist = tmp_path / f"twicetold-{pyproject['project']['version']}.tar.gz"
    sdist.write_bytes(b"")
    conda = tool("conda_recipe")
    made = yaml.safe_load(conda.recipe(pyproject, sdist))
    assert made["context"]["version"] == pyproject["project"]["version"]
    assert made["source"]["sha256"] == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert made["build"]["python"]["entry_points"] == ["twicetold = twicetold.commands:main"]
    assert len(made["requirements"]["run"]) == 1 + len(pyproject["project"]["dependencies"])
    assert conda.conda("torch>=2.6, <2.14") == "pytorch >=2.6,<2.14"
    with pytest.raises(ValueError, match="expected a name and versions alone"):
        conda.conda("psycopg[binary]>=3.2")


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_actions_are_pinned_by_digest_with_their_version_beside(file):
    for line in file.read_text().splitlines():
        assert "uses:" not in line or PINNED.match(line), line


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_a_workflow_may_only_read_unless_a_job_says_why(file):
    workflow = yaml.safe_load(file.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"]
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False


def test_a_release_checks_the_wheel_on_every_python_that_the_package_names_before_it_is_published():
    jobs = yaml.safe_load((ROOT / ".github/workflows/release.yaml").read_text())["jobs"]
    named = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    versions = [entry.rpartition(" ")[2] for entry in named if re.search(r":: 3\.\d+$", entry)]
    assert jobs["check"]["strategy"]["matrix"]["python"] == versions
    assert [jobs[name]["needs"] for name in ("check", "publish", "github-release")] == ["build", "check", "publish"]
    assert not any("checkout" in step.get("uses", "") for step in jobs["check"]["steps"])
    assert jobs["publish"]["permissions"] == {"id-token": "write"}


@pytest.mark.parametrize(("tag", "candidate"), [("v0.2.0", False), ("v0.2.0rc1", True), ("v1.0.0b2", True)])
def test_a_candidate_does_not_become_the_latest_release(tag, candidate, tmp_path):
    steps = yaml.safe_load((ROOT / ".github/workflows/release.yaml").read_text())["jobs"]["github-release"]["steps"]
    (tmp_path / "gh").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    (tmp_path / "gh").chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "TAG": tag}
    command = ["bash", "-e", "-c", steps[-1]["run"]]  # as GitHub runs it
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    said = done.stdout.splitlines()
    assert said[:3] == ["release", "create", tag]
    assert ("--prerelease" in said) == candidate
    assert f"twicetold {tag[1:]}" in said
