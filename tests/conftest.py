"""Shared fixtures: the real data, a tiny corpus, composed configs."""

import hashlib
import os
import signal
from copy import deepcopy
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from jaxtyping import install_import_hook

# Shapes in annotations are checked at run time, so before anything of these is imported.
install_import_hook(["twicetold.encoding", "twicetold.layers", "twicetold.models"], "beartype.beartype")

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # no test asks the network for a model
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # each worker has a core

import torch
from hydra import compose, initialize_config_dir
from hypothesis import settings
from omegaconf import DictConfig

from lab import by_hand, cells, finished, prepared, project, stages, store, wait_for  # noqa: F401 (fixtures)
from twicetold.pretrained import ModelUnavailable
from twicetold_lab.data.corpus import Corpus, Pairs

settings.register_profile("untimed", deadline=None, derandomize=True, database=None)
settings.load_profile("untimed")

ROOT = Path(__file__).parents[1]
ORDER = "TWICETOLD_TEST_ORDER"
"""Variable with any word, by which the files of tests come in an order of its own; those of one file stay together."""


def in_order_of(word: str, file: Path) -> str:
    """Where a file comes, for all workers of pytest-xdist alike."""
    return hashlib.sha256(f"{word} {file}".encode()).hexdigest()


def pytest_report_header():
    return f"files in the order of {ORDER}={os.environ[ORDER]}" if os.environ.get(ORDER) else None


def pytest_collection_modifyitems(items):
    if os.environ.get(ORDER):
        items.sort(key=lambda item: in_order_of(os.environ[ORDER], item.path.relative_to(ROOT)))
    elif "PYTEST_XDIST_WORKER" in os.environ:  # files go to workers in order: the longest first
        items.sort(key=lambda item: not {"pipeline", "hostile"} & set(item.path.parts))
    if os.environ.get("TWICETOLD_MIRROR"):
        return
    skip = pytest.mark.skip(reason="needs real data: set TWICETOLD_MIRROR to a mirror of it")
    for item in items:
        if "real" in item.keywords:
            item.add_marker(skip)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    return (yield from _skipped_without_model())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    return (yield from _skipped_without_model())


def _skipped_without_model():
    try:
        return (yield)
    except ModelUnavailable as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session", autouse=True)
def hears_ctrl_c():
    """A shell's background job ignores SIGINT, and so would tests that run in one and the commands that they start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def mirror() -> Path:
    return Path(os.environ["TWICETOLD_MIRROR"])


@pytest.fixture(scope="session")
def composed():
    """Compose a primary config of conf/ with overrides; the same choices are composed once."""

    @cache
    def _compose(primary: str, overrides: tuple[str, ...]) -> DictConfig:
        with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
            return compose(primary, overrides=list(overrides))

    return lambda primary, *overrides: deepcopy(_compose(primary, overrides))


@pytest.fixture
def pretended():
    """The pretended device, for the time of a test; counts what is copied to it and back."""
    from pretended_device import pretend

    with pretend() as operations:
        yield operations


WORDS = ["bank", "rate", "cut", "film", "star", "award", "drug", "trial", "phone", "chip", "game", "vote"]


@pytest.fixture
def news() -> Corpus:
    """60 documents of 2 categories and 20 stories; the words of a story are drawn from its category's."""
    random = np.random.default_rng(0)
    story = np.repeat(np.arange(20), 3)
    category = story % 2
    texts = [" ".join(random.choice(WORDS[6 * c : 6 * c + 6], 4)) + f" story{s}" for c, s in zip(category, story)]
    numbers = np.arange(60)
    return Corpus(
        name="news",
        kind="documents",
        ids=pa.array([f"d{i}" for i in numbers]),
        texts=pa.array(texts),
        groups={"category": category, "story": story},
        members={"train": numbers[:36], "val": numbers[36:48], "test": numbers[48:]},
        fields={
            "publisher": pa.array([f"Paper {n % 5}" for n in numbers]),
            "hostname": pa.array([f"paper{n % 5}.example" for n in numbers]),
            "url_slug": pa.array(texts),
        },
    )


@pytest.fixture
def questions(news: Corpus) -> Corpus:
    """The same texts as labelled pairs."""

    def pairs(start: int, end: int) -> Pairs:
        left = np.arange(start, end - 1)
        return Pairs(left, left + 1, (news.groups["story"][left] == news.groups["story"][left + 1]).astype(np.float32))

    numbers = np.arange(60)
    cluster = np.where(numbers < 36, news.groups["story"], -1)
    return Corpus(
        name="questions",
        kind="labelled_pairs",
        ids=news.ids,
        texts=news.texts,
        groups={"cluster": cluster},
        members=dict(news.members),
        pairs={"train": pairs(0, 36), "val": pairs(36, 48), "test": pairs(48, 60)},
    )


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory) -> Path:
    """Folder of a BERT with random weights and a vocabulary of a few words, in the format of `transformers`."""
    transformers = pytest.importorskip("transformers", reason="needs the extra [transformers]")
    folder = tmp_path_factory.mktemp("tiny_bert")
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *"abcdefghij0123456789", "story", "##s", "##ed"]
    pieces += [f"##{digit}" for digit in range(10)]
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")
    transformers.BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    shape = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    torch.manual_seed(0)
    config = transformers.BertConfig(vocab_size=len(pieces), max_position_embeddings=40, **shape)
    transformers.BertModel(config).save_pretrained(folder)
    return folder


@pytest.fixture
def tokens(tiny_bert):
    """The tokens that the BERT reads, of the first twelve of each text."""
    from twicetold.features.model_tokens import ModelTokens

    return ModelTokens(model=str(tiny_bert), pretrained_on="nothing", max_length=12).fit([])


@pytest.fixture(scope="session")
def tiny_static(tmp_path_factory) -> Path:
    """Folder of static vectors in the format of model2vec: 256 random numbers for each of a few words and letters."""
    from safetensors.numpy import save_file
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    pieces = [
        "[PAD]",
        "[UNK]",
        *WORDS,
        "story",
        *"abcdefghij0123456789",
        *(f"##{letter}" for letter in "abcdes0123456789"),
    ]
    tokenizer = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    folder = tmp_path_factory.mktemp("tiny_static")
    tokenizer.save(str(folder / "tokenizer.json"))
    vectors = np.random.default_rng(0).normal(size=(len(pieces), 256)).astype(np.float32)
    save_file({"embeddings": vectors}, folder / "model.safetensors")
    (folder / "config.json").write_text('{"normalize": true}')
    return folder
