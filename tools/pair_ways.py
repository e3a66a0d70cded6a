"""The ways of choosing_pairs.toml, and the calls of pipelines/ that train with each."""

import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from twicetold import layout

FOLDER = Path("build/choosing_pairs")
"""Where models and mined files go."""
KINDS = {"negatives": "negatives", "positives": "positives without labels", "helps": "help"}
WORDS = "words"


@dataclass(frozen=True)
class Way:
    """A way to choose pairs."""

    name: str
    of: str
    """A key of `KINDS`."""
    says: str
    overrides: Sequence[str]
    data: Sequence[str] = ()
    """Datasets that it is for; empty for all."""
    mining: str = ""
    """Strategy of `mine_with_model` that comes first."""
    mining_overrides: Sequence[str] = ()
    teacher: str = ""
    """Who mines: another way, or `WORDS`, the mean of word vectors that the dataset names."""


@dataclass(frozen=True)
class Data:
    """A dataset and what is asked of it."""

    name: str
    budget: int
    """Examples that a training sees, about."""
    overrides: Sequence[str]
    metric: str
    words: str
    """Family that is a mean of word vectors."""


@dataclass(frozen=True)
class Ways:
    """The file of ways."""

    common: Sequence[str]
    base: str
    encoders: Mapping[str, Sequence[str]]
    data: Mapping[str, Data]
    ways: Mapping[str, Way]

    @classmethod
    def read(cls, file: Path) -> "Ways":
        """Read it.

        Raises:
            ValueError: if a way is of no kind, or names a dataset or a teacher that the file does not have.
        """
        found = tomllib.loads(file.read_text(encoding="utf-8"))
        data = {name: Data(name, **about) for name, about in found["data"].items()}
        ways = {name: Way(name, **about) for name, about in found["ways"].items()}
        for way in ways.values():
            right = {
                "of": way.of in KINDS,
                "data": {*way.data} <= {*data},
                "teacher": way.teacher in ("", WORDS, *ways),
            }
            if wrong := [key for key, holds in right.items() if not holds]:
                raise ValueError(f"{file}: {' and '.join(wrong)} of ways.{way.name} must name what the file has")
        return cls(found["common"]["overrides"], found["common"]["base"], found["encoders"], data, ways)


@dataclass(frozen=True)
class Call:
    """A call of a script of pipelines/."""

    script: str
    arguments: Sequence[str]
    writes: Path
    """A file that is there when it is done."""

    @property
    def name(self) -> str:
        """What it does, whatever its settings."""
        return f"{self.script} {self.writes}"

    def __str__(self) -> str:
        return shlex.join(["python", f"pipelines/{self.script}.py", *self.arguments])


def corpus_calls(chosen: Sequence[str], *, raw: Path, processed: Path) -> Iterator[Call]:
    """The calls that fetch a dataset and prepare its corpus.

    Args:
        chosen: overrides of both.
        raw: folder of its files.
        processed: folder of its corpus.
    """
    yield Call("download", chosen, raw / layout.MANIFEST)
    yield Call("prepare", chosen, processed / layout.CARD)


