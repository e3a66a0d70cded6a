"""A cell of the grid as a job of a launcher: what it refuses before it begins."""

from pathlib import Path

import pytest
from omegaconf import OmegaConf

from twicetold_lab.grid.cell_job import Plan, differences, environment, reproduce


def test_a_job_with_other_versions_is_refused_before_it_clones(tmp_path):
    here = environment()
    assert differences(here, environment()) == []
    assert {"numpy", "torch", "pytorch-lightning", "hydra-core", "dvc", "bm25s", "transformers", "wordllama"} <= set(
        here
    )
    assert not {"pytest", "zensical", "twicetold"} & set(here)
    plan = Plan(f"{Path.cwd()}", "HEAD", here | {"numpy": "1.0", "nowhere": "2"}, {})
    cfg = OmegaConf.create({"cell": "a", "scratch": f"{tmp_path / 'scratch'}"})
    with pytest.raises(ValueError, match=r"has other versions.*numpy \S+ \(expected 1.0\), nowhere none"):
        reproduce(cfg, plan, tmp_path / "log.txt")
    assert not (tmp_path / "scratch").exists()
