"""What a training by hand fetches and mines before it begins."""

from multiprocessing import get_context

import pytest
from hydra.utils import instantiate
from omegaconf import OmegaConf

from twicetold_lab.grid.settings import CONF
from twicetold_lab.grid.standalone import prepare_pretrained, reads_triplets

GLOVE = "glove/glove.6B.50d.txt"


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    """A mirror with a file of vectors; the current folder is another one."""
    file = tmp_path / "mirror" / GLOVE
    file.parent.mkdir(parents=True)
    file.write_text("the " + " ".join(["1"] * 50) + "\n")
    monkeypatch.setenv("TWICETOLD_MIRROR", str(file.parents[1]))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return file


def prepare(vectors):
    config = {"paths": {"pretrained": "data/pretrained"}, "features": {"vectors": vectors}}
    prepare_pretrained(OmegaConf.create(config), [])


def test_several_processes_fetch_a_published_file_once_and_none_when_it_is_there(mirror, tmp_path, capfd):
    with get_context("fork").Pool(3) as pool:
        pool.map(prepare, [f"data/pretrained/{GLOVE}"] * 3)
    there = tmp_path / "here" / "data" / "pretrained" / GLOVE
    assert there.read_bytes() == mirror.read_bytes()
    assert [path.name for path in there.parents[1].iterdir()] == ["glove"]
    before = there.stat()
    prepare(f"data/pretrained/{GLOVE}")
    assert there.stat() == before


def test_a_file_of_ones_own_that_is_missing_is_an_error_that_names_the_command(mirror):
    with pytest.raises(FileNotFoundError, match=r"at mine.txt.*download_pretrained.py pretrained=glove"):
        prepare("mine.txt")


@pytest.mark.parametrize("leaf", sorted(path.stem for path in (CONF / "examples").glob("*.yaml")))
def test_triplets_are_mined_for_the_examples_that_read_them_and_for_no_others(leaf, news, composed, tmp_path):
    cfg = composed("train", "data=toy_news", "model=static", f"examples={leaf}")
    if cfg.examples.get("mined") or leaf == "none":  # read nothing, or what a model mined
        assert reads_triplets(cfg) == ("strategy" in cfg.examples)
        return
    read = False
    try:
        instantiate(cfg.examples).index(news, tmp_path / "nowhere")
    except FileNotFoundError:
        read = True
    except ValueError:  # the leaf is for other data
        pass
    assert reads_triplets(cfg) == read