@dataclass(frozen=True)
class Training:
    """A row of the table with one seed."""

    file: Ways
    data: Data
    encoder: str
    way: Way
    seed: int
    profile: str = "full"
    """Or `smoke`, a run of seconds."""

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What tells it from others in the results."""
        return self.data.name, self.encoder, self.way.name, self.seed

    @property
    def root(self) -> Path:
        """Folder of all that is of its profile."""
        return FOLDER if self.profile == "full" else FOLDER / self.profile

    @property
    def out(self) -> Path:
        """Its run folder."""
        return self.root / f"{self.data.name}-{self.encoder}-{self.way.name}-{self.seed}"

    @property
    def mined(self) -> Path:
        """Folder of what was mined for it with a model."""
        teacher = self.data.words if self.way.teacher == WORDS else f"{self.encoder}-{self.way.teacher}-{self.seed}"
        return self.root / "mined" / f"{self.data.name}-{self.way.mining}-{teacher}"

    @property
    def of_data(self) -> list[str]:
        """Overrides of every stage. Triplets are mined by another label than the grid's, so they have their folder."""
        named = [override for override in self.data.overrides if override.startswith("data.")]
        places = [f"paths.triplets={self.root / 'triplets'}"]
        places += [] if self.profile == "full" else [f"paths.processed={self.processed}"]
        return [f"data={self.data.name}", *named, *places]

    @property
    def scaled(self) -> list[str]:
        """The same for stages that have a profile."""
        return self.of_data if self.profile == "full" else [*self.of_data, f"profile={self.profile}"]

    @property
    def processed(self) -> Path:
        """Folder of corpora."""
        return Path("data/processed") if self.profile == "full" else self.root / "processed"

    @property
    def settings(self) -> list[str]:
        """Overrides of the training, without the number of epochs and the folder."""
        further = [override for override in self.data.overrides if not override.startswith("data.")]
        parts = [*self.file.encoders[self.encoder], *self.file.common, *self.way.overrides]
        mined = [f"examples.mined={self.mined}"] if self.way.mining else []
        return [*self.scaled, *further, *parts, *mined, f"seed={self.seed}", "tracking.enabled=false"]

    @property
    def examples(self) -> int:
        """Examples of an epoch; what they are made of must be there."""
        return examples_of(tuple(self.settings))

    @property
    def epochs(self) -> int:
        """As many as the budget has room for, one at least."""
        return max(1, round(self.data.budget / self.examples)) if self.profile == "full" else 1

    @property
    def train(self) -> Call:
        """The training itself."""
        arguments = [*self.settings, f"trainer.epochs={self.epochs}", f"hydra.run.dir={self.out}"]
        return Call("train", arguments, self.out / layout.MODEL / layout.TRAINING)

    @property
    def evaluate(self) -> Call:
        """Its evaluation."""
        return Call("evaluate", self.train.arguments, self.out / layout.METRICS)

    def before(self) -> Iterator[Call]:
        """What has to be there first; each is made once the one before it is done."""
        corpus = self.processed / self.data.name / layout.CARD
        yield Call("download", self.scaled, corpus)
        yield Call("prepare", self.scaled, corpus)
        triplets = layout.mined_file(self.root / "triplets" / self.data.name, "tfidf_neighbour")
        yield Call("mine", [*self.scaled, "mining=neighbours"], triplets)
        yield from self.mining()

    def mining(self) -> Iterator[Call]:
        """The training of the model that mines for it, and the mining; nothing if no model does."""
        if not self.way.mining:
            return
        run = self.root / f"{self.data.name}-{self.data.words}"
        if self.way.teacher == WORDS:
            arguments = [*self.scaled, f"model={self.data.words}", "tracking.enabled=false", f"hydra.run.dir={run}"]
            yield Call("train", arguments, run / layout.MODEL / layout.TRAINING)
        else:
            teacher = replace(self, way=self.file.ways[self.way.teacher])
            yield from teacher.mining()
            yield teacher.train
            run = teacher.out
        arguments = [*self.of_data, f"mining={self.way.mining}", *self.way.mining_overrides]
        arguments += [f"run={run}", f"seed={self.seed}", f"mined={self.mined}"]
        yield Call("mine_with_model", arguments, layout.mined_file(self.mined, self.way.mining))


@cache
def examples_of(settings: tuple[str, ...]) -> int:
    """How many examples a training with these overrides has."""
    from hydra.utils import instantiate

    from twicetold.data.corpus import Corpus
    from twicetold_grid.recipe import composed

    cfg = composed(list(settings))
    corpus = Corpus.load(Path(cfg.paths.processed, cfg.data.name))
    return len(instantiate(cfg.examples).index(corpus, Path(cfg.paths.triplets, cfg.data.name)))
