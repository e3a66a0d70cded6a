"""Copies of the project without DVC, for attacks on scripts that are run by hand."""

from pathlib import Path

import pytest

from lab import Lab, copy_project

TOY = ("data=toy_questions", "profile=smoke")


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """The project without data."""
    lab = Lab(tmp_path_factory.mktemp("project") / "lab")
    copy_project(lab)
    return lab


@pytest.fixture(scope="session")
def prepared(project: Lab, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """The project with 400 generated questions and their triplets. Copy it."""
    lab = project.copy(tmp_path_factory.mktemp("prepared") / "lab")
    for code, out in lab.scripts(*((stage, *TOY) for stage in ("download", "prepare", "mine"))):
        assert code == 0, out
    return lab


@pytest.fixture
def by_hand(prepared: Lab, tmp_path: Path) -> Lab:
    """A copy of it."""
    return prepared.copy(tmp_path / "lab")
